// Package redact removes secrets from text and objects before they are shown or archived: tokens, keys, passwords,
// client secrets, certificates' keys and bootstrap data, also within base64. It recognises them by their form, by the
// name that they are assigned to, and by the command that uses them. It removes rather too much of text that resembles
// a secret, but does not change ordinary text. In objects, fields with free content only show values on a list. In a
// text, such as a log, it does not find a secret that has the form of ordinary words and an ordinary name: callers
// state that the text is redacted, and not that it contains no secrets. Any package may import it; it uses no API
// types.
package redact

import "strings"

// Mark replaces a secret.
const Mark = "[redacted]"

// Text returns s without secrets.
func Text(s string) string {
	return redacted(s, 0)
}

// redacted returns s without secrets; depth is the number of encodings that s was in.
func redacted(s string, depth int) string {
	t := newSubject(s)
	if strings.ContainsAny(s, ".:=,$<~ \t\r\n\f\v") { // otherwise the text is a single word
		t.apply(textRules)
	}
	t.apply(tokens)
	t.text = encoded(t.text, depth)
	if commandLike(t.text) {
		t.apply(commands)
	}
	return t.text
}

// Object removes the secrets from decoded JSON or YAML, in place if possible, and returns the result. It first removes
// them by field: all data of a Secret or ConfigMap, every field with a secret's name, every file content and command of
// bootstrap data, and the values of environment, annotations, headers, tags and command lines that are not on a list,
// because a secret there need not resemble one. Then it removes secrets in other strings by patterns.
func Object(v any) any {
	switch v := v.(type) {
	case map[string]any:
		secret := v["kind"] == "Secret" || v["kind"] == "ConfigMap" // their keys do not indicate the kind of content
		named, _ := v["name"].(string)
		for name, value := range v {
			switch {
			case secret && (name == "data" || name == "stringData"), name == "binaryData", isFileContent(v, name),
				(secretField(name) || secretSegment(name)) && scalar(value), name == "value" && (secretField(named) || secretSegment(named)):
				v[name] = hide(value)
			case placeOf(name) != plainPlace && !declares(value):
				v[name] = placeOf(name).at(value)
			case name == "kubectl.kubernetes.io/last-applied-configuration", name == "managedFields":
				delete(v, name) // they repeat the object, or are irrelevant for a diagnosis
			default:
				v[name] = Object(value)
			}
		}
		return v
	case []any:
		if allText(v) {
			arguments(v)
			return v
		}
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

// isFileContent reports whether a field is the content of a file in bootstrap data, or the value of a JSON patch: both
// have a path next to them.
func isFileContent(object map[string]any, name string) bool {
	_, hasPath := object["path"]
	_, isPatch := object["op"]
	return hasPath && (name == "content" || name == "value" && isPatch)
}

// declares reports whether a value describes its pairs, as a schema or a condition does: such an object has its own
// fields instead of pairs.
func declares(v any) bool {
	m, ok := v.(map[string]any)
	return ok && (m["openAPIV3Schema"] != nil || m["properties"] != nil)
}

func scalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any, nil, bool:
		return false
	}
	return true
}

// hide keeps the keys of a map but none of its values.
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

// Line returns the first non-empty line of s, redacted and shortened to width characters.
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
