package rules

import (
	"fmt"
	"slices"

	"casement.dev/casement/internal/lint"
)

// oncePerPod reports a finding of check for the first container of a pod only, with the number of other affected
// containers. check returns "" as what if it finds nothing.
func oncePerPod(check func(lint.Container) (at lint.Value, what, fix string)) func(*lint.Pass, *lint.Pod) {
	return func(p *lint.Pass, pod *lint.Pod) {
		var at lint.Value
		var what, fix string
		more := 0
		for _, c := range pod.Containers() {
			switch v, found, way := check(c); {
			case found == "":
			case what == "":
				at, what, fix = v, found, way
			default:
				more++
			}
		}
		if more > 0 {
			what += fmt.Sprintf(" (as in %d more of the pod's containers)", more)
		}
		if what != "" {
			p.Report(pod.Object, at, what, say(fix))
		}
	}
}

// stopSignals is the feature gate of the field stopSignal.
const stopSignals = "ContainerStopSignals"

// hasToken reports whether a service account token is mounted, which is the default.
func hasToken(pod *lint.Pod) bool {
	if auto, set := pod.Spec.At("automountServiceAccountToken").Bool(); auto || !set {
		return true
	}
	return slices.ContainsFunc(pod.Spec.At("volumes").Items(), func(v lint.Value) bool {
		return slices.ContainsFunc(v.At("projected", "sources").Items(),
			func(s lint.Value) bool { return s.At("serviceAccountToken").Exists() })
	})
}
