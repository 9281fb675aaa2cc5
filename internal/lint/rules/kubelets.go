package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"casement.dev/casement/internal/kubechange"
	"casement.dev/casement/internal/lint"
)

// configuration is a configuration of the kubelet or of kubeadm in any form: a separate document, the text of a
// ConfigMap, or a file that machines get.
type configuration struct {
	object *lint.Object
	// text is the value at which findings are reported; it does not exist for a document, in which findings are
	// reported at the values themselves.
	text lint.Value
	conf lint.Value
	// own is true for a configuration that is only for Windows machines.
	own bool
	// target is the release of the machines that read the configuration; unsure is true if the release is a template variable.
	target lint.Target
	unsure bool
}

// at returns the value at which a finding about a value of the configuration is reported.
func (c configuration) at(v lint.Value) lint.Value {
	if c.text.Exists() {
		return c.text
	}
	return v
}

// configurations returns the configurations of a group of kinds in a set, such as kubelet.config.k8s.io. kubeadm
// applies the configurations of control planes and of documents on all systems; patch is the prefix of the names of
// kubeadm's patches.
func configurations(p *lint.Pass, group, patch string) []configuration {
	var out []configuration
	is := func(v lint.Value) bool { return strings.HasPrefix(v.At("apiVersion").Str(), group+"/") }
	for _, o := range p.Set.Objects {
		if strings.HasPrefix(o.APIVersion, group+"/") {
			out = append(out, configuration{object: o, conf: o.Root, target: p.Target})
		}
		if o.Kind != "ConfigMap" {
			continue
		}
		for _, f := range o.Root.At("data").Fields() {
			if !strings.Contains(f.Value.Str(), group+"/") {
				continue
			}
			for _, conf := range documents(f.Value.Str()) {
				if is(conf) {
					out = append(out, configuration{object: o, text: f.Value, conf: conf, target: p.Target})
				}
			}
		}
	}
	seen := map[*lint.Object]bool{nil: true}
	for _, m := range groups(p.Set) {
		if seen[m.config] {
			continue
		}
		seen[m.config] = true
		for _, f := range m.kubeadm().At("files").Items() {
			content := f.At("content")
			patched := patch != "" && strings.HasPrefix(path.Base(strings.ReplaceAll(f.At("path").Str(), `\`, "/")), patch)
			if !patched && !strings.Contains(content.Str(), group+"/") || patched && !m.windows() { // a patch only applies to its own machine
				continue
			}
			for _, conf := range documents(content.Str()) {
				if patched || is(conf) {
					out = append(out, configuration{m.config, content, conf, m.windows(), m.target(p.Target), unfilled(m.version.Str())})
				}
			}
		}
	}
	return out
}

// documents parses the documents of a text field.
func documents(text string) []lint.Value {
	var out []lint.Value
	for doc := range strings.SplitSeq("\n"+text, "\n---") {
		if v := embedded(strings.TrimPrefix(doc, "\n")); v.Exists() {
			out = append(out, v)
		}
	}
	return out
}

// field returns the value at a path such as evictionHard.memory.available: the first part is a field, and the rest is a
// key in it. In a JSON patch, it is the value that the patch sets.
func (c configuration) field(name string) lint.Value {
	first, rest, nested := strings.Cut(name, ".")
	for _, item := range c.conf.Items() {
		if item.At("op").Str() != "remove" && strings.EqualFold(item.At("path").Str(), "/"+strings.TrimSuffix(first+"/"+rest, "/")) {
			return item.At("value")
		}
	}
	if nested {
		return c.conf.At(first, rest)
	}
	return c.conf.At(first)
}

// scalar returns a value in the form for kubechange: "" for an empty text, list or map.
func scalar(v lint.Value) string {
	switch {
	case v.IsList():
		return strings.Join(v.Strings(), ",")
	case v.IsMap() && len(v.Fields()) > 0:
		return "{}"
	}
	return v.Str()
}

// win828: Settings of the kubelet that Windows does not accept.
var win828 = lint.Rule{
	ID:       "WIN828",
	Severity: lint.Error,
	Title:    "A kubelet setting that Windows does not take",
	Oracle:   lint.Unit,
	Doc: "A Windows kubelet exits at its start when its configuration has `singleProcessOOMKill` (from 1.32), " +
		"`userNamespaces` (from 1.33) or `defaultPodSysctls` (from 1.37), whatever their values. kubeadm shares one " +
		"kubelet-config among the machines of a cluster, so a setting for Linux stops every Windows machine that joins. " +
		"Give it to the Linux machines by a patch of kubeadm. What Windows ignores, such as settings of cgroups, is an " +
		"info. Documents, the ConfigMap kubelet-config, files, patches and flags are looked at. Source: kubernetes " +
		"pkg/kubelet/apis/config/validation/validation_windows.go; the table of changes in docs/reference/kubernetes.md.",
	Bad:   workers("v1.37.2", "users: []\n") + "---\n" + kubeletConfig("singleProcessOOMKill: false"),
	Good:  workers("v1.37.2", "users: []\n") + "---\n" + kubeletConfig("maxPods: 60"),
	Check: checkWIN828,
}

// kubeletConfig returns the shared configuration of the kubelets, for kubeadm, with a line.
func kubeletConfig(line string) string {
	return "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n" + line + "\n"
}

// kubeletConfigurations returns the configurations of kubelets, or none if nothing in the set is for Windows.
func kubeletConfigurations(p *lint.Pass) []configuration {
	if !windowsMachines(p.Set) && len(p.Target.Windows) == 0 && !p.Target.Mixed {
		return nil
	}
	return configurations(p, "kubelet.config.k8s.io", "kubeletconfiguration")
}

func checkWIN828(p *lint.Pass) {
	for _, c := range kubeletConfigurations(p) {
		for _, s := range kubechange.SettingsAt(c.target.Minor) {
			v := c.field(s.Path)
			if !v.Exists() || !s.Matches(scalar(v)) || s.Usual && !c.own || c.target.Gates[s.Unless] ||
				c.conf.At("featureGates", s.Unless).True() {
				continue
			}
			who := "kubeadm gives it to Windows machines too, whose kubelet "
			if c.own {
				who = "the kubelet on Windows "
			}
			p.ReportAs(settingSeverity(s, c.unsure), c.object, c.at(v), s.Path+": "+who+s.Why, say("a patch of kubeadm for Linux machines alone"))
		}
	}
	eachBootstrap(func(p *lint.Pass, m machines, k lint.Value) {
		all := kubeletFlags(k)
		gates, _ := named(all, "feature-gates")
		for _, s := range kubechange.SettingsAt(m.target(p.Target).Minor) {
			f, ok := named(all, s.Flag)
			if _, signal, nested := strings.Cut(s.Path, "."); nested && !strings.Contains(f.value, signal+"<") {
				continue // a flag with thresholds writes them as SIGNAL<QUANTITY
			}
			if s.Flag == "" || !ok || !s.Matches(f.value) || s.Unless != "" && strings.Contains(gates.value, s.Unless+"=true") {
				continue
			}
			p.ReportAs(settingSeverity(s, unfilled(m.version.Str())), m.config, f.at, fmt.Sprintf("--%s: the kubelet on Windows %s", s.Flag,
				s.Why), f.drop("take it out"))
		}
	})(p)
}

func settingSeverity(s kubechange.Setting, unsure bool) lint.Severity {
	switch {
	case s.Effect == kubechange.Ignored:
		return lint.Info
	case s.Effect == kubechange.Harmful || unsure:
		return lint.Warning
	}
	return lint.Error
}

// win829: A configuration that kubeadm does not read.
var win829 = lint.Rule{
	ID:       "WIN829",
	Severity: lint.Error,
	Title:    "A configuration that kubeadm does not read",
	Oracle:   lint.Unit,
	Doc: "kubeadm stops at a version of its configuration that it does not know: v1beta3 went with 1.37, v1beta2 with " +
		"1.27, and v1beta4 came with 1.31. So it does at a feature gate of its own that is gone, such as PublicKeysECDSA " +
		"from 1.37. Cluster API writes the version that fits; this is for files, documents and the ConfigMap kubeadm-config. " +
		"`kubeadm config migrate` of a release that knows both rewrites a file. A document that names no release is held " +
		"to the newest, with a warning. Source: kubernetes cmd/kubeadm/app/apis/kubeadm, cmd/kubeadm/app/features; #136016.",
	Bad:   kubeadmConfig("v1beta3"),
	Good:  kubeadmConfig("v1beta4"),
	Check: checkWIN829,
}

func kubeadmConfig(version string) string {
	return "apiVersion: kubeadm.k8s.io/" + version + "\nkind: ClusterConfiguration\nkubernetesVersion: v1.37.2\n"
}

func checkWIN829(p *lint.Pass) {
	for _, c := range configurations(p, "kubeadm.k8s.io", "") {
		asked := machines{version: c.conf.At("kubernetesVersion")}
		t := asked.target(c.target)
		severity := lint.Error
		if c.unsure || t.Minor == 0 {
			severity = lint.Warning
		}
		v := c.conf.At("apiVersion")
		_, version, _ := strings.Cut(v.Str(), "/")
		if known, ok := kubechange.ConfigVersion(version); !ok || !known.Holds(t.Minor) {
			p.ReportAs(severity, c.object, c.at(v), unread(t, version, known, ok), say("kubeadm.k8s.io/v1beta4, by kubeadm config migrate"))
		}
		kubeadmGates(p, c.object, c.conf.At("featureGates"), c.at, t, severity)
		if version == "v1beta4" {
			registration(p, c, severity)
		}
	}
	seen := map[*lint.Object]bool{nil: true}
	for _, m := range groups(p.Set) {
		if seen[m.config] {
			continue
		}
		seen[m.config] = true
		severity := lint.Error
		if unfilled(m.version.Str()) {
			severity = lint.Warning
		}
		kubeadmGates(p, m.config, m.kubeadm().At("clusterConfiguration", "featureGates"), func(v lint.Value) lint.Value { return v },
			m.target(p.Target), severity)
	}
}

// registrationFields are the fields of nodeRegistration in v1beta4.
// Source: kubernetes cmd/kubeadm/app/apis/kubeadm/v1beta4/types.go.
var registrationFields = []string{
	"name", "criSocket", "taints", "kubeletExtraArgs", "ignorePreflightErrors", "imagePullPolicy", "imagePullSerial",
}

// joinFields are the fields of a JoinConfiguration of v1beta4, and timeoutFields the fields of its timeouts. Source:
// kubernetes cmd/kubeadm/app/apis/kubeadm/v1beta4/types.go.
var (
	joinFields = []string{"apiVersion", "kind", "dryRun", "nodeRegistration", "caCertPath", "discovery", "controlPlane", "skipPhases",
		"patches", "timeouts"}
	timeoutFields = []string{"controlPlaneComponentHealthCheck", "kubeletHealthCheck", "kubernetesAPICall", "etcdAPICall", "tlsBootstrap",
		"discovery", "upgradeManifests"}
)

// registration reports fields of a machine's nodeRegistration that kubeadm does not accept in v1beta4.
func registration(p *lint.Pass, c configuration, severity lint.Severity) {
	node := c.conf.At("nodeRegistration")
	if args := node.At("kubeletExtraArgs"); args.IsMap() && len(args.Fields()) > 0 {
		p.ReportAs(severity, c.object, c.at(args), "kubeadm stops here: kubeletExtraArgs of v1beta4 is a list of name and value, not a map",
			say("- name: FLAG, value: VALUE"))
	}
	if socket := node.At("criSocket"); c.own && strings.HasPrefix(socket.Str(), "unix:") {
		p.ReportAs(severity, c.object, c.at(socket), "criSocket: Windows has no sockets of files", say("npipe:////./pipe/containerd-containerd"))
	}
	if v := c.conf.At("controlPlane"); c.own && v.Exists() {
		p.ReportAs(severity, c.object, c.at(v), "a control plane does not run on Windows", say("take it out"))
	}
	unknown := func(in lint.Value, prefix string, known []string) {
		for _, f := range in.Fields() {
			if !slices.Contains(known, f.Key) && !unfilled(f.Key) {
				p.ReportAs(lint.Warning, c.object, c.at(f.Value), "kubeadm ignores "+prefix+f.Key+", which v1beta4 does not have",
					say("one of "+strings.Join(known, ", ")))
			}
		}
	}
	unknown(node, "nodeRegistration.", registrationFields)
	unknown(c.conf.At("timeouts"), "timeouts.", timeoutFields)
	if c.conf.At("kind").Str() == "JoinConfiguration" {
		unknown(c.conf, "", joinFields)
	}
}

func unread(t lint.Target, version string, known kubechange.Config, ok bool) string {
	if !ok {
		return fmt.Sprintf("kubeadm has no version %s of its configuration", version)
	}
	return fmt.Sprintf("kubeadm of %s does not read %s, which is for Kubernetes %s", release(t), version, known.Span)
}

func kubeadmGates(p *lint.Pass, o *lint.Object, gates lint.Value, at func(lint.Value) lint.Value, t lint.Target, s lint.Severity) {
	for _, g := range gates.Fields() {
		if known, ok := kubechange.Features(g.Key); ok && !known.Holds(t.Minor) {
			p.ReportAs(s, o, at(g.Value), fmt.Sprintf("kubeadm of %s has no feature gate %s: it is for Kubernetes %s", release(t), g.Key, known),
				say("take it out"))
		}
	}
}

// release returns the name of a target's Kubernetes release.
func release(t lint.Target) string {
	if t.Minor == 0 {
		return "the newest release"
	}
	return fmt.Sprintf("1.%d", t.Minor)
}

// win327: Fields of volumes without effect on Windows.
var win327 = lint.Rule{
	ID:       "WIN327",
	Severity: lint.Warning,
	Title:    "Fields of volumes without effect on Windows",
	Oracle:   lint.Unit,
	Doc: "`emptyDir.mode`, `bindMountOptions` of a mount, and `user` and `defaultUser` of volumes with files are of 1.37, " +
		"alpha, and of Linux: Windows has no modes, no such options of mounts and no owners by number. Take them out. " +
		"Source: kubernetes staging/src/k8s.io/api/core/v1/types.go of 1.37.",
	Bad:  withVolume("    emptyDir:\n      mode: 0750\n"),
	Good: withVolume("    emptyDir: {}\n"),
	Pod:  checkWIN327,
}

func checkWIN327(p *lint.Pass, pod *lint.Pod) {
	for _, f := range kubechange.Fields() {
		places := []string{f.At}
		if rest, ok := strings.CutPrefix(f.At, "containers[]"); ok {
			places = []string{f.At, "initContainers[]" + rest, "ephemeralContainers[]" + rest}
		}
		for _, place := range places {
			for _, v := range valuesAt(pod.Spec, strings.Split(place, ".")) {
				p.Report(pod.Object, v, "no effect on Windows: "+f.Why, safe("take it out", lint.Delete(v)))
			}
		}
	}
}

// valuesAt returns the values at a path, in which parts that end in [] are lists.
func valuesAt(v lint.Value, parts []string) []lint.Value {
	if !v.Exists() {
		return nil
	}
	if len(parts) == 0 {
		return []lint.Value{v}
	}
	name, list := strings.CutSuffix(parts[0], "[]")
	if !list {
		return valuesAt(v.At(name), parts[1:])
	}
	var out []lint.Value
	for _, item := range v.At(name).Items() {
		out = append(out, valuesAt(item, parts[1:])...)
	}
	return out
}

// severalSubPaths reports whether a container mounts more than one subPath.
func severalSubPaths(c lint.Container) bool {
	return len(slices.DeleteFunc(c.At("volumeMounts").Items(), func(m lint.Value) bool {
		return m.At("subPath").Str() == "" && m.At("subPathExpr").Str() == ""
	})) > 1
}
