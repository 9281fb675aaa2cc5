package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/kubechange"
	"casement.dev/casement/internal/lint"
)

// win831: A kubelet setting that no kubelet accepts.
var win831 = lint.Rule{
	ID:       "WIN831",
	Severity: lint.Error,
	Title:    "A kubelet setting that no kubelet takes",
	Oracle:   lint.Unit,
	Doc: "A kubelet exits at its start, on Windows as on Linux, when a number, a share, a duration or a word of its configuration is " +
		"none that it takes, when two settings contradict each other, or when `--node-labels` has a label of kubernetes.io that " +
		"kubelets may not set (`node-role.kubernetes.io/worker` is one): the machine boots and never joins. A field that the " +
		"configuration does not have is ignored, which is a warning. Documents, the ConfigMap kubelet-config, files, patches and flags " +
		"are looked at. Source: kubernetes pkg/kubelet/apis/config/validation/validation.go, pkg/kubelet/eviction/helpers.go, " +
		"cmd/kubelet/app/options/options.go.",
	Bad:   workers("v1.37.2", "users: []\n") + "---\n" + kubeletConfig("imageGCHighThresholdPercent: 120"),
	Good:  workers("v1.37.2", "users: []\n") + "---\n" + kubeletConfig("imageGCHighThresholdPercent: 90"),
	Check: checkWIN831,
}

func checkWIN831(p *lint.Pass) {
	for _, c := range kubeletConfigurations(p) {
		refused := func(v lint.Value, format string, args ...any) {
			p.Report(c.object, c.at(v), "the kubelet does not start: "+fmt.Sprintf(format, args...), say("a value that it takes"))
		}
		for _, l := range kubechange.Limits() {
			if v := c.field(l.Path); v.Exists() && !unfilled(v.Str()) && !l.Fits(scalar(v)) {
				refused(v, "%s is %s and has to be %s", l.Path, scalar(v), l.Takes)
			}
		}
		for _, field := range slices.Sorted(maps.Values(kubechange.Thresholds())) {
			for _, f := range c.field(field).Fields() {
				if problem := kubechange.Threshold(field, f.Key, f.Value.Str()); problem != "" && !unfilled(f.Key+f.Value.Str()) {
					refused(f.Value, "%s: %s", field, problem)
				}
			}
		}
		for _, taint := range c.field("registerWithTaints").Items() {
			if effect := taint.At("effect"); !unfilled(effect.Str()) && !slices.Contains(effects, effect.Str()) {
				refused(effect, "a taint's effect is %q and has to be %s", effect.Str(), strings.Join(effects, ", "))
			}
		}
		contradictions(c, refused)
		for _, f := range c.conf.Fields() {
			if !kubechange.KubeletField(f.Key) && !unfilled(f.Key) && !c.target.AtLeast(kubechange.Newest+1) {
				p.ReportAs(lint.Warning, c.object, c.at(f.Value), "the kubelet ignores "+f.Key+", which its configuration does not have",
					say("take it out, or spell it as the KubeletConfiguration does"))
			}
		}
	}
	eachBootstrap(checkKubeletFlags)(p)
}

// effects are the effects of taints. Source: kubernetes pkg/util/taints/taints.go.
var effects = []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}

// contradictions reports settings of one configuration that exclude each other.
func contradictions(c configuration, refused func(v lint.Value, format string, args ...any)) {
	length := func(name string) time.Duration {
		d, _ := time.ParseDuration(c.field(name).Str()) // another check reports an invalid duration
		return d
	}
	low, high := c.field("imageGCLowThresholdPercent"), c.field("imageGCHighThresholdPercent")
	least, hasLow := low.Int()
	most, hasHigh := high.Int()
	if !hasLow {
		low, least = high, 80 // the default of low; that of high is 85: kubernetes pkg/kubelet/apis/config/v1beta1/defaults.go
	}
	if !hasHigh {
		most = 85
	}
	if (hasLow || hasHigh) && !unfilled(low.Str()+high.Str()) && least >= most {
		refused(low, "imageGCLowThresholdPercent (%d) has to be less than imageGCHighThresholdPercent (%d)", least, most)
	}
	if v := c.field("shutdownGracePeriodCriticalPods"); length("shutdownGracePeriodCriticalPods") > length("shutdownGracePeriod") {
		refused(v, "shutdownGracePeriodCriticalPods is a part of shutdownGracePeriod, and longer")
	}
	if v := c.field("shutdownGracePeriodByPodPriority"); len(v.Items()) > 0 && length("shutdownGracePeriod") > 0 {
		refused(v, "it takes shutdownGracePeriodByPodPriority or shutdownGracePeriod, not both")
	}
	if n, ok := c.field("maxParallelImagePulls").Int(); ok && n > 1 && c.field("serializeImagePulls").True() {
		refused(c.field("maxParallelImagePulls"), "maxParallelImagePulls above 1 needs serializeImagePulls: false")
	}
	for _, f := range c.field("evictionSoft").Fields() {
		if !c.field("evictionSoftGracePeriod").At(f.Key).Exists() {
			refused(f.Value, "evictionSoft has %s, and evictionSoftGracePeriod does not", f.Key)
		}
	}
	enforced := c.field("enforceNodeAllocatable").Strings()
	for i, name := range enforced {
		switch {
		case !slices.Contains([]string{"none", "pods", "system-reserved", "system-reserved-compressible", "kube-reserved",
			"kube-reserved-compressible"}, name), slices.Contains(enforced[:i], name), name == "none" && len(enforced) > 1:
			refused(c.field("enforceNodeAllocatable"), "enforceNodeAllocatable has %s twice, beside others, or does not know it", name)
		case strings.HasPrefix(name, "system-reserved") && c.field("systemReservedCgroup").Str() == "",
			strings.HasPrefix(name, "kube-reserved") && c.field("kubeReservedCgroup").Str() == "":
			refused(c.field("enforceNodeAllocatable"), "enforceNodeAllocatable has %s without a cgroup for it", name)
		}
	}
	if whole, ok := c.field("cgroupsPerQOS").Bool(); ok && !whole && len(enforced) > 0 && enforced[0] != "none" {
		refused(c.field("enforceNodeAllocatable"), "enforceNodeAllocatable needs cgroupsPerQOS: true")
	}
	if v := c.field("systemCgroups"); v.Str() != "" && c.field("cgroupRoot").Str() == "" {
		refused(v, "systemCgroups needs cgroupRoot")
	}
	if v := c.field("reservedSystemCPUs"); v.Str() != "" && c.field("systemReservedCgroup").Str()+c.field("kubeReservedCgroup").Str() != "" {
		refused(v, "it takes reservedSystemCPUs or cgroups of what is reserved, not both")
	}
}

func checkKubeletFlags(p *lint.Pass, m machines, k lint.Value) {
	all := kubeletFlags(k)
	refused := func(f arg, format string, args ...any) {
		p.Report(m.config, f.at, "the kubelet does not start: "+fmt.Sprintf(format, args...), say("a value that it takes"))
	}
	for _, l := range kubechange.Limits() {
		if f, ok := named(all, l.Flag); ok && l.Flag != "" && !unfilled(f.value) && !l.Fits(f.value) {
			refused(f, "--%s is %s and has to be %s", l.Flag, f.value, l.Takes)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kubechange.Thresholds())) {
		f, _ := named(all, name)
		for part := range strings.SplitSeq(f.value, ",") {
			signal, value, found := strings.Cut(part, "<")
			if !found {
				signal, value, found = strings.Cut(part, "=")
			}
			if problem := kubechange.Threshold(kubechange.Thresholds()[name], signal, value); found && problem != "" && !unfilled(part) {
				refused(f, "--%s: %s", name, problem)
			}
		}
	}
	taints, _ := named(all, "register-with-taints")
	for taint := range strings.SplitSeq(taints.value, ",") {
		if _, effect, _ := strings.Cut(taint, ":"); taint != "" && !unfilled(taints.value) && !slices.Contains(effects, effect) {
			refused(taints, "--register-with-taints: the effect of %s has to be %s", taint, strings.Join(effects, ", "))
		}
	}
	labels, _ := named(all, "node-labels")
	for label := range strings.SplitSeq(labels.value, ",") {
		if key, _, _ := strings.Cut(label, "="); !unfilled(label) && !kubechange.NodeLabel(strings.TrimSpace(key)) {
			p.Report(m.config, labels.at, fmt.Sprintf("the kubelet does not start: it may not set the label %s of its own node", key),
				say("spec.metadata.labels of the Machine, or a prefix such as node.kubernetes.io/"))
		}
	}
}
