package rules

import (
	"fmt"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

// sidecars are labels and annotations that ask for an injected container which has no
// image for Windows.
var sidecars = []string{
	"azure.workload.identity/inject-proxy-sidecar", "sidecar.istio.io/inject", "linkerd.io/inject", "vault.hashicorp.com/agent-inject",
	"consul.hashicorp.com/connect-inject", "dapr.io/enabled", "kuma.io/sidecar-injection", "sidecar.opentelemetry.io/inject",
}

// mixed is a target that the examples of some rules need.
var mixed = lint.Target{Mixed: true}

// tolerations are the rules about pods in clusters with nodes of both systems.
func tolerations() []lint.Rule {
	taints := []lint.Taint{{Key: "os", Value: "windows", Effect: "NoSchedule"}}
	const linuxSelector = "  nodeSelector:\n    kubernetes.io/os: linux\n"
	return []lint.Rule{
		{
			ID: "WIN007", Severity: lint.Warning, Title: "An affinity that lets either OS in", Oracle: lint.Unit,
			Doc: "A required node affinity with more than one OS, or with one in some of its terms alone, and one that only prefers Windows let the pod land on either. Pin the one that the image is for. Source: kubernetes.io/docs/concepts/windows/user-guide.",
			Bad: affine("[windows, linux]"), Good: affine("[windows]"),
			Check: func(p *lint.Pass) {
				for _, pod := range p.Set.Pods {
					if pod.Placed() || pod.Level == lint.Linux {
						continue
					}
					if v, ok := mentionsWindows(pod); ok {
						p.Report(pod.Object, v, "the pod can land on nodes of either OS", say("nodeSelector kubernetes.io/os with the OS of its images"))
					}
				}
			},
		},
		{
			ID: "WIN009", Severity: lint.Warning, Title: "The taint of Windows nodes is not tolerated", Oracle: lint.Unit, For: lint.Target{Taints: taints},
			Doc: "The pod stays Pending where every Windows node has a taint that it does not tolerate. Name the taints in the configuration (`windowsTaints`; none by default). Values have a case: os=windows is not os=Windows. Source: kubernetes.io/docs/concepts/windows/user-guide.",
			Bad: windowsPod + container, Good: windowsPod + "  tolerations:\n  - key: os\n    value: windows\n    effect: NoSchedule\n" + container,
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				for _, taint := range p.Target.Taints {
					if taint.Effect != "PreferNoSchedule" && !slices.ContainsFunc(pod.Spec.At("tolerations").Items(), func(t lint.Value) bool { return tolerates(t, taint) }) {
						p.Report(pod.Object, pod.Spec.At("tolerations"), fmt.Sprintf("the Windows nodes have the taint %s=%s:%s, which the pod does not tolerate", taint.Key, taint.Value, taint.Effect), say("a toleration of it"))
					}
				}
			},
		},
		{
			ID: "WIN011", Severity: lint.Error, Title: "A DaemonSet on nodes of either OS", Oracle: lint.Unit, For: mixed,
			Doc: "In a cluster with both (`mixedCluster` of the configuration) a DaemonSet for Linux that names no OS makes a broken pod on every Windows node, and it stays. Source: kubernetes.io/docs/concepts/windows/user-guide; argoproj/argo-cd issue 8141.",
			Bad: linuxWorkload("DaemonSet", ""), Good: linuxWorkload("DaemonSet", indent(linuxSelector, 4)),
			Check: eachHomeless(func(p *lint.Pass, pod *lint.Pod) {
				if pod.Object.Kind == "DaemonSet" {
					p.Report(pod.Object, pod.Spec.At("nodeSelector"), "it runs on Windows nodes too, where its image does not", say("kubernetes.io/os: linux"))
				}
			}),
		},
		{
			ID: "WIN012", Severity: lint.Warning, Title: "A workload that can land on either OS", Oracle: lint.Unit, For: mixed,
			Doc: "In a cluster with both (`mixedCluster`) whose Windows nodes have no taint (`windowsTaints`), the scheduler puts pods that name no OS on either. Source: kubernetes.io/docs/concepts/windows/user-guide.",
			Bad: linuxWorkload("Deployment", ""), Good: linuxWorkload("Deployment", indent(linuxSelector, 4)),
			Check: eachHomeless(func(p *lint.Pass, pod *lint.Pod) {
				if pod.Object.Kind != "DaemonSet" && len(p.Target.Taints) == 0 {
					p.Report(pod.Object, pod.Spec.At("nodeSelector"), "it can land on Windows nodes, where its image does not run", say("kubernetes.io/os: linux"))
				}
			}),
		},
		{
			ID: "WIN013", Severity: lint.Warning, Title: "A toleration of everything", Oracle: lint.Unit, For: mixed,
			Doc: "`operator: Exists` without a key tolerates the taint that keeps Linux pods off the Windows nodes of a mixed cluster (`mixedCluster` or `windowsTaints`). Source: kubernetes.io/docs/concepts/windows/user-guide.",
			Bad: linuxWorkload("DaemonSet", "      tolerations:\n      - operator: Exists\n"), Good: linuxWorkload("DaemonSet", indent(linuxSelector, 4)+"      tolerations:\n      - operator: Exists\n"),
			Check: func(p *lint.Pass) {
				for _, pod := range p.Set.Pods {
					if pod.Level != lint.Unknown || !p.Target.Mixed && len(p.Target.Taints) == 0 {
						continue
					}
					for _, t := range pod.Spec.At("tolerations").Items() {
						if t.At("operator").Str() == "Exists" && t.At("key").Str() == "" && (t.At("effect").Str() == "" || t.At("effect").Str() == "NoSchedule") {
							p.Report(pod.Object, t, "it tolerates the taint of Windows nodes, and names no OS", say("kubernetes.io/os: linux"))
						}
					}
				}
			},
		},
		{
			ID: "WIN015", Severity: lint.Warning, Title: "A sidecar without an image for Windows", Oracle: lint.Unit,
			Doc: "The injected container's image has no Windows platform: no match for platform in manifest. This holds for the proxies of workload identity, Istio, Linkerd, Vault, Consul, Dapr and Kuma; add others as `sidecars` in the configuration. Source: Azure/azure-workload-identity issue 1016; for the others it follows from what their images offer.",
			Bad: annotated("azure.workload.identity/inject-proxy-sidecar: 'true'"), Good: annotated("azure.workload.identity/inject-proxy-sidecar: 'false'"),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				declined := false
				for _, where := range []string{"labels", "annotations"} {
					for _, key := range slices.Concat(sidecars, p.Target.Sidecars) {
						v := pod.Meta.At(where, key)
						declined = declined || v.Exists() && !asks(v)
						if asks(v) {
							p.Report(pod.Object, v, key+" injects a container that has no image for Windows", say("take it out, or false"))
						}
					}
				}
				for _, o := range p.Set.Named("Namespace", "", pod.Object.Namespace) {
					for _, v := range []lint.Value{o.Root.At("metadata", "labels", "istio-injection"), o.Root.At("metadata", "annotations", "linkerd.io/inject")} {
						if asks(v) && !declined {
							p.Report(pod.Object, pod.Meta, fmt.Sprintf("the namespace %s injects a container that has no image for Windows into every pod", o.Name), say("sidecar.istio.io/inject: \"false\" or linkerd.io/inject: disabled on the pod"))
						}
					}
				}
			},
		},
	}
}

// asks says whether a label or annotation asks for an injection.
func asks(v lint.Value) bool {
	return v.Str() != "" && !slices.Contains([]string{"false", "disabled", "no"}, strings.ToLower(v.Str()))
}

// eachHomeless runs check for pods of a mixed cluster that say nothing of an OS.
func eachHomeless(check func(p *lint.Pass, pod *lint.Pod)) func(*lint.Pass) {
	return func(p *lint.Pass) {
		for _, pod := range p.Set.Pods {
			if _, affine := mentionsWindows(pod); p.Target.Mixed && pod.Level == lint.Unknown && !affine && !excludesWindows(pod) {
				check(p, pod)
			}
		}
	}
}

// osExpressions are those of the pod's node affinity that are about the OS.
func osExpressions(pod *lint.Pod) []lint.Value {
	return slices.DeleteFunc(nodeExpressions(pod), func(e lint.Value) bool {
		return e.At("key").Str() != lint.LabelOS && e.At("key").Str() != lint.LabelOSBeta
	})
}

// nodeExpressions are all of the pod's node affinity, required and preferred.
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
		if e.At("operator").Str() == "In" && slices.ContainsFunc(e.At("values").Strings(), func(s string) bool { return strings.EqualFold(s, "windows") }) {
			return e.At("values"), true
		}
	}
	return lint.Value{}, false
}

// excludesWindows says whether the affinity keeps the pod off Windows.
func excludesWindows(pod *lint.Pod) bool {
	return slices.ContainsFunc(osExpressions(pod), func(e lint.Value) bool {
		return e.At("operator").Str() == "NotIn" && slices.Contains(e.At("values").Strings(), "windows")
	})
}

// tolerates is Kubernetes' own rule.
func tolerates(t lint.Value, taint lint.Taint) bool {
	key, effect := t.At("key").Str(), t.At("effect").Str()
	if key != "" && key != taint.Key || effect != "" && effect != taint.Effect {
		return false
	}
	return t.At("operator").Str() == "Exists" || key != "" && t.At("value").Str() == taint.Value
}

func affine(values string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  affinity:\n    nodeAffinity:\n      requiredDuringSchedulingIgnoredDuringExecution:\n        nodeSelectorTerms:\n        - matchExpressions:\n          - key: kubernetes.io/os\n            operator: In\n            values: " + values + "\n" + container
}

// linuxWorkload is one of no OS in particular.
func linuxWorkload(kind, lines string) string {
	return "apiVersion: apps/v1\nkind: " + kind + "\nmetadata:\n  name: example\nspec:\n  selector:\n    matchLabels:\n      app: example\n  template:\n    metadata:\n      labels:\n        app: example\n    spec:\n" + lines + "      containers:\n      - name: app\n        image: registry.example/app:1\n"
}
