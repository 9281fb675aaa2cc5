package rules

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"casement.dev/casement/internal/kubechange"
	"casement.dev/casement/internal/kubeflags"
	"casement.dev/casement/internal/lint"
)

const containerdPipe = "npipe:////./pipe/containerd-containerd"

// cloudTaint is the taint that the cloud provider removes when it has initialized a node.
const cloudTaint = "node.cloudprovider.kubernetes.io/uninitialized"

// linuxCommand matches a command line for a Linux shell.
var linuxCommand = regexp.MustCompile(`^\s*(sudo|bash|sh|sed|awk|systemctl|apt|apt-get|yum|dnf|modprobe|sysctl|` +
	`export|chmod|chown|ln|cat|ls|cp|mv|rm|touch|service|/\w+)(\s|/|$)|` +
	`(^|[\s"'=])/(etc|usr|var|opt|tmp|bin)/`)

// bashScript matches a command line with which bash runs a script.
var bashScript = regexp.MustCompile(`^\s*bash(\.exe)?\s+(-c\s+)?["']?[\w./\\:-]+\.sh["']?\s*$`)

// windowsShell matches programs that accept paths with slashes.
var windowsShell = regexp.MustCompile(`(?i)^\s*(powershell|pwsh|cmd)(\.exe)?\s`)

// cryptHash matches a password hash as in /etc/shadow.
var cryptHash = regexp.MustCompile(`^\$(1|2[aby]?|5|6|7|y|gy|sha1)\$`)

// extraArgs are the fields for flags in a kubeadm configuration, with the programs that get the flags.
var extraArgs = []struct {
	program string
	at      []string
}{
	{"kubelet", []string{"initConfiguration", "nodeRegistration", "kubeletExtraArgs"}},
	{"kubelet", []string{"joinConfiguration", "nodeRegistration", "kubeletExtraArgs"}},
	{"kube-apiserver", []string{"clusterConfiguration", "apiServer", "extraArgs"}},
	{"kube-controller-manager", []string{"clusterConfiguration", "controllerManager", "extraArgs"}},
	{"kube-scheduler", []string{"clusterConfiguration", "scheduler", "extraArgs"}},
}

// mentions reports whether flags, taints or files of a configuration contain a text.
func mentions(k lint.Value, text string) bool {
	has := func(v lint.Value) bool { return strings.Contains(v.Str(), text) }
	return slices.ContainsFunc(kubeletFlags(k), func(f arg) bool { return strings.Contains(f.value, text) }) ||
		slices.ContainsFunc(k.At("joinConfiguration", "nodeRegistration", "taints").Items(),
			func(v lint.Value) bool { return has(v.At("key")) }) ||
		slices.ContainsFunc(k.At("files").Items(), func(v lint.Value) bool { return has(v.At("content")) })
}

// reserves reports whether flags reserve at least 2Gi of memory for the system.
func reserves(all []arg) bool {
	total := resource.Quantity{}
	for _, name := range []string{"system-reserved", "kube-reserved"} {
		f, _ := named(all, name)
		for part := range strings.SplitSeq(f.value, ",") {
			if amount, ok := strings.CutPrefix(strings.TrimSpace(part), "memory="); ok {
				if q, err := resource.ParseQuantity(amount); err == nil {
					total.Add(q)
				}
			}
		}
	}
	return total.Value() >= 2<<30
}

// gates checks the feature gates of control planes and of machines. With containerd, the network and kube-proxy of
// Windows nodes are HostProcess containers, independent of the manifests in the input.
func gates(p *lint.Pass) {
	seen := map[*lint.Object]bool{}
	all := groups(p.Set)
	hostProcess := slices.ContainsFunc(p.Set.Pods, (*lint.Pod).HostProcess) ||
		slices.ContainsFunc(all, func(m machines) bool { return m.windows() && !m.docker() })
	for _, m := range all {
		k := m.kubeadm()
		if !k.Exists() || seen[m.config] {
			continue
		}
		seen[m.config] = true
		var given []arg
		for _, at := range [][]string{
			{"clusterConfiguration", "apiServer", "extraArgs"}, {"clusterConfiguration", "controllerManager", "extraArgs"},
			{"clusterConfiguration", "scheduler", "extraArgs"},
			{"initConfiguration", "nodeRegistration", "kubeletExtraArgs"}, {"joinConfiguration", "nodeRegistration", "kubeletExtraArgs"},
		} {
			args := flags(k.At(at...))
			f, ok := named(args, "feature-gates")
			if ok {
				given = append(given, f)
			}
			needs := at[1] == "apiServer" && m.owner.Kind == "KubeadmControlPlane" || at[0] == "joinConfiguration" && m.windows()
			if t := m.target(p.Target); t.Minor == 22 && needs && hostProcess &&
				!strings.Contains(f.value, "WindowsHostProcessContainers=true") {
				p.Report(m.config, k.At(at...), "HostProcess containers are off on 1.22 without their gate",
					say("feature-gates: WindowsHostProcessContainers=true"))
			}
		}
		for _, f := range given {
			for part := range strings.SplitSeq(f.value, ",") {
				name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
				fix := say("take it out of feature-gates")
				if !strings.Contains(f.value, ",") {
					fix = f.drop("take it out")
				}
				reportGate(p, m.config, f.at, m.target(p.Target), m.windows(), name, value, fix)
			}
		}
	}
	for _, c := range configurations(p, "kubelet.config.k8s.io", "kubeletconfiguration") {
		for _, g := range c.conf.At("featureGates").Fields() {
			reportGate(p, c.object, c.at(g.Value), c.target, c.own, g.Key, g.Value.Str(), say("take it out of featureGates"))
		}
	}
}

// reportGate reports the problem with one feature gate, if there is one. own is true for a configuration that is only
// for Windows machines: only there, a gate without effect on Windows is a problem.
func reportGate(p *lint.Pass, o *lint.Object, at lint.Value, t lint.Target, own bool, name, value string, fix lint.Fix) {
	g, ok := kubechange.GateByName(name)
	if gone, dropped := kubeflags.DroppedGate(name); !ok && dropped {
		g, ok = kubechange.Gate{Name: name, Known: kubechange.Span{Until: gone}}, true
	}
	if !ok {
		return
	}
	g.Linux = g.Linux && own
	problem, refused := g.Problem(t.Minor, value)
	switch {
	case refused:
		p.ReportAs(lint.Error, o, at, problem, fix)
	case problem != "" && g.Linux:
		p.ReportAs(lint.Info, o, at, problem, fix)
	case problem != "":
		p.ReportAs(lint.Warning, o, at, problem, fix)
	}
}
