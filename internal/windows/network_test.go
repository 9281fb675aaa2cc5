package windows

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/golden"
)

// ranges are the address ranges of the examples on the page.
var ranges = Ranges{Pods: "10.244.0.0/16", Services: "10.96.0.0/12", Nodes: "10.1.0.0/16", DNS: "10.96.0.10"}

// TestNetworkPage writes docs/reference/cni.md with -update.
func TestNetworkPage(t *testing.T) {
	golden.Compare(t, "../../docs/reference/cni.md", page())
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func page() []byte {
	var out bytes.Buffer
	fmt.Fprint(&out, `<!-- made by make generate -->
# Networks of Windows pods

The networks of Kubernetes' introduction to Windows, each as it is on Azure. A Cluster asks for one
by its labels; `+"`casement preflight` and `casement lint`"+` check the rest of the row.

| network | HNS network | CNI, IPAM | label | MTU of pods | ports between nodes | Windows Server | Kubernetes | checked by |
|---|---|---|---|---|---|---|---|---|
`)
	for _, n := range Networks() {
		if n.Refused != "" {
			continue
		}
		var ports, checks []string
		for _, p := range n.Ports {
			ports = append(ports, fmt.Sprintf("%s %d (%s)", strings.ToUpper(p.Protocol), p.Number, p.What))
		}
		for _, rule := range n.Rules {
			if strings.HasPrefix(rule, "WIN") {
				rule = "[" + rule + "](../rules/" + rule + ".md)"
			}
			checks = append(checks, rule)
		}
		mtu, releases, versions := "the node's", "", ""
		if n.MTU > 0 {
			mtu = fmt.Sprintf("%d, VNI %d", n.MTU, n.VNI)
		}
		releases = n.ReleaseList()
		if n.From > 0 {
			versions = fmt.Sprintf("1.%d and newer", n.From)
		}
		if n.Until > 0 {
			versions = fmt.Sprintf("below 1.%d", n.Until)
		}
		label := ""
		for key, value := range n.Labels {
			label = key + ": " + value
		}
		fmt.Fprintf(&out, "| %s | %s | `%s`, `%s` | `%s` | %s | %s | %s | %s | %s |\n", n.Name, n.Mode, n.Plugin, n.IPAM,
			label, mtu, orDash(strings.Join(ports, ", ")), releases, versions, strings.Join(checks, ", "))
	}
	fmt.Fprint(&out, "\nBeside these ports a node's kubelet is reached at TCP 10250 from the control plane. "+
		"Azure's own rules of a\nsecurity group let all of that through inside of the virtual network.\n\n"+
		"## Refused\n\n| network | HNS network | why |\n|---|---|---|\n")
	for _, n := range Networks() {
		if n.Refused != "" {
			fmt.Fprintf(&out, "| %s | %s | %s |\n", n.Name, n.Mode, n.Refused)
		}
	}
	r := ranges
	fmt.Fprintf(&out, "\n## CNI configurations\n\nOf a Windows node, in their main parts, for pods in %s, Services in %s "+
		"and\nnodes in %s. The addons install them; those of Calico's and Azure's plug-ins have more fields.\n",
		r.Pods, r.Services, r.Nodes)
	for _, n := range Networks() {
		if conf := n.CNIConfig(ranges); conf != nil {
			refused := ""
			if n.Refused != "" {
				refused = " (refused on Azure)"
			}
			fmt.Fprintf(&out, "\n### %s%s\n\n```json\n%s```\n", n.Name, refused, conf)
		}
	}
	fmt.Fprint(&out, `
Destinations in an ExceptionList keep the pod's address; all others are translated to the node's. An
address outside of the cluster does not belong there: what it answers to a pod's address is lost.
Calico's plug-in adds the networks of its own pools itself.
`)
	return out.Bytes()
}
