package shell

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/sim/guest/regex"
	"casement.dev/casement/internal/sim/guest/sed"
)

func textCommands() Table {
	grepFlags := "E|extended-regexp F|fixed-strings G|basic-regexp P|perl-regexp e|regexp: f|file: i|y|ignore-case w|word-regexp x|line-regexp v|invert-match c|count " +
		"o|only-matching q|quiet|silent s|no-messages n|line-number H|with-filename h|no-filename l|files-with-matches L|files-without-match m|max-count: " +
		"A|after-context: B|before-context: C|context: r|recursive R|dereference-recursive a|text color|colour=?"
	return Table{
		"sed":   flagged("n|quiet|silent e|expression: f|file: E|r|regexp-extended i|in-place=? s|separate u|unbuffered", sedCommand),
		"grep":  flagged("# "+grepFlags, grepCommand),
		"egrep": flagged("# "+grepFlags, grepCommand),
		"fgrep": flagged("# "+grepFlags, grepCommand),
		"cut":   flagged("d|delimiter: f|fields: c|characters: b|bytes: s|only-delimited complement output-delimiter:", cut),
		"tr":    flagged("+ d|delete s|squeeze-repeats c|C|complement", tr),
		"sort":  flagged("n|numeric-sort r|reverse u|unique t|field-separator: k|key: f|ignore-case V|version-sort h|human-numeric-sort b|ignore-leading-blanks o|output: c|check s|stable z|zero-terminated", sortLines),
		"uniq":  flagged("c|count d|repeated u|unique i|ignore-case", uniq),
		"head":  flagged("# n|lines: c|bytes: q|quiet v|verbose", head),
		"wc":    flagged("l|lines w|words c|bytes m|chars L|max-line-length", wc),
		"seq":   flagged("+ s|separator: w|equal-width f|format:", seq),
		"tee":   flagged("a|append i|ignore-interrupts", tee),
		"rev":   flagged("", perLine(reversed)),
		"tac":   flagged("", tac),
		"nl":    flagged("b|body-numbering: w|number-width: s|number-separator:", nl),
		"paste": flagged("s|serial d|delimiters:", paste),
		"comm":  flagged("1 2 3", comm),
		"diff":  flagged("q|brief u|unified N|new-file r|recursive", diff),
		"cmp":   flagged("s|quiet|silent", diff),
		"expr":  expr,
		"yes":   flagged("", yes),
	}
}

// guestFiles are the files that a script of sed names.
type guestFiles struct {
	p    *Process
	made map[string]bool
}

// ReadFile implements sed.Files.
func (f guestFiles) ReadFile(name string) ([]byte, error) {
	if name == "/dev/stdin" {
		name = "-"
	}
	return f.p.read(name)
}

// AppendFile implements sed.Files.
func (f guestFiles) AppendFile(name, text string) error {
	if name == "/dev/stdout" {
		f.p.Printf("%s", text)
		return nil
	}
	write := f.p.Guest.Root.AppendFile
	if !f.made[name] {
		write = f.p.Guest.Root.WriteFile
	}
	f.made[name] = true
	return write(f.p.Abs(name), []byte(text), 0o644)
}

func sedCommand(_ context.Context, p *Process, o options) int {
	scripts := o.values("e")
	for _, f := range o.values("f") {
		data, err := p.read(f)
		if err != nil {
			return p.Fail(1, "sed: couldn't open file %s: %s", f, reason(err))
		}
		scripts = append(scripts, strings.TrimSuffix(string(data), "\n"))
	}
	files := o.operands
	if len(scripts) == 0 {
		if len(files) == 0 {
			return p.Fail(1, "Usage: sed [OPTION]... {script-only-if-no-other-script} [input-file]...")
		}
		scripts, files = files[:1], files[1:]
	}
	program, err := sed.Parse(strings.Join(scripts, "\n"), o.has("E"))
	if unsupported, ok := errors.AsType[sed.Unsupported](err); ok {
		return p.Refuse("%s of sed", unsupported)
	}
	if err != nil {
		return p.Fail(1, "sed: -e expression #1: %v", err)
	}
	apart := o.has("i", "s")
	var all bytes.Buffer
	code := 0
	for _, f := range orStdin(files) {
		data, err := p.read(f)
		if err != nil {
			code = p.Fail(2, "sed: can't read %s: %s", f, reason(err))
			continue
		}
		if !apart {
			if all.Len() > 0 && !bytes.HasSuffix(all.Bytes(), []byte("\n")) {
				all.WriteByte('\n')
			}
			all.Write(data)
			continue
		}
		if c := sedFile(p, program, f, data, o); c != 0 {
			return c
		}
	}
	if apart {
		return code
	}
	c, err := program.Run(all.String(), o.has("n"), p.Stdout, guestFiles{p, map[string]bool{}})
	if err != nil {
		return p.Fail(1, "sed: %v", err)
	}
	return cmp.Or(c, code)
}

// sedFile edits one file apart, in place with -i.
func sedFile(p *Process, program *sed.Program, name string, data []byte, o options) int {
	var out bytes.Buffer
	c, err := program.Run(string(data), o.has("n"), &out, guestFiles{p, map[string]bool{}})
	if err != nil {
		return p.Fail(1, "sed: %v", err)
	}
	if !o.has("i") {
		_, _ = p.Stdout.Write(out.Bytes()) // a failed write is the reader's affair
		return c
	}
	root, at := p.Guest.Root, p.Abs(name)
	if suffix := o.value("i"); suffix != "" {
		backup := at + suffix
		if strings.Contains(suffix, "*") {
			backup = path.Join(path.Dir(at), strings.ReplaceAll(suffix, "*", path.Base(at)))
		}
		if err := root.WriteFile(backup, data, modeOf(p, at)); err != nil {
			return p.failed(name, err)
		}
	}
	if err := root.WriteFile(at, out.Bytes(), 0o644); err != nil {
		return p.failed(name, err)
	}
	return c
}

func modeOf(p *Process, name string) fs.FileMode {
	if info, err := p.Guest.Root.Stat(name); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}

// matcher tells the lines that grep selects.
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
	var m []regexpLike
	for _, pattern := range patterns {
		for one := range strings.SplitSeq(pattern, "\n") {
			var re regexpLike
			var err error
			if style == "P" {
				re, err = regex.Perl(one, ro)
			} else {
				re, err = regex.Compile(one, ro)
			}
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
			return slices.ContainsFunc(m, func(re regexpLike) bool { return re.MatchString(line) })
		},
		find: func(line string) (all []string) {
			for _, re := range m {
				for _, found := range re.FindAllString(line, -1) {
					if found != "" {
						all = append(all, found)
					}
				}
			}
			return all
		},
	}, 0
}

type regexpLike interface {
	MatchString(string) bool
	FindAllString(string, int) []string
}

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
	} else {
		files = orStdin(files)
	}
	named := (len(files) > 1 || o.has("r", "R", "H")) && !o.has("h")
	selected, failed := false, false
	for _, f := range files {
		data, err := p.read(f)
		if err != nil {
			failed = true
			if !o.has("s") {
				p.Fail(2, "grep: %s: %s", f, reason(err))
			}
			continue
		}
		g := grepping{p: p, o: o, m: m, file: f, named: named}
		if g.run(string(data)) {
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

// filesBelow are the files of folders, or of the current one.
func (p *Process) filesBelow(names []string) (files []string) {
	if len(names) == 0 {
		names = []string{"."}
	}
	for _, n := range names {
		if !p.Guest.Root.IsDir(p.Abs(n)) {
			files = append(files, n)
			continue
		}
		p.walk(n, 0, func(name string, _ int, info fs.FileInfo) bool {
			if info.Mode().IsRegular() {
				files = append(files, strings.TrimPrefix(name, map[bool]string{true: "./"}[len(names) == 1 && n == "." && !slices.Contains(p.Args, ".")]))
			}
			return true
		})
	}
	return files
}

// grepping is one file.
type grepping struct {
	p     *Process
	o     options
	m     matcher
	file  string
	named bool
}

func (g grepping) run(text string) bool {
	o := g.o
	limit, _ := strconv.Atoi(cmp.Or(o.value("m"), "-1"))
	after, _ := strconv.Atoi(cmp.Or(o.value("A"), o.value("C"), o.value("n"), "0"))
	before, _ := strconv.Atoi(cmp.Or(o.value("B"), o.value("C"), "0"))
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if text == "" {
		lines = nil
	}
	count, shown, context := 0, -1, 0
	for i, line := range lines {
		if g.m.match(line) == o.has("v") {
			if context > 0 && !o.has("c", "l", "L", "q", "o") {
				g.line(i, line, '-')
				shown = i
				context--
			}
			continue
		}
		if count == limit {
			break
		}
		count++
		if o.has("c", "l", "L", "q") {
			continue
		}
		if (before > 0 || after > 0) && shown >= 0 && i-before > shown+1 {
			g.p.Printf("--\n")
		}
		for j := max(shown+1, i-before); j < i && !o.has("o"); j++ {
			g.line(j, lines[j], '-')
		}
		if o.has("o") && !o.has("v") {
			for _, found := range g.m.find(line) {
				g.line(i, found, ':')
			}
		} else if !o.has("o") {
			g.line(i, line, ':')
		}
		shown, context = i, after
	}
	switch {
	case o.has("q"):
	case o.has("l"):
		if count > 0 {
			g.p.Printf("%s\n", g.file)
		}
	case o.has("L"):
		if count == 0 {
			g.p.Printf("%s\n", g.file)
		}
		return count == 0
	case o.has("c"):
		if g.named {
			g.p.Printf("%s:", g.file)
		}
		g.p.Printf("%d\n", count)
	}
	return count > 0
}

func (g grepping) line(i int, text string, mark byte) {
	if g.named {
		name := g.file
		if name == "-" {
			name = "(standard input)"
		}
		g.p.Printf("%s%c", name, mark)
	}
	if slices.ContainsFunc(g.o.given, func(o given) bool { return o == given{"n", ""} }) {
		g.p.Printf("%d%c", i+1, mark)
	}
	g.p.Printf("%s\n", text)
}

// inputs is the content of the operands, or of standard input. One that cannot be
// read is named and left out.
func (p *Process) inputs(files []string) (text string, code int) {
	var b strings.Builder
	for _, f := range orStdin(files) {
		data, err := p.read(f)
		if err != nil {
			code = p.failed(f, err)
			continue
		}
		b.Write(data)
	}
	return b.String(), code
}

// linesOf are the lines of a text, without their newlines.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// span is a range of fields, from 1; to 0 is to the end.
type span struct{ from, to int }

func spans(list string) ([]span, error) {
	var out []span
	for part := range strings.SplitSeq(list, ",") {
		from, to, ranged := strings.Cut(part, "-")
		s := span{1, 0}
		var err error
		if from != "" {
			if s.from, err = strconv.Atoi(from); err != nil || s.from < 1 {
				return nil, fmt.Errorf("invalid field value '%s'", part)
			}
		}
		switch {
		case !ranged:
			s.to = s.from
		case to != "":
			if s.to, err = strconv.Atoi(to); err != nil || s.to < s.from {
				return nil, fmt.Errorf("invalid range '%s'", part)
			}
		case from == "":
			return nil, errors.New("invalid range with no endpoint: -")
		}
		out = append(out, s)
	}
	return out, nil
}

func within(list []span, n int) bool {
	return slices.ContainsFunc(list, func(s span) bool { return n >= s.from && (s.to == 0 || n <= s.to) })
}

func cut(_ context.Context, p *Process, o options) int {
	list := cmp.Or(o.value("f"), o.value("c"), o.value("b"))
	if list == "" {
		return p.Fail(1, "cut: you must specify a list of bytes, characters, or fields")
	}
	ranges, err := spans(list)
	if err != nil {
		return p.Fail(1, "cut: %v", err)
	}
	sep := "\t"
	if o.has("d") {
		if sep = o.value("d"); len(sep) != 1 {
			return p.Fail(1, "cut: the delimiter must be a single character")
		}
	}
	joint := sep
	if !o.has("f") {
		joint = ""
	}
	if o.has("output-delimiter") {
		joint = o.value("output-delimiter")
	}
	text, code := p.inputs(o.operands)
	for _, line := range linesOf(text) {
		var parts []string
		switch {
		case !o.has("f"):
			for i := range len(line) {
				parts = append(parts, line[i:i+1])
			}
		case !strings.Contains(line, sep):
			if !o.has("s") {
				p.Printf("%s\n", line)
			}
			continue
		default:
			parts = strings.Split(line, sep)
		}
		var kept []string
		for i, part := range parts {
			if within(ranges, i+1) != o.has("complement") {
				kept = append(kept, part)
			}
		}
		p.Printf("%s\n", strings.Join(kept, joint))
	}
	return code
}

// classes of tr.
var letterClasses = map[string]string{
	"lower": "abcdefghijklmnopqrstuvwxyz", "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "digit": "0123456789", "blank": " \t", "space": "\t\n\v\f\r ",
	"alpha": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "xdigit": "0123456789ABCDEFabcdef", "punct": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
	"alnum": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
}

func letterClass(name string) string {
	switch name {
	case "cntrl", "print", "graph":
		var b strings.Builder
		for c := range 128 {
			control := c < 32 || c == 127
			if control == (name == "cntrl") && (name != "graph" || c != ' ') {
				b.WriteByte(byte(c))
			}
		}
		return b.String()
	}
	return letterClasses[name]
}

// letterSet are the bytes of a set of tr.
func letterSet(text string) (string, error) {
	var out []byte
	plain := func() byte {
		c := text[0]
		text = text[1:]
		if c != '\\' || text == "" {
			return c
		}
		n := 0
		for n < 3 && n < len(text) && text[n] >= '0' && text[n] <= '7' {
			n++
		}
		if n > 0 {
			v, _ := strconv.ParseUint(text[:n], 8, 16)
			text = text[n:]
			return byte(v)
		}
		c = text[0]
		text = text[1:]
		if i := strings.IndexByte("abfnrtv", c); i >= 0 {
			return "\a\b\f\n\r\t\v"[i]
		}
		return c
	}
	for text != "" {
		if rest, ok := strings.CutPrefix(text, "[:"); ok {
			if name, after, ok := strings.Cut(rest, ":]"); ok {
				class := letterClass(name)
				if class == "" {
					return "", fmt.Errorf("invalid character class '%s'", name)
				}
				out = append(out, class...)
				text = after
				continue
			}
		}
		c := plain()
		if len(text) > 1 && text[0] == '-' {
			text = text[1:]
			to := plain()
			if to < c {
				return "", fmt.Errorf("range-endpoints of '%c-%c' are in reverse collating sequence order", c, to)
			}
			for ; c < to; c++ {
				out = append(out, c)
			}
		}
		out = append(out, c)
	}
	return string(out), nil
}

func tr(_ context.Context, p *Process, o options) int {
	if len(o.operands) == 0 || len(o.operands) == 1 && !o.has("d", "s") {
		return p.Fail(1, "tr: missing operand")
	}
	from, err := letterSet(o.operands[0])
	to := ""
	if err == nil && len(o.operands) > 1 {
		to, err = letterSet(o.operands[1])
	}
	if err != nil {
		return p.Fail(1, "tr: %v", err)
	}
	data, err := p.read("-")
	if err != nil {
		return p.failed("-", err)
	}
	in := func(c byte) int {
		i := strings.IndexByte(from, c)
		if o.has("c") {
			if i >= 0 {
				return -1
			}
			return max(len(to)-1, 0)
		}
		return i
	}
	squeeze := to
	if to == "" || o.has("d") && len(o.operands) < 2 {
		squeeze = from
	}
	out := make([]byte, 0, len(data))
	for _, c := range data {
		i := in(c)
		if i >= 0 && o.has("d") {
			continue
		}
		if i >= 0 && to != "" && !o.has("d") {
			c = to[min(i, len(to)-1)]
		}
		squeezed := strings.IndexByte(squeeze, c) >= 0
		if o.has("c") && to == "" {
			squeezed = i >= 0
		}
		if o.has("s") && squeezed && len(out) > 0 && out[len(out)-1] == c {
			continue
		}
		out = append(out, c)
	}
	_, _ = p.Stdout.Write(out) // a failed write is the reader's affair
	return 0
}

func uniq(_ context.Context, p *Process, o options) int {
	var in []string
	if len(o.operands) > 0 {
		in = o.operands[:1]
	}
	if len(o.operands) > 1 {
		return p.Refuse("uniq with a file for its output")
	}
	text, code := p.inputs(in)
	lines := linesOf(text)
	same := func(a, b string) bool { return a == b || o.has("i") && strings.EqualFold(a, b) }
	for i := 0; i < len(lines); {
		j := i
		for j < len(lines) && same(lines[i], lines[j]) {
			j++
		}
		n := j - i
		if !(o.has("d") && n < 2 || o.has("u") && n > 1) {
			if o.has("c") {
				p.Printf("%7d ", n)
			}
			p.Printf("%s\n", lines[i])
		}
		i = j
	}
	return code
}

func head(_ context.Context, p *Process, o options) int {
	count, isBytes := cmp.Or(o.value("n"), "10"), o.last("n", "c") == "c"
	if isBytes {
		count = o.value("c")
	}
	n, err := strconv.Atoi(strings.TrimPrefix(count, "+"))
	if err != nil {
		return p.Fail(1, "head: invalid number of lines: '%s'", count)
	}
	code, files := 0, orStdin(o.operands)
	for i, f := range files {
		data, err := p.read(f)
		if err != nil {
			code = p.Fail(1, "head: cannot open '%s' for reading: %s", f, reason(err))
			continue
		}
		if o.has("v") || len(files) > 1 && !o.has("q") {
			p.Printf("%s==> %s <==\n", map[bool]string{true: "\n"}[i > 0], f)
		}
		if isBytes {
			end := n
			if n < 0 {
				end = len(data) + n
			}
			_, _ = p.Stdout.Write(data[:min(max(end, 0), len(data))]) // a failed write is the reader's affair
			continue
		}
		lines := strings.SplitAfter(string(data), "\n")
		if last := len(lines) - 1; lines[last] == "" {
			lines = lines[:last]
		}
		end := n
		if n < 0 || strings.HasPrefix(count, "-") {
			end = max(len(lines)+n, 0)
		}
		p.Printf("%s", strings.Join(lines[:min(end, len(lines))], ""))
	}
	return code
}

func wc(_ context.Context, p *Process, o options) int {
	if !o.has("l", "w", "c", "m", "L") {
		o.given = []given{{"l", ""}, {"w", ""}, {"c", ""}}
	}
	count := func(text string) (n []int) {
		if o.has("l") {
			n = append(n, strings.Count(text, "\n"))
		}
		if o.has("w") {
			n = append(n, len(strings.Fields(text)))
		}
		if o.has("m") {
			n = append(n, len([]rune(text)))
		}
		if o.has("c") {
			n = append(n, len(text))
		}
		if o.has("L") {
			longest := 0
			for _, l := range linesOf(text) {
				longest = max(longest, len([]rune(l)))
			}
			n = append(n, longest)
		}
		return n
	}
	type row struct {
		counts []int
		name   string
	}
	var rows []row
	var total []int
	code, width, size := 0, 1, 0
	for _, f := range orStdin(o.operands) {
		data, err := p.read(f)
		if err != nil {
			code = p.failed(f, err)
			continue
		}
		size += len(data)
		r := row{count(string(data)), f}
		if total == nil {
			total = make([]int, len(r.counts))
		}
		for i, n := range r.counts {
			total[i] += n
		}
		rows = append(rows, r)
	}
	if len(o.operands) > 1 {
		rows = append(rows, row{total, "total"})
	}
	switch {
	case len(o.operands) == 0 && len(total) > 1:
		width = 7
	case len(o.operands) > 0 && (len(total) > 1 || len(o.operands) > 1):
		width = len(strconv.Itoa(size))
	}
	for _, r := range rows {
		var cells []string
		for _, n := range r.counts {
			cells = append(cells, fmt.Sprintf("%*d", width, n))
		}
		line := strings.Join(cells, " ")
		if len(o.operands) > 0 {
			line += " " + r.name
		}
		p.Printf("%s\n", line)
	}
	return code
}

func seq(_ context.Context, p *Process, o options) int {
	from, step, to := 1.0, 1.0, 0.0
	var numbers []float64
	places := 0
	for _, a := range o.operands {
		n, err := strconv.ParseFloat(a, 64)
		if err != nil {
			return p.Fail(1, "seq: invalid floating point argument: '%s'", a)
		}
		numbers = append(numbers, n)
		if _, fraction, ok := strings.Cut(a, "."); ok && len(numbers) < 3 {
			places = max(places, len(fraction))
		}
	}
	switch len(numbers) {
	case 1:
		to, places = numbers[0], 0
	case 2:
		from, to = numbers[0], numbers[1]
	case 3:
		from, step, to = numbers[0], numbers[1], numbers[2]
	default:
		return p.Fail(1, "seq: missing operand")
	}
	if step == 0 || (to-from)/step > maxRange {
		return p.Fail(1, "seq: invalid Zero increment value, or more than %d numbers (a bound of the simulation)", maxRange)
	}
	if o.has("f") {
		return p.Refuse("seq -f")
	}
	var out []string
	width := 0
	for i := 0; ; i++ {
		n := from + float64(i)*step
		if step > 0 && n > to+1e-9 || step < 0 && n < to-1e-9 {
			break
		}
		out = append(out, strconv.FormatFloat(n, 'f', places, 64))
		width = max(width, len(out[i]))
	}
	sep := "\n"
	if o.has("s") {
		sep = o.value("s")
	}
	for i, n := range out {
		if o.has("w") {
			sign := ""
			if strings.HasPrefix(n, "-") {
				sign, n = "-", n[1:]
			}
			n = sign + strings.Repeat("0", width-len(sign)-len(n)) + n
		}
		if i > 0 {
			p.Printf("%s", sep)
		}
		p.Printf("%s", n)
	}
	if len(out) > 0 {
		p.Printf("\n")
	}
	return 0
}

func tee(_ context.Context, p *Process, o options) int {
	data, err := p.read("-")
	if err != nil {
		return p.failed("-", err)
	}
	_, _ = p.Stdout.Write(data) // a failed write is the reader's affair
	code := 0
	for _, f := range o.operands {
		if p.device(f, data) {
			continue
		}
		write := p.Guest.Root.WriteFile
		if o.has("a") {
			write = p.Guest.Root.AppendFile
		}
		if err := write(p.Abs(f), data, p.creates(0o666)); err != nil {
			code = p.failed(f, err)
		}
	}
	return code
}

// device writes to a file of /dev, and says whether name is one.
func (p *Process) device(name string, data []byte) bool {
	var w io.Writer
	switch p.Abs(name) {
	case "/dev/null":
		return true
	case "/dev/stdout", "/dev/tty", "/dev/console", "/dev/kmsg":
		w = p.Stdout
	case "/dev/stderr":
		w = p.Stderr
	default:
		return false
	}
	_, _ = w.Write(data) // a failed write is the reader's affair
	return true
}

// perLine is a command that edits each line.
func perLine(edit func(string) string) func(context.Context, *Process, options) int {
	return func(_ context.Context, p *Process, o options) int {
		text, code := p.inputs(o.operands)
		for _, line := range linesOf(text) {
			p.Printf("%s\n", edit(line))
		}
		return code
	}
}

func reversed(line string) string {
	letters := []rune(line)
	slices.Reverse(letters)
	return string(letters)
}

func tac(_ context.Context, p *Process, o options) int {
	text, code := p.inputs(o.operands)
	for _, line := range slices.Backward(linesOf(text)) {
		p.Printf("%s\n", line)
	}
	return code
}

func nl(_ context.Context, p *Process, o options) int {
	text, code := p.inputs(o.operands)
	width, _ := strconv.Atoi(cmp.Or(o.value("w"), "6"))
	sep := "\t"
	if o.has("s") {
		sep = o.value("s")
	}
	n := 0
	for _, line := range linesOf(text) {
		if line == "" && o.value("b") != "a" {
			p.Printf("%s\n", strings.Repeat(" ", width+len(sep)))
			continue
		}
		n++
		p.Printf("%*d%s%s\n", width, n, sep, line)
	}
	return code
}

func paste(_ context.Context, p *Process, o options) int {
	seps := "\t"
	if o.has("d") {
		seps = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`).Replace(o.value("d"))
	}
	join := func(parts []string) string {
		var b strings.Builder
		for i, part := range parts {
			if i > 0 && seps != "" {
				b.WriteByte(seps[(i-1)%len(seps)])
			}
			b.WriteString(part)
		}
		return b.String() + "\n"
	}
	var columns [][]string
	longest := 0
	files := orStdin(o.operands)
	rest := []string(nil)
	for i, f := range files {
		if f == "-" && len(files) > 1 { // each takes the next line
			if rest == nil {
				text, _ := p.inputs([]string{"-"})
				rest = linesOf(text)
			}
			dashes := 0
			for _, g := range files {
				if g == "-" {
					dashes++
				}
			}
			var own []string
			for j := i; j < len(rest); j += dashes {
				own = append(own, rest[j])
			}
			columns = append(columns, own)
			longest = max(longest, len(own))
			continue
		}
		text, code := p.inputs([]string{f})
		if code != 0 {
			return code
		}
		columns = append(columns, linesOf(text))
		longest = max(longest, len(columns[i]))
	}
	if o.has("s") {
		for _, c := range columns {
			p.Printf("%s", join(c))
		}
		return 0
	}
	for i := range longest {
		var row []string
		for _, c := range columns {
			cell := ""
			if i < len(c) {
				cell = c[i]
			}
			row = append(row, cell)
		}
		p.Printf("%s", join(row))
	}
	return 0
}

func comm(_ context.Context, p *Process, o options) int {
	if len(o.operands) != 2 {
		return p.Fail(1, "comm: missing operand")
	}
	left, code := p.inputs(o.operands[:1])
	right, code2 := p.inputs(o.operands[1:])
	if code+code2 != 0 {
		return 1
	}
	a, b := linesOf(left), linesOf(right)
	show := func(column string, indent int, line string) {
		if !o.has(column) {
			tabs := 0
			for i := 1; i <= indent; i++ {
				if !o.has(strconv.Itoa(i)) {
					tabs++
				}
			}
			p.Printf("%s%s\n", strings.Repeat("\t", tabs), line)
		}
	}
	for len(a)+len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			show("1", 0, a[0])
			a = a[1:]
		case len(a) == 0 || b[0] < a[0]:
			show("2", 1, b[0])
			b = b[1:]
		default:
			show("3", 2, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return 0
}

// yes repeats a line until nobody reads it.
func yes(ctx context.Context, p *Process, o options) int {
	line := "y"
	if len(o.operands) > 0 {
		line = strings.Join(o.operands, " ")
	}
	block := []byte(strings.Repeat(line+"\n", 512))
	for range maxRange {
		if _, err := p.Stdout.Write(block); err != nil || ctx.Err() != nil {
			break
		}
	}
	return 141
}

// diff says whether two files differ; how, it does not say.
func diff(_ context.Context, p *Process, o options) int {
	if len(o.operands) != 2 {
		return p.Fail(2, "%s: missing operand", p.name())
	}
	var texts [2][]byte
	for i, f := range o.operands {
		data, err := p.read(f)
		if err != nil {
			return p.Fail(2, "%s: %s: %s", p.name(), f, reason(err))
		}
		texts[i] = data
	}
	switch {
	case bytes.Equal(texts[0], texts[1]):
		return 0
	case o.has("q"):
		p.Printf("Files %s and %s differ\n", o.operands[0], o.operands[1])
		return 1
	case o.has("s"):
		return 1
	}
	return p.Refuse("what %s prints of two files that differ", p.name())
}
