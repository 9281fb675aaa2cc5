package rules

import (
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
)

const onWindows = "nodeSelector:\n  kubernetes.io/os: windows\n"

// windowsBuild matches a valid value of the label: the kubelet sets three parts.
var windowsBuild = regexp.MustCompile(`^10\.0\.\d{5}$`)

// buildOf returns the value of the label that users mean by a release, a tag of its container images, or only a build
// number; "" for anything else.
func buildOf(written string) string {
	for _, r := range windows.Releases() {
		if strings.EqualFold(r.Name, written) || slices.Contains(r.Tags, strings.ToLower(written)) ||
			strings.HasSuffix(r.Build, "."+written) {
			return r.Build
		}
	}
	return ""
}

// betaLabel returns the current label for a deprecated one.
func betaLabel(key string) (string, bool) {
	rest, ok := strings.CutPrefix(key, "beta.kubernetes.io/")
	return "kubernetes.io/" + rest, ok && (rest == "os" || rest == "arch")
}

// selected returns the values of a label that the pod requires of its node.
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
