package preflight

import (
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"strings"

	"casement.dev/casement/internal/azure/arm"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/webhook"
)

// block is a range of addresses with its place in the manifest.
type block struct {
	netip.Prefix
	what string
	at   lint.Value
}

// blocks parses ranges. It skips invalid ones, which check PRE201 reports.
func blocks(what string, list lint.Value) []block {
	var out []block
	for _, v := range list.Items() {
		if prefix, err := netip.ParsePrefix(v.Str()); err == nil {
			out = append(out, block{prefix.Masked(), what, v})
		}
	}
	return out
}

func (c *Cluster) pods() lint.Value {
	return c.Object.Root.At("spec", "clusterNetwork", "pods", "cidrBlocks")
}

func (c *Cluster) services() lint.Value {
	return c.Object.Root.At("spec", "clusterNetwork", "services", "cidrBlocks")
}

// subnets returns the ranges of the nodes' subnets, including defaults.
func (c *Cluster) subnets() []block {
	var out []block
	if c.Azure == nil {
		return nil
	}
	for i, s := range c.Azure.Spec.NetworkSpec.Subnets {
		out = append(out, prefixes("subnet "+s.Name, s.CIDRBlocks,
			in(c.Infra, fmt.Sprintf("spec.networkSpec.subnets[%d].cidrBlocks", i)))...)
	}
	return out
}

func (c *Cluster) vnet() []block {
	if c.Azure == nil {
		return nil
	}
	v := c.Azure.Spec.NetworkSpec.Vnet
	return prefixes("virtual network "+v.Name, v.CIDRBlocks, in(c.Infra, "spec.networkSpec.vnet.cidrBlocks"))
}

func prefixes(what string, list []string, at lint.Value) []block {
	var out []block
	for _, text := range list {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			out = append(out, block{prefix.Masked(), what, at})
		}
	}
	return out
}

// nodeMask is the default prefix length of each node's pod range. Source: --node-cidr-mask-size of
// kube-controller-manager.
const nodeMask = 24

// serviceBits is the maximum number of host bits in a range of Services. Source: kubernetes
// cmd/kube-apiserver/app/options/validation.go.
const serviceBits = 20

// networks returns the checks of address ranges.
func (c checker) networks() []lint.Rule {
	return []lint.Rule{
		{
			ID: "PRE201", Severity: lint.Error, Title: "A range that is none", Oracle: lint.Unit,
			Doc: "Ranges of pods and Services are written as CIDR, such as 10.96.0.0/12, and that of Services " +
				"has at most 20 bits for addresses, or the API server does not start. Source: kubernetes " +
				"cmd/kube-apiserver/app/options/validation.go.",
			Check: c.eachCluster(checkPRE201),
		},
		{
			ID: "PRE202", Severity: lint.Error, Title: "Ranges that overlap", Oracle: lint.Unit,
			Doc: "Pods are apart from Services and from the subnets of the nodes. Services in a subnet's range " +
				"are a warning: a cluster works so, as CAPZ's own dual-stack template does, until an address " +
				"of a Service hides that of a machine. The virtual network may be larger than its subnets and " +
				"hold the Services, as the defaults do; pods inside of it, but outside of its subnets, are a " +
				"warning, as a later subnet may meet them, unless the CNI is Azure's, which takes pods' " +
				"addresses from it.",
			Check: c.eachCluster(checkPRE202),
		},
		{
			ID: "PRE203", Severity: lint.Error, Title: "Too few ranges for the nodes", Oracle: lint.Unit,
			Doc: "The controller manager gives each node a /24 of the pods' range, unless --node-cidr-mask-size " +
				"or --allocate-node-cidrs say otherwise; nodes beyond the last one get none, and stay " +
				"NotReady. Source: " +
				"kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager.",
			Check: c.eachCluster(checkPRE203),
		},
		{
			ID: "PRE204", Severity: lint.Error, Title: "A peering that overlaps", Oracle: lint.Unit,
			Doc: "Virtual networks that are peered may not overlap: Azure refuses the peering. Pods and " +
				"Services in a peered network's range are unreachable from it, or it from them: a warning. " +
				"Source: learn.microsoft.com/azure/virtual-network/virtual-network-peering-overview.",
			Check: c.eachSubscription(peerings),
		},
		{
			ID: "PRE205", Severity: lint.Error, Title: "A network of one's own that is not there", Oracle: lint.Unit,
			Doc: "With a `vnet.resourceGroup` other than the cluster's, the virtual network and its subnets " +
				"are taken as they are: they exist before the cluster does, with the ranges that the manifest " +
				"says.",
			Check: c.eachSubscription(ownNetwork),
		},
		{
			ID: "PRE206", Severity: lint.Error, Title: "A subnet that the cluster does not have", Oracle: lint.Unit,
			Doc: "A machine's `networkInterfaces[].subnetName` is one of `spec.networkSpec.subnets` of its " +
				"AzureCluster. Admission refuses another where the cluster is there before the machine; a " +
				"template may come first.",
			Check: c.eachCluster(machineSubnets),
		},
		{
			ID: "PRE209", Severity: lint.Error, Title: "A network of one's own that keeps the cluster apart", Oracle: lint.Unit,
			Doc: "The security groups and route tables of a network that exists stay as they are, so they have to let the " +
				"cluster work: nodes and, with a public API server, the internet reach the control plane at the API server's " +
				"port, and the load balancer's probe as well. Without a rule that lets it in, Azure's default rule " +
				"DenyAllInBound keeps the internet out. Source: " +
				"learn.microsoft.com/azure/virtual-network/network-security-groups-overview.",
			Check: c.eachSubscription(ownWay),
		},
		{
			ID: "PRE210", Severity: lint.Error, Title: "A subnet of one's own without addresses", Oracle: lint.Unit,
			Doc: "Each machine takes an address of its subnet, Azure keeps five, and what else is in the subnet has its own. " +
				"Azure answers SubnetIsFull when none is left. Source: " +
				"learn.microsoft.com/azure/virtual-network/virtual-networks-faq.",
			Check: c.eachSubscription(ownRoom),
		},
		{
			ID: "PRE211", Severity: lint.Warning, Title: "A network of one's own with name servers of its own", Oracle: lint.Unit,
			Doc: "Machines ask the name servers of their network. The name of an internal API server is in a private DNS " +
				"zone, which Azure's own 168.63.129.16 answers alone: the network's servers have to forward to it. Source: " +
				"learn.microsoft.com/azure/private-link/private-endpoint-dns.",
			Check: c.eachSubscription(ownNames),
		},
	}
}

func checkPRE201(p *lint.Pass, c *Cluster) {
	for _, list := range []lint.Value{c.pods(), c.services()} {
		for _, v := range list.Items() {
			if _, err := netip.ParsePrefix(v.Str()); err != nil {
				p.Report(c.Object, v, fmt.Sprintf("%q is no range of addresses", v.Str()), say("such as 10.96.0.0/12"))
			}
		}
	}
	for _, b := range blocks("", c.services()) {
		if host := b.Addr().BitLen() - b.Bits(); host > serviceBits {
			p.Report(c.Object, b.at, fmt.Sprintf("%s is too large for Services: the API server "+
				"takes %d bits of addresses and these are "+
				"%d", b.Prefix, serviceBits, host), say("such as 10.96.0.0/12"))
		}
	}
}

func checkPRE202(p *lint.Pass, c *Cluster) {
	pods, services := blocks("pods", c.pods()), blocks("services", c.services())
	overlap(p, lint.Error, c.Object, pods, services)
	overlap(p, lint.Warning, c.Object, services, c.subnets())
	if strings.HasPrefix(c.Object.Root.At("metadata", "labels", "cni").Str(), "azure") {
		return
	}
	if !overlap(p, lint.Error, c.Object, pods, c.subnets()) {
		overlap(p, lint.Warning, c.Object, pods, c.vnet())
	}
}

func checkPRE203(p *lint.Pass, c *Cluster) {
	nodes := 0
	for _, m := range c.Machines {
		nodes += m.Replicas
		if m.ControlPlane && ownMask(m) {
			return
		}
	}
	for _, b := range blocks("pods", c.pods()) {
		room := 0
		if b.Bits() <= nodeMask {
			room = 1 << min(nodeMask-b.Bits(), bits.UintSize-2)
		}
		if b.Addr().Is4() && room < nodes {
			p.Report(c.Object, b.at, fmt.Sprintf("%s has room for nodes: %d with a /%d each, and there are %d",
				b.Prefix, room, nodeMask,
				nodes), say("a larger range, or node-cidr-mask-size of the controller manager"))
		}
	}
}

// machineSubnets reports interfaces that refer to nonexistent subnets.
func machineSubnets(p *lint.Pass, c *Cluster) {
	if c.Azure == nil {
		return
	}
	for _, m := range c.Machines {
		if m.Infra == nil {
			continue
		}
		for _, e := range webhook.UnknownSubnets(c.Azure, m.Spec.NetworkInterfaces, field.NewPath("networkInterfaces")) {
			p.Report(m.Infra, m.At.Find(e.Field), e.ErrorBody(), say("the name of a subnet of the AzureCluster"))
		}
	}
}

// ownMask reports whether a control plane sets the size of the nodes' ranges.
func ownMask(m *Machines) bool {
	args, err := m.Owner.Root.At("spec", "kubeadmConfigSpec", "clusterConfiguration", "controllerManager", "extraArgs").JSON()
	return err == nil && (strings.Contains(string(args), "node-cidr-mask-size") || strings.Contains(string(args), "allocate-node-cidrs"))
}

// overlap reports the first pair of overlapping ranges.
func overlap(p *lint.Pass, severity lint.Severity, o *lint.Object, ours, others []block) bool {
	for _, a := range ours {
		for _, b := range others {
			if a.Overlaps(b.Prefix) {
				p.ReportAs(severity, o, a.at,
					fmt.Sprintf("%s %s overlaps with %s %s", a.what, a.Prefix, b.what, b.Prefix),
					say("ranges that are apart"))
				return true
			}
		}
	}
	return false
}

// live returns an existing virtual network of the subscription.
func (s *Subscription) live(group, name string) (vnet, bool) {
	id := "/subscriptions/" + s.ID + "/resourceGroups/" + group + "/providers/Microsoft.Network/virtualNetworks/" + name
	i := slices.IndexFunc(s.vnets, func(v vnet) bool { return arm.Key(v.ID) == arm.Key(id) })
	if i < 0 {
		return vnet{}, false
	}
	return s.vnets[i], true
}

func peerings(p *lint.Pass, c *Cluster, s *Subscription) {
	for i, peering := range c.Azure.Spec.NetworkSpec.Vnet.Peerings {
		at := in(c.Infra, fmt.Sprintf("spec.networkSpec.vnet.peerings[%d].remoteVnetName", i))
		remote, ok := s.live(peering.ResourceGroup, peering.RemoteVnetName)
		if !ok {
			if !s.networksUnknown() {
				p.Report(c.Infra, at, fmt.Sprintf("there is no virtual network %s in resource group %s to peer with",
					peering.RemoteVnetName,
					peering.ResourceGroup), say("its name and resource group, or create it first (on the local "+
					"plane: casement azure prepare FILE)"))
			}
			continue
		}
		theirs := prefixes("peered network "+peering.RemoteVnetName, remote.Properties.AddressSpace.AddressPrefixes, at)
		ours := c.vnet()
		for i := range ours {
			ours[i].at = at
		}
		if overlap(p, lint.Error, c.Infra, ours, theirs) {
			continue
		}
		overlap(p, lint.Warning, c.Object, blocks("pods", c.pods()), theirs)
		overlap(p, lint.Warning, c.Object, blocks("services", c.services()), theirs)
	}
}

// networksUnknown reports whether nothing is known about the subscription's networks, for any reason.
func (s *Subscription) networksUnknown() bool { return s.Err != nil || len(s.Unasked) > 0 }
