package powershell

import (
	"cmp"
	"fmt"
	"time"

	"github.com/dlclark/regexp2"
)

const kindRegex = "System.Text.RegularExpressions.Regex"

// regexObject returns a Regex from the arguments of its constructor.
func regexObject(args []any) (any, error) {
	options := int64(0)
	if len(args) > 1 {
		v, err := toEnumeration("text.regularexpressions.regexoptions", args[1])
		if err != nil {
			return nil, err
		}
		options = v.(enumMember).n
	}
	if _, err := compiled(at(args, 0), options); err != nil {
		return nil, err
	}
	return system(kindRegex, []string{"Options", "RightToLeft", "MatchTimeout"}, "text", at(args, 0), "Options",
		enumerationOf("text.regularexpressions.regexoptions", options), "RightToLeft", false, "MatchTimeout", -time.Millisecond), nil
}

// compiled returns a regular expression with options of the class Regex.
func compiled(p string, options int64) (*regexp2.Regexp, error) {
	if len(p) > maxPattern {
		return nil, &LimitError{fmt.Sprintf("has a pattern of more than %d KiB", maxPattern>>10)}
	}
	re, err := regexp2.Compile(p, regexp2.RegexOptions(options&^(8|512)))
	if err != nil {
		return nil, thrown("ArgumentException", "parsing \"%s\" - %s", p, patternFault(err))
	}
	re.MatchTimeout = regexTimeout
	return re, nil
}

// regexStatic returns a static method of Regex. Its arguments are a text, a pattern, further arguments, whose
// number is takes, and options.
func regexStatic(method string, takes int) staticMethod {
	return func(r *run, a []any) (any, error) {
		if len(a) < 2+takes {
			return nil, noOverload(method, len(a))
		}
		o, err := regexObject(append([]any{a[1]}, a[min(2+takes, len(a)):]...))
		if err != nil {
			return nil, err
		}
		return r.regexCall(o.(*object), method, append([]any{a[0]}, a[2:2+takes]...))
	}
}

// regexCall runs a method of a Regex.
func (r *run) regexCall(o *object, method string, args []any) (any, error) {
	m, _ := o.read("Options").(enumMember)
	re, err := compiled(text(o.read("text")), m.n)
	if err != nil {
		return nil, err
	}
	if len(args) > cmp.Or(map[string]int{"replace": 3, "split": 2}[method], 1) {
		return nil, lacking("%s of a Regex from a place of the text on", method)
	} else if method == "replace" && len(args) < 2 {
		return nil, noOverload(method, len(args))
	}
	s, err := r.text(firstOf(args))
	if err != nil {
		return nil, err
	}
	switch method {
	case "getgroupnames":
		return textArray(re.GetGroupNames()), nil
	case "ismatch":
		yes, err := re.MatchString(s)
		return yes, searchLimit(err)
	case "match":
		found, err := re.FindStringMatch(s)
		if err != nil {
			return nil, searchLimit(err)
		}
		return matchObject(re, found), r.take(len(s))
	case "matches":
		out := newArray()
		found, err := re.FindStringMatch(s)
		for err == nil && found != nil {
			if err := r.step(); err != nil {
				return nil, err
			}
			out.items = append(out.items, matchObject(re, found))
			found, err = re.FindNextMatch(found)
		}
		return out, searchLimit(err)
	case "replace":
		most := -1
		if len(args) > 2 {
			if most, err = r.number(args, 2); err != nil {
				return nil, err
			}
		}
		if f, ok := args[1].(function); ok {
			return r.replaceBy(re, s, f, most)
		}
		if n, err := r.count(re, s); err != nil {
			return nil, err
		} else if err := r.take(len(s) + n*(len(at(args, 1))+8)); err != nil {
			return nil, err
		}
		out, err := re.Replace(s, at(args, 1), -1, most)
		return out, searchLimit(err)
	case "split":
		out := textArray(nil)
		n, err := r.number(args, 1)
		if err != nil {
			return nil, err
		}
		return out, r.splitPattern(re, s, int64(n), out)
	}
	return nil, r.noMethod(o, method)
}

// replaceBy replaces matches by the output of a script block.
func (r *run) replaceBy(re *regexp2.Regexp, s string, f function, most int) (any, error) {
	runes, out, from := []rune(s), []rune{}, 0
	m, err := re.FindRunesMatch(runes)
	for n := 0; err == nil && m != nil && (most < 0 || n < most); n++ {
		if err := r.step(); err != nil {
			return nil, err
		}
		given, err := r.gather(func(to sink) error {
			return r.callFunction(f, unnamed(matchObject(re, m)), nil, to)
		})
		if err != nil {
			return nil, err
		}
		out = append(append(out, runes[from:m.Index]...), []rune(text(single(given)))...)
		from = m.Index + m.Length
		if err := r.take(4 * len(out) / (n + 1)); err != nil {
			return nil, err
		}
		if m, err = re.FindNextMatch(m); err != nil {
			return nil, searchLimit(err)
		}
	}
	return string(append(out, runes[from:]...)), searchLimit(err)
}

// nextMatch is a match and its pattern, from which NextMatch continues.
type nextMatch struct {
	re *regexp2.Regexp
	m  *regexp2.Match
}

// matchObject returns the Match object of a match; m is nil for none.
func matchObject(re *regexp2.Regexp, m *regexp2.Match) *object {
	if m == nil {
		return tabled(kindGroups, 7, "Groups", system(kindMatchGroups, nil, "items", newArray()), "Success", false, "Name", "0",
			"Captures", newArray(), "Index", int64(0), "Length", int64(0), "Value", "")
	}

	groups := newArray()
	for _, g := range m.Groups() {
		captures := newArray()
		for _, c := range g.Captures {
			captures.items = append(captures.items, tabled("System.Text.RegularExpressions.Capture", 3, "Index", int64(c.Index),
				"Length", int64(c.Length), "Value", c.String(), "text", c.String()))
		}
		groups.items = append(groups.items, tabled("System.Text.RegularExpressions.Group", 6, "Success", len(g.Captures) > 0, "Name",
			g.Name, "Captures", captures, "Index", int64(g.Index), "Length", int64(g.Length), "Value", g.String(), "text", g.String()))
	}
	first, _ := groups.items[0].(*object)
	captures, _ := first.get("Captures")
	return tabled(kindGroups, 7, "Groups", system(kindMatchGroups, nil, "items", groups), "Success", true, "Name", "0", "Captures",
		captures, "Index", int64(m.Index), "Length", int64(m.Length), "Value", m.String(), "items", groups, "text", m.String(), "next",
		nextMatch{re, m})
}
