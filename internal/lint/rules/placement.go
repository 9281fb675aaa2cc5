package rules

import (
	"fmt"
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

// placement are the rules about where a pod runs.
func placement() []lint.Rule {
	return []lint.Rule{
		{
			ID: "WIN001", Severity: lint.Error, Title: "A Windows pod without a selector", Oracle: lint.Unit,
			Doc: "The scheduler does not look at `spec.os.name` nor at images: without a node selector the pod can land on Linux, where the image has no platform that fits. Source: kubernetes.io/docs/concepts/windows/user-guide.",
			Bad: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  os:\n    name: windows\n" + container, Good: windowsPod + container,
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				if pod.Level == lint.Placed || pod.Placed() {
					return
				}
				selector := pod.Spec.At("nodeSelector")
				edit := lint.Insert(pod.Spec, onWindows)
				if selector.IsMap() {
					edit = lint.Insert(selector, "kubernetes.io/os: windows\n")
				}
				p.Report(pod.Object, selector, "nothing places this Windows pod on a Windows node: the scheduler ignores os.name and images", safe("nodeSelector kubernetes.io/os: windows", edit))
			},
		},
		{
			ID: "WIN002", Severity: lint.Warning, Title: "os.name is not set", Since: 24, Oracle: lint.Unit,
			Doc: "Without `spec.os.name: windows` the API server makes none of its checks for Windows pods, and a namespace with the restricted Pod Security level cannot be met. Source: kubernetes/enhancements KEP-2802.",
			Bad: placedPod + container, Good: windowsPod + container,
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				if v := pod.Spec.At("os", "name"); pod.Level == lint.Placed && !v.Exists() {
					p.Report(pod.Object, v, "os.name is not set: the API server does not check the pod as a Windows one", say("os: {name: windows}, once no field is left that it forbids"))
				}
			},
		},
		{
			ID: "WIN003", Severity: lint.Error, Title: "os.name and placement contradict each other", Since: 24, Oracle: lint.Unit,
			Doc: "The kubelet of the node refuses the pod: PodOSNotSupported. Source: kubernetes pkg/kubelet/lifecycle/predicate.go.",
			Bad: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  os:\n    name: linux\n  nodeSelector:\n    kubernetes.io/os: windows\n" + container, Good: windowsPod + container,
			Check: func(p *lint.Pass) {
				for _, pod := range p.Set.Pods {
					os := pod.OSName()
					if windows := pod.Level == lint.Placed; os == "linux" && windows && pod.Placed() || os == "windows" && pod.Level == lint.Linux {
						p.Report(pod.Object, pod.Spec.At("os", "name"), fmt.Sprintf("os.name is %s, but the pod is placed on the other OS: the kubelet refuses it (PodOSNotSupported)", os), say("make the two agree"))
					}
				}
			},
		},
		{
			ID: "WIN004", Severity: lint.Error, Title: "A pod label with the OS", Oracle: lint.Unit,
			Doc: "The kubelet compares the pod's own label `kubernetes.io/os` with its OS and refuses the pod when they differ (PodOSSelectorNodeLabelDoesNotMatch). Source: kubernetes pkg/kubelet/lifecycle/predicate.go.",
			Bad: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\n  labels:\n    kubernetes.io/os: linux\nspec:\n  os:\n    name: windows\n  nodeSelector:\n    kubernetes.io/os: windows\n" + container, Good: windowsPod + container,
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				if v := pod.Meta.At("labels", lint.LabelOS); v.Exists() && v.Str() != "windows" {
					p.Report(pod.Object, v, fmt.Sprintf("the label says %q: the kubelet on Windows refuses the pod", v.Str()), safe("take the label out", lint.Delete(v)))
				}
			},
		},
		{
			ID: "WIN005", Severity: lint.Warning, Title: "A beta label", Since: 14, Oracle: lint.APIServerWarning,
			Doc: "`beta.kubernetes.io/os` and `/arch` are deprecated since 1.14; write `kubernetes.io/os` and `/arch`. Source: kubernetes pkg/api/node/util.go.",
			Bad: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  os:\n    name: windows\n  nodeSelector:\n    beta.kubernetes.io/os: windows\n" + container, Good: windowsPod + container,
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				selectors := map[*lint.Object]lint.Value{pod.Object: pod.Spec.At("nodeSelector")}
				if class := runtimeClass(p.Set, pod); class != nil {
					selectors[class] = class.Root.At("scheduling", "nodeSelector")
				}
				for o, selector := range selectors {
					for _, f := range selector.Fields() {
						if label, ok := betaLabel(f.Key); ok {
							p.Report(o, f.Value, f.Key+" is deprecated since Kubernetes 1.14", safe(label, lint.Rename(f.Value, label)))
						}
					}
				}
				for _, e := range nodeExpressions(pod) {
					if label, ok := betaLabel(e.At("key").Str()); ok {
						p.Report(pod.Object, e.At("key"), e.At("key").Str()+" is deprecated since Kubernetes 1.14", safe(label, lint.Replace(e.At("key"), label)))
					}
				}
				for _, s := range pod.Spec.At("topologySpreadConstraints").Items() {
					if label, ok := betaLabel(s.At("topologyKey").Str()); ok {
						p.Report(pod.Object, s.At("topologyKey"), s.At("topologyKey").Str()+" is deprecated since Kubernetes 1.14", safe(label, lint.Replace(s.At("topologyKey"), label)))
					}
				}
			},
		},
		{
			ID: "WIN006", Severity: lint.Error, Title: "The OS in capitals", Oracle: lint.Unit,
			Doc: "The label of nodes is Go's name of the OS, in lower case: `Windows` matches none. Source: kubernetes pkg/kubelet/kubelet_node_status.go.",
			Bad: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  nodeSelector:\n    kubernetes.io/os: Windows\n" + container, Good: windowsPod + container,
			Check: func(p *lint.Pass) {
				for _, pod := range p.Set.Pods {
					places := []lint.Value{pod.Spec.At("nodeSelector", lint.LabelOS), pod.Spec.At("nodeSelector", lint.LabelOSBeta)}
					for _, e := range osExpressions(pod) {
						places = append(places, e.At("values").Items()...)
					}
					for _, v := range places {
						if lower := strings.ToLower(v.Str()); lower != v.Str() && (lower == "windows" || lower == "linux") {
							p.Report(pod.Object, v, fmt.Sprintf("no node has the OS %s: the values are in lower case", v.Str()), safe(lower, lint.Replace(v, lower)))
						}
					}
				}
			},
		},
		{
			ID: "WIN008", Severity: lint.Error, Title: "A Windows build that no node has", Since: 17, Oracle: lint.Unit,
			Doc: "The kubelet sets `node.kubernetes.io/windows-build` to major, minor and build, such as 10.0.20348; a release name or a revision matches none. Source: kubernetes/enhancements KEP-1301.",
			Bad: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  nodeSelector:\n    kubernetes.io/os: windows\n    node.kubernetes.io/windows-build: ltsc2022\n" + container, Good: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  nodeSelector:\n    kubernetes.io/os: windows\n    node.kubernetes.io/windows-build: 10.0.20348\n" + container,
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				for _, v := range selected(pod, lint.LabelWindowsBuild) {
					if windowsBuild.MatchString(v.Str()) {
						continue
					}
					fix := say("10.0. and five digits, such as 10.0.20348")
					want := builds[strings.ToLower(v.Str())]
					if parts := strings.Split(v.Str(), "."); want == "" && len(parts) == 4 && windowsBuild.MatchString(strings.Join(parts[:3], ".")) {
						want = strings.Join(parts[:3], ".")
					}
					if want != "" {
						fix = safe(want, lint.Replace(v, want))
					}
					p.Report(pod.Object, v, fmt.Sprintf("no node has the build %q: the label has three parts, such as 10.0.20348", v.Str()), fix)
				}
			},
		},
		{
			ID: "WIN010", Severity: lint.Error, Title: "An architecture without Windows", Oracle: lint.Unit,
			Doc: "Kubernetes is built for Windows on amd64 alone. Source: kubernetes hack/lib/golang.sh.",
			Bad: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  nodeSelector:\n    kubernetes.io/os: windows\n    kubernetes.io/arch: arm64\n" + container, Good: windowsPod + container,
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				for _, v := range selected(pod, "kubernetes.io/arch") {
					if v.Str() != "amd64" {
						p.Report(pod.Object, v, "Windows nodes are amd64 only", say("take it out, or amd64"))
					}
				}
			},
		},
	}
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
	for _, term := range pod.Spec.At("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms").Items() {
		for _, e := range term.At("matchExpressions").Items() {
			if values := e.At("values").Items(); e.At("key").Str() == label && e.At("operator").Str() == "In" && len(values) == 1 {
				out = append(out, values[0])
			}
		}
	}
	return out
}
