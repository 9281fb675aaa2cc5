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

// ignored reports whether a finding's object suppresses the finding's rule.
func ignored(f Finding) bool {
	return slices.Contains(f.silent, f.Rule)
}

// silenced returns the rules that an object or its pod template suppresses.
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

// reason returns an object's or its pod template's reason for the suppression.
func (o *Object) reason() string {
	why := func(path ...string) string {
		return o.Root.At(path...).At("metadata", "annotations", ReasonAnnotation).Str()
	}
	if path, ok := podPaths[o.Kind]; ok && len(path) > 0 {
		return cmp.Or(why(path...), why())
	}
	return why()
}

// Baseline returns the findings that are not in known. Findings are equal if rule, file, object and path are equal,
// wherever they are in the file.
func Baseline(findings, known []Finding) []Finding {
	type key struct{ rule, file, object, path string }
	seen := map[key]bool{}
	for _, f := range known {
		seen[key{f.Rule, f.File, f.Object, f.Path}] = true
	}
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return seen[key{f.Rule, f.File, f.Object, f.Path}] })
}
