package rules

import (
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

// sidecars are labels and annotations that request the injection of a container without an image for Windows.
var sidecars = []string{
	"azure.workload.identity/inject-proxy-sidecar", "sidecar.istio.io/inject", "linkerd.io/inject", "vault.hashicorp.com/agent-inject",
	"consul.hashicorp.com/connect-inject", "dapr.io/enabled", "kuma.io/sidecar-injection", "sidecar.opentelemetry.io/inject",
}

// mixed is a target that the examples of some rules need.
var mixed = lint.Target{Mixed: true}

// windowsTaints are the taints of Windows nodes in the examples.
var windowsTaints = []lint.Taint{{Key: "os", Value: "windows", Effect: "NoSchedule"}}

// linuxSelector places a pod on Linux.
const linuxSelector = "  nodeSelector:\n    kubernetes.io/os: linux\n"

// asks reports whether a label or annotation requests an injection.
func asks(v lint.Value) bool {
	return v.Str() != "" && !slices.Contains([]string{"false", "disabled", "no"}, strings.ToLower(v.Str()))
}

// eachWithoutOS runs check for pods in a mixed cluster without any information about their OS.
func eachWithoutOS(check func(p *lint.Pass, pod *lint.Pod)) func(*lint.Pass) {
	return func(p *lint.Pass) {
		for _, pod := range p.Set.Pods {
			if _, affine := mentionsWindows(pod); p.Target.Mixed && pod.Level == lint.Unknown && !affine && !excludesWindows(pod) {
				check(p, pod)
			}
		}
	}
}

// osExpressions returns the expressions of the pod's node affinity about the operating
// system.
func osExpressions(pod *lint.Pod) []lint.Value {
	return slices.DeleteFunc(nodeExpressions(pod), func(e lint.Value) bool {
		return e.At("key").Str() != lint.LabelOS && e.At("key").Str() != lint.LabelOSBeta
	})
}

// nodeExpressions returns all expressions of the pod's node affinity, required and
// preferred.
func nodeExpressions(pod *lint.Pod) []lint.Value {
	affinity := pod.Spec.At("affinity", "nodeAffinity")
	terms := affinity.At("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms").Items()
	for _, preferred := range affinity.At("preferredDuringSchedulingIgnoredDuringExecution").Items() {
		terms = append(terms, preferred.At("preference"))
	}
	var out []lint.Value
	for _, term := range terms {
		out = append(out, term.At("matchExpressions").Items()...)
	}
	return out
}

// mentionsWindows finds Windows in the pod's node affinity.
func mentionsWindows(pod *lint.Pod) (lint.Value, bool) {
	for _, e := range osExpressions(pod) {
		if e.At("operator").Str() == "In" && slices.ContainsFunc(e.At("values").Strings(),
			func(s string) bool { return strings.EqualFold(s, "windows") }) {
			return e.At("values"), true
		}
	}
	return lint.Value{}, false
}

// excludesWindows reports whether the affinity keeps the pod off Windows.
func excludesWindows(pod *lint.Pod) bool {
	return slices.ContainsFunc(osExpressions(pod), func(e lint.Value) bool {
		return e.At("operator").Str() == "NotIn" && slices.Contains(e.At("values").Strings(), "windows")
	})
}

// tolerates reports whether a toleration matches a taint, by Kubernetes' rule.
func tolerates(t lint.Value, taint lint.Taint) bool {
	key, effect := t.At("key").Str(), t.At("effect").Str()
	if key != "" && key != taint.Key || effect != "" && effect != taint.Effect {
		return false
	}
	return t.At("operator").Str() == "Exists" || key != "" && t.At("value").Str() == taint.Value
}

func affine(values string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  affinity:\n    nodeAffinity:\n" +
		"      requiredDuringSchedulingIgnoredDuringExecution:\n        nodeSelectorTerms:\n        - matchExpressions:\n" +
		"          - key: kubernetes.io/os\n            operator: In\n            values: " + values + "\n" + container
}

// linuxWorkload returns a workload without an operating system.
func linuxWorkload(kind, lines string) string {
	return "apiVersion: apps/v1\nkind: " + kind + "\nmetadata:\n  name: example\nspec:\n  selector:\n    matchLabels:\n" +
		"      app: example\n  template:\n    metadata:\n      labels:\n        app: example\n    spec:\n" + lines +
		"      containers:\n      - name: app\n        image: registry.example/app:1\n"
}
