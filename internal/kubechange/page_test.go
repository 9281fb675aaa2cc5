package kubechange

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/golden"
)

// TestPage compares docs/reference/kubernetes.md with the table.
func TestPage(t *testing.T) {
	golden.Compare(t, "../../docs/reference/kubernetes.md", []byte(page()))
}

func page() string {
	var out strings.Builder
	put := func(format string, a ...any) { fmt.Fprintf(&out, format, a...) }
	put("<!-- made by make generate -->\n# What each release of Kubernetes changes for Windows nodes\n\n"+
		"What lint says about a release comes from this table, made for 1.%d to 1.%d. #123 is a pull request of kubernetes/kubernetes, "+
		"a path a file of it. Tests hold the settings, gates and versions to the sources of each minor.\n\n", First, Newest)
	put("## Settings of the kubelet\n\nRules: [WIN828](../rules/WIN828.md). The kubelet on Windows ...\n\n" +
		"| setting | flag | value | Kubernetes | effect | ... | source |\n|---|---|---|---|---|---|---|\n")
	for _, s := range settings {
		flag, value := "", s.Value
		if s.Flag != "" {
			flag = "`--" + s.Flag + "`"
		}
		if value == "" && len(s.Harmless) > 0 {
			quoted := slices.Clone(s.Harmless)
			for i, h := range quoted {
				if h == "" {
					quoted[i] = "nothing"
				}
			}
			value = "any but " + strings.Join(quoted, ", ")
		}
		put("| `%s` | %s | %s | %s | %s | %s | %s |\n", s.Path, flag, value, s.Span, s.Effect, s.Why, s.Source)
	}
	put("\n## Feature gates\n\nRules: [WIN811](../rules/WIN811.md). A component exits at its start when it does not know a gate.\n\n" +
		"| gate | known | on | locked | what | source |\n|---|---|---|---|---|---|\n")
	from := func(minor int) string {
		if minor == 0 {
			return ""
		}
		return fmt.Sprintf("from 1.%d", minor)
	}
	for _, g := range gates {
		what := g.What
		if g.Inert > 0 {
			what += fmt.Sprintf("; does nothing from 1.%d", g.Inert)
		}
		if g.Linux {
			what += "; no effect on Windows"
		}
		put("| `%s` | %s | %s | %s | %s | %s |\n", g.Name, g.Known, from(g.On), from(g.Locked), what, g.Source)
	}
	put("\n## kubeadm\n\nRules: [WIN829](../rules/WIN829.md).\n\n| version or gate | Kubernetes | source |\n|---|---|---|\n")
	for _, c := range configs {
		put("| `kubeadm.k8s.io/%s` | %s | %s |\n", c.Version, c.Span, c.Source)
	}
	for _, name := range slices.Sorted(maps.Keys(features)) {
		put("| `%s` | %s | cmd/kubeadm/app/features/features.go |\n", name, features[name])
	}
	put("\n## Fields of pods without effect\n\nRules: [WIN327](../rules/WIN327.md).\n\n| field | Kubernetes | why | source " +
		"|\n|---|---|---|---|\n")
	for _, f := range fields {
		put("| `%s` | from 1.%d | %s | %s |\n", f.At, f.From, f.Why, f.Source)
	}
	put("\n## Defects\n\nRules: [WIN826](../rules/WIN826.md), [WIN303](../rules/WIN303.md).\n\n" +
		"| defect | program | what happens | hits | since | first releases without | source |\n|---|---|---|---|---|---|---|\n")
	for _, d := range defects {
		var fixed []string
		for _, f := range d.Fixed {
			fixed = append(fixed, f.String())
		}
		put("| %s | %s | %s | %s | %s | %s | %s |\n", d.Name, d.Program, d.Why, d.Scope, strings.TrimPrefix(from(d.From), "from "),
			strings.Join(fixed, ", "), d.Source)
	}
	put("\n## Other changes\n\n| since | change | what | source |\n|---|---|---|---|\n")
	for _, b := range behaviours {
		put("| 1.%d | %s | %s | %s |\n", b.from, b.what, b.why, b.source)
	}
	put("\n## A new minor\n\n`go mod download k8s.io/kubernetes@v1.N.P` in a folder outside of the module, then `go test " +
		"./internal/kubechange`: it names " +
		"each setting, gate and version that the table lacks or has wrongly. Defects and other changes come from the minor's CHANGELOG, by " +
		"`grep -iE 'windows|winkernel|HNS'`. Then `make generate`.\n")
	return out.String()
}

// behaviour is a change in the behaviour of Windows nodes that no setting controls.
type behaviour struct {
	from              int
	what, why, source string
}

// behaviours are changes without a setting.
var behaviours = []behaviour{
	{31, "eviction by memory", "Windows nodes evict pods when less committed memory is left than evictionHard's memory.available, 500Mi " +
		"by default: the page file counts, so a node may page before it evicts", "#122922; pkg/kubelet/eviction/defaults_windows.go"},
	{31, "kube-proxy changes load balancers in place", "in place of removing and creating them, and keeps endpoints that terminate",
		"#124092"},
	{32, "no resize of pods in place", "a resize is infeasible on Windows", "#128623"},
	{33, "no host network but for HostProcess", "the alpha support went; the gate stays and does nothing", "#130250"},
	{33, "kubeadm needs xcopy", "a preflight check of kubeadm looks for it", "#130045"},
	{34, "no resources of whole pods", "the API server refuses pods with spec.os windows that have them, and so does the kubelet", "#133046"},
	{36, "upgrades wait longer for the test job", "CreateJob of kubeadm upgrade gets a minute, as Windows pulls the pause image",
		"CHANGELOG-1.36"},
	{37, "kubeadm writes kube-proxy's mode", "KubeProxyConfiguration without a mode gets iptables, which kube-proxy on Windows refuses: " +
		"a Windows kube-proxy that shares the ConfigMap has to set kernelspace", "#139777; pkg/proxy/apis/config/validation/validation.go"},
	{37, "no flags of cAdvisor", "the kubelet on Linux loses 18; the one on Windows never had any",
		"#139870; cmd/kubelet/app/options/globalflags_other.go"},
}
