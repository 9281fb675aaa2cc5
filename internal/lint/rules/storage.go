package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

// absoluteOnWindows is a path with a drive or a leading backslash, or one that
// steps back with backslashes.
var absoluteOnWindows = regexp.MustCompile(`^([A-Za-z]:|\\)|(^|\\)\.\.(\\|$)`)

// storage are the rules about volumes that need more than the mount's text.
func storage() []lint.Rule {
	volume := func(lines string) string { return windowsPod + container + "  volumes:\n  - name: data\n" + lines }
	mount := func(lines string) string {
		return windowsPod + container + "    volumeMounts:\n    - name: data\n      mountPath: C:/data\n" + lines + "  volumes:\n  - name: data\n    emptyDir: {}\n"
	}
	return []lint.Rule{
		{
			ID: "WIN209", Severity: lint.Warning, Title: "Resource claims", Since: 26, Oracle: lint.Unit,
			Doc: "The kubelet on Windows prepares no dynamic resources: the container starts without the device it claims. Take the claim out, or run the workload on Linux. Source: kubernetes pkg/kubelet/cm/container_manager_windows.go.",
			Bad: windowsPod + "  resourceClaims:\n  - name: gpu\n    resourceClaimName: gpu\n" + container, Good: windowsPod + container,
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				if v := pod.Spec.At("resourceClaims"); len(v.Items()) > 0 {
					p.Report(pod.Object, v, "the kubelet on Windows injects no device for a claim", say("take it out"))
				}
			},
		},
		{
			ID: "WIN301", Severity: lint.Error, Title: "A subPath that is absolute on Windows", Oracle: lint.Unit,
			Doc: "The API server knows slashes alone and lets `C:\\x`, `\\x` and `..\\x` through; the kubelet on Windows refuses them when it makes the mounts. Write a relative path. Source: kubernetes pkg/kubelet/kubelet_pods.go, makeMounts.",
			Bad: mount("      subPath: 'C:\\logs'\n"), Good: mount("      subPath: logs\n"),
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				for _, m := range c.At("volumeMounts").Items() {
					for _, key := range []string{"subPath", "subPathExpr"} {
						if v := m.At(key); absoluteOnWindows.MatchString(v.Str()) {
							p.Report(pod.Object, v, fmt.Sprintf("the kubelet refuses %q: it is absolute or steps back on Windows", v.Str()), say("write a path relative to the volume"))
						}
					}
				}
			}),
		},
		{
			ID: "WIN307", Severity: lint.Warning, Title: "File modes", Oracle: lint.Unit,
			Doc: "UNIX modes of files do not apply on Windows. Take the mode out. Source: kubernetes.io/docs/concepts/storage/windows-storage.",
			Bad: volume("    secret:\n      secretName: example\n      defaultMode: 0400\n"), Good: volume("    secret:\n      secretName: example\n"),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				for _, v := range pod.Spec.At("volumes").Items() {
					for _, kind := range []string{"secret", "configMap", "downwardAPI", "projected"} {
						mode := v.At(kind, "defaultMode")
						modes := []lint.Value{mode}
						for _, source := range append(v.At("projected", "sources").Items(), v) {
							for _, item := range source.At(kind, "items").Items() {
								modes = append(modes, item.At("mode"))
							}
						}
						for _, mode := range modes {
							if mode.Exists() && !slices.Contains([]string{"420", "0644", "0o644"}, mode.Str()) {
								p.Report(pod.Object, mode, "file modes do not apply on Windows", safe("take it out", lint.Delete(mode)))
							}
						}
					}
				}
			},
		},
		{
			ID: "WIN310", Severity: lint.Warning, Title: "Recursive read-only mounts", Since: 31, Oracle: lint.Unit,
			Doc: "No Windows runtime makes mounts read-only recursively: with Enabled the container is not created, IfPossible does nothing. Write Disabled. Source: kubernetes pkg/kubelet/kubelet_pods.go, resolveRecursiveReadOnly.",
			Bad: mount("      readOnly: true\n      recursiveReadOnly: Enabled\n"), Good: mount("      readOnly: true\n      recursiveReadOnly: Disabled\n"),
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				for _, m := range c.At("volumeMounts").Items() {
					switch v := m.At("recursiveReadOnly"); v.Str() {
					case "Enabled":
						p.ReportAs(lint.Error, pod.Object, v, "the container is not created: no Windows runtime can do this", safe("Disabled", lint.Replace(v, "Disabled")))
					case "IfPossible":
						p.Report(pod.Object, v, "never possible on Windows", safe("Disabled", lint.Replace(v, "Disabled")))
					}
				}
			}),
		},
		{
			ID: "WIN315", Severity: lint.Error, Title: "A named pipe that is not mounted as one", Oracle: lint.Unit,
			Doc: "A named pipe of the node maps to a named pipe of the container, so both paths begin with `\\\\.\\pipe\\`, and the volume's type stays unset. Source: containerd internal/cri/opts/spec_windows_opts.go; hcsshim internal/hcsoci/hcsdoc_wcow.go.",
			Bad: pipe("C:/pipe"), Good: pipe(`\\.\pipe\containerd-containerd`),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				for _, v := range pod.Spec.At("volumes").Items() {
					if !isPipe(v.At("hostPath", "path").Str()) {
						continue
					}
					if kind := v.At("hostPath", "type"); kind.Str() != "" {
						p.Report(pod.Object, kind, "a named pipe has no type that could be checked", say("leave the type out"))
					}
					for _, c := range pod.Containers() {
						for _, m := range c.At("volumeMounts").Items() {
							if at := m.At("mountPath"); m.At("name").Str() == v.At("name").Str() && !isPipe(at.Str()) {
								p.Report(pod.Object, at, "a named pipe can only be mounted as a named pipe", say(v.At("hostPath", "path").Str()))
							}
						}
					}
				}
			},
		},
		{
			ID: "WIN318", Severity: lint.Error, Title: "Image volumes", Since: 31, Oracle: lint.Unit,
			Doc: "A volume made of an image is not supported on Windows. Copy the files with an init container. Source: kubernetes test/e2e/common/node/image_volume.go.",
			Bad: volume("    image:\n      reference: registry.example/data:1\n"), Good: volume("    emptyDir: {}\n"),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				for _, v := range pod.Spec.At("volumes").Items() {
					if image := v.At("image"); image.Exists() {
						p.Report(pod.Object, image, "image volumes are not supported on Windows", say("copy the files with an init container"))
					}
				}
			},
		},
		{
			ID: "WIN323", Severity: lint.Warning, Title: "FlexVolume", Since: 23, Oracle: lint.Unit,
			Doc: "FlexVolume is deprecated since 1.23. Use a CSI driver. Source: kubernetes.io/docs/concepts/storage/windows-storage.",
			Bad: volume("    flexVolume:\n      driver: microsoft.com/smb.cmd\n"), Good: volume("    emptyDir: {}\n"),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				for _, v := range pod.Spec.At("volumes").Items() {
					if flex := v.At("flexVolume"); flex.Exists() {
						p.Report(pod.Object, flex, "FlexVolume is deprecated", say("use a CSI driver"))
					}
				}
			},
		},
	}
}

func isPipe(path string) bool {
	return strings.HasPrefix(strings.ReplaceAll(path, "/", `\`), `\\.\pipe\`)
}

// pipe mounts containerd's named pipe at a path.
func pipe(at string) string {
	return windowsPod + container + "    volumeMounts:\n    - name: runtime\n      mountPath: '" + at + "'\n  volumes:\n  - name: runtime\n    hostPath:\n      path: '\\\\.\\pipe\\containerd-containerd'\n"
}
