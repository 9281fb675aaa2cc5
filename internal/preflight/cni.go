package preflight

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
)

// cni returns the checks of the cluster's pod network.
func (c checker) cni() []lint.Rule {
	return []lint.Rule{
		{
			ID: "PRE207", Severity: lint.Error, Title: "A security group that cuts the network of pods", Oracle: lint.Unit,
			Doc: "Nodes reach one another at the ports of their CNI, such as UDP 4789 for VXLAN. Azure's own rules let " +
				"the virtual network through; a rule of `securityGroup.securityRules` that denies that port and comes " +
				"first leaves nodes Ready whose pods reach no other node. Source: " +
				"learn.microsoft.com/azure/virtual-network/network-security-groups-overview; the ports are in " +
				"docs/reference/cni.md.",
			Check: c.eachCluster(securityGroups),
		},
		{
			ID: "PRE208", Severity: lint.Error, Title: "A network that Windows machines cannot have", Oracle: lint.Unit,
			Doc: "The network that the Cluster's labels ask for has addons for some versions of Kubernetes and Windows, " +
				"and Flannel's host-gw does not work on Azure. docs/reference/cni.md has what there is, and why the " +
				"rest is refused.",
			Check: func(p *lint.Pass) { c.eachCluster(networkOfWindows)(p); c.hostGateways(p) },
		},
		{
			ID: "PRE212", Severity: lint.Error, Title: "Flannel without ranges of nodes", Oracle: lint.Unit,
			Doc: "Flannel takes each node's range from the Node's spec.podCIDR, which the controller manager writes unless it has " +
				"--allocate-node-cidrs=false or no range of pods. Without it its pods end with \"node pod cidr not assigned\". " +
				"Source: github.com/flannel-io/flannel, Documentation/kubernetes.md.",
			Check: c.eachCluster(flannelRanges),
		},
	}
}

// windowsMachines returns a cluster's groups of machines with Windows.
func (c *Cluster) windowsMachines() []*Machines {
	return slices.DeleteFunc(slices.Clone(c.Machines), func(m *Machines) bool { return !m.Windows() })
}

// network returns the pod network that the Cluster's labels select.
func (c *Cluster) network() (windows.Network, bool) {
	labels := map[string]string{}
	for _, f := range c.Object.Root.At("metadata", "labels").Fields() {
		labels[f.Key] = f.Value.Str()
	}
	return windows.NetworkByLabels(labels)
}

func networkOfWindows(p *lint.Pass, c *Cluster) {
	n, ok := c.network()
	if !ok {
		return
	}
	at := c.Object.Root.At("metadata", "labels", "cni")
	for _, m := range c.windowsMachines() {
		if v := parsed(versionOf(m, c)); v != nil && n.Until > 0 && int(v.Minor()) >= n.Until {
			p.Report(c.Object, at, fmt.Sprintf("the addons of %s are for Kubernetes below 1.%d, and %s has %s",
				n.Name, n.Until, m.Owner.Name, v), say("cni: calico"))
			return
		}
		if on, ok := contents(m, c); ok && on.OS == windows.OSWindows && !n.TakesRelease(on.Release.Name) {
			p.Report(c.Object, at, fmt.Sprintf("the addons of %s are for Windows Server %s, and %s has %s",
				n.Name, strings.Join(n.Releases, ", "), m.Owner.Name, on.Release.Name), say("cni: calico"))
			return
		}
	}
}

// hostGateways reports configurations of Flannel that use routes instead of an overlay.
func (c checker) hostGateways(p *lint.Pass) {
	if !slices.ContainsFunc(c.plan.Clusters, func(c *Cluster) bool { return len(c.windowsMachines()) > 0 }) {
		return
	}
	refused, _ := windows.NetworkByPlugin("win-bridge")
	for _, o := range p.Set.Kind("ConfigMap") {
		at := o.Root.At("data", "net-conf.json")
		var conf struct{ Backend struct{ Type string } }
		if at.Exists() && yaml.Unmarshal([]byte(at.Str()), &conf) == nil && conf.Backend.Type == "host-gw" {
			p.Report(o, at, "pods of other nodes are not reached: "+refused.Refused,
				say(`"Type": "vxlan", "VNI": 4096, "Port": 4789, or another CNI`))
		}
	}
}

// flannelRanges reports a cluster with Flannel, according to its labels, a chart or a manifest, whose nodes get no pod range.
func flannelRanges(p *lint.Pass, c *Cluster) {
	n, labelled := c.network()
	if !slices.Contains(n.Addons, "flannel") || !labelled {
		charts := slices.ContainsFunc(p.Set.Kind("HelmChartProxy"), func(o *lint.Object) bool {
			return o.Root.At("spec", "chartName").Str() == "flannel"
		})
		manifests := slices.ContainsFunc(p.Set.Kind("ConfigMap"), func(o *lint.Object) bool {
			return o.Name == "kube-flannel-cfg"
		})
		if !charts && !manifests {
			return
		}
	}
	if len(c.pods().Items()) == 0 {
		p.Report(c.Object, c.Object.Root.At("spec"), "Flannel needs a range of pods for each node, and the Cluster has no "+
			"spec.clusterNetwork.pods", say("cidrBlocks: [10.244.0.0/16], as net-conf.json has it"))
	}
	for _, m := range c.Machines {
		args := m.Owner.Root.At("spec", "kubeadmConfigSpec", "clusterConfiguration", "controllerManager", "extraArgs")
		if at, ok := argument(args, "allocate-node-cidrs"); m.ControlPlane && ok && at.Str() == "false" {
			p.Report(m.Owner, at, "Flannel needs a range of pods for each node, and the controller manager gives none",
				say(`allocate-node-cidrs: "true", or without it`))
		}
	}
}

// argument returns the value of a component's argument: arguments are a list of name and value in kubeadm's v1beta4 and
// Cluster API's v1beta2, and a map in earlier versions.
func argument(args lint.Value, name string) (lint.Value, bool) {
	if v := args.At(name); v.Exists() {
		return v, true
	}
	for _, a := range args.Items() {
		if a.At("name").Str() == name {
			return a.At("value"), true
		}
	}
	return lint.Value{}, false
}

// securityGroups reports rules that deny the ports of a CNI between the nodes' subnets.
func securityGroups(p *lint.Pass, c *Cluster) {
	n, ok := c.network()
	if !ok || c.Azure == nil || len(c.windowsMachines()) == 0 {
		return
	}
	ranges := c.subnets()
	for i, s := range c.Azure.Spec.NetworkSpec.Subnets {
		rules := slices.Clone(s.SecurityGroup.SecurityRules)
		slices.SortStableFunc(rules, func(a, b infrav1.SecurityRule) int { return cmp.Compare(a.Priority, b.Priority) })
		for _, port := range n.Ports {
			for _, direction := range []infrav1.SecurityRuleDirection{
				infrav1.SecurityRuleDirectionInbound, infrav1.SecurityRuleDirectionOutbound,
			} {
				j := slices.IndexFunc(rules, func(r infrav1.SecurityRule) bool {
					return r.Direction == direction && decides(r, port, ranges)
				})
				if j < 0 || rules[j].Action != infrav1.SecurityRuleActionDeny {
					continue
				}
				p.Report(c.Infra, in(c.Infra, fmt.Sprintf("spec.networkSpec.subnets[%d].securityGroup.securityRules", i)),
					fmt.Sprintf("rule %s denies %s %d (%s), by which nodes of %s reach the pods of one another",
						rules[j].Name, strings.ToUpper(port.Protocol), port.Number, port.What, n.Name),
					say(fmt.Sprintf("a rule of a smaller priority than %d that allows %s %d from VirtualNetwork",
						rules[j].Priority, strings.ToUpper(port.Protocol), port.Number)))
			}
		}
	}
}

// decides reports whether a security rule applies to a port between nodes.
func decides(r infrav1.SecurityRule, port windows.Port, nodes []block) bool {
	if r.Protocol != "*" && !strings.EqualFold(string(r.Protocol), port.Protocol) ||
		!hasPort(r.DestinationPorts, port.Number) || !hasPort(r.SourcePorts, port.Number) {
		return false
	}
	sources := r.Sources
	if r.Source != nil {
		sources = append(sources, r.Source)
	}
	return hasNodes(sources, nodes) && (r.Destination == nil || hasNodes([]*string{r.Destination}, nodes))
}

// hasPort reports whether a rule's ports (a port, a range, or * for all) include the port.
func hasPort(ports *string, number int) bool {
	if ports == nil || *ports == "*" || *ports == "" {
		return true
	}
	for one := range strings.SplitSeq(*ports, ",") {
		from, to, some := strings.Cut(strings.TrimSpace(one), "-")
		first, err := strconv.Atoi(from)
		last := first
		if some && err == nil {
			last, err = strconv.Atoi(to)
		}
		if err == nil && first <= number && number <= last {
			return true
		}
	}
	return false
}

// hasNodes reports whether a rule's addresses include some of the nodes' addresses; an empty list includes all.
func hasNodes(addresses []*string, nodes []block) bool {
	return len(addresses) == 0 || slices.ContainsFunc(addresses, func(address *string) bool {
		if *address == "*" || strings.EqualFold(*address, "VirtualNetwork") {
			return true
		}
		prefix, err := netip.ParsePrefix(*address)
		return err == nil && slices.ContainsFunc(nodes, func(b block) bool { return b.Overlaps(prefix) })
	})
}
