package shell

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// splitPipeline splits at | outside of quotes, braces and parentheses.
func splitPipeline(st string) []string {
	var parts []string
	quote, depth, from := byte(0), 0, 0
	for i := 0; i < len(st); i++ {
		switch c := st[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '(':
			depth++
		case c == '}' || c == ')':
			depth--
		case c == '|' && depth <= 0:
			parts = append(parts, strings.TrimSpace(st[from:i]))
			from = i + 1
		}
	}
	return append(parts, strings.TrimSpace(st[from:]))
}

// member is what follows a parenthesis: .Count, .Status, [0].
var member = regexp.MustCompile(`^(?:\.([A-Za-z]+)|\[(-?\d+)\])`)

// pipeline runs segments one after the other; false means that one of them is not
// simulated and nothing was run.
func (ps *powershell) pipeline(ctx context.Context, segments []string) bool {
	segments = slices.Clone(segments)
	end := len(segments) - 1
	var redirects []redirect
	if !strings.Contains(segments[end], "{") {
		last, found, err := cutRedirects(segments[end])
		if err != nil {
			return false
		}
		segments[end], redirects = strings.TrimSpace(last), found
	}
	for _, s := range segments[1:] {
		if !ps.isFilter(s) {
			return false
		}
	}
	list := ps.source(ctx, segments[0])
	text, formatted := "", false
	for _, s := range segments[1:] {
		if formatted { // what comes behind a format gets its lines
			list, formatted = texts(strings.ReplaceAll(text, "\r", "")), false
		}
		list, text, formatted = ps.filter(ctx, s, list)
	}
	if !formatted {
		text = render(list)
	}
	ps.put(ctx, text, redirects)
	return true
}

// put writes to the streams or files that redirections name.
func (ps *powershell) put(ctx context.Context, text string, redirects []redirect) {
	b := &batch{shell: ps.shell, o: ps.o, dir: ps.o.Dir, env: ps.o.Env}
	p, closers, err := b.open(ctx, redirects, ps.o.Stdin, ps.o.Stdout)
	defer func() {
		for _, c := range closers {
			c.Close()
		}
	}()
	if err != nil {
		fmt.Fprintf(ps.o.Stderr, "%s\r\n", windowsReason(err))
		ps.code = 1
		return
	}
	p.Printf("%s", text)
}

// source runs the first segment: a cmdlet that gives objects, an expression in
// parentheses, or a command whose lines they are.
func (ps *powershell) source(ctx context.Context, segment string) []object {
	if strings.HasPrefix(segment, "(") {
		if list, ok := ps.expression(ctx, segment); ok {
			return list
		}
	}
	if strings.EqualFold(segment, "$PSVersionTable") {
		return []object{{kind: "version", fields: []property{{"PSVersion", "5.1 (simulated by casement)"}, {"PSEdition", "Desktop"}, {"BuildVersion", ps.shell.guest.Image.Build}}}}
	}
	if strings.HasPrefix(strings.ToLower(segment), "$env:") && !strings.ContainsAny(segment, " =") {
		return []object{{text: ps.expand(segment)}}
	}
	if quoted := len(segment) > 1 && (segment[0] == '"' || segment[0] == '\'') && segment[len(segment)-1] == segment[0]; quoted {
		return texts(ps.expand(strings.Trim(segment, segment[:1])))
	}
	args := splitPowerShell(ps.expand(segment))
	if len(args) > 0 {
		if make := cmdlets(strings.ToLower(args[0])); make != nil {
			list, err := make(ps, args)
			if err != nil {
				fmt.Fprintf(ps.o.Stderr, "%s : %v\r\n", args[0], err)
				ps.code = 1
			}
			return list
		}
	}
	var out bytes.Buffer
	inner := &powershell{shell: ps.shell, o: ps.o}
	inner.o.Stdout = &out
	inner.native(ctx, segment)
	ps.code, ps.o.Dir = inner.code, inner.o.Dir
	return texts(out.String())
}

// expression is (PIPELINE).Member, and its like.
func (ps *powershell) expression(ctx context.Context, segment string) ([]object, bool) {
	end := closingOf(segment, '(', ')')
	if end < 0 {
		return nil, false
	}
	inner := splitPipeline(segment[1:end])
	list := ps.source(ctx, inner[0])
	for _, s := range inner[1:] {
		if !ps.isFilter(s) {
			return nil, false
		}
		var text string
		var formatted bool
		if list, text, formatted = ps.filter(ctx, s, list); formatted {
			list = texts(strings.ReplaceAll(text, "\r", ""))
		}
	}
	for rest := segment[end+1:]; rest != ""; {
		m := member.FindStringSubmatch(rest)
		if m == nil {
			return nil, false
		}
		rest = rest[len(m[0]):]
		switch n, err := strconv.Atoi(m[2]); {
		case m[2] != "" && err == nil && n < 0:
			n += len(list)
			fallthrough
		case m[2] != "":
			if n < 0 || n >= len(list) {
				return nil, true
			}
			list = list[n : n+1]
		case strings.EqualFold(m[1], "Count") || (strings.EqualFold(m[1], "Length") && len(list) != 1):
			list = []object{{text: strconv.Itoa(len(list))}}
		default:
			list = values(list, m[1])
		}
	}
	return list, true
}

// closingOf finds what closes the bracket that s begins with.
func closingOf(s string, open, shut byte) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == open:
			depth++
		case c == shut:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// values are one property of each object.
func values(list []object, name string) []object {
	var out []object
	for _, o := range list {
		switch v, ok := o.get(name); {
		case !ok:
		case len(name) > 0:
			if many, ok := v.([]string); ok {
				for _, one := range many {
					out = append(out, object{text: one})
				}
				continue
			}
			out = append(out, object{text: show(v)})
		default:
			out = append(out, o)
		}
	}
	return out
}

// short are the names that filters are also called by.
var short = map[string]string{
	"select": "select-object", "where": "where-object", "?": "where-object", "sort": "sort-object", "measure": "measure-object", "%": "foreach-object", "foreach": "foreach-object",
	"ft": "format-table", "fl": "format-list", "sls": "select-string", "tee": "tee-object", "sc": "set-content", "ac": "add-content", "group": "group-object",
}

var eachProperty = regexp.MustCompile(`(?is)^\{\s*(?:\$_|\$PSItem)(?:\.([A-Za-z]+))?\s*\}$`)

func filterName(segment string) string {
	name := strings.ToLower(firstWord(segment))
	if i := strings.IndexByte(name, '{'); i > 0 {
		name = name[:i]
	}
	if full, ok := short[name]; ok {
		return full
	}
	return name
}

// isFilter says whether a segment behind a | is simulated.
func (ps *powershell) isFilter(segment string) bool {
	name := filterName(segment)
	raw := strings.TrimSpace(segment[min(len(firstFilterWord(segment)), len(segment)):])
	switch name {
	case "where-object":
		_, ok := parseWhere(splitPowerShell(raw), raw)
		return ok
	case "foreach-object":
		return eachProperty.MatchString(raw) || !strings.ContainsAny(raw, "{}$ ")
	case "select-object", "sort-object", "measure-object", "format-table", "format-list", "convertto-json", "select-string", "out-string", "out-host", "out-default", "out-null", "out-file", "set-content", "add-content", "tee-object", "group-object":
		return !strings.ContainsAny(raw, "{}@")
	}
	c := ps.shell.find(firstWord(segment))
	return c != nil && !strings.Contains(name, "-")
}

// firstFilterWord is a filter's name as it is written, without a brace behind it.
func firstFilterWord(segment string) string {
	word := firstWord(segment)
	if i := strings.IndexByte(word, '{'); i > 0 {
		return word[:i]
	}
	return word
}
