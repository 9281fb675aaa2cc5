package rules

import (
	"slices"

	"casement.dev/casement/internal/lint"
)

// stopSignals is the feature gate of the field.
const stopSignals = "ContainerStopSignals"

// hasToken says whether a token of the service account is mounted, which it is unless
// the pod says no.
func hasToken(pod *lint.Pod) bool {
	if auto, set := pod.Spec.At("automountServiceAccountToken").Bool(); auto || !set {
		return true
	}
	return slices.ContainsFunc(pod.Spec.At("volumes").Items(), func(v lint.Value) bool {
		return slices.ContainsFunc(v.At("projected", "sources").Items(),
			func(s lint.Value) bool { return s.At("serviceAccountToken").Exists() })
	})
}
