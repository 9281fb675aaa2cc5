package rules

import (
	"fmt"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
)

// field is the rule for a field that the API server refuses together with spec.os.name: windows. The meaning of the
// field, and a kubelet's reaction to it, are in windows.PodFields.
type field struct {
	id string
	// path is the path of the field in windows.PodFields.
	path string
	// value is an example of a refused value, in YAML.
	value string
	// trueOnly means that only true is refused, filled that only a list with items is refused; without them, every
	// value is refused.
	trueOnly, filled bool
	// without describes the effect if spec.os.name is not set.
	without string
	// refused reports whether a Windows node refuses a pod with the value.
	refused func(v lint.Value) bool
	fix     string
}

func always(lint.Value) bool { return true }

// fields returns the fields with a rule.
func fields() []field {
	const ignored = "Windows ignores it"
	return []field{
		{id: "WIN101", path: "hostPID", value: "true", trueOnly: true, without: ignored + ": there is no host PID namespace"},
		{id: "WIN102", path: "hostIPC", value: "true", trueOnly: true, without: ignored + ": there is no host IPC namespace"},
		{id: "WIN103", path: "hostUsers", value: "false", without: ignored + ": there are no user namespaces"},
		{id: "WIN104", path: "shareProcessNamespace", value: "true", without: ignored +
			": containers of a pod share the network alone"},
		{id: "WIN105", path: "resources", value: "{limits: {memory: 1Gi}}", without: "the kubelet on Windows refuses " +
			"the pod (PodLevelResourcesNotSupported)", refused: always, fix: "give the resources to the containers"},
		{id: "WIN106", path: "securityContext.runAsUser", value: "1000", without: ignored + ": accounts have no UIDs",
			fix: "use windowsOptions.runAsUserName"},
		{id: "WIN107", path: "securityContext.runAsGroup", value: "1000", without: ignored + ": groups have no GIDs"},
		{id: "WIN108", path: "securityContext.fsGroup", value: "1000",
			without: ignored + ": no ownership is changed on volumes"},
		{id: "WIN109", path: "securityContext.fsGroupChangePolicy", value: "Always", without: ignored},
		{id: "WIN110", path: "securityContext.supplementalGroups", value: "[1000]", without: ignored},
		{id: "WIN111", path: "securityContext.supplementalGroupsPolicy", value: "Merge", without: ignored +
			"; with Strict the kubelet refuses the pod (SupplementalGroupsPolicyNotSupported)",
			refused: func(v lint.Value) bool { return v.Str() == "Strict" }},
		{id: "WIN112", path: "securityContext.sysctls", value: "[{name: net.core.somaxconn, value: \"1024\"}]",
			filled: true, without: "the kubelet refuses the pod (SysctlForbidden): none is allowed off Linux", refused: always},
		{id: "WIN113", path: "securityContext.seLinuxOptions", value: "{level: s0}", without: ignored},
		{id: "WIN114", path: "securityContext.seLinuxChangePolicy", value: "Recursive", without: ignored},
		{id: "WIN115", path: "securityContext.seccompProfile", value: "{type: RuntimeDefault}", without: ignored},
		{id: "WIN116", path: "securityContext.appArmorProfile", value: "{type: RuntimeDefault}", without: ignored},
		{id: "WIN117", path: "C.securityContext.privileged", value: "true", without: "the container gets no privilege " +
			"on Windows", refused: lint.Value.True, fix: "use a HostProcess container for what needs the node"},
		{id: "WIN118", path: "C.securityContext.allowPrivilegeEscalation", value: "false", without: ignored},
		{id: "WIN119", path: "C.securityContext.capabilities", value: "{drop: [ALL]}", without: ignored},
		{id: "WIN120", path: "C.securityContext.readOnlyRootFilesystem", value: "true", without: ignored +
			": the root holds the registry and has to be writable", fix: "mount volumes readOnly instead"},
		{id: "WIN121", path: "C.securityContext.procMount", value: "Default", without: ignored + ": there is no /proc"},
		{id: "WIN122", path: "C.securityContext.runAsUser", value: "1000", without: ignored + ": accounts have no UIDs",
			fix: "use windowsOptions.runAsUserName"},
		{id: "WIN123", path: "C.securityContext.runAsGroup", value: "1000", without: ignored + ": groups have no GIDs"},
		{id: "WIN124", path: "C.securityContext.seLinuxOptions", value: "{level: s0}", without: ignored},
		{id: "WIN125", path: "C.securityContext.seccompProfile", value: "{type: RuntimeDefault}", without: ignored},
		{id: "WIN126", path: "C.securityContext.appArmorProfile", value: "{type: RuntimeDefault}", without: ignored},
	}
}

// forbidden returns the rules for fields.
func forbidden() []lint.Rule {
	var out []lint.Rule
	facts := windows.PodFields()
	for _, f := range fields() {
		i := slices.IndexFunc(facts, func(p windows.PodField) bool { return p.Path == f.path }) // TestPodFields ensures that it exists
		out = append(out, f.rule(facts[i].Since))
	}
	return out
}

func (f field) rule(since int) lint.Rule {
	below, inContainer := strings.CutPrefix(f.path, "C.")
	keys := strings.Split(below, ".")
	name := keys[len(keys)-1]
	return lint.Rule{
		ID: f.id, Severity: lint.Error, Title: name + " on a Windows pod", Since: since, Oracle: lint.APIServer,
		Doc: fmt.Sprintf("With `spec.os.name: windows` the API server refuses `%s` (since 1.%d). Without it: %s. Source: "+
			"kubernetes/kubernetes v1.36.3 pkg/apis/core/validation/validation.go.",
			strings.Replace(f.path, "C.", "containers[*].", 1), since, f.without),
		Bad: f.example(windowsPod, keys, inContainer), Good: windowsPod + container,
		Pod: func(p *lint.Pass, pod *lint.Pod) {
			if !inContainer {
				f.examine(p, pod, pod.Spec.At(keys...))
				return
			}
			for _, c := range pod.Containers() {
				f.examine(p, pod, c.At(keys...))
			}
		},
	}
}

// example returns a pod with the field.
func (f field) example(pod string, keys []string, inContainer bool) string {
	indent, out := "  ", pod
	if inContainer {
		indent, out = "    ", pod+container
	}
	for i, key := range keys {
		out += strings.Repeat("  ", i) + indent + key + ":"
		if i == len(keys)-1 {
			out += " " + f.value
		}
		out += "\n"
	}
	if inContainer {
		return out
	}
	return out + container
}

func (f field) examine(p *lint.Pass, pod *lint.Pod, v lint.Value) {
	switch {
	case !v.Exists(), f.trueOnly && !v.True(), f.filled && len(v.Items()) == 0:
		return
	case pod.Level == lint.OS:
		p.Report(pod.Object, v, "the API server refuses it: cannot be set for a windows pod", lint.Fix{Text: f.advice(), Edits: f.edits(v)})
	case f.refused != nil && f.refused(v):
		p.Report(pod.Object, v, f.without, say(f.advice()))
	default:
		p.ReportAs(lint.Warning, pod.Object, v, f.without, lint.Fix{Text: f.advice(), Edits: f.edits(v)})
	}
}

func (f field) advice() string {
	if f.fix != "" {
		return "take it out; " + f.fix
	}
	return "take it out"
}

// edits returns the edits that remove the field or replace its value.
func (f field) edits(v lint.Value) []lint.Edit {
	if slices.Contains([]string{"WIN105", "WIN106", "WIN112", "WIN117", "WIN122"}, f.id) {
		return nil
	}
	return []lint.Edit{lint.Delete(v)}
}
