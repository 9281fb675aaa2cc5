package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

// device is a name that Windows keeps for devices, with or without an extension.
var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$`)

// files are the rules about files that Kubernetes makes in volumes.
func files() []lint.Rule {
	subPath := func(volume string) string {
		return windowsPod + container + "    volumeMounts:\n    - name: data\n      mountPath: C:/app/settings.json\n      subPath: settings.json\n  volumes:\n  - name: data\n" + volume
	}
	const settings = "    configMap:\n      name: settings\n"
	return []lint.Rule{
		{
			ID: "WIN302", Severity: lint.Warning, Title: "A single file as a mount", Oracle: lint.Unit,
			Doc: "Kubernetes' documentation calls subPath unsupported on Windows. With containerd a single file of a ConfigMap or Secret does work, but it is not tested, and with Docker it fails. Mount the directory. Source: kubernetes.io/docs/concepts/storage/windows-storage; kubernetes pkg/volume/util/subpath/subpath_windows.go.",
			Bad: subPath(settings), Good: mounted("C:/app", settings),
			Pod: eachSubPath(func(p *lint.Pass, pod *lint.Pod, v, volume lint.Value) {
				for _, kind := range []string{"configMap", "secret", "downwardAPI", "projected"} {
					if volume.At(kind).Exists() {
						p.Report(pod.Object, v, "a single file as a mount is not supported on Windows, though containerd lets it pass", say("mount the directory"))
					}
				}
			}),
		},
		{
			ID: "WIN303", Severity: lint.Warning, Title: "A subPath on a kubelet that runs it", Until: 29, Oracle: lint.Unit, For: lint.Target{Minor: 28, Patch: new(0)},
			Doc: "Kubelets on Windows before 1.28.1, 1.27.5, 1.26.8, 1.25.13 and 1.24.17 take a subPath into a PowerShell command line: whoever makes pods runs commands as SYSTEM (CVE-2023-3676, CVE-2023-3955). Source: kubernetes issues 119339 and 119595.",
			Bad: subPath("    emptyDir: {}\n"), Good: mounted("C:/app", emptyDir),
			Pod: eachSubPath(func(p *lint.Pass, pod *lint.Pod, v, _ lint.Value) {
				if p.Target.Lacks(subPathFixes...) {
					p.Report(pod.Object, v, "this kubelet lets a subPath run commands as SYSTEM", say("upgrade the Windows nodes"))
				}
			}),
		},
		{
			ID: "WIN306", Severity: lint.Info, Title: "Secrets on disk", Oracle: lint.Unit,
			Doc: "Linux keeps the files of secrets and tokens in memory; Windows writes them to the node's disk in clear text. Restrict access to the node, and encrypt its disk. The token that every pod gets is not reported. Source: kubernetes.io/docs/concepts/security/windows-security.",
			Bad: mounted("C:/data", "    secret:\n      secretName: example\n"), Good: mounted("C:/data", emptyDir),
			Pod: eachVolume(func(p *lint.Pass, pod *lint.Pod, volume lint.Value) {
				if strings.HasPrefix(volume.At("name").Str(), "kube-api-access-") { // made by the API server
					return
				}
				at := volume.At("secret")
				for _, s := range volume.At("projected", "sources").Items() {
					if s.At("secret").Exists() || s.At("serviceAccountToken").Exists() {
						at = volume.At("projected")
					}
				}
				if at.Exists() {
					p.Report(pod.Object, at, "Windows writes its files to the node's disk, in clear text", say("encrypt the nodes' disks, and let few people on them"))
				}
			}),
		},
		{
			ID: "WIN322", Severity: lint.Warning, Title: "A file name that Windows does not take", Oracle: lint.Unit,
			Doc: "Names of files have none of `<>:\"|?*\\`, no dot or space at the end, are no device such as CON, NUL or COM1, and differ by more than case: else the file is not made, or one overwrites the other. Rename it by `items`. Source: learn.microsoft.com/windows/win32/fileio/naming-a-file.",
			Bad: mounted("C:/data", "    configMap:\n      name: settings\n      items:\n      - key: a\n        path: nul.txt\n"), Good: mounted("C:/data", "    configMap:\n      name: settings\n      items:\n      - key: a\n        path: none.txt\n"),
			Pod: eachVolume(func(p *lint.Pass, pod *lint.Pod, volume lint.Value) {
				sources := []lint.Value{volume}
				sources = append(sources, volume.At("projected", "sources").Items()...)
				for _, source := range sources {
					for _, kind := range []string{"configMap", "secret", "downwardAPI"} {
						for o, names := range fileNames(p.Set, pod, source, kind) {
							fileProblems(p, o, names)
						}
					}
				}
			}),
		},
	}
}

// eachSubPath runs check for mounts with a subPath, and their volume.
func eachSubPath(check func(p *lint.Pass, pod *lint.Pod, v, volume lint.Value)) func(*lint.Pass, *lint.Pod) {
	return eachMount(func(p *lint.Pass, pod *lint.Pod, m lint.Value) {
		for _, key := range []string{"subPath", "subPathExpr"} {
			v := m.At(key)
			if v.Str() == "" {
				continue
			}
			for _, volume := range pod.Spec.At("volumes").Items() {
				if volume.At("name").Str() == m.At("name").Str() {
					check(p, pod, v, volume)
				}
			}
		}
	})
}

// fileName is a name that a volume makes, and the place that says so.
type fileName struct {
	name string
	at   lint.Value
}

// fileNames are those that a volume's source makes, by the object that names them: the
// pod's items, else the keys of the ConfigMap or Secret in the set.
func fileNames(s *lint.Set, pod *lint.Pod, source lint.Value, kind string) map[*lint.Object][]fileName {
	out := map[*lint.Object][]fileName{}
	if items := source.At(kind, "items").Items(); len(items) > 0 {
		for _, item := range items {
			out[pod.Object] = append(out[pod.Object], fileName{item.At("path").Str(), item.At("path")})
		}
		return out
	}
	name := source.At(kind, "name").Str() + source.At(kind, "secretName").Str()
	for _, o := range s.Named(strings.ToUpper(kind[:1])+kind[1:], pod.Object.Namespace, name) {
		for _, data := range []string{"data", "binaryData", "stringData"} {
			for _, f := range o.Root.At(data).Fields() {
				out[o] = append(out[o], fileName{f.Key, f.Value})
			}
		}
	}
	return out
}

// fileProblems reports names that Windows does not take.
func fileProblems(p *lint.Pass, o *lint.Object, names []fileName) {
	seen := map[string]string{}
	for _, f := range names {
		for part := range strings.SplitSeq(f.name, "/") {
			if problem := fileProblem(part); problem != "" {
				p.Report(o, f.at, fmt.Sprintf("Windows makes no file %q: %s", f.name, problem), say("another name, by items"))
				break
			}
		}
		lower := strings.ToLower(f.name)
		if other, ok := seen[lower]; ok && other != f.name {
			p.Report(o, f.at, fmt.Sprintf("%q and %q are one file on Windows", other, f.name), say("another name, by items"))
		}
		seen[lower] = f.name
	}
}

// fileProblem is what Windows has against a name.
func fileProblem(name string) string {
	switch {
	case strings.ContainsAny(name, `<>:"|?*\`):
		return `it has one of <>:"|?*\`
	case device.MatchString(name):
		return "it is the name of a device"
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		if slices.Contains([]string{".", ".."}, name) {
			return ""
		}
		return "it ends with a dot or a space"
	}
	return ""
}
