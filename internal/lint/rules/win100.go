package rules

import (
	"fmt"
	"strings"

	"casement.dev/casement/internal/lint"
)

// win127: A stop signal.
var win127 = lint.Rule{
	ID:       "WIN127",
	Severity: lint.Error,
	Title:    "A stop signal",
	Since:    33,
	Oracle:   lint.Unit,
	For:      lint.Target{Gates: map[string]bool{stopSignals: true}},
	Doc: "With the feature gate ContainerStopSignals (`featureGates` of the configuration) the API server takes " +
		"SIGTERM and SIGKILL alone for Windows, and none without `os.name`. Without the gate, as by default, the " +
		"field is dropped without a word: a warning. Source: validation.go, validateStopSignal.",
	Bad:  windowsPod + container + "    lifecycle:\n      stopSignal: SIGUSR1\n",
	Good: windowsPod + container + "    lifecycle:\n      stopSignal: SIGTERM\n",
	Pod:  eachContainer(checkWIN127),
}

func checkWIN127(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	v := c.At("lifecycle", "stopSignal")
	if !v.Exists() || pod.OSName() == "windows" && (v.Str() == "SIGTERM" || v.Str() == "SIGKILL") {
		return
	}
	if p.Target.Gates[stopSignals] {
		p.Report(pod.Object, v, "the API server takes SIGTERM and SIGKILL alone, of pods with os.name: "+
			"windows", safe("take it out", lint.Delete(v)))
	} else {
		p.ReportAs(lint.Warning, pod.Object, v, "dropped without the feature gate ContainerStopSignals, "+
			"and not valid for Windows with it", safe("take it out", lint.Delete(v)))
	}
}

// win128: windowsOptions on a Linux pod.
var win128 = lint.Rule{
	ID:       "WIN128",
	Severity: lint.Error,
	Title:    "windowsOptions on a Linux pod",
	Since:    24,
	Oracle:   lint.APIServer,
	Doc: "The API server refuses windowsOptions beside `spec.os.name: linux`. Set the OS to windows, or take the " +
		"block out. Source: validation.go, validateLinux.",
	Bad: "apiVersion: v1\nkind: Pod\nmetadata: {name: example}\nspec:\n  os: {name: linux}\n  securityContext:\n    " +
		"windowsOptions: {runAsUserName: ContainerUser}\n  containers: [{name: app, image: nginx}]\n",
	Good:  windowsPod + "  securityContext:\n    windowsOptions: {runAsUserName: ContainerUser}\n" + container,
	Check: checkWIN128,
}

func checkWIN128(p *lint.Pass) {
	for _, pod := range p.Set.Pods {
		if pod.OSName() != "linux" {
			continue
		}
		const message = "windows options cannot be set for a linux pod"
		if v := pod.Spec.At("securityContext", "windowsOptions"); v.Exists() {
			p.Report(pod.Object, v, message, say("set os.name to windows, or take windowsOptions out"))
		}
		for _, c := range pod.Containers() {
			if v := c.At("securityContext", "windowsOptions"); v.Exists() {
				p.Report(pod.Object, v, message, say("set os.name to windows, or take windowsOptions out"))
			}
		}
	}
}

// win129: Bidirectional mount propagation.
var win129 = lint.Rule{
	ID:       "WIN129",
	Severity: lint.Error,
	Title:    "Bidirectional mount propagation",
	Oracle:   lint.APIServer,
	Doc: "Bidirectional propagation needs a privileged container, and a Windows container cannot be one. Source: " +
		"validation.go, validateMountPropagation.",
	Bad: windowsPod + container + "    volumeMounts:\n    - name: data\n      mountPath: C:/data\n      " +
		"mountPropagation: Bidirectional\n  volumes:\n  - name: data\n    emptyDir: {}\n",
	Good: windowsPod + container,
	Pod:  eachContainer(checkWIN129),
}

func checkWIN129(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	for _, m := range c.At("volumeMounts").Items() {
		if v := m.At("mountPropagation"); v.Str() == "Bidirectional" {
			p.Report(pod.Object, v, "Bidirectional needs a privileged container, which Windows does not "+
				"have", safe("None", lint.Replace(v, "None")))
		}
	}
}

// win130: Resizing in place.
var win130 = lint.Rule{
	ID:       "WIN130",
	Severity: lint.Warning,
	Title:    "Resizing in place",
	Since:    33,
	Oracle:   lint.Unit,
	Doc: "Windows pods cannot be resized in place: the API server refuses the resize, and the kubelet would not do " +
		"it. A resizePolicy does nothing. Source: validation.go, ValidatePodResize; kubernetes " +
		"pkg/kubelet/allocation/features_windows.go.",
	Bad:  windowsPod + container + "    resizePolicy:\n    - resourceName: cpu\n      restartPolicy: NotRequired\n",
	Good: windowsPod + container,
	Pod:  eachContainer(checkWIN130),
}

func checkWIN130(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	if v := c.At("resizePolicy"); len(v.Items()) > 0 {
		p.Report(pod.Object, v, "Windows pods cannot be resized in place", safe("take it out", lint.Delete(v)))
	}
}

// win131: An OS that Kubernetes does not know.
var win131 = lint.Rule{
	ID:       "WIN131",
	Severity: lint.Error,
	Title:    "An OS that Kubernetes does not know",
	Since:    24,
	Oracle:   lint.APIServer,
	Doc:      "`spec.os.name` is linux or windows, in lower case. Source: validation.go, validateOS.",
	Bad:      "apiVersion: v1\nkind: Pod\nmetadata: {name: example}\nspec:\n  os: {name: Windows}\n" + container,
	Good:     windowsPod + container,
	Check:    checkWIN131,
}

func checkWIN131(p *lint.Pass) {
	for _, pod := range p.Set.Pods {
		v := pod.Spec.At("os", "name")
		if !v.Exists() || v.Str() == "linux" || v.Str() == "windows" {
			continue
		}
		fix := say("linux or windows")
		if lower := strings.ToLower(v.Str()); lower == "windows" || lower == "linux" {
			fix = safe(lower, lint.Replace(v, lower))
		}
		p.Report(pod.Object, v, fmt.Sprintf("os.name %q is neither linux nor windows", v.Str()), fix)
	}
}

// win132: Annotations of AppArmor and seccomp.
var win132 = lint.Rule{
	ID:       "WIN132",
	Severity: lint.Warning,
	Title:    "Annotations of AppArmor and seccomp",
	Oracle:   lint.Unit,
	Doc:      "Neither exists on Windows; the annotations do nothing. Source: kubernetes pkg/registry/core/pod/strategy.go.",
	Bad:      annotated("container.apparmor.security.beta.kubernetes.io/app: runtime/default"),
	Good:     annotated("example.org/owner: web"),
	Pod:      checkWIN132,
}

func checkWIN132(p *lint.Pass, pod *lint.Pod) {
	for _, f := range pod.Meta.At("annotations").Fields() {
		if securityAnnotation.MatchString(f.Key) {
			p.Report(pod.Object, f.Value, "does nothing on Windows", safe("take it "+
				"out", lint.Delete(pod.Meta.At("annotations", f.Key))))
		}
	}
}
