package kubelet

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/version"

	"casement.dev/casement/internal/kubeflags"
)

// Flags are the kubelet's arguments that have an effect here.
type Flags struct {
	CloudProvider      string // "", "external" or, on old kubelets, "azure"
	HostnameOverride   string
	NodeIP             netip.Addr
	ProviderID         string
	Labels             map[string]string
	RegisterWithTaints []corev1.Taint
	RegisterNode       bool
	MaxPods            int
	// Gates are the feature gates; nil if the flag is not set.
	Gates           map[string]bool
	PodManifestPath string
	// Other are the other flags, known or unknown, for the log.
	Other []string
	// EvictionHard, SystemReserved and KubeReserved are nil if the flag is not set.
	EvictionHard, SystemReserved, KubeReserved map[string]string
}

// EnvArgs returns the arguments in the content of kubeadm-flags.env. They are
// separated by blanks, without quoting, as the service's unit passes them.
func EnvArgs(env []byte) []string {
	for line := range strings.Lines(string(env)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "KUBELET_KUBEADM_ARGS="); ok {
			if unquoted, err := strconv.Unquote(rest); err == nil {
				rest = unquoted
			}
			return strings.Fields(strings.Trim(rest, `"'`))
		}
	}
	return nil
}

// boolFlags are the flags that may have no value.
var boolFlags = map[string]bool{
	"windows-service": true, "fail-swap-on": true, "register-node": true, "enable-server": true,
	"anonymous-auth": true, "rotate-certificates": true, "cgroups-per-qos": true, "runonce": true,
	"authentication-token-webhook": true, "enable-debugging-handlers": true, "logtostderr": true,
	"alsologtostderr": true, "serialize-image-pulls": true, "protect-kernel-defaults": true,
	"rotate-server-certificates": true, "seccomp-default": true, "enable-controller-attach-detach": true,
}

// parseFlags reads a kubelet's arguments. The version and the operating system determine the valid
// flags; an unknown version has all of them.
func parseFlags(args []string, kubeletVersion, system string) (Flags, error) {
	f := Flags{RegisterNode: true, Labels: map[string]string{}}
	minor := minorOf(kubeletVersion)
	for i := 0; i < len(args); i++ {
		word, ok := strings.CutPrefix(args[i], "-")
		if !ok {
			return f, fmt.Errorf("kubelet: unknown command %q", args[i])
		}
		name, value, has := strings.Cut(strings.TrimPrefix(word, "-"), "=")
		if !has && !boolFlags[name] && i+1 < len(args) {
			i++
			value = args[i]
		}
		value = strings.Trim(value, `"'`)
		if lost, ok := kubeflags.Dropped("kubelet", name); ok && minor >= uint(lost) {
			return f, fmt.Errorf("kubelet: unknown flag: --%s (it is gone since Kubernetes 1.%d): take it out "+
				"of nodeRegistration.kubeletExtraArgs", name, lost)
		}
		if kubeflags.Lacks("kubelet", system, name) {
			return f, fmt.Errorf("kubelet: unknown flag: --%s (no kubelet on %s has it): take it out of "+
				"nodeRegistration.kubeletExtraArgs", name, system)
		}
		if err := f.set(name, value); err != nil {
			return f, fmt.Errorf("kubelet: failed to parse kubelet flag: invalid argument %q for %q flag: %w", value, "--"+name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Gates)) {
		if lost, ok := kubeflags.DroppedGate(name); ok && minor >= uint(lost) {
			return f, fmt.Errorf("kubelet: failed to set feature gates from initial flags-based config: unrecognized feature gate: %s "+
				"(it is gone since Kubernetes 1.%d): take it out of feature-gates in nodeRegistration.kubeletExtraArgs", name, lost)
		}
	}
	return f, f.checkCloudProvider(minor)
}

func (f *Flags) set(name, value string) (err error) {
	switch name {
	case "cloud-provider":
		f.CloudProvider = value
	case "hostname-override":
		f.HostnameOverride = value
	case "node-ip":
		first, _, _ := strings.Cut(value, ",")
		f.NodeIP, err = netip.ParseAddr(first)
	case "provider-id":
		f.ProviderID = value
	case "node-labels":
		f.Labels, err = parseLabels(value)
	case "register-with-taints":
		f.RegisterWithTaints, err = parseTaints(value)
	case "register-node":
		f.RegisterNode = value != "false"
	case "feature-gates":
		f.Gates, err = parseGates(value)
	case "max-pods":
		f.MaxPods, err = strconv.Atoi(value)
	case "eviction-hard":
		f.EvictionHard, err = parseAmounts(value, "<")
	case "system-reserved":
		f.SystemReserved, err = parseAmounts(value, "=")
	case "kube-reserved":
		f.KubeReserved, err = parseAmounts(value, "=")
	case "pod-manifest-path":
		f.PodManifestPath = value
	default:
		f.Other = append(f.Other, "--"+name)
	}
	return err
}

func parseGates(value string) (map[string]bool, error) {
	out := map[string]bool{}
	for part := range strings.SplitSeq(value, ",") {
		name, text, has := strings.Cut(strings.TrimSpace(part), "=")
		on, err := strconv.ParseBool(text)
		if name == "" {
			continue
		}
		if !has || err != nil {
			return nil, fmt.Errorf("invalid value of %s: %s, err: strconv.ParseBool: parsing %q: invalid syntax", name, text, text)
		}
		out[name] = on
	}
	return out, nil
}

// checkCloudProvider refuses a cloud provider that the kubelet's version does not support: in-tree
// providers are off by default since 1.29 and removed since 1.31.
func (f *Flags) checkCloudProvider(minor uint) error {
	switch {
	case f.CloudProvider == "" || f.CloudProvider == "external":
		return nil
	case minor >= 31:
		return fmt.Errorf("kubelet: unknown cloud provider %q: use --cloud-provider=external", f.CloudProvider)
	case minor >= 29:
		return fmt.Errorf("kubelet: cloud provider %q was specified, but built-in cloud providers are disabled. "+
			"Please set --cloud-provider=external and migrate to an external cloud provider", f.CloudProvider)
	}
	return nil
}

// parseAmounts parses reservations ("memory=2Gi,cpu=500m") or eviction thresholds
// ("memory.available<500Mi").
func parseAmounts(s, between string) (map[string]string, error) {
	amounts := map[string]string{}
	for pair := range strings.SplitSeq(s, ",") {
		if pair == "" {
			continue
		}
		name, amount, ok := strings.Cut(pair, between)
		if !ok {
			return nil, fmt.Errorf("%q is not NAME%sAMOUNT", pair, between)
		}
		amount = strings.TrimSpace(amount)
		if _, err := resource.ParseQuantity(strings.TrimSuffix(amount, "%")); err != nil {
			return nil, fmt.Errorf("%q: %w", pair, err)
		}
		amounts[strings.TrimSpace(name)] = amount
	}
	return amounts, nil
}

func parseLabels(s string) (map[string]string, error) {
	labels := map[string]string{}
	for pair := range strings.SplitSeq(s, ",") {
		if pair == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not key=value", pair)
		}
		labels[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return labels, nil
}

// parseTaints parses "key=value:Effect,key:Effect", the form of
// --register-with-taints. A taint that repeats the key and effect of another is an error, as in
// k8s.io/kubernetes/pkg/util/taints.
func parseTaints(s string) ([]corev1.Taint, error) {
	var taints []corev1.Taint
	for spec := range strings.SplitSeq(s, ",") {
		if spec == "" {
			continue
		}
		pair, effect, ok := strings.Cut(spec, ":")
		if !ok {
			return nil, fmt.Errorf("invalid taint spec %q: no effect", spec)
		}
		switch corev1.TaintEffect(effect) {
		case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		default:
			return nil, fmt.Errorf("invalid taint effect %q in %q", effect, spec)
		}
		key, value, _ := strings.Cut(pair, "=")
		if key == "" {
			return nil, fmt.Errorf("invalid taint spec %q: no key", spec)
		}
		taint := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
		if slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
			return nil, fmt.Errorf("duplicated taints with the same key and effect: %s", taint.ToString())
		}
		taints = append(taints, taint)
	}
	return taints, nil
}

// minorOf returns the minor version of a 1.x version, or 0.
func minorOf(v string) uint {
	parsed, err := version.ParseGeneric(v)
	if err != nil || parsed.Major() != 1 {
		return 0
	}
	return parsed.Minor()
}
