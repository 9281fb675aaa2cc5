package rules

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/internal/kubeflags"
	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/lint"
)

// defaultServices is the Service range of a Cluster that specifies none.
const defaultServices = "10.96.0.0/12"

// templated matches Helm expressions that insert a value; templateControl matches expressions that only control the template
// and insert no text.
var (
	templated       = regexp.MustCompile(`\{\{[^}]*\}\}`)
	templateControl = regexp.MustCompile(`\{\{-?\s*(range|if|else|end|with|define|block|/\*|\$\w+\s*:?=)[^}]*\}\}`)
)

// embedded parses YAML or JSON in a text field; for invalid text it returns an absent value. Positions are relative to the text.
func embedded(text string) lint.Value {
	var clean strings.Builder
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "{{") && strings.HasSuffix(trimmed, "}}") {
			continue
		}
		clean.WriteString("  " + strings.ReplaceAll(templated.ReplaceAllString(templateControl.ReplaceAllString(line, ""),
			"TEMPLATE"), "\t", "  "))
	}
	set, errs := lint.Parse("", []byte("apiVersion: v1\nkind: Embedded\ndata:\n"+clean.String()), lint.Options{})
	if len(errs) > 0 || len(set.Objects) != 1 {
		return lint.Value{}
	}
	return set.Objects[0].Root.At("data")
}

// demoCluster is the YAML of a cluster with Windows machines, for use before an addon.
var demoCluster = cluster("    services:\n      cidrBlocks: [10.96.0.0/12]\n") + workers(kuberelease.Default, "users: []\n") + "---\n"

// eachCalico runs check for Calico's Installations, and for values of its Helm chart, in sets with Windows machines. at
// converts a place to one at which a finding can be reported.
func eachCalico(check func(p *lint.Pass, o *lint.Object, spec lint.Value, at func(lint.Value) lint.Value)) func(*lint.Pass) {
	return func(p *lint.Pass) {
		var found []*lint.Object
		for _, o := range p.Set.Kind("Installation", "HelmChartProxy", "IPAMConfig", "IPAMConfiguration") {
			if o.Kind == "Installation" && strings.HasPrefix(o.APIVersion, "operator.tigera.io/") || o.Kind == "HelmChartProxy" &&
				o.OfClusterAPI() || strings.HasPrefix(o.Kind, "IPAMConfig") && strings.Contains(o.APIVersion, "projectcalico.org/") {
				found = append(found, o)
			}
		}
		if len(found) == 0 || !windowsMachines(p.Set) {
			return
		}
		for _, o := range found {
			values := o.Root.At("spec", "valuesTemplate")
			if o.Kind != "HelmChartProxy" {
				check(p, o, o.Root.At("spec"), func(v lint.Value) lint.Value { return v })
			} else if spec := embedded(values.Str()).At("installation"); spec.At("calicoNetwork").Exists() {
				check(p, o, spec, func(lint.Value) lint.Value { return values })
			}
		}
	}
}

// calico checks the settings of an Installation that Windows needs.
func calico(p *lint.Pass, o *lint.Object, spec lint.Value, at func(lint.Value) lint.Value) {
	if strings.HasPrefix(o.Kind, "IPAMConfig") {
		if v := spec.At("strictAffinity"); !v.True() {
			p.Report(o, v, "Windows nodes cannot borrow addresses of other nodes' blocks", say("strictAffinity: true"))
		}
		return
	}
	network, apart := spec.At("calicoNetwork"), windowsApart(p.Set)
	if v := network.At("windowsDataplane"); v.Str() != "HNS" && !apart {
		p.Report(o, at(v), "Calico has no data plane for Windows", say("windowsDataplane: HNS"))
	}
	services := serviceRanges(p.Set)
	switch v := spec.At("serviceCIDRs"); {
	case len(v.Items()) == 0 && apart:
	case len(v.Items()) == 0:
		p.Report(o, at(v), "Calico on Windows has to know the range of Services", say("serviceCIDRs: ["+strings.Join(services, ", ")+"]"))
	case len(services) > 0 && !slices.ContainsFunc(v.Strings(), func(s string) bool {
		return slices.Contains(services, s) ||
			strings.Contains(s, "TEMPLATE")
	}):
		p.Report(o, at(v), fmt.Sprintf("the cluster's Services are in %s", strings.Join(services, ", ")), say("the same range"))
	}
	overlay := false
	for _, pool := range network.At("ipPools").Items() {
		v := pool.At("encapsulation")
		overlay = overlay || strings.HasPrefix(v.Str(), "VXLAN")
		if strings.HasPrefix(v.Str(), "IPIP") || strings.HasSuffix(v.Str(), "CrossSubnet") {
			p.Report(o, at(v), "Calico on Windows cannot "+v.Str(), say("encapsulation: VXLAN"))
		}
	}
	if v := network.At("bgp"); v.Str() == "Enabled" && overlay {
		p.Report(o, at(v), "Calico on Windows has either VXLAN or BGP", say("bgp: Disabled"))
	}
}

// windowsApart reports whether a ClusterResourceSet installs the network of Windows nodes, so that the Installation is
// only for Linux.
func windowsApart(s *lint.Set) bool {
	return slices.ContainsFunc(ofKind(s, "ClusterResourceSet"), func(addon *lint.Object) bool {
		return windowsNetwork(addon) && slices.ContainsFunc(ofKind(s, "Cluster"), func(c *lint.Object) bool { return selects(addon, c) })
	})
}

// overlay reports whether the network in the input is VXLAN.
func overlay(s *lint.Set) bool {
	return slices.ContainsFunc(s.Kind("Installation", "ConfigMap"), func(o *lint.Object) bool {
		pools := o.Root.At("spec", "calicoNetwork", "ipPools").Items()
		conf := o.Root.At("data", "net-conf.json")
		return o.Kind == "Installation" && slices.ContainsFunc(pools,
			func(v lint.Value) bool { return strings.HasPrefix(v.At("encapsulation").Str(), "VXLAN") }) ||
			o.Kind == "ConfigMap" && conf.Exists() && strings.EqualFold(embedded(conf.Str()).At("Backend", "Type").Str(), "vxlan")
	})
}

// serviceRanges returns the Service ranges of the only Cluster in a set; none if there are several.
func serviceRanges(s *lint.Set) []string {
	all := ofKind(s, "Cluster")
	if len(all) != 1 {
		return nil
	}
	if blocks := all[0].Root.At("spec", "clusterNetwork", "services", "cidrBlocks").Strings(); len(blocks) > 0 {
		return blocks
	}
	return []string{defaultServices}
}

// eachFlannel runs check for Flannel's network configurations in sets with Windows machines or pods.
func eachFlannel(check func(p *lint.Pass, o *lint.Object, at, conf lint.Value)) func(*lint.Pass) {
	return func(p *lint.Pass) {
		for _, o := range p.Set.Kind("ConfigMap") {
			if at := o.Root.At("data", "net-conf.json"); at.Exists() && windowsMachines(p.Set) {
				check(p, o, at, embedded(at.Str()))
			}
		}
	}
}

// outboundNAT checks the exceptions in CNI configurations for Windows.
func outboundNAT(p *lint.Pass) {
	for _, o := range p.Set.Kind("ConfigMap") {
		for _, f := range o.Root.At("data").Fields() {
			if !strings.Contains(f.Value.Str(), "OutBoundNAT") {
				continue
			}
			conf := embedded(f.Value.Str())
			for _, plugin := range append(conf.At("plugins").Items(), conf) {
				for _, policy := range append(plugin.At("policies").Items(), plugin.At("AdditionalArgs").Items()...) {
					if value := policy.At("Value"); value.At("Type").Str() == "OutBoundNAT" {
						exceptions(p, o, f.Value, value.At("ExceptionList").Strings())
					} else if value := policy.At("value"); value.At("type").Str() == "OutBoundNAT" {
						exceptions(p, o, f.Value, slices.Concat(value.At("exceptionList").Strings(),
							value.At("settings", "exceptions").Strings()))
					}
				}
			}
		}
	}
}

// exceptions compares an ExceptionList with the networks of the set's Cluster.
func exceptions(p *lint.Pass, o *lint.Object, at lint.Value, list []string) {
	if slices.ContainsFunc(list, func(s string) bool { _, err := netip.ParsePrefix(s); return err != nil }) {
		return // a template variable that is not filled in yet
	}
	wanted := serviceRanges(p.Set)
	if all := ofKind(p.Set, "Cluster"); len(all) == 1 {
		wanted = append(wanted, all[0].Root.At("spec", "clusterNetwork", "pods", "cidrBlocks").Strings()...)
	}
	for _, network := range wanted {
		if prefix, err := netip.ParsePrefix(network); err == nil && prefix.Addr().Is4() && !slices.ContainsFunc(list, func(s string) bool {
			outer := netip.MustParsePrefix(s)
			return outer.Bits() <= prefix.Bits() && outer.Contains(prefix.Addr())
		}) {
			p.Report(o, at,
				fmt.Sprintf("%s is missing in the ExceptionList: traffic inside the cluster is translated", network),
				say("add it"))
		}
	}
	if len(wanted) == 0 && len(list) < 2 {
		p.Report(o, at, "the ExceptionList needs the pod network, the Service network and the nodes' subnet", say("add them"))
	}
}

// proxyImage matches an image of kube-proxy and the release in its tag.
var proxyImage = regexp.MustCompile(`kube-proxy[^:]*:v?(1\.\d+\.\d+)`)

// kubeProxyContainer checks a container that runs kube-proxy on Windows.
func kubeProxyContainer(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	v := c.At("image")
	tag := proxyImage.FindStringSubmatch(v.Str())
	if tag == nil {
		return
	}
	if want := clusterVersion(p); want != "" && want != tag[1] && !strings.HasPrefix(tag[1], want+".") {
		p.Report(pod.Object, v, fmt.Sprintf("kube-proxy %s in a cluster of %s: they have to be the same", tag[1], want),
			say("the cluster's version"))
	}
	line := strings.Join(slices.Concat(c.At("command").Strings(), c.At("args").Strings()), " ")
	named := strings.Contains(line, "hostname-override") || strings.Contains(line, "NODE_NAME") ||
		slices.ContainsFunc(c.At("env").Items(), func(e lint.Value) bool { return e.At("name").Str() == "NODE_NAME" })
	if !named {
		p.Report(pod.Object, c.At("env"), "kube-proxy does not learn the node's name, and deletes rules of others",
			say("NODE_NAME from spec.nodeName, or --hostname-override"))
	}
	if strings.Contains(line, "enable-dsr=false") && slices.ContainsFunc(p.Set.Kind("Service"),
		func(s *lint.Object) bool { return s.Root.At("spec", "externalTrafficPolicy").Str() == "Local" }) {
		p.Report(pod.Object, c.At("args"), "externalTrafficPolicy: Local needs direct server return, which is off",
			say("--enable-dsr=true"))
	}
	for _, v := range append(c.At("command").Items(), c.At("args").Items()...) {
		for word := range strings.FieldsSeq(v.Str()) {
			flag, ok := strings.CutPrefix(word, "--")
			flag, _, _ = strings.Cut(flag, "=")
			if gone, known := kubeflags.Dropped("kube-proxy", flag); ok && known && p.Target.AtLeast(gone) {
				p.ReportAs(lint.Error, pod.Object, v, fmt.Sprintf("kube-proxy has no --%s since 1.%d and does not start with it", flag, gone),
					say("take it out"))
			}
		}
	}
	if strings.Contains(line, "--config") && !strings.Contains(line, "kernelspace") {
		sharedProxyMode(p, pod, c)
	}
}

// sharedMode is the first minor version whose kubeadm writes a mode into the ConfigMap kube-proxy. Source: kubernetes 139777.
const sharedMode = 37

// sharedProxyMode checks the mode in ConfigMaps that a kube-proxy on Windows reads.
func sharedProxyMode(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	for _, m := range c.At("volumeMounts").Items() {
		name := pod.Volume(m.At("name").Str()).At("configMap", "name")
		if !name.Exists() {
			continue
		}
		mode, found := "", false
		for _, o := range p.Set.Named("ConfigMap", pod.Object.Namespace, name.Str()) {
			for _, f := range o.Root.At("data").Fields() {
				if strings.Contains(f.Value.Str(), "kernelspace") {
					return
				}
				if conf := embedded(f.Value.Str()); conf.At("kind").Str() == "KubeProxyConfiguration" {
					mode, found = conf.At("mode").Str(), true
				}
			}
		}
		switch {
		case mode != "":
			p.ReportAs(lint.Error, pod.Object, name, fmt.Sprintf("kube-proxy on Windows has no mode %s, which this ConfigMap sets", mode),
				say("a ConfigMap of its own with mode: kernelspace"))
		case !found && name.Str() == "kube-proxy" && p.Target.AtLeast(sharedMode):
			p.Report(pod.Object, name, "kubeadm writes mode: iptables into this ConfigMap from 1.37 on, with which kube-proxy on Windows exits",
				say("a ConfigMap of its own with mode: kernelspace, or a script that sets it"))
		}
	}
}

// clusterVersion returns the version of the only control plane in the set, otherwise the target's minor version; "" if
// neither is known.
func clusterVersion(p *lint.Pass) string {
	planes := ofKind(p.Set, "KubeadmControlPlane")
	if len(planes) == 1 {
		if v := strings.TrimPrefix(planes[0].Root.At("spec", "version").Str(), "v"); v != "" && !unfilled(v) {
			return v
		}
	}
	if len(planes) == 0 && p.Target.Minor > 0 {
		return fmt.Sprintf("1.%d", p.Target.Minor)
	}
	return ""
}

func installation(network string) string {
	return "apiVersion: operator.tigera.io/v1\nkind: Installation\nmetadata:\n  name: default\nspec:\n  calicoNetwork:\n" +
		"    bgp: Disabled\n" + network
}

func flannel(backend string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kube-flannel-cfg\ndata:\n  net-conf.json: |\n" +
		"    {\"Network\": \"10.244.0.0/16\", \"Backend\": {" + backend + "}}\n"
}

func cniConf(exceptions string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cni\ndata:\n  cni.conf: |\n" +
		"    {\"type\": \"win-bridge\", \"policies\": [{\"Name\": \"EndpointPolicy\", \"Value\": {\"Type\": \"OutBoundNAT\", " +
		"\"ExceptionList\": [\"" + exceptions + "\"]}}]}\n"
}

func kubeProxy(version, lines string) string {
	return windowsPod + "  containers:\n  - name: kube-proxy\n    image: ghcr.io/example/kube-proxy:" + version +
		"-calico-hostprocess\n" + lines
}
