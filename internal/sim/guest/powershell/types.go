package powershell

import (
	"strconv"
	"strings"
)

// properNames are the full names of types by key.
var properNames = func() map[string]string {
	out := map[string]string{}
	for full := range strings.FieldsSeq(typeList) {
		out[typeKey(full)] = full
	}
	for _, full := range typeNames {
		out[typeKey(full)] = full
	}
	for full := range listing(enumerationNames) {
		out[typeKey(full)] = full
	}
	return out
}()

// baseOf returns the base class of an exception class, or "".
func baseOf(key string) string {
	switch base, ok := bases[key]; {
	case ok:
		return base
	case key == "exception" || key == "":
		return ""
	case key == "systemexception":
		return "exception"
	case strings.HasPrefix(key, "management.automation.") && key != "management.automation.runtimeexception":
		return "management.automation.runtimeexception"
	}
	return "systemexception"
}

// enumeration returns the members of an enumeration; the result is false for other types.
func enumeration(key string) ([]enumMember, bool) {
	words, ok := enumerationTypes[key]
	if !ok {
		return nil, false
	}
	var out []enumMember
	next := int64(0)
	for word := range strings.FieldsSeq(words) {
		name, value, given := strings.Cut(word, "=")
		if given {
			next, _ = strconv.ParseInt(value, 10, 64)
		}
		out = append(out, enumMember{typeName(key), name, next})
		next++
	}
	return out, true
}

// toEnumeration converts a number, a name or names with commas between them to a value of an enumeration.
func toEnumeration(key string, v any) (any, error) {
	members, _ := enumeration(key)
	if m, ok := v.(enumMember); ok {
		if typeKey(m.kind) == key {
			return m, nil
		}
		v = m.n
	}
	if n, _, ok := wholeOf(v); ok {
		return enumerationOf(key, n), nil
	}
	sum, found := int64(0), 0
	words := strings.Split(text(v), ",")
	for _, word := range words {
		for _, m := range members {
			if strings.EqualFold(m.name, strings.TrimSpace(word)) {
				sum |= m.n
				found++
				break
			}
		}
	}
	if found != len(words) {
		names := make([]string, len(members))
		for i, m := range members {
			names[i] = m.name
		}
		return nil, castFailure("SubstringDisambiguationEnumParseThrewAnException", "Cannot convert value \"%s\" to type "+
			"\"%s\". Error: \"Unable to match the identifier name %s to a valid enumerator name. Specify one of the "+
			"following enumerator names and try again:\n%s\"", text(v), typeName(key), text(v), strings.Join(names, ", "))
	}
	return enumerationOf(key, sum), nil
}

// enumerationOf returns the enumeration value of a number: a member, or a combination of flags.
func enumerationOf(key string, n int64) enumMember {
	members, _ := enumeration(key)
	rest, names := n, []string{}
	for _, m := range members {
		if m.n == n {
			return m
		}
		if m.n != 0 && rest&m.n == m.n {
			rest &^= m.n
			names = append(names, m.name)
		}
	}
	if rest != 0 || len(names) == 0 {
		return enumMember{typeName(key), strconv.FormatInt(n, 10), n}
	}
	return enumMember{typeName(key), strings.Join(names, ", "), n}
}
