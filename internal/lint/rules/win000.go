package rules

import (
	"fmt"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

// win001: A Windows pod without a selector.
var win001 = lint.Rule{
	ID:       "WIN001",
	Severity: lint.Error,
	Title:    "A Windows pod without a selector",
	Oracle:   lint.Unit,
	Doc: "The scheduler does not look at `spec.os.name` nor at images: without a node selector the pod can land on " +
		"Linux, where the image has no platform that fits. Source: kubernetes.io/docs/concepts/windows/user-guide.",
	Bad:  "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  os:\n    name: windows\n" + container,
	Good: windowsPod + container,
	Pod:  checkWIN001,
}

func checkWIN001(p *lint.Pass, pod *lint.Pod) {
	if pod.Level == lint.Placed || pod.Placed() {
		return
	}
	selector := pod.Spec.At("nodeSelector")
	edit := lint.Insert(pod.Spec, onWindows)
	if selector.IsMap() {
		edit = lint.Insert(selector, "kubernetes.io/os: windows\n")
	}
	p.Report(pod.Object, selector, "nothing places this Windows pod on a Windows node: the scheduler "+
		"ignores os.name and images", safe("nodeSelector kubernetes.io/os: windows", edit))
}

// win002: os.name is not set.
var win002 = lint.Rule{
	ID:       "WIN002",
	Severity: lint.Warning,
	Title:    "os.name is not set",
	Since:    24,
	Oracle:   lint.Unit,
	Doc: "Without `spec.os.name: windows` the API server makes none of its checks for Windows pods, and a namespace " +
		"with the restricted Pod Security level cannot be met. Source: kubernetes/enhancements KEP-2802.",
	Bad:  placedPod + container,
	Good: windowsPod + container,
	Pod:  checkWIN002,
}

func checkWIN002(p *lint.Pass, pod *lint.Pod) {
	if v := pod.Spec.At("os", "name"); pod.Level == lint.Placed && !v.Exists() {
		p.Report(pod.Object, v, "os.name is not set: the API server does not check the pod as a Windows "+
			"one", say("os: {name: windows}, once no field is left that it forbids"))
	}
}

// win003: os.name and placement contradict each other.
var win003 = lint.Rule{
	ID:       "WIN003",
	Severity: lint.Error,
	Title:    "os.name and placement contradict each other",
	Since:    24,
	Oracle:   lint.Unit,
	Doc:      "The kubelet of the node refuses the pod: PodOSNotSupported. Source: kubernetes pkg/kubelet/lifecycle/predicate.go.",
	Bad: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  os:\n    name: linux\n  nodeSelector:\n    " +
		"kubernetes.io/os: windows\n" + container,
	Good:  windowsPod + container,
	Check: checkWIN003,
}

func checkWIN003(p *lint.Pass) {
	for _, pod := range p.Set.Pods {
		os := pod.OSName()
		if windows := pod.Level == lint.Placed; os == "linux" && windows && pod.Placed() || os == "windows" && pod.Level == lint.Linux {
			p.Report(pod.Object, pod.Spec.At("os", "name"), fmt.Sprintf("os.name is %s, but the pod is "+
				"placed on the other OS: the kubelet refuses it (PodOSNotSupported)", os), say("make the two agree"))
		}
	}
}

// win004: A pod label with the OS.
var win004 = lint.Rule{
	ID:       "WIN004",
	Severity: lint.Error,
	Title:    "A pod label with the OS",
	Oracle:   lint.Unit,
	Doc: "The kubelet compares the pod's own label `kubernetes.io/os` with its OS and refuses the pod when they " +
		"differ (PodOSSelectorNodeLabelDoesNotMatch). Source: kubernetes pkg/kubelet/lifecycle/predicate.go.",
	Bad: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\n  labels:\n    kubernetes.io/os: linux\nspec:\n  " +
		"os:\n    name: windows\n  nodeSelector:\n    kubernetes.io/os: windows\n" + container,
	Good: windowsPod + container,
	Pod:  checkWIN004,
}

func checkWIN004(p *lint.Pass, pod *lint.Pod) {
	if v := pod.Meta.At("labels", lint.LabelOS); v.Exists() && v.Str() != "windows" {
		p.Report(pod.Object, v, fmt.Sprintf("the label says %q: the kubelet on Windows refuses the "+
			"pod", v.Str()), safe("take the label out", lint.Delete(v)))
	}
}

// win005: A beta label.
var win005 = lint.Rule{
	ID:       "WIN005",
	Severity: lint.Warning,
	Title:    "A beta label",
	Since:    14,
	Oracle:   lint.APIServerWarning,
	Doc: "`beta.kubernetes.io/os` and `/arch` are deprecated since 1.14; write `kubernetes.io/os` and `/arch`. " +
		"Source: kubernetes pkg/api/node/util.go.",
	Bad: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  os:\n    name: windows\n  nodeSelector:\n   " +
		" beta.kubernetes.io/os: windows\n" + container,
	Good: windowsPod + container,
	Pod:  checkWIN005,
}

func checkWIN005(p *lint.Pass, pod *lint.Pod) {
	selectors := map[*lint.Object]lint.Value{pod.Object: pod.Spec.At("nodeSelector")}
	if class := runtimeClass(p.Set, pod); class != nil {
		selectors[class] = class.Root.At("scheduling", "nodeSelector")
	}
	for o, selector := range selectors {
		for _, f := range selector.Fields() {
			if label, ok := betaLabel(f.Key); ok {
				p.Report(o, f.Value, f.Key+" is deprecated since Kubernetes "+
					"1.14", safe(label, lint.Rename(f.Value, label)))
			}
		}
	}
	for _, e := range nodeExpressions(pod) {
		if label, ok := betaLabel(e.At("key").Str()); ok {
			p.Report(pod.Object, e.At("key"), e.At("key").Str()+" is deprecated since Kubernetes "+
				"1.14", safe(label, lint.Replace(e.At("key"), label)))
		}
	}
	for _, s := range pod.Spec.At("topologySpreadConstraints").Items() {
		if label, ok := betaLabel(s.At("topologyKey").Str()); ok {
			p.Report(pod.Object, s.At("topologyKey"), s.At("topologyKey").Str()+" is deprecated since "+
				"Kubernetes 1.14", safe(label, lint.Replace(s.At("topologyKey"), label)))
		}
	}
}

// win006: The OS in capitals.
var win006 = lint.Rule{
	ID:       "WIN006",
	Severity: lint.Error,
	Title:    "The OS in capitals",
	Oracle:   lint.Unit,
	Doc: "The label of nodes is Go's name of the OS, in lower case: `Windows` matches none. Source: kubernetes " +
		"pkg/kubelet/kubelet_node_status.go.",
	Bad: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  nodeSelector:\n    kubernetes.io/os: " +
		"Windows\n" + container,
	Good:  windowsPod + container,
	Check: checkWIN006,
}

func checkWIN006(p *lint.Pass) {
	for _, pod := range p.Set.Pods {
		places := []lint.Value{pod.Spec.At("nodeSelector", lint.LabelOS), pod.Spec.At("nodeSelector", lint.LabelOSBeta)}
		for _, e := range osExpressions(pod) {
			places = append(places, e.At("values").Items()...)
		}
		for _, v := range places {
			if lower := strings.ToLower(v.Str()); lower != v.Str() && (lower == "windows" || lower == "linux") {
				p.Report(pod.Object, v, fmt.Sprintf("no node has the OS %s: the values are in lower "+
					"case", v.Str()), safe(lower, lint.Replace(v, lower)))
			}
		}
	}
}

// win007: An affinity that permits either OS.
var win007 = lint.Rule{
	ID:       "WIN007",
	Severity: lint.Warning,
	Title:    "An affinity that lets either OS in",
	Oracle:   lint.Unit,
	Doc: "A required node affinity with more than one OS, or with one in some of its terms alone, and one that only " +
		"prefers Windows let the pod land on either. Pin the one that the image is for. Source: " +
		"kubernetes.io/docs/concepts/windows/user-guide.",
	Bad:   affine("[windows, linux]"),
	Good:  affine("[windows]"),
	Check: checkWIN007,
}

func checkWIN007(p *lint.Pass) {
	for _, pod := range p.Set.Pods {
		if pod.Placed() || pod.Level == lint.Linux {
			continue
		}
		if v, ok := mentionsWindows(pod); ok {
			p.Report(pod.Object, v, "the pod can land on nodes of either OS", say("nodeSelector "+
				"kubernetes.io/os with the OS of its images"))
		}
	}
}

// win008: A Windows build that no node has.
var win008 = lint.Rule{
	ID:       "WIN008",
	Severity: lint.Error,
	Title:    "A Windows build that no node has",
	Since:    17,
	Oracle:   lint.Unit,
	Doc: "The kubelet sets `node.kubernetes.io/windows-build` to major, minor and build, such as 10.0.20348; a " +
		"release name or a revision matches none. Source: kubernetes/enhancements KEP-1301.",
	Bad: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  nodeSelector:\n    kubernetes.io/os: " +
		"windows\n    node.kubernetes.io/windows-build: ltsc2022\n" + container,
	Good: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  nodeSelector:\n    kubernetes.io/os: " +
		"windows\n    node.kubernetes.io/windows-build: 10.0.20348\n" + container,
	Pod: checkWIN008,
}

func checkWIN008(p *lint.Pass, pod *lint.Pod) {
	for _, v := range selected(pod, lint.LabelWindowsBuild) {
		if windowsBuild.MatchString(v.Str()) {
			continue
		}
		fix := say("10.0. and five digits, such as 10.0.20348")
		want := buildOf(v.Str())
		if parts := strings.Split(v.Str(), "."); want == "" && len(parts) == 4 && windowsBuild.MatchString(strings.Join(parts[:3], ".")) {
			want = strings.Join(parts[:3], ".")
		}
		if want != "" {
			fix = safe(want, lint.Replace(v, want))
		}
		p.Report(pod.Object, v, fmt.Sprintf("no node has the build %q: the label has three parts, such as "+
			"10.0.20348", v.Str()), fix)
	}
}

// win009: The taint of Windows nodes is not tolerated.
var win009 = lint.Rule{
	ID:       "WIN009",
	Severity: lint.Warning,
	Title:    "The taint of Windows nodes is not tolerated",
	Oracle:   lint.Unit,
	For:      lint.Target{Taints: windowsTaints},
	Doc: "The pod stays Pending where every Windows node has a taint that it does not tolerate. Name the taints in " +
		"the configuration (`windowsTaints`; none by default). Values have a case: os=windows is not os=Windows. " +
		"Source: kubernetes.io/docs/concepts/windows/user-guide.",
	Bad:  windowsPod + container,
	Good: windowsPod + "  tolerations:\n  - key: os\n    value: windows\n    effect: NoSchedule\n" + container,
	Pod:  checkWIN009,
}

func checkWIN009(p *lint.Pass, pod *lint.Pod) {
	for _, taint := range p.Target.Taints {
		if taint.Effect != "PreferNoSchedule" && !slices.ContainsFunc(pod.Spec.At("tolerations").Items(),
			func(t lint.Value) bool { return tolerates(t, taint) }) {
			p.Report(pod.Object, pod.Spec.At("tolerations"), fmt.Sprintf("the Windows nodes have the "+
				"taint %s=%s:%s, which the pod does not "+
				"tolerate", taint.Key, taint.Value, taint.Effect), say("a toleration of it"))
		}
	}
}

// win010: An architecture without Windows.
var win010 = lint.Rule{
	ID:       "WIN010",
	Severity: lint.Error,
	Title:    "An architecture without Windows",
	Oracle:   lint.Unit,
	Doc:      "Kubernetes is built for Windows on amd64 alone. Source: kubernetes hack/lib/golang.sh.",
	Bad: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  nodeSelector:\n    kubernetes.io/os: " +
		"windows\n    kubernetes.io/arch: arm64\n" + container,
	Good: windowsPod + container,
	Pod:  checkWIN010,
}

func checkWIN010(p *lint.Pass, pod *lint.Pod) {
	for _, v := range selected(pod, "kubernetes.io/arch") {
		if v.Str() != "amd64" {
			p.Report(pod.Object, v, "Windows nodes are amd64 only", say("take it out, or amd64"))
		}
	}
}

// win011: A DaemonSet on nodes of either OS.
var win011 = lint.Rule{
	ID:       "WIN011",
	Severity: lint.Error,
	Title:    "A DaemonSet on nodes of either OS",
	Oracle:   lint.Unit,
	For:      mixed,
	Doc: "In a cluster with both (`mixedCluster` of the configuration) a DaemonSet for Linux that names no OS makes a " +
		"broken pod on every Windows node, and it stays. Source: kubernetes.io/docs/concepts/windows/user-guide; " +
		"argoproj/argo-cd issue 8141.",
	Bad:   linuxWorkload("DaemonSet", ""),
	Good:  linuxWorkload("DaemonSet", indent(linuxSelector, 4)),
	Check: eachWithoutOS(checkWIN011),
}

func checkWIN011(p *lint.Pass, pod *lint.Pod) {
	if pod.Object.Kind == "DaemonSet" {
		p.Report(pod.Object, pod.Spec.At("nodeSelector"), "it runs on Windows nodes too, where its image "+
			"does not", say("kubernetes.io/os: linux"))
	}
}

// win012: A workload that can land on either OS.
var win012 = lint.Rule{
	ID:       "WIN012",
	Severity: lint.Warning,
	Title:    "A workload that can land on either OS",
	Oracle:   lint.Unit,
	For:      mixed,
	Doc: "In a cluster with both (`mixedCluster`) whose Windows nodes have no taint (`windowsTaints`), the scheduler " +
		"puts pods that name no OS on either. Source: kubernetes.io/docs/concepts/windows/user-guide.",
	Bad:   linuxWorkload("Deployment", ""),
	Good:  linuxWorkload("Deployment", indent(linuxSelector, 4)),
	Check: eachWithoutOS(checkWIN012),
}

func checkWIN012(p *lint.Pass, pod *lint.Pod) {
	if pod.Object.Kind != "DaemonSet" && len(p.Target.Taints) == 0 {
		p.Report(pod.Object, pod.Spec.At("nodeSelector"), "it can land on Windows nodes, where its image "+
			"does not run", say("kubernetes.io/os: linux"))
	}
}

// win013: A toleration of everything.
var win013 = lint.Rule{
	ID:       "WIN013",
	Severity: lint.Warning,
	Title:    "A toleration of everything",
	Oracle:   lint.Unit,
	For:      mixed,
	Doc: "`operator: Exists` without a key tolerates the taint that keeps Linux pods off the Windows nodes of a mixed " +
		"cluster (`mixedCluster` or `windowsTaints`). Source: kubernetes.io/docs/concepts/windows/user-guide.",
	Bad:   linuxWorkload("DaemonSet", "      tolerations:\n      - operator: Exists\n"),
	Good:  linuxWorkload("DaemonSet", indent(linuxSelector, 4)+"      tolerations:\n      - operator: Exists\n"),
	Check: checkWIN013,
}

func checkWIN013(p *lint.Pass) {
	for _, pod := range p.Set.Pods {
		if pod.Level != lint.Unknown || !p.Target.Mixed && len(p.Target.Taints) == 0 {
			continue
		}
		for _, t := range pod.Spec.At("tolerations").Items() {
			if t.At("operator").Str() == "Exists" && t.At("key").Str() == "" && (t.At("effect").Str() == "" ||
				t.At("effect").Str() == "NoSchedule") {
				p.Report(pod.Object, t, "it tolerates the taint of Windows nodes, and names no "+
					"OS", say("kubernetes.io/os: linux"))
			}
		}
	}
}

// win014: A RuntimeClass that does not fit.
var win014 = lint.Rule{
	ID:       "WIN014",
	Severity: lint.Error,
	Title:    "A RuntimeClass that does not fit",
	Since:    16,
	Oracle:   lint.Unit,
	Doc: "The class is not among those in the input, its node selector contradicts the pod's (refused at admission) " +
		"or pins Linux, or its handler is docker, which no node has since 1.24: the pod is refused or its sandbox " +
		"never made. A class that is nowhere in the input is only reported when others are. Source: kubernetes " +
		"plugin/pkg/admission/runtimeclass.",
	Bad:  withClass("runhcs-wcow-process", "kubernetes.io/os: linux"),
	Good: withClass("runhcs-wcow-process", "kubernetes.io/os: windows"),
	Pod:  checkWIN014,
}

func checkWIN014(p *lint.Pass, pod *lint.Pod) {
	name := pod.Spec.At("runtimeClassName")
	classes := p.Set.Kind("RuntimeClass")
	if name.Str() == "" || len(classes) == 0 {
		return
	}
	class := runtimeClass(p.Set, pod)
	if class == nil {
		p.Report(pod.Object, name, fmt.Sprintf("there is no RuntimeClass %s in the "+
			"input", name.Str()), say("one of its RuntimeClasses"))
		return
	}
	if handler := class.Root.At("handler"); handler.Str() == "docker" && p.Target.AtLeast(24) {
		p.Report(class, handler, "no node has the handler docker since 1.24: the sandbox is not "+
			"made", say("a handler of containerd, such as runhcs-wcow-process"))
	}
	for _, f := range class.Root.At("scheduling", "nodeSelector").Fields() {
		own := pod.Spec.At("nodeSelector", f.Key)
		if own.Exists() && own.Str() != f.Value.Str() || f.Key == lint.LabelOS && f.Value.Str() == "linux" {
			p.Report(pod.Object, name, fmt.Sprintf("the class wants nodes with %s=%s, which is not where "+
				"the pod belongs", f.Key, f.Value.Str()), say("a class for Windows, or the same selector"))
		}
	}
}

// win015: A sidecar without an image for Windows.
var win015 = lint.Rule{
	ID:       "WIN015",
	Severity: lint.Warning,
	Title:    "A sidecar without an image for Windows",
	Oracle:   lint.Unit,
	Doc: "The injected container's image has no Windows platform: no match for platform in manifest. This holds for " +
		"the proxies of workload identity, Istio, Linkerd, Vault, Consul, Dapr and Kuma; add others as `sidecars` in " +
		"the configuration. Source: Azure/azure-workload-identity issue 1016; for the others it follows from what " +
		"their images offer.",
	Bad:  annotated("azure.workload.identity/inject-proxy-sidecar: 'true'"),
	Good: annotated("azure.workload.identity/inject-proxy-sidecar: 'false'"),
	Pod:  checkWIN015,
}

func checkWIN015(p *lint.Pass, pod *lint.Pod) {
	declined := false
	for _, where := range []string{"labels", "annotations"} {
		for _, key := range slices.Concat(sidecars, p.Target.Sidecars) {
			v := pod.Meta.At(where, key)
			declined = declined || v.Exists() && !asks(v)
			if asks(v) {
				p.Report(pod.Object, v, key+" injects a container that has no image for "+
					"Windows", say("take it out, or false"))
			}
		}
	}
	for _, o := range p.Set.Named("Namespace", "", pod.Object.Namespace) {
		for _, v := range []lint.Value{o.Root.At("metadata", "labels", "istio-injection"), o.Root.At("metadata", "annotations",
			"linkerd.io/inject")} {
			if asks(v) && !declined {
				p.Report(pod.Object, pod.Meta, fmt.Sprintf("the namespace %s injects a container that has "+
					"no image for Windows into every pod", o.Name), say("sidecar.istio.io/inject: "+
					"\"false\" or linkerd.io/inject: disabled on the pod"))
			}
		}
	}
}
