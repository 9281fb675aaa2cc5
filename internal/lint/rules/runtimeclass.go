package rules

import (
	"casement.dev/casement/internal/lint"
)

const hypervisor = "runhcs-wcow-hypervisor"

// runtimeClass returns the pod's RuntimeClass, or nil if it is not in the set.
func runtimeClass(s *lint.Set, pod *lint.Pod) *lint.Object {
	name := pod.Spec.At("runtimeClassName").Str()
	if all := s.Named("RuntimeClass", "", name); name != "" && len(all) > 0 {
		return all[0]
	}
	return nil
}

func withClass(handler, selector string) string {
	return "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata:\n  name: example\nhandler: " + handler + "\nscheduling:\n" +
		"  nodeSelector:\n    " + selector + "\n---\n" + windowsPod + "  runtimeClassName: example\n" + container
}
