package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

// enforceLabel is the label of a namespace with the Pod Security level.
const enforceLabel = "pod-security.kubernetes.io/enforce"

// newest is a policy version that is newer than all.
const newest = 1 << 20

// enforced returns the Pod Security level of a pod's namespace, and the minor version of the policy.
func enforced(s *lint.Set, pod *lint.Pod) (level string, version int) {
	for _, o := range s.Named("Namespace", "", cmp.Or(pod.Object.Namespace, "default")) {
		level = o.Root.At("metadata", "labels", enforceLabel).Str()
		if n, _ := fmt.Sscanf(o.Root.At("metadata", "labels", enforceLabel+"-version").Str(), "v1.%d", &version); n == 0 {
			version = newest
		}
	}
	return level, version
}

// notRestricted returns the requirements of the restricted level that a pod violates if it does not count as a Windows pod.
func notRestricted(pod *lint.Pod, version int) []string {
	var out []string
	all := pod.Containers()
	if version >= 8 && slices.ContainsFunc(all, func(c lint.Container) bool {
		allowed, set := c.At("securityContext", "allowPrivilegeEscalation").Bool()
		return allowed || !set
	}) {
		out = append(out, "allowPrivilegeEscalation")
	}
	if version >= 22 && slices.ContainsFunc(all, func(c lint.Container) bool {
		capabilities := c.At("securityContext", "capabilities")
		return !slices.Contains(capabilities.At("drop").Strings(), "ALL") ||
			slices.ContainsFunc(capabilities.At("add").Strings(), func(s string) bool { return s != "NET_BIND_SERVICE" })
	}) {
		out = append(out, "capabilities")
	}
	profile := func(v lint.Value) string { return v.At("securityContext", "seccompProfile", "type").Str() }
	good := func(kind string) bool { return kind == "RuntimeDefault" || kind == "Localhost" }
	if own := profile(pod.Spec); version >= 19 && (own != "" && !good(own) || slices.ContainsFunc(all,
		func(c lint.Container) bool { return !good(cmp.Or(profile(c.Value), own)) })) {
		out = append(out, "seccompProfile")
	}
	return out
}

// mayBeRoot returns the setting of the pod's user that violates the level.
func mayBeRoot(pod *lint.Pod, version int) (lint.Value, bool) {
	if own, set := pod.Spec.At("hostUsers").Bool(); set && !own && version >= 35 {
		return lint.Value{}, false // in a user namespace, pods may run as root
	}
	ofPod := pod.Spec.At("securityContext", "runAsNonRoot")
	nonRoot, set := ofPod.Bool()
	if set && !nonRoot {
		return ofPod, true
	}
	for _, c := range pod.Containers() {
		v := c.At("securityContext", "runAsNonRoot")
		own, set := v.Bool()
		switch {
		case set && !own:
			return v, true
		case !set && !nonRoot:
			return ofPod, true
		}
	}
	return lint.Value{}, false
}

func namespaced(level, pod string) string {
	return "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: example\n  labels:\n    " + enforceLabel + ": " + level +
		"\n---\n" + strings.Replace(pod, "  name: example\n", "  name: example\n  namespace: example\n", 1)
}
