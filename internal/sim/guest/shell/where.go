package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// clause is one comparison of a Where-Object: of a property of $_, or of $_ itself
// when the property is empty.
type clause struct {
	property, operator, value string
	// or joins it to the clauses before with -or, else with -and.
	or, not bool
}

var clauseForm = regexp.MustCompile(`(?is)^\s*(-not\s+|!\s*)?\(?\s*(?:\$_|\$PSItem)(?:\.([A-Za-z]+))?\s*(?:-(i|c)?(eq|ne|like|notlike|match|notmatch|gt|lt|ge|le|contains|notcontains)\s+("[^"]*"|'[^']*'|[^\s)]+))?\s*\)?\s*$`)

var joint = regexp.MustCompile(`(?i)\s+-(and|or)\s+`)

// parseWhere reads { $_.Name -eq 'x' -and ... } or Name -eq x. ok is false for
// what is not simulated.
func parseWhere(args []string, raw string) (out []clause, ok bool) {
	raw = strings.TrimSpace(raw)
	if strings.HasPrefix(raw, "{") && strings.HasSuffix(raw, "}") {
		inner := raw[1 : len(raw)-1]
		marks := joint.FindAllStringSubmatchIndex(inner, -1)
		from, or := 0, false
		for _, m := range append(marks, nil) {
			end := len(inner)
			if m != nil {
				end = m[0]
			}
			found := clauseForm.FindStringSubmatch(inner[from:end])
			if found == nil {
				return nil, false
			}
			out = append(out, clause{property: found[2], operator: strings.ToLower(found[4]), value: strings.Trim(found[5], `"'`), or: or, not: found[1] != ""})
			if m != nil {
				from, or = m[1], strings.EqualFold(inner[m[2]:m[3]], "or")
			}
		}
		return out, true
	}
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.EqualFold(a, "-Property") })
	switch len(args) {
	case 1:
		return []clause{{property: args[0]}}, true
	case 3:
		return []clause{{property: args[0], operator: strings.ToLower(strings.TrimPrefix(args[1], "-")), value: args[2]}}, true
	}
	return nil, false
}

func where(o object, clauses []clause) bool {
	truth := true
	for i, c := range clauses {
		one := c.holds(o) != c.not
		switch {
		case i == 0:
			truth = one
		case c.or:
			truth = truth || one
		default:
			truth = truth && one
		}
	}
	return truth
}

func (c clause) holds(o object) bool {
	v, _ := o.get(c.property)
	text := show(v)
	order := compareValues(v, c.value)
	switch c.operator {
	case "":
		return text != "" && text != "False" && text != "0"
	case "eq":
		return order == 0
	case "ne":
		return order != 0
	case "gt":
		return order > 0
	case "lt":
		return order < 0
	case "ge":
		return order >= 0
	case "le":
		return order <= 0
	case "like":
		return like(text, c.value)
	case "notlike":
		return !like(text, c.value)
	case "match", "notmatch":
		re, err := regexp.Compile("(?i)" + c.value)
		return err == nil && re.MatchString(text) == (c.operator == "match")
	case "contains", "notcontains":
		list, _ := v.([]string)
		has := slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, c.value) })
		return has == (c.operator == "contains")
	}
	return false
}

// like matches * and ? in any case. A slash is nothing special to PowerShell.
func like(text, pattern string) bool {
	fold := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "/", "\x00") }
	ok, err := path.Match(fold(pattern), fold(text))
	return err == nil && ok
}
