// Package redact takes secrets out of text and objects before a person or an
// archive sees them: tokens, keys, passwords, client secrets, certificates' keys
// and bootstrap data. It prefers to take too much. It does not find a secret that
// looks like ordinary words and stands under an ordinary name. Any package may
// import it; it knows no API types.
package redact

import (
	"regexp"
	"slices"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// rule replaces what matches with its own replacement text. may says of a text and
// its lower case whether there can be a match; it is much faster than the search.
type rule struct {
	find *regexp.Regexp
	with string
	may  func(s, lower string) bool
}

// holds and holdsLower are texts that a match has.
func holds(part string) func(string, string) bool {
	return func(s, _ string) bool { return strings.Contains(s, part) }
}

func holdsLower(part string) func(string, string) bool {
	return func(_, lower string) bool { return strings.Contains(lower, part) }
}

// stems are what secretWords have in them, one each at least.
var stems = []string{"passw", "secret", "data", "token", "key", "connection", "settings"}

func named(s, lower string) bool {
	return strings.ContainsAny(s, ":=") && slices.ContainsFunc(stems, func(stem string) bool { return strings.Contains(lower, stem) })
}

// dotted says whether a dot has room for a bootstrap token around it.
func dotted(s, _ string) bool {
	for i := 6; i+16 < len(s); i++ {
		if s[i] == '.' && s[i-6] != '.' && s[i+16] != '.' {
			return true
		}
	}
	return false
}

// rules are applied in order; blocks come first, as they span lines.
var rules = []rule{
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`), Mark, holds("-----BEGIN")},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.?[A-Za-z0-9_-]*`), Mark, holds("eyJ")},
	{regexp.MustCompile(`(?i)\bbearer\s+[^\s"']+`), "Bearer " + Mark, holdsLower("bearer")},
	// A bootstrap token: six characters, a dot, sixteen. The ID is public.
	{regexp.MustCompile(`\b([a-z0-9]{6})\.[a-z0-9]{16}\b`), "$1." + Mark, dotted},
	{regexp.MustCompile(`(?i)(["']?[a-z0-9_.-]*(?:` + secretWords + `)["']?\s*[:=]\s*)("[^"]*"|'[^']*'|[^\s,;&}"']+)`), "${1}" + Mark, named},
	{regexp.MustCompile(`(?i)(--(?:[a-z0-9-]*-)?(?:token|passwo?r?d|pass|secret|key|connection-string)\s+)\S+`), "${1}" + Mark, holds("--")},
	{regexp.MustCompile(`(?i)([?&](?:sig|code|access_token)=)[^&\s"']+`), "${1}" + Mark, func(s, _ string) bool { return strings.ContainsAny(s, "?&") }},
}

// secretNames end the name of a field whose value is a secret. A name is also written
// with _ or nothing where - is.
var secretNames = []string{
	"passwd", "password", "client-secret", "client-certificate-data", "client-key-data", "access-token", "refresh-token", "bootstrap-token", "certificate-key",
	"account-key", "storage-key", "shared-key", "private-key", "custom-data", "user-data", "sas-token", "token-secret", "connection-string", "protected-settings", "api-key",
}

// secretWords matches the secretNames.
var secretWords = strings.ReplaceAll(strings.Join(secretNames, "|"), "-", "[-_]?")

// squeezed are the secretNames without their hyphens.
var squeezed = strings.Split(strings.ReplaceAll(strings.Join(secretNames, " "), "-", ""), " ")

var squeeze = strings.NewReplacer("-", "", "_", "")

// secretField says whether the value of a field is a secret by the field's name.
func secretField(name string) bool {
	name = squeeze.Replace(strings.ToLower(name))
	return name == "token" || slices.ContainsFunc(squeezed, func(end string) bool { return strings.HasSuffix(name, end) })
}

// Text returns s without secrets.
func Text(s string) string {
	if !strings.ContainsAny(s, ".:= \t\r\n\f\v") {
		return s // a word alone
	}
	lower := strings.ToLower(s)
	for _, r := range rules {
		if r.may(s, lower) {
			s = r.find.ReplaceAllString(s, r.with)
		}
	}
	return s
}

// Object takes the secrets out of decoded JSON or YAML, in place where it can, and
// returns it: all of a Secret's data, every field with a secret's name, every file
// content of bootstrap data, and secrets within other strings.
func Object(v any) any {
	switch v := v.(type) {
	case map[string]any:
		secret := v["kind"] == "Secret"
		named, _ := v["name"].(string)
		for name, value := range v {
			switch {
			case secret && (name == "data" || name == "stringData"), isFileContent(v, name), secretField(name) && scalar(value), name == "value" && secretField(named):
				v[name] = hide(value)
			case name == "kubectl.kubernetes.io/last-applied-configuration", name == "managedFields":
				delete(v, name) // they repeat the object, or say nothing about its trouble
			default:
				v[name] = Object(value)
			}
		}
		return v
	case []any:
		for i := range v {
			v[i] = Object(v[i])
		}
		return v
	case string:
		return Text(v)
	default:
		return v
	}
}

// isFileContent says whether a field is the content of a file that bootstrap
// data writes, which has a path beside it.
func isFileContent(object map[string]any, name string) bool {
	_, hasPath := object["path"]
	return name == "content" && hasPath
}

func scalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any, nil, bool:
		return false
	}
	return true
}

// hide keeps the keys of a map, which say what was there, and no value.
func hide(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return Mark
	}
	out := make(map[string]any, len(m))
	for k := range m {
		out[k] = Mark
	}
	return out
}

// Line returns the first line of s that is not empty, redacted and cut at width
// characters.
func Line(s string, width int) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		runes := []rune(Text(line))
		if len(runes) > width {
			return string(runes[:width-1]) + "…"
		}
		return string(runes)
	}
	return ""
}
