package preflight

import (
	"fmt"
	"regexp"
	"strings"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
)

var (
	joins   = regexp.MustCompile(`(?i)\bAdd-Computer\b|\bnetdom(\.exe)?\s+join\b`)
	newName = regexp.MustCompile(`(?i)-NewName\s+['"]?([A-Za-z0-9-]+)`)
)

// joinText is a text in bootstrap data that joins a domain.
type joinText struct {
	at   lint.Value
	text string
}

// joining returns the commands and files of a group's bootstrap data that join a domain.
func (m *Machines) joining() []joinText {
	var out []joinText
	for _, v := range m.scripts() {
		if joins.MatchString(v.Str()) {
			out = append(out, joinText{v, v.Str()})
		}
	}
	return out
}

// domains returns the checks of machines that join a domain.
func (c checker) domains() []lint.Rule {
	return []lint.Rule{
		{
			ID: "PRE404", Severity: lint.Warning, Title: "A domain that Azure's DNS servers do not know", Oracle: lint.Unit,
			Doc: "A machine finds its domain by DNS. Azure's own servers do not know it: a template whose bootstrap " +
				"data joins one has `dnsServers`, unless its virtual network, which casement does not make then, " +
				"has them. Source: learn.microsoft.com/windows-server/identity/ad-ds/plan/dns-and-ad-ds.",
			Check: c.eachCluster(checkPRE404),
		},
		{
			ID: "PRE405", Severity: lint.Error, Title: "A computer's name that no domain takes", Oracle: lint.Unit,
			Doc: "A computer's name in a domain has at most 15 characters, those of a NetBIOS name. Source: " +
				"learn.microsoft.com/troubleshoot/windows-server/active-directory/naming-conventions-for-computer-domain-site-ou.",
			Check: c.eachCluster(checkPRE405),
		},
	}
}

func checkPRE404(p *lint.Pass, cluster *Cluster) {
	for _, m := range cluster.windowsMachines() {
		if len(m.joining()) == 0 || m.Infra == nil || len(m.Spec.DNSServers) > 0 || cluster.ownNetwork() {
			continue
		}
		p.Report(m.Infra, m.At, "its machines join a domain and ask Azure's DNS servers, which do not know it",
			say("dnsServers with the addresses of the domain's DNS servers"))
	}
}

func checkPRE405(p *lint.Pass, cluster *Cluster) {
	for _, m := range cluster.windowsMachines() {
		for _, j := range m.joining() {
			for _, match := range newName.FindAllStringSubmatch(j.text, -1) {
				if name := match[1]; len(name) > windows.MaxComputerName && !strings.HasPrefix(name, "-") {
					p.Report(m.Bootstrap, j.at, fmt.Sprintf("-NewName %s has %d characters", name, len(name)),
						say(fmt.Sprintf("a name of at most %d, or none: casement names Windows machines so", windows.MaxComputerName)))
				}
			}
		}
	}
}

// ownNetwork reports whether the virtual network is the user's and may have its own DNS servers.
func (c *Cluster) ownNetwork() bool {
	return c.Azure != nil && c.Azure.Spec.NetworkSpec.Vnet.ResourceGroup != "" &&
		!strings.EqualFold(c.Azure.Spec.NetworkSpec.Vnet.ResourceGroup, c.Azure.Spec.ResourceGroup)
}
