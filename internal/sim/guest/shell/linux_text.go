package shell

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

func textCommands() Table {
	grepFlags := "E|extended-regexp F|fixed-strings G|basic-regexp P|perl-regexp e|regexp: f|file: " +
		"i|y|ignore-case w|word-regexp x|line-regexp v|invert-match c|count " +
		"o|only-matching q|quiet|silent s|no-messages n|line-number H|with-filename h|no-filename " +
		"l|files-with-matches L|files-without-match m|max-count: " +
		"A|after-context: B|before-context: C|context: r|recursive R|dereference-recursive a|text color|colour=? " +
		"z|null-data Z|null b|byte-offset I include: exclude: exclude-dir: no-group-separator line-buffered"
	return Table{
		"sed": flagged("n|quiet|silent e|expression: f|file: E|r|regexp-extended i|in-place=? s|separate u|unbuffered "+
			"z|null-data", sedCommand),
		"grep":  flagged("# "+grepFlags, grepCommand),
		"egrep": flagged("# "+grepFlags, grepCommand),
		"fgrep": flagged("# "+grepFlags, grepCommand),
		"cut":   flagged("d|delimiter: f|fields: c|characters: b|bytes: s|only-delimited complement output-delimiter:", cut),
		"tr":    flagged("+ d|delete s|squeeze-repeats c|C|complement", tr),
		"sort": flagged("n|numeric-sort r|reverse u|unique t|field-separator: k|key: f|ignore-case "+
			"V|version-sort h|human-numeric-sort b|ignore-leading-blanks o|output: c|check s|stable "+
			"z|zero-terminated g|general-numeric-sort m|merge C R|random-sort", sortLines),
		"uniq":     flagged("c|count d|repeated u|unique i|ignore-case f|skip-fields: s|skip-chars: w|check-chars: D|all-repeated", uniq),
		"head":     flagged("# n|lines: c|bytes: q|quiet v|verbose", head),
		"wc":       flagged("l|lines w|words c|bytes m|chars L|max-line-length", wc),
		"seq":      flagged("+ s|separator: w|equal-width f|format:", seq),
		"tee":      flagged("a|append i|ignore-interrupts", tee),
		"rev":      flagged("", rev),
		"envsubst": flagged("v|variables", envsubst), "fold": flagged("w|width: s|spaces b|bytes", fold),
		"tac":   flagged("", tac),
		"nl":    flagged("b|body-numbering: w|number-width: s|number-separator:", nl),
		"paste": flagged("s|serial d|delimiters:", paste),
		"comm":  flagged("1 2 3", comm),
		"diff": flagged("q|brief u N|new-file r|recursive s|report-identical-files w|ignore-all-space b|ignore-space-change "+
			"i|ignore-case U|unified: a|text label|L: strip-trailing-cr", diff),
		"cmp":    flagged("s|quiet|silent", cmpCommand),
		"expr":   expr,
		"yes":    flagged("", yes),
		"od":     flagged("A|address-radix: t|format: c x b d o v|output-duplicates N|read-bytes: j|skip-bytes: w|width=? a", od),
		"column": flagged("t|table s|separator:", column),
		"split":  flagged("l|lines: b|bytes: d|numeric-suffixes=? a|suffix-length: additional-suffix:", split),
		"csplit": flagged("z|elide-empty-files s|quiet|silent f|prefix: k|keep-files", csplit),
		"bc":     flagged("l|mathlib q|quiet s|standard w|warn i|interactive", bc),
		"zgrep":  zgrep,
		"xxd":    flagged("p|ps|plain r|revert l|len: s|seek: u c|cols:", xxd),
		"shuf":   flagged("n|head-count: i|input-range: e|echo", shuf),
		"join":   flagged("1: 2: t: a: o: e: v: j: nocheck-order", join),
		"expand": flagged("t|tabs:", expandCommand),
		"nice":   flagged("+ n|adjustment:", runOperands), "ionice": flagged("+ c|class: n|classdata: t|ignore", runOperands),
		"setsid": flagged("+ f|fork w|wait c|ctty", runOperands), "stdbuf": flagged("+ o|output: i|input: e|error:", runOperands),
	}
}

// inputs returns the content of the operands, or of standard input. For a file that cannot be read, it writes an
// error, sets the code and skips the file.
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

// linesOf returns the lines of a text without their newlines.
func (p *Process) linesOf(text string) []string {
	if text == "" {
		return nil
	}
	p.meter.Hold(lineSize * strings.Count(text, "\n"))
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// linesAfter returns the lines of a text with their newlines.
func (p *Process) linesAfter(text string) []string {
	p.meter.Hold(lineSize * strings.Count(text, "\n"))
	lines := strings.SplitAfter(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

// lineSize is the memory of a line, in bytes, without its text.
const lineSize = 16

// span is a range of fields, from 1; a to of 0 means the end.
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
	return p.eachLine(o.operands, func(line string) {
		var parts []string
		switch {
		case !o.has("f"):
			p.meter.Hold(lineSize * len(line))
			defer p.meter.Hold(-lineSize * len(line))
			for i := range len(line) {
				parts = append(parts, line[i:i+1])
			}
		case !strings.Contains(line, sep):
			if !o.has("s") {
				p.Printf("%s\n", line)
			}
			return
		default:
			fields := lineSize * (1 + strings.Count(line, sep))
			p.meter.Hold(fields)
			defer p.meter.Hold(-fields)
			parts = strings.Split(line, sep)
		}
		before := ""
		for i, part := range parts {
			if within(ranges, i+1) != o.has("complement") {
				p.Printf("%s%s", before, part)
				before = joint
			}
		}
		p.Printf("\n")
	})
}

// letterClasses are the character classes of tr.
var letterClasses = map[string]string{
	"lower": "abcdefghijklmnopqrstuvwxyz", "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "digit": "0123456789",
	"blank": " \t", "space": "\t\n\v\f\r ",
	"alpha": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "xdigit": "0123456789ABCDEFabcdef",
	"punct": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
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

// letterSet returns the bytes of a set of tr.
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
	switch len(o.operands) {
	case 0:
		return p.missing("operand")
	case 1:
		if !o.has("d", "s") {
			return p.missing("operand after '" + o.operands[0] + "'")
		}
	}
	from, err := letterSet(o.operands[0])
	to := ""
	if err == nil && len(o.operands) > 1 {
		to, err = letterSet(o.operands[1])
	}
	if err != nil {
		return p.Fail(1, "tr: %v", err)
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
	last := -1 // the last byte written
	edit := func(data []byte) (out []byte) {
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
			if o.has("s") && squeezed && last == int(c) {
				continue
			}
			last = int(c)
			out = append(out, c)
		}
		return out
	}
	input, err := p.open("-")
	if err != nil {
		return p.failed("-", err)
	}
	buffer := make([]byte, streamPart)
	for part := input.read(buffer); len(part) > 0; part = input.read(buffer) {
		_, _ = p.Stdout.Write(edit(part)) // an error means that nothing reads the output
	}
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
	fields, _ := strconv.Atoi(o.value("f"))
	letters, _ := strconv.Atoi(o.value("s"))
	most, _ := strconv.Atoi(cmp.Or(o.value("w"), "-1"))
	compared := func(line string) string {
		for range fields {
			line = strings.TrimLeft(line, " \t")
			line = line[len(line)-len(strings.TrimLeftFunc(line, func(r rune) bool { return r != ' ' && r != '\t' })):]
		}
		line = line[min(letters, len(line)):]
		if most >= 0 {
			line = line[:min(most, len(line))]
		}
		return line
	}
	same := func(a, b string) bool {
		a, b = compared(a), compared(b)
		return a == b || o.has("i") && strings.EqualFold(a, b)
	}
	group, n := "", 0
	show := func() {
		if n == 0 || o.has("d") && n < 2 || o.has("u") && n > 1 || o.has("D") {
			return
		}
		if o.has("c") {
			p.Printf("%7d ", n)
		}
		p.Printf("%s\n", group)
	}
	code := p.eachLine(in, func(line string) {
		if n > 0 && same(group, line) {
			if n++; o.has("D") {
				p.Printf("%s", map[bool]string{true: group + "\n"}[n == 2]+line+"\n")
			}
			return
		}
		show()
		group, n = line, 1
	})
	show()
	return code
}

func head(_ context.Context, p *Process, o options) int {
	count, isBytes := cmp.Or(o.value("n"), "10"), o.last("n", "c") == "c"
	if isBytes {
		count = o.value("c")
	}
	n, ok := sized(strings.TrimLeft(count, "+-"))
	if !ok {
		return p.Fail(1, "head: invalid number of %s: '%s'", map[bool]string{true: "bytes", false: "lines"}[isBytes], count)
	}
	most := n // -1 means all
	if count[0] == '-' {
		n, most = -n, -1
	}
	code, files, above := 0, orStdin(o.operands), ""
	for _, f := range files {
		data, err := p.beginning(f, most, isBytes)
		if err != nil {
			code = p.Fail(1, "head: cannot open '%s' for reading: %s", f, reason(err))
			continue
		}
		if o.has("v") || len(files) > 1 && !o.has("q") {
			p.Printf("%s==> %s <==\n", above, f)
			above = "\n"
		}
		if isBytes {
			end := n
			if count[0] == '-' {
				end = len(data) + n
			}
			_, _ = p.Stdout.Write(data[:min(max(end, 0), len(data))]) // an error means that nothing reads the output
			continue
		}
		lines := p.linesAfter(string(data))
		end := n
		if n < 0 || strings.HasPrefix(count, "-") {
			end = max(len(lines)+n, 0)
		}
		p.Printf("%s", strings.Join(lines[:min(end, len(lines))], ""))
	}
	return code
}

// beginning returns the beginning of a file that has a number of lines or bytes. It reads no more of a stream than
// necessary.
func (p *Process) beginning(name string, count int, isBytes bool) ([]byte, error) {
	if isBytes && count > 0 {
		if data := p.endless(p.Abs(name), count); data != nil {
			return data, nil
		}
	}
	if name != "-" || p.Stdin == nil || count < 0 {
		return p.read(name)
	}
	return p.readUntil(p.Stdin, func(part []byte) bool {
		if isBytes {
			count -= len(part)
		} else {
			count -= bytes.Count(part, []byte("\n"))
		}
		return count <= 0
	})
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
			words := 0
			for range strings.FieldsSeq(text) {
				p.meter.Step()
				words++
			}
			n = append(n, words)
		}
		if o.has("m") {
			n = append(n, utf8.RuneCountInString(text))
		}
		if o.has("c") {
			n = append(n, len(text))
		}
		if o.has("L") {
			longest := 0
			for _, l := range p.linesOf(text) {
				width := 0
				for _, c := range l {
					if width++; c == '\t' {
						width = (width + 7) / 8 * 8
					}
				}
				longest = max(longest, width)
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
	code, width, size, least := 0, 1, 0, 1
	for _, f := range orStdin(o.operands) {
		data, err := p.read(f)
		if err != nil {
			if code = p.failed(f, err); !errors.Is(err, errIsDirectory) {
				continue
			}
			least = 7 // as wide as for a stream: the size of a folder says nothing about the counts
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
		if total == nil {
			total = count("")
		}
		rows = append(rows, row{total, "total"})
	}
	switch {
	case len(o.operands) == 0 && len(total) > 1:
		width = 7
	case len(o.operands) > 0 && (len(total) > 1 || len(o.operands) > 1):
		width = max(least, len(strconv.Itoa(size)))
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

var envReference = regexp.MustCompile(`\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})`)

// envsubst replaces the variables in its input: all of them, or those in its operand.
func envsubst(_ context.Context, p *Process, o options) int {
	if len(o.operands) > 1 || o.has("v") && len(o.operands) == 0 {
		return p.Fail(1, "envsubst: too many arguments")
	}
	var names []string
	for _, operand := range o.operands {
		for _, m := range envReference.FindAllStringSubmatch(operand, -1) {
			names = append(names, m[1]+m[2])
		}
	}
	if o.has("v") {
		for _, name := range names {
			p.Printf("%s\n", name)
		}
		return 0
	}
	text, code := p.inputs(nil)
	p.Printf("%s", envReference.ReplaceAllStringFunc(text, func(reference string) string {
		name := strings.Trim(reference, "${}")
		if len(o.operands) > 0 && !slices.Contains(names, name) {
			return reference
		}
		return p.Env[name]
	}))
	return code
}

// fold breaks long lines; with -s, after a blank.
func fold(_ context.Context, p *Process, o options) int {
	width := 80
	if o.has("w") {
		n, err := strconv.Atoi(o.value("w"))
		if err != nil || n <= 0 {
			return p.Fail(1, "fold: invalid number of columns: '%s'", o.value("w"))
		}
		width = n
	}
	text, code := p.inputs(o.operands)
	if strings.ContainsAny(text, "\t\b\r") {
		return p.Refuse("fold of tabs")
	}
	for line := range strings.Lines(text) {
		rest := strings.TrimSuffix(line, "\n")
		for len(rest) > width {
			cut := width
			if at := strings.LastIndexByte(rest[:width], ' '); o.has("s") && at >= 0 {
				cut = at + 1
			}
			p.Printf("%s\n", rest[:cut])
			rest = rest[cut:]
		}
		p.Printf("%s%s", rest, line[len(strings.TrimSuffix(line, "\n")):])
	}
	return code
}
