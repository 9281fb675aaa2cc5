package why

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"casement.dev/casement/internal/cause"
)

// Inside is what a look into one Windows node showed: what each probe's command
// printed there, by the probe's name.
type Inside map[string]string

// Probe is one question that only the node itself can answer. Its command reads
// and changes nothing.
type Probe struct {
	// Name is the cause that the probe finds; two probes may find the same.
	Name string
	// Command is PowerShell.
	Command   string
	Says, Fix string
	// Remedy is PowerShell that mends the node and does no other harm; empty where
	// nothing does.
	Remedy string
	// basic probes explain why a node is not Ready; the others matter on a node
	// that is.
	basic bool
	// judge returns the evidence of what is wrong, or nothing. pods is how many pods
	// the node runs.
	judge func(out string, pods int) string
}

// Limits of a healthy Windows node.
const (
	// minMTU is what the adapter must carry so that pods with an MTU of 1350 fit
	// into VXLAN, whose headers take 50 bytes.
	minMTU = 1400
	// spareEndpoints is how many HNS endpoints beyond two a pod are no leak.
	spareEndpoints = 40
	// portShare is how much of the dynamic port range may be in use.
	portShare = 0.9
)

// Probes returns the probes in the order in which they are judged.
func Probes() []Probe {
	return []Probe{
		{Name: "ServiceStopped", basic: true, Command: "Get-Service kubelet,containerd", judge: stoppedService,
			Says: "a service that the node needs has stopped", Fix: "Start-Service kubelet; look at its log and at the system event log (7031, 7034)",
			Remedy: "Start-Service containerd; Start-Service kubelet"},
		{Name: "ServiceNotAutomatic", Command: "sc.exe qc kubelet", judge: match(`DEMAND_START|DISABLED`),
			Says: "the kubelet does not start with the machine, so a reboot takes the node away", Fix: "Set-Service kubelet -StartupType Automatic",
			Remedy: "Set-Service kubelet -StartupType Automatic"},
		{Name: "SourceVIPMissing", Command: `Get-Content C:\sourcevip\sourceVip.json`, judge: brokenJSON,
			Says: "the source VIP that kube-proxy has cached is not valid", Fix: `delete C:\sourcevip\sourceVip.json, restart the node's kube-proxy`,
			Remedy: `Remove-Item C:\sourcevip\sourceVip.json`},
		{Name: "HNSLeak", Command: "(Get-HnsEndpoint).Count", judge: manyEndpoints,
			Says: "the node has far more HNS endpoints than pods; crashed pods have left theirs behind", Fix: "drain the node, remove stale HNS endpoints, restart hns, or replace the machine"},
		{Name: "MTUTooSmall", Command: "Get-NetIPInterface -AddressFamily IPv4", judge: smallMTU,
			Says: "the adapter's MTU leaves no room for the overlay: small requests work, large ones hang", Fix: "Set-NetIPInterface -InterfaceAlias 'vEthernet (Ethernet)' -NlMtuBytes 1500",
			Remedy: "Set-NetIPInterface -InterfaceAlias 'vEthernet (Ethernet)' -NlMtuBytes 1500"},
		{Name: "PortsExhausted", Command: "netsh int ipv4 show dynamicport tcp; (Get-NetTCPConnection).Count", judge: fewPorts,
			Says: "outbound connections have used up the dynamic ports", Fix: "netsh int ipv4 set dynamicport tcp start=16385 num=49151; find what leaks connections",
			Remedy: "netsh int ipv4 set dynamicport tcp start=16385 num=49151"},
		{Name: "MetadataBlocked", Command: "Test-NetConnection 169.254.169.254 -Port 80", judge: match(`TcpTestSucceeded\s*:\s*False`),
			Says: "the metadata service does not answer the node", Fix: "route -p add 169.254.169.254 mask 255.255.255.255 GATEWAY; remove firewall rules against it"},
	}
}

// mark starts the output of a probe.
const mark = "=== casement "

// Script is PowerShell that runs all probes; ParseInside reads what it prints.
func Script() string {
	var b strings.Builder
	b.WriteString(`if (Test-Path C:\k\debug\hns.psm1) { Import-Module C:\k\debug\hns.psm1 }` + "\n")
	for _, p := range Probes() {
		fmt.Fprintf(&b, "Write-Output '%s%s'\n%s\n", mark, p.Name, p.Command)
	}
	return b.String()
}

// ParseInside splits what Script printed.
func ParseInside(out string) Inside {
	in := Inside{}
	name := ""
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		if n, ok := strings.CutPrefix(line, mark); ok {
			name = strings.TrimSpace(n)
			in[name] += ""
			continue
		}
		if name != "" {
			in[name] += line + "\n"
		}
	}
	return in
}

// inside judges what was seen within a node: the first that is wrong of the basic
// probes, or of the others.
func (f *Facts) inside(node string, basic bool) *Answer {
	for _, p := range Probes() {
		if a := f.judge(p, node); p.basic == basic && a != nil {
			return a
		}
	}
	return nil
}

// judge is a probe's answer about a node, nil where nothing is wrong or nothing was
// seen.
func (f *Facts) judge(p Probe, node string) *Answer {
	out, seen := f.Inside[node][p.Name]
	if !seen {
		return nil
	}
	evidence := p.judge(out, f.podsOn(node))
	if evidence == "" {
		return nil
	}
	return &Answer{Step: "node", At: "Node/" + node, Cause: p.Name, Says: p.Says, Fix: p.Fix, Evidence: []string{evidence}, Remedy: p.Remedy,
		Next: "casement ssh " + node + " -- powershell " + strings.Split(p.Command, ";")[0]}
}

func (f *Facts) podsOn(node string) int {
	n := 0
	for i := range f.Pods {
		if p := &f.Pods[i]; p.Spec.NodeName == node && p.Status.Phase == corev1.PodRunning {
			n++
		}
	}
	return n
}

func match(pattern string) func(string, int) string {
	re := regexp.MustCompile(pattern)
	return func(out string, _ int) string {
		if at := re.FindStringIndex(out); at != nil {
			return strings.TrimSpace(cause.Line(out, at[0]))
		}
		return ""
	}
}

func stoppedService(out string, _ int) string {
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Stopped" {
			return "service " + f[1] + " is Stopped"
		}
	}
	return ""
}

func brokenJSON(out string, _ int) string {
	if out = strings.TrimSpace(out); out == "" || json.Valid([]byte(out)) {
		return ""
	}
	return `C:\sourcevip\sourceVip.json is no valid JSON`
}

func manyEndpoints(out string, pods int) string {
	n, err := strconv.Atoi(lastLine(out))
	if err != nil || n <= 2*pods+spareEndpoints {
		return ""
	}
	return fmt.Sprintf("%d HNS endpoints for %d pods", n, pods)
}

// interfaceRow is a row of Get-NetIPInterface: index, alias, family, MTU.
var interfaceRow = regexp.MustCompile(`(?m)^\s*\d+\s+((?:vEthernet \()?Ethernet[^\r\n]*?)\s+IPv4\s+(\d+)`)

func smallMTU(out string, _ int) string {
	for _, m := range interfaceRow.FindAllStringSubmatch(out, -1) {
		if mtu, err := strconv.Atoi(m[2]); err == nil && mtu < minMTU {
			return fmt.Sprintf("%s: NlMtu %d, and pods of 1350 need %d in VXLAN", m[1], mtu, minMTU)
		}
	}
	return ""
}

var portCount = regexp.MustCompile(`Number of Ports\s*:\s*(\d+)`)

func fewPorts(out string, _ int) string {
	m := portCount.FindStringSubmatch(out)
	used, err := strconv.Atoi(lastLine(out))
	if m == nil || err != nil {
		return ""
	}
	if ports, err := strconv.Atoi(m[1]); err == nil && float64(used) >= portShare*float64(ports) {
		return fmt.Sprintf("%d connections, %d dynamic ports", used, ports)
	}
	return ""
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
