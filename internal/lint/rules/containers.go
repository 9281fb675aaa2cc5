package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"casement.dev/casement/internal/lint"
)

// stopSignals is the feature gate of the field.
const stopSignals = "ContainerStopSignals"

// containers are rules about single fields of containers.
func containers() []lint.Rule {
	return []lint.Rule{
		{
			ID: "WIN127", Severity: lint.Error, Title: "A stop signal", Since: 33, Oracle: lint.Unit, For: lint.Target{Gates: map[string]bool{stopSignals: true}},
			Doc: "With the feature gate ContainerStopSignals (`featureGates` of the configuration) the API server takes SIGTERM and SIGKILL alone for Windows, and none without `os.name`. Without the gate, as by default, the field is dropped without a word: a warning. Source: validation.go, validateStopSignal.",
			Bad: windowsPod + container + "    lifecycle:\n      stopSignal: SIGUSR1\n", Good: windowsPod + container + "    lifecycle:\n      stopSignal: SIGTERM\n",
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				v := c.At("lifecycle", "stopSignal")
				if !v.Exists() || pod.OSName() == "windows" && (v.Str() == "SIGTERM" || v.Str() == "SIGKILL") {
					return
				}
				if p.Target.Gates[stopSignals] {
					p.Report(pod.Object, v, "the API server takes SIGTERM and SIGKILL alone, of pods with os.name: windows", safe("take it out", lint.Delete(v)))
				} else {
					p.ReportAs(lint.Warning, pod.Object, v, "dropped without the feature gate ContainerStopSignals, and not valid for Windows with it", safe("take it out", lint.Delete(v)))
				}
			}),
		},
		{
			ID: "WIN130", Severity: lint.Warning, Title: "Resizing in place", Since: 33, Oracle: lint.Unit,
			Doc: "Windows pods cannot be resized in place: the API server refuses the resize, and the kubelet would not do it. A resizePolicy does nothing. Source: validation.go, ValidatePodResize; kubernetes pkg/kubelet/allocation/features_windows.go.",
			Bad: windowsPod + container + "    resizePolicy:\n    - resourceName: cpu\n      restartPolicy: NotRequired\n", Good: windowsPod + container,
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				if v := c.At("resizePolicy"); len(v.Items()) > 0 {
					p.Report(pod.Object, v, "Windows pods cannot be resized in place", safe("take it out", lint.Delete(v)))
				}
			}),
		},
		{
			ID: "WIN203", Severity: lint.Info, Title: "A memory limit that is hardly enough", Oracle: lint.Unit,
			Doc: "Each Windows container runs processes of the system under its own limit. Below 64Mi for Nano Server and 128Mi for the others (`nanoServerMemoryFloor`, `serverCoreMemoryFloor` of the configuration) little is left for the program; the figures are experience and no rule of Microsoft's. Source: learn.microsoft.com/virtualization/windowscontainers/manage-containers/resource-controls.",
			Bad: windowsPod + container + "    resources:\n      limits:\n        memory: 32Mi\n", Good: windowsPod + container + "    resources:\n      limits:\n        memory: 256Mi\n",
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				floor := cmp.Or(p.Target.ServerCoreFloor, "128Mi")
				if strings.Contains(c.At("image").Str(), "nanoserver") {
					floor = cmp.Or(p.Target.NanoServerFloor, "64Mi")
				}
				v := c.At("resources", "limits", "memory")
				limit, err := resource.ParseQuantity(v.Str())
				least, problem := resource.ParseQuantity(floor)
				if err == nil && problem == nil && limit.Value() >= 1<<20 && limit.Cmp(least) < 0 && !pod.HostProcess() {
					p.Report(pod.Object, v, fmt.Sprintf("%s: the container's own system processes need much of it", v.Str()), say(floor+" or more"))
				}
			}),
		},
		{
			ID: "WIN316", Severity: lint.Warning, Title: "Docker's pipe", Since: 24, Oracle: lint.Unit,
			Doc: "Nodes run containerd: Docker's pipe is not there, and the container does not start. containerd's is `\\\\.\\pipe\\containerd-containerd`. Source: kubernetes-sigs/cluster-api-provider-azure docs/book/src/self-managed/windows.md.",
			Bad: strings.ReplaceAll(pipe(`\\.\pipe\containerd-containerd`), "containerd-containerd", "docker_engine"), Good: pipe(`\\.\pipe\containerd-containerd`),
			Pod: eachVolume(func(p *lint.Pass, pod *lint.Pod, volume lint.Value) {
				if v := volume.At("hostPath", "path"); isPipe(v.Str()) && strings.Contains(v.Str(), "docker_engine") && !p.Target.Docker {
					p.Report(pod.Object, v, "nodes with containerd have no such pipe: the container does not start", say(`\\.\pipe\containerd-containerd`))
				}
			}),
		},
		{
			ID: "WIN319", Severity: lint.Error, Title: "A common user and a token", Until: 31, Oracle: lint.Unit, For: lint.Target{Minor: 30, Patch: new(8)},
			Doc: "Kubelets before 1.31.0, 1.30.9 and 1.29.13 try to give a projected token to the user that all containers share, which Windows cannot: FailedMount, chown not supported by windows. Source: kubernetes issues 102849 and 125040; pkg/volume/util FsUserFrom.",
			Bad: placedPod + "  securityContext:\n    runAsUser: 1000\n" + container, Good: placedPod + container,
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				if !p.Target.Lacks(lint.Release{Minor: 31}, lint.Release{Minor: 30, Patch: 9}, lint.Release{Minor: 29, Patch: 13}) || !hasToken(pod) {
					return
				}
				users := map[string]bool{}
				own := pod.Spec.At("securityContext", "runAsUser")
				var at lint.Value
				for _, c := range pod.Containers() {
					v := c.At("securityContext", "runAsUser")
					if !v.Exists() {
						v = own
					}
					users[v.Str()], at = true, v
				}
				if len(users) == 1 && !users[""] {
					p.Report(pod.Object, at, "this kubelet cannot give the token's file to a user on Windows: the pod hangs in ContainerCreating", safe("take it out; runAsUserName names a user of Windows", lint.Delete(at)))
				}
			},
		},
	}
}

// hasToken says whether a token of the service account is mounted, which it is unless
// the pod says no.
func hasToken(pod *lint.Pod) bool {
	if auto, set := pod.Spec.At("automountServiceAccountToken").Bool(); auto || !set {
		return true
	}
	return slices.ContainsFunc(pod.Spec.At("volumes").Items(), func(v lint.Value) bool {
		return slices.ContainsFunc(v.At("projected", "sources").Items(), func(s lint.Value) bool { return s.At("serviceAccountToken").Exists() })
	})
}
