package rules

import (
	"regexp"
	"strings"

	"casement.dev/casement/internal/lint"
)

const onWindows = "nodeSelector:\n  kubernetes.io/os: windows\n"

// windowsBuild is the form of the label's value: the kubelet sets three parts.
var windowsBuild = regexp.MustCompile(`^10\.0\.\d{5}$`)

// builds maps what people write instead to the value of the label.
var builds = map[string]string{
	"ltsc2019": "10.0.17763", "2019": "10.0.17763", "17763": "10.0.17763", "1809": "10.0.17763",
	"ltsc2022": "10.0.20348", "2022": "10.0.20348", "20348": "10.0.20348",
	"ltsc2025": "10.0.26100", "2025": "10.0.26100", "26100": "10.0.26100",
}

// betaLabel is the label of today for a deprecated one.
func betaLabel(key string) (string, bool) {
	rest, ok := strings.CutPrefix(key, "beta.kubernetes.io/")
	return "kubernetes.io/" + rest, ok && (rest == "os" || rest == "arch")
}

// selected are the values of a label that the pod demands of its node.
func selected(pod *lint.Pod, label string) []lint.Value {
	var out []lint.Value
	if v := pod.Spec.At("nodeSelector", label); v.Exists() {
		out = append(out, v)
	}
	for _, term := range pod.Spec.At("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
		"nodeSelectorTerms").Items() {
		for _, e := range term.At("matchExpressions").Items() {
			if values := e.At("values").Items(); e.At("key").Str() == label && e.At("operator").Str() == "In" && len(values) == 1 {
				out = append(out, values[0])
			}
		}
	}
	return out
}
