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

// podSecurity are the rules about namespaces with Pod Security levels. They look at
// what has to do with Windows alone; the levels forbid more.
func podSecurity() []lint.Rule {
	const hostProcess = "hostProcess: true\n      runAsUserName: 'NT AUTHORITY\\SYSTEM'"
	return []lint.Rule{
		{
			ID: "WIN512", Severity: lint.Error, Title: "HostProcess in a namespace that forbids it", Since: 23, Oracle: lint.PodSecurity,
			Doc: "The levels baseline and restricted forbid HostProcess pods, host networks and hostPath volumes. Put the pod in a namespace of the level privileged. Source: kubernetes/pod-security-admission policy/check_windowsHostProcess.go.",
			Bad: namespaced("baseline", options(windowsPod+"  hostNetwork: true\n", hostProcess)), Good: namespaced("privileged", options(windowsPod+"  hostNetwork: true\n", hostProcess)),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				if level, _ := enforced(p.Set, pod); (level == "baseline" || level == "restricted") && pod.HostProcess() {
					at := pod.Spec.At("securityContext", "windowsOptions", "hostProcess")
					for _, c := range pod.Containers() {
						if own := c.At("securityContext", "windowsOptions", "hostProcess"); own.True() && !at.True() {
							at = own
						}
					}
					p.Report(pod.Object, at, fmt.Sprintf("the namespace's Pod Security level %s forbids HostProcess pods", level), say("a namespace of the level privileged"))
				}
			},
		},
		{
			ID: "WIN514", Severity: lint.Error, Title: "The level restricted without os.name", Since: 25, Oracle: lint.PodSecurity,
			Doc: "The level restricted asks for a seccomp profile, dropped capabilities and no privilege escalation, which Windows does not have. With `os.name: windows` (and a policy of 1.25 or newer) these are waived, and the API server forbids the fields; do not add them. `runAsNonRoot: true` is asked of Windows pods too; give them `runAsUserName: ContainerUser`. Source: kubernetes/pod-security-admission policy/check_*.go.",
			Bad: namespaced("restricted", placedPod+container), Good: namespaced("restricted", windowsPod+"  securityContext:\n    runAsNonRoot: true\n    windowsOptions:\n      runAsUserName: ContainerUser\n"+container),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				level, version := enforced(p.Set, pod)
				if level != "restricted" {
					return
				}
				if missing := notRestricted(pod, version); len(missing) > 0 && (pod.OSName() != "windows" || version < 25) {
					p.Report(pod.Object, pod.Spec.At("os", "name"), fmt.Sprintf("the namespace's Pod Security level restricted refuses the pod for %s, which does not count with os.name: windows", strings.Join(missing, ", ")), say("os: {name: windows}"))
				}
				if at, ok := mayBeRoot(pod, version); ok {
					p.Report(pod.Object, at, "the namespace's Pod Security level restricted asks for runAsNonRoot, on Windows too", say("runAsNonRoot: true with runAsUserName: ContainerUser"))
				}
			},
		},
	}
}

// enforced is the Pod Security level of a pod's namespace, and the policy's minor.
func enforced(s *lint.Set, pod *lint.Pod) (level string, version int) {
	for _, o := range s.Named("Namespace", "", cmp.Or(pod.Object.Namespace, "default")) {
		level = o.Root.At("metadata", "labels", enforceLabel).Str()
		if n, _ := fmt.Sscanf(o.Root.At("metadata", "labels", enforceLabel+"-version").Str(), "v1.%d", &version); n == 0 {
			version = newest
		}
	}
	return level, version
}

// notRestricted is what the level asks of pods that are not Windows ones.
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
	if own := profile(pod.Spec); version >= 19 && (own != "" && !good(own) || slices.ContainsFunc(all, func(c lint.Container) bool { return !good(cmp.Or(profile(c.Value), own)) })) {
		out = append(out, "seccompProfile")
	}
	return out
}

// mayBeRoot finds what the level has against the pod's user.
func mayBeRoot(pod *lint.Pod, version int) (lint.Value, bool) {
	if own, set := pod.Spec.At("hostUsers").Bool(); set && !own && version >= 35 {
		return lint.Value{}, false // pods in a user namespace may be root
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
	return "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: example\n  labels:\n    " + enforceLabel + ": " + level + "\n---\n" + strings.Replace(pod, "  name: example\n", "  name: example\n  namespace: example\n", 1)
}
