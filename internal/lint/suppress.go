package lint

import (
	"cmp"
	"slices"
	"strings"
)

// IgnoreAnnotation names rules, separated by commas, whose findings are suppressed for an object or a pod
// template.
const IgnoreAnnotation = "casement.dev/ignore"

// ReasonAnnotation contains the reason for a suppression; another annotation names the
// rules.
const ReasonAnnotation = "casement.dev/ignore-reason"

// ignored reports whether a finding's object asks for silence about its rule.
func ignored(f Finding) bool {
	return slices.Contains(f.silent, f.Rule)
}

// silenced returns the rules that an object or its pod template names.
func (o *Object) silenced() []string {
	var out []string
	at := [][]string{{}}
	if path, ok := podPaths[o.Kind]; ok && len(path) > 0 {
		at = append(at, path)
	}
	for _, path := range at {
		for id := range strings.SplitSeq(o.Root.At(path...).At("metadata", "annotations", IgnoreAnnotation).Str(), ",") {
			if id = strings.TrimSpace(id); id != "" {
				out = append(out, id)
			}
		}
	}
	return out
}

// reason returns why an object or its pod template asks for silence.
func (o *Object) reason() string {
	why := func(path ...string) string {
		return o.Root.At(path...).At("metadata", "annotations", ReasonAnnotation).Str()
	}
	if path, ok := podPaths[o.Kind]; ok && len(path) > 0 {
		return cmp.Or(why(path...), why())
	}
	return why()
}

// Baseline is findings that are known: those it holds are taken out. A finding is
// the same when rule, file, object and path are, wherever it moved to.
func Baseline(findings, known []Finding) []Finding {
	type key struct{ rule, file, object, path string }
	seen := map[key]bool{}
	for _, f := range known {
		seen[key{f.Rule, f.File, f.Object, f.Path}] = true
	}
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return seen[key{f.Rule, f.File, f.Object, f.Path}] })
}
