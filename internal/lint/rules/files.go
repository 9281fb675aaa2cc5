package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

// device matches a name that Windows reserves for devices, with or without an extension.
var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$`)

// withSubPath returns a Windows pod that mounts one file of a volume.
func withSubPath(volume string) string {
	return windowsPod + container + "    volumeMounts:\n    - name: data\n      mountPath: C:/app/settings.json\n" +
		"      subPath: settings.json\n  volumes:\n  - name: data\n" + volume
}

// ofSettings is the YAML of a volume whose source is a ConfigMap.
const ofSettings = "    configMap:\n      name: settings\n"

// eachSubPath runs check for mounts with a subPath, and their volumes.
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

// fileName is the name of a file in a volume, and the position of the field that sets it.
type fileName struct {
	name string
	at   lint.Value
}

// fileNames returns the file names in a volume, from the object that defines them: the pod's items, otherwise the keys
// of the ConfigMap or Secret in the set.
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

// fileProblems reports file names that Windows does not permit.
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

// fileProblem returns the reason why Windows does not permit a name, or "".
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
