package shell

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"casement.dev/casement/internal/sim/guest/regex"
)

// findstr searches lines. The words of the pattern are alternatives; a dot, * and [ make it a regular expression
// unless /l is given.
func findstr(_ context.Context, p *Process) int {
	o, kind, wrong := declare("- // i v r l x b e n m c:* s! o! p! g=?! f=?! d=?! a=?! q! offline! ?!").slashed(p.Args[1:])
	patterns, files := o.values("c"), o.operands
	switch {
	case kind == '!' || kind == '?':
		return p.refuseAs(2, "findstr %s", wrong)
	case len(patterns) == 0 && len(files) > 0:
		patterns, files = strings.Fields(files[0]), files[1:]
	}
	if kind != 0 || len(patterns) == 0 {
		return p.Fail(2, "FINDSTR: Bad command line\r")
	}
	atEnd := false // whether $ ends the pattern
	if o.has("l") || o.has("c") && !o.has("r") {
		for i, one := range patterns {
			patterns[i] = regexp.QuoteMeta(one)
		}
	} else {
		for i, one := range patterns {
			patterns[i] = findstrPattern(one)
			atEnd = atEnd || len(patterns) == 1 && strings.HasSuffix(one, "$") && !strings.HasSuffix(one, `\$`)
		}
	}
	text := "(?:" + strings.Join(patterns, "|") + ")"
	if o.has("x", "b") {
		text = "^" + text
	}
	if o.has("x", "e") {
		text += "$"
	}
	if o.has("i") {
		text = "(?i)" + text
	}
	re, err := regex.New(text)
	if err != nil {
		return p.Fail(2, "FINDSTR: the pattern is not one that casement simulates\r")
	}
	return p.findLines(o, files, re, atEnd)
}

// findstrPattern translates an expression: \< and \> match at word boundaries, other escapes stay.
func findstrPattern(p string) string {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\' && i+1 < len(p) && (p[i+1] == '<' || p[i+1] == '>'):
			b.WriteString(`\b`)
			i++
		case c == '[' && strings.IndexByte(p[i+1:], ']') > 0:
			end := i + 1 + strings.IndexByte(p[i+1:], ']')
			b.WriteString(strings.ReplaceAll(p[i:end], `\`, `\\`) + "]")
			i = end
		case c == '\\' && i+1 < len(p):
			b.WriteString(regexp.QuoteMeta(p[i+1 : i+2]))
			i++
		case strings.IndexByte("+?(){}|", c) >= 0:
			b.WriteString(regexp.QuoteMeta(string(c)))
		case c == '^' && i > 0, c == '$' && i+1 < len(p): // an anchor only counts at its end of the expression
			b.WriteString(`\` + string(rune(c)))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// findLines prints the lines that match; it returns 1 if no line does.
func (p *Process) findLines(o options, names []string, re *regex.Pattern, atEnd bool) int {
	files := names
	if len(names) > 0 {
		files = nil
		for _, n := range names {
			files = append(files, namesOf(p, n)...)
		}
		if len(files) == 0 {
			return p.Fail(1, "FINDSTR: Cannot open %s\r", names[0])
		}
	}
	code := 1
	for _, file := range orStdin(files) {
		data, err := p.read(file)
		if err != nil {
			p.Fail(1, "FINDSTR: Cannot open %s\r", file)
			continue
		}
		prefix := ""
		if len(files) > 1 || len(names) > 0 && strings.ContainsAny(names[0], "*?") {
			prefix = file + ":"
		}
		n := 0
		for line := range strings.Lines(string(data)) {
			n++
			text := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
			end := line[len(text):]
			matched := re.Match(p.meter, text)
			if atEnd && end == "" && file != "-" {
				matched = false // $ matches before the end of a line, which the last line of a file may not have
			}
			if file == "-" {
				end = cmp.Or(end, "\r\n")
			}
			if line = text; matched == o.has("v") {
				continue
			}
			code = 0
			switch {
			case o.has("m"):
				p.Printf("%s\r\n", file)
			case o.has("n"):
				p.Printf("%s%d:%s%s", prefix, n, line, end)
			default:
				p.Printf("%s%s%s", prefix, line, end)
			}
			if o.has("m") {
				break
			}
		}
	}
	return code
}

// findWindows implements find.exe: "TEXT" with /i /v /c /n.
func findWindows(_ context.Context, p *Process) int {
	o, kind, wrong := declare("/ i v c n off! offline! ?!").slashed(p.Args[1:])
	switch kind {
	case '!':
		return p.refuseAs(2, "find %s", wrong)
	case '?':
		return p.Fail(2, "FIND: Invalid switch\r")
	}
	given := len(o.operands) > 0
	if _, line, _ := strings.Cut(p.line, " "); given && p.line != "" {
		words := slices.DeleteFunc(batchWords(line), func(w string) bool { return strings.HasPrefix(w, "/") })
		given = len(words) > 0 && len(words[0]) > 1 && words[0][0] == '"' && strings.HasSuffix(words[0], `"`)
	}
	if !given {
		return p.Fail(2, "FIND: Parameter format not correct\r")
	}
	text, files := o.operands[0], o.operands[1:]
	fold := func(s string) string { return s }
	if o.has("i") {
		fold = strings.ToLower
	}
	var names []string
	for _, file := range files {
		names = append(names, namesOf(p, file)...)
	}
	if len(files) > 0 && len(names) == 0 {
		return p.Fail(1, "File not found - %s\r", strings.ToUpper(files[0]))
	}
	code := 1
	for _, file := range orStdin(names) {
		data, err := p.read(file)
		if err != nil {
			p.Fail(1, "File not found - %s\r", strings.ToUpper(file))
			continue
		}
		var lines []string
		n, found := 0, 0
		for line := range strings.Lines(string(readable(data))) {
			n++
			line = strings.TrimRight(line, "\r\n")
			if (text != "" && strings.Contains(fold(line), fold(text))) == o.has("v") {
				continue
			}
			if found++; o.has("n") {
				line = fmt.Sprintf("[%d]%s", n, line)
			}
			lines = append(lines, line+"\r\n")
		}
		if found > 0 {
			code = 0
		}
		head := "\r\n---------- " + strings.ToUpper(file)
		switch {
		case len(files) == 0 && o.has("c"):
			p.Printf("%d\r\n", found)
		case o.has("c"):
			p.Printf("%s: %d\r\n", head, found)
		case len(files) == 0:
			p.Printf("%s", strings.Join(lines, ""))
		default:
			p.Printf("%s\r\n%s", head, strings.Join(lines, ""))
		}
	}
	return code
}

// sortWindows implements sort.exe: lines in alphabetical order, without regard to case; signs come before digits.
func sortWindows(_ context.Context, p *Process) int {
	o, kind, wrong := declare("r o:").slashed(p.Args[1:])
	if kind != 0 || len(o.operands) > 1 {
		return p.refuseAs(1, "sort %s", cmp.Or(wrong, "of several files"))
	}
	data, err := p.read(orStdin(o.operands)[0])
	if err != nil {
		return p.Fail(1, "The system cannot find the file specified.\r")
	}
	key := func(line string) string {
		return strings.Map(func(r rune) rune {
			switch {
			case r == '-' || r == '\'':
				return -1
			case r < 0x80 && r > ' ' && !unicode.IsLetter(r) && !unicode.IsDigit(r):
				return '!'
			}
			return unicode.ToLower(r)
		}, line)
	}
	lines := p.linesOf(strings.ReplaceAll(string(readable(data)), "\r\n", "\n"))
	slices.SortStableFunc(lines, func(a, b string) int {
		order := cmp.Or(strings.Compare(key(a), key(b)), strings.Compare(strings.ToLower(a), strings.ToLower(b)))
		return map[bool]int{true: -order, false: order}[o.has("r")]
	})
	text := strings.Join(append(lines, ""), "\r\n")
	if !o.has("o") {
		p.Printf("%s", text)
	} else if err := p.Guest.Root.WriteFile(p.Abs(o.value("o")), []byte(text), 0o644); err != nil {
		return p.Fail(1, "%s\r", windowsReason(err))
	}
	return 0
}

// whereCommand implements where.exe: it prints the paths of the image's programs, and of files in the current
// directory and in PATH.
func whereCommand(_ context.Context, p *Process) int {
	o, kind, wrong := declare("q").slashed(p.Args[1:])
	if kind != 0 {
		return p.refuseAs(2, "where %s", wrong)
	}
	code := 0
	for _, name := range o.operands {
		if strings.HasPrefix(name, "$") {
			return p.refuseAs(2, "where %s", name)
		}
		found := p.findProgram(name)
		for _, at := range found {
			if !o.has("q") {
				p.Printf("%s\r\n", at)
			}
		}
		if len(found) > 0 {
			continue
		}
		code = 1
		if !o.has("q") {
			p.Fail(1, "INFO: Could not find files for the given pattern(s).\r")
		}
	}
	return code
}

// findProgram returns the paths of a program by its name.
func (p *Process) findProgram(name string) []string {
	var found []string
	dirs := append([]string{p.Dir}, strings.Split(lookupFold(p.Env, "PATH"), ";")...)
	for _, dir := range dirs {
		for _, suffix := range []string{"", ".exe", ".cmd", ".bat", ".ps1"} {
			if dir == "" || suffix == "" && !strings.Contains(name, ".") || suffix == ".ps1" {
				continue
			}
			for _, at := range globWindows(p, strings.TrimRight(dir, `\`)+`\`+name+suffix) {
				if p.Guest.Root.Exists(at) && !p.Guest.Root.IsDir(at) && !slices.Contains(found, at) {
					found = append(found, at)
				}
			}
		}
	}
	if len(found) == 0 && p.shell.find(name) != nil && !strings.ContainsAny(name, `\/*?`) {
		found = append(found, programPath(p.Guest, name))
	}
	return found
}

func lookupFold(env map[string]string, name string) string {
	for k, v := range env {
		if strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}

// namesOf returns the names that match a pattern, with the folder as it is written in the pattern.
func namesOf(p *Process, pattern string) []string {
	found := globWindows(p, pattern)
	folder := pattern[:strings.LastIndexAny(pattern, `\/:`)+1]
	for i, name := range found {
		if strings.ContainsAny(pattern, "*?") && !strings.ContainsAny(folder, "*?") {
			found[i] = folder + name[strings.LastIndexByte(name, '\\')+1:]
		}
	}
	return found
}

// globWindows expands * and ? in a path, folder by folder; elements without a pattern stay.
func globWindows(p *Process, pattern string) []string {
	if !strings.ContainsAny(pattern, "*?") {
		return []string{pattern}
	}
	found := []string{""}
	for i, part := range strings.Split(p.Abs(pattern), `\`) {
		var next []string
		for _, dir := range found {
			if i == 0 || !strings.ContainsAny(part, "*?") {
				next = append(next, strings.TrimPrefix(dir+`\`+part, `\`))
				continue
			}
			entries, err := p.Guest.Root.ReadDir(dir + `\`)
			if err != nil {
				continue
			}
			for _, e := range entries {
				if maskMatch(part, e.Name()) {
					next = append(next, dir+`\`+e.Name())
				}
			}
		}
		found = next
	}
	return slices.DeleteFunc(found, func(f string) bool { return !p.Guest.Root.Exists(f) })
}
