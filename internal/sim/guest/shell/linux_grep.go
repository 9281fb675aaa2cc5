package shell

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/sim/guest/regex"
)

// matcher finds the lines that grep selects.
type matcher struct {
	match func(line string) bool
	find  func(line string) []string
}

func (p *Process) matcher(o options) (matcher, int) {
	patterns, files := o.values("e"), o.values("f")
	for _, f := range files {
		data, err := p.read(f)
		if err != nil {
			return matcher{}, p.Fail(2, "grep: %s: %s", f, reason(err))
		}
		patterns = append(patterns, strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")...)
	}
	style := cmp.Or(o.last("E", "F", "G", "P"), map[string]string{"egrep": "E", "fgrep": "F"}[p.name()])
	ro := regex.Options{Extended: style == "E", Fixed: style == "F", IgnoreCase: o.has("i"), Word: o.has("w"), Line: o.has("x")}
	var m []*regex.Pattern
	for _, pattern := range patterns {
		for one := range strings.SplitSeq(pattern, "\n") {
			compile := regex.Any
			if style == "P" {
				compile = regex.Perl
			}
			re, err := compile(one, ro)
			if errors.Is(err, regex.ErrUnsupported) {
				return matcher{}, p.Refuse("grep with %v", err)
			}
			if err != nil {
				return matcher{}, p.Fail(2, "grep: %v", err)
			}
			m = append(m, re)
		}
	}
	return matcher{
		match: func(line string) bool {
			return slices.ContainsFunc(m, func(re *regex.Pattern) bool { return re.Match(p.meter, line) })
		},
		find: func(line string) (all []string) {
			for _, re := range m {
				all = append(all, re.Texts(p.meter, line)...)
			}
			return all
		},
	}, 0
}

// maxMatched bounds the length of a searched line, in bytes, because a search cannot be interrupted.
const maxMatched = 8 << 20

func grepCommand(_ context.Context, p *Process, o options) int {
	if !o.has("e", "f") {
		if len(o.operands) == 0 {
			return p.Fail(2, "Usage: grep [OPTION]... PATTERNS [FILE]...")
		}
		o.given = append(o.given, given{"e", o.operands[0]})
		o.operands = o.operands[1:]
	}
	m, code := p.matcher(o)
	if code != 0 {
		return code
	}
	files := o.operands
	if o.has("r", "R") {
		files = p.filesBelow(files)
		globs := map[string][]*shPattern{}
		for _, flag := range []string{"exclude", "include", "exclude-dir"} {
			all, err := patterns(o.values(flag))
			if err != nil {
				return p.refuseAs(2, "grep --%s of %v", flag, err)
			}
			globs[flag] = all
		}
		chosen := func(flag, name string, otherwise bool) bool {
			if !o.has(flag) {
				return otherwise
			}
			return slices.ContainsFunc(globs[flag], func(m *shPattern) bool { return m.whole(p.meter, name) })
		}
		files = slices.DeleteFunc(files, func(f string) bool {
			if chosen("exclude", path.Base(f), false) || !chosen("include", path.Base(f), true) {
				return true
			}
			return slices.ContainsFunc(strings.Split(path.Dir(f), "/"), func(dir string) bool { return chosen("exclude-dir", dir, false) })
		})
	} else {
		files = orStdin(files)
	}
	named := (len(files) > 1 || o.has("r", "R", "H")) && !o.has("h")
	selected, failed := false, false
	for _, f := range files {
		in, err := p.open(f)
		if err != nil {
			failed = true
			if !o.has("s") {
				p.Fail(2, "grep: %s: %s", f, reason(err))
			}
			continue
		}
		g := grepping{p: p, o: o, m: m, file: f, named: named}
		if g.run(in) {
			selected = true
		}
	}
	switch {
	case failed && !(o.has("q") && selected):
		return 2
	case selected:
		return 0
	}
	return 1
}

// filesBelow returns the files below the given folders, or below the current folder.
func (p *Process) filesBelow(names []string) (files []string) {
	for _, n := range orFolder(names) {
		if !p.Guest.Root.IsDir(p.Abs(n)) {
			files = append(files, n)
			continue
		}
		p.walk(n, 0, func(name string, _ int, info fs.FileInfo) bool {
			if info.Mode().IsRegular() {
				files = append(files, strings.TrimPrefix(name,
					map[bool]string{true: "./"}[len(names) == 0]))
			}
			return true
		})
	}
	return files
}

// grepping is a run of grep over one file.
type grepping struct {
	p     *Process
	o     options
	m     matcher
	file  string
	named bool
}

// numbered is a line with its number, from 0, and its byte offset.
type numbered struct {
	at, offset int
	line       string
}

func (g grepping) run(in *stream) bool {
	o := g.o
	limit, _ := strconv.Atoi(cmp.Or(o.value("m"), "-1"))
	after, _ := strconv.Atoi(cmp.Or(o.value("A"), o.value("C"), o.value("n"), "0"))
	before, _ := strconv.Atoi(cmp.Or(o.value("B"), o.value("C"), "0"))
	count, shown, context, binary := 0, -1, 0, false
	var recent []numbered // the preceding lines that are not shown yet
	for i, offset, next := 0, 0, 0; ; i, offset = i+1, next {
		line, ok := in.until(g.end())
		if !ok {
			break
		}
		next += len(line)
		line = strings.TrimSuffix(line, string(g.end()))
		if binary = binary || !o.has("a", "z") && strings.IndexByte(line, 0) >= 0; binary && o.has("I") {
			count = 0
			break
		}
		if len(line) > maxMatched {
			g.p.meter.Look()
			g.p.Fail(2, "grep: line %d is longer than the %d MiB that are searched (a bound of the simulation)", i+1, maxMatched>>20)
			continue
		}
		if g.m.match(line) == o.has("v") {
			if context > 0 && !o.has("c", "l", "L", "q", "o") {
				g.line(i, offset, line, '-')
				shown = i
				context--
			} else if before > 0 {
				g.p.meter.Hold(len(line))
				recent = append(recent, numbered{i, offset, line})
				for len(recent) > before {
					g.p.meter.Hold(-len(recent[0].line))
					recent = recent[1:]
				}
			}
			continue
		}
		if count == limit {
			break
		}
		count++
		if o.has("l", "L", "q") {
			break
		}
		if o.has("c") {
			continue
		}
		if binary {
			g.p.Fail(0, "grep: %s: binary file matches", g.name())
			break
		}
		if (before > 0 || after > 0) && shown >= 0 && i-before > shown+1 {
			if !o.has("no-group-separator") {
				g.p.Printf("--\n")
			}
		}
		for _, r := range recent {
			g.p.meter.Hold(-len(r.line))
			if !o.has("o") {
				g.line(r.at, r.offset, r.line, '-')
			}
		}
		recent = nil
		if o.has("o") && !o.has("v") {
			at := 0
			for _, found := range g.m.find(line) {
				at += max(strings.Index(line[at:], found), 0)
				g.line(i, offset+at, found, ':')
				at += len(found)
			}
		} else if !o.has("o") {
			g.line(i, offset, line, ':')
		}
		shown, context = i, after
		if count == limit && after == 0 {
			break
		}
	}
	switch {
	case o.has("q"):
	case o.has("l", "L"):
		if (count > 0) == o.has("l") {
			g.p.Printf("%s%s", g.name(), map[bool]string{true: "\x00", false: "\n"}[o.has("Z")])
		}
	case o.has("c"):
		g.printName(':')
		g.p.Printf("%d\n", count)
	}
	return count > 0
}

// name returns the file's name as grep prints it.
func (g grepping) name() string {
	if g.file == "-" {
		return "(standard input)"
	}
	return g.file
}

// printName writes the name of the file before a line, if names are shown.
func (g grepping) printName(mark byte) {
	if g.o.has("Z") {
		mark = 0
	}
	if g.named {
		g.p.Printf("%s%c", g.name(), mark)
	}
}

func (g grepping) line(i, offset int, text string, mark byte) {
	g.printName(mark)
	if slices.ContainsFunc(g.o.given, func(o given) bool { return o == given{"n", ""} }) {
		g.p.Printf("%d%c", i+1, mark)
	}
	if g.o.has("b") {
		g.p.Printf("%d%c", offset, mark)
	}
	g.p.Printf("%s%c", text, g.end())
}

// end returns the byte that ends a line.
func (g grepping) end() byte {
	if g.o.has("z") {
		return 0
	}
	return '\n'
}
