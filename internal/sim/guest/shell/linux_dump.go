package shell

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// od prints bytes as characters, and as numbers of one, two or four bytes.
func od(_ context.Context, p *Process, o options) int {
	text, code := p.inputs(o.operands)
	if text == "" && code != 0 {
		return code
	}
	data := []byte(text)
	number := func(flag string, other int) int {
		if n, err := strconv.ParseInt(o.value(flag), 0, 64); err == nil {
			return int(n)
		}
		return other
	}
	for _, flag := range []string{"j", "N"} {
		if number(flag, 0) < 0 {
			return p.Fail(1, "od: invalid -%s argument '%s'", flag, o.value(flag))
		}
	}
	data = data[min(number("j", 0), len(data)):]
	data = data[:min(number("N", len(data)), len(data))]
	var kinds []string
	for _, g := range o.given {
		switch g.name {
		case "c", "a":
			kinds = append(kinds, g.name)
		case "x", "b", "d", "o":
			kinds = append(kinds, map[string]string{"x": "x2", "b": "o1", "d": "u2", "o": "o2"}[g.name])
		case "t":
			for rest := g.value; rest != ""; {
				n := 1
				for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
					n++
				}
				if n == 1 && rest[0] != 'c' && rest[0] != 'a' {
					kinds, rest = append(kinds, rest[:1]+"4"), rest[1:]
					continue
				}
				kinds, rest = append(kinds, rest[:n]), rest[n:]
			}
		}
	}
	if len(kinds) == 0 {
		kinds = []string{"o2"}
	}
	widths := map[string]int{"o1": 4, "o2": 7, "o4": 12, "x1": 3, "x2": 5, "x4": 9, "x8": 17, "u1": 4, "u2": 6, "u4": 11, "d1": 5,
		"d2": 7, "d4": 12, "c": 4}
	longest := 0
	for _, k := range kinds {
		if widths[k] == 0 {
			return p.Refuse("od -t %s", k)
		}
		n, _ := strconv.Atoi(strings.Trim(k, "oxudc"))
		longest = max(longest, widths[k]*8/max(n, 1))
	}
	per := number("w", 16)
	if per < 1 || per > 1<<16 {
		return p.Fail(1, "od: invalid -w argument '%s'", o.value("w"))
	}
	address := func(at int) string {
		switch o.value("A") {
		case "n":
			return ""
		case "d":
			return fmt.Sprintf("%07d", at)
		case "x":
			return fmt.Sprintf("%06x", at)
		}
		return fmt.Sprintf("%07o", at)
	}
	var last []byte
	stars := false
	skip := number("j", 0)
	for at := 0; at < len(data); at += per {
		p.meter.Step()
		part := data[at:min(at+per, len(data))]
		if !o.has("v") && at > 0 && len(part) == per && bytes.Equal(part, last) {
			if !stars {
				p.Printf("*\n")
			}
			stars = true
			continue
		}
		last, stars = part, false
		for i, k := range kinds {
			head := address(at + skip)
			if i > 0 {
				head = strings.Repeat(" ", len(head))
			}
			p.Printf("%s%s\n", head, odLine(k, part, longest/8))
		}
	}
	if end := address(len(data) + skip); end != "" {
		p.Printf("%s\n", end)
	}
	return code
}

// odLine returns a line of bytes in one format; width is the number of columns of a byte.
func odLine(kind string, part []byte, width int) string {
	var b strings.Builder
	if kind == "c" {
		names := map[byte]string{0: `\0`, 7: `\a`, 8: `\b`, 9: `\t`, 10: `\n`, 11: `\v`, 12: `\f`, 13: `\r`}
		for _, c := range part {
			name, some := names[c]
			if !some {
				name = string(rune(c))
				if c < 32 || c > 126 {
					name = fmt.Sprintf("%03o", c)
				}
			}
			fmt.Fprintf(&b, "%*s", width, name)
		}
		return b.String()
	}
	size, _ := strconv.Atoi(kind[1:])
	for i := 0; i < len(part); i += size {
		var n uint64
		for j := range size {
			if i+j < len(part) {
				n |= uint64(part[i+j]) << (8 * j)
			}
		}
		text := ""
		switch kind[0] {
		case 'x':
			text = fmt.Sprintf("%0*x", 2*size, n)
		case 'o':
			text = fmt.Sprintf("%0*o", map[int]int{1: 3, 2: 6, 4: 11}[size], n)
		case 'u':
			text = strconv.FormatUint(n, 10)
		default:
			shift := 64 - 8*size
			text = strconv.FormatInt(int64(n<<shift)>>shift, 10)
		}
		fmt.Fprintf(&b, "%*s", max(width*size, len(text)+1), text)
	}
	return b.String()
}

// visible returns a text as cat -v shows it.
func visible(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 128 {
			b.WriteString("M-")
			c -= 128
		}
		switch {
		case c == 127:
			b.WriteString("^?")
		case c < 32 && (c != '\t' || text[i] >= 128):
			b.WriteString("^" + string(rune(c+64)))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// column prints words as a table, or fills lines.
func column(_ context.Context, p *Process, o options) int {
	if !o.has("t") {
		return p.Refuse("column other than column -t")
	}
	text, code := p.inputs(o.operands)
	var rows [][]string
	widths := []int{}
	for _, line := range p.linesOf(text) {
		cells := strings.Fields(line)
		if sep := o.value("s"); sep != "" {
			cells = strings.Split(strings.Map(func(r rune) rune {
				if strings.ContainsRune(sep, r) {
					return 0
				}
				return r
			}, line), "\x00")
		}
		if strings.TrimSpace(line) != "" {
			rows = append(rows, cells)
		}
	}
	for _, cells := range rows {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, cells := range rows {
		for i, width := range widths[:max(0, len(widths)-1)] {
			cell := ""
			if i < len(cells) {
				cell = cells[i]
			}
			p.Printf("%s%s  ", cell, strings.Repeat(" ", width-utf8.RuneCountInString(cell)))
		}
		if len(cells) == len(widths) && len(cells) > 0 {
			p.Printf("%s", cells[len(cells)-1])
		}
		p.Printf("\n")
	}
	return code
}

// split writes the parts of a file to separate files.
func split(ctx context.Context, p *Process, o options) int {
	name, prefix := orStdin(o.operands)[0], "x"
	if len(o.operands) > 1 {
		prefix = o.operands[1]
	}
	data, err := p.read(name)
	if err != nil {
		return p.Fail(1, "split: cannot open '%s' for reading: %s", name, reason(err))
	}
	if len(data) == 0 {
		return 0
	}
	var parts iter.Seq[[]byte] // an iterator, because there may be as many parts as the file has bytes
	if o.has("b") {
		n, ok := sized(o.value("b"))
		if !ok || n < 1 {
			return p.Fail(1, "split: invalid number of bytes: '%s'", o.value("b"))
		}
		parts = slices.Chunk(data, n)
	} else {
		n, err := strconv.Atoi(cmp.Or(o.value("l"), "1000"))
		if err != nil || n < 1 {
			return p.Fail(1, "split: invalid number of lines: '%s'", o.value("l"))
		}
		lines := p.linesAfter(string(data))
		parts = func(yield func([]byte) bool) {
			for some := range slices.Chunk(lines, n) {
				if !yield([]byte(strings.Join(some, ""))) {
					return
				}
			}
		}
	}
	length, err := strconv.Atoi(cmp.Or(o.value("a"), "2"))
	if err != nil || length < 1 || length > 200 {
		return p.Fail(1, "split: invalid suffix length: '%s'", o.value("a"))
	}
	i := -1
	for part := range parts {
		if i++; ctx.Err() != nil {
			return 1 // the script was ended
		}
		suffix := fmt.Sprintf("%0*d", length, i)
		if !o.has("d") {
			letters := make([]byte, length)
			n := i
			for j := length - 1; j >= 0; j-- {
				letters[j] = byte('a' + n%26)
				n /= 26
			}
			suffix = string(letters)
		}
		file := prefix + suffix + o.value("additional-suffix")
		if err := p.Guest.Root.WriteFile(p.Abs(file), part, p.newFileMode(0o666)); err != nil {
			return p.failed(file, err)
		}
	}
	return 0
}

// csplit splits a file before lines that match a pattern.
func csplit(ctx context.Context, p *Process, o options) int {
	if len(o.operands) < 2 {
		return p.missing("operand")
	}
	text, code := p.inputs(o.operands[:1])
	lines, at := p.linesAfter(text), 0
	var parts []string
	cutAt := func(to int) { parts, at = append(parts, strings.Join(lines[at:to], "")), to }
	words := o.operands[1:]
	for i, word := range words {
		if strings.HasPrefix(word, "{") {
			continue
		}
		times := 1
		if i+1 < len(words) && strings.HasPrefix(words[i+1], "{") {
			if times = maxRange; words[i+1] != "{*}" {
				n, _ := strconv.Atoi(strings.Trim(words[i+1], "{}"))
				times = n + 1
			}
		}
		if len(word) < 2 || word[0] != '/' || word[len(word)-1] != '/' {
			return p.Refuse("csplit with %s", word)
		}
		m, failed := p.matcher(options{given: []given{{"e", word[1 : len(word)-1]}}})
		if failed != 0 {
			return failed
		}
		for n := range times {
			from := at
			if n > 0 || i > 0 {
				from++
			}
			next := slices.IndexFunc(lines[min(from, len(lines)):], func(l string) bool { return m.match(strings.TrimSuffix(l, "\n")) })
			if next < 0 {
				if times < maxRange {
					return p.Fail(1, "csplit: '%s': match not found", word)
				}
				break
			}
			cutAt(from + next)
		}
	}
	cutAt(len(lines))
	number := 0
	for _, part := range parts {
		if ctx.Err() != nil {
			return 1 // the script was ended
		}
		if part == "" && o.has("z") {
			continue
		}
		file := cmp.Or(o.value("f"), "xx") + fmt.Sprintf("%02d", number)
		if err := p.Guest.Root.WriteFile(p.Abs(file), []byte(part), p.newFileMode(0o666)); err != nil {
			return p.failed(file, err)
		}
		if number++; !o.has("s") {
			p.Printf("%d\n", len(part))
		}
	}
	return code
}

// sized parses a number with a unit, such as 4K or 1M.
func sized(text string) (int, bool) {
	unit := 1
	for suffix, n := range map[string]int{"K": 1 << 10, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30, "KB": 1000, "MB": 1000_000,
		"KiB": 1 << 10, "MiB": 1 << 20, "b": 512} {
		if rest, some := strings.CutSuffix(text, suffix); some && strings.Trim(rest, "0123456789") == "" && rest != "" {
			text, unit = rest, n
			break
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n >= 1<<40/unit {
		return 0, false
	}
	return n * unit, true
}

// dd copies blocks.
func dd(_ context.Context, p *Process) int {
	set := map[string]string{"bs": "512"}
	for _, a := range p.Args[1:] {
		k, v, some := strings.Cut(a, "=")
		if !some {
			return p.Fail(1, "dd: unrecognized operand '%s'", a)
		}
		known := func(one string) bool { return slices.Contains([]string{"notrunc", "fsync", "fdatasync"}, one) }
		if k == "conv" && slices.ContainsFunc(strings.Split(v, ","), func(one string) bool { return !known(one) }) ||
			!slices.Contains(strings.Fields("if of bs ibs obs count skip seek conv status iflag oflag"), k) {
			return p.Refuse("dd %s", a)
		}
		set[k] = v
	}
	for _, name := range []string{"bs", "ibs", "obs", "count", "skip", "seek"} {
		if n, ok := sized(cmp.Or(set[name], "0")); !ok || n > maxCopiedBytes {
			return p.Fail(1, "dd: invalid number: '%s'", set[name])
		}
	}
	number := func(name string) int { n, _ := sized(cmp.Or(set[name], "0")); return n }
	block := number("bs")
	if set["ibs"] != "" {
		block = number("ibs")
	}
	if block < 1 || block > maxUnzipped {
		return p.Fail(1, "dd: invalid number: '%s'", set["bs"])
	}
	in, err := p.open(cmp.Or(set["if"], "-"))
	if err != nil {
		return p.Fail(1, "dd: failed to open '%s': %s", set["if"], reason(err))
	}
	_, _ = io.CopyN(io.Discard, in.in, int64(number("skip")*block)) // a shorter input is no error
	var data []byte
	if set["count"] != "" {
		most := number("count") * block
		if most > maxCopiedBytes {
			return p.Refuse("dd of more than %d MiB", maxCopiedBytes>>20)
		}
		p.meter.Hold(most)
		data, _ = io.ReadAll(io.LimitReader(in.in, int64(most)))
	} else {
		data, _ = io.ReadAll(io.LimitReader(in.in, maxCopiedBytes))
	}
	if of := set["of"]; of == "" || of == "-" || !p.device(of, data) && of == "/dev/stdout" {
		_, _ = p.Stdout.Write(data) // an error means that nothing reads the output
	} else if of != "/dev/null" {
		old, _ := p.Guest.Root.ReadFile(p.Abs(of))
		at := number("seek") * block
		if at > maxCopiedBytes {
			return p.Refuse("dd of more than %d MiB", maxCopiedBytes>>20)
		}
		p.meter.Hold(at)
		out := append(slices.Clone(old[:min(at, len(old))]), make([]byte, max(0, at-len(old)))...)
		out = append(out, data...)
		if strings.Contains(set["conv"], "notrunc") && len(old) > len(out) {
			out = append(out, old[len(out):]...)
		}
		if err := p.Guest.Root.WriteFile(p.Abs(of), out, p.newFileMode(0o666)); err != nil {
			return p.Fail(1, "dd: failed to open '%s': %s", of, reason(err))
		}
	}
	if set["status"] != "none" {
		counts := fmt.Sprintf("%d+%d records", len(data)/block, min(1, len(data)%block))
		fmt.Fprintf(p.Stderr, "%s in\n%s out\n", counts, counts)
		if set["status"] != "noxfer" {
			fmt.Fprintf(p.Stderr, "%d bytes copied, 0.001 s, %.1f kB/s\n", len(data), float64(len(data)))
		}
	}
	return 0
}

// maxCopiedBytes bounds the bytes that dd copies.
const maxCopiedBytes = 64 << 20

// zgrep runs grep on compressed files.
func zgrep(ctx context.Context, p *Process) int {
	inner := *p
	inner.Args = append([]string{"grep"}, p.Args[1:]...)
	last := len(inner.Args) - 1
	if last < 2 {
		return p.Refuse("zgrep without a file")
	}
	data, err := p.read(inner.Args[last])
	if err != nil {
		return p.Fail(2, "gzip: %s: %s", inner.Args[last], reason(err))
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		if data, err = ungzip(data); err != nil {
			return p.Fail(2, "gzip: %s: %v", inner.Args[last], err)
		}
	}
	inner.Stdin, inner.Args = bytes.NewReader(data), append(slices.Clone(inner.Args[:last]), "-")
	return p.shell.commands["grep"](ctx, &inner)
}

// diff prints the differences of two files or folders.
func diff(_ context.Context, p *Process, o options) int {
	if len(o.operands) != 2 {
		return p.Fail(2, "diff: missing operand after '%s'", strings.Join(o.operands, " "))
	}
	a, b := o.operands[0], o.operands[1]
	root := p.Guest.Root
	switch dirA, dirB := root.IsDir(p.Abs(a)), root.IsDir(p.Abs(b)); {
	case dirA && dirB:
		return p.diffFolders(o, a, b)
	case dirA && b != "-":
		a = strings.TrimSuffix(a, "/") + "/" + b[strings.LastIndexByte(b, '/')+1:]
	case dirB && a != "-":
		b = strings.TrimSuffix(b, "/") + "/" + a[strings.LastIndexByte(a, '/')+1:]
	}
	return p.diffFiles(o, a, b)
}

func (p *Process) diffFolders(o options, a, b string) (code int) {
	names := map[string]int{}
	for i, dir := range []string{a, b} {
		entries, err := p.Guest.Root.ReadDir(p.Abs(dir))
		if err != nil {
			return p.Fail(2, "diff: %s: %s", dir, reason(err))
		}
		for _, e := range entries {
			names[e.Name()] |= 1 << i
		}
	}
	join := func(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }
	for _, n := range slices.Sorted(maps.Keys(names)) {
		x, y := join(a, n), join(b, n)
		dirX, dirY := p.Guest.Root.IsDir(p.Abs(x)), p.Guest.Root.IsDir(p.Abs(y))
		switch {
		case names[n] != 3 && !o.has("N"):
			p.Printf("Only in %s: %s\n", map[bool]string{true: a, false: b}[names[n] == 1], n)
			code = max(code, 1)
		case dirX && dirY && o.has("r"):
			code = max(code, p.diffFolders(o, x, y))
		case dirX && dirY:
			p.Printf("Common subdirectories: %s and %s\n", x, y)
		default:
			inner := *p
			var out bytes.Buffer
			inner.Stdout = &out
			c := inner.diffFiles(o, x, y)
			if c == 1 && !o.has("q") && out.Len() > 0 {
				words := []string{"diff"}
				for _, arg := range p.Args[1:] {
					if strings.HasPrefix(arg, "-") {
						words = append(words, arg)
					}
				}
				p.Printf("%s %s %s\n", strings.Join(words, " "), x, y)
			}
			p.Printf("%s", out.String())
			code = max(code, c)
		}
	}
	return code
}

func (p *Process) diffFiles(o options, a, b string) int {
	var lines, compared [2][]string
	for i, f := range []string{a, b} {
		data, err := p.read(f)
		if err != nil && !(o.has("N") && !p.Guest.Root.Exists(p.Abs(f))) {
			return p.Fail(2, "diff: %s: %s", f, reason(err))
		}
		if bytes.IndexByte(data, 0) >= 0 {
			if other, err := p.read([]string{a, b}[1-i]); err == nil && !bytes.Equal(data, other) {
				p.Printf("Binary files %s and %s differ\n", a, b)
				return 1
			}
			return 0
		}
		if len(data) > 0 {
			lines[i] = p.linesAfter(string(data))
		}
		p.meter.Hold(8 * len(data))
		for _, line := range lines[i] {
			if o.has("w") {
				line = strings.Join(strings.Fields(line), "")
			} else if o.has("b") {
				line = strings.TrimRight(strings.Join(strings.Fields(" x"+line), " "), " ")
			}
			if o.has("i") {
				line = strings.ToLower(line)
			}
			if o.has("strip-trailing-cr") {
				line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
			}
			compared[i] = append(compared[i], line)
		}
	}
	if slices.Equal(compared[0], compared[1]) {
		if o.has("s") {
			p.Printf("Files %s and %s are identical\n", a, b)
		}
		return 0
	}
	if o.has("q") {
		p.Printf("Files %s and %s differ\n", a, b)
		return 1
	}
	all, ok := p.hunks(compared)
	if !ok {
		return refusedCode
	}
	if o.has("u", "U") {
		p.unified(o, a, b, lines, all)
		return 1
	}
	at := func(from, to int) string {
		if to-from > 1 {
			return fmt.Sprintf("%d,%d", from+1, to)
		}
		return strconv.Itoa(to)
	}
	for _, h := range all {
		letter, from, to := "c", at(h.from[0], h.to[0]), at(h.from[1], h.to[1])
		switch {
		case h.from[0] == h.to[0]:
			letter, from = "a", strconv.Itoa(h.from[0])
		case h.from[1] == h.to[1]:
			letter, to = "d", strconv.Itoa(h.from[1])
		}
		p.Printf("%s%s%s\n", from, letter, to)
		p.side("< ", lines[0][h.from[0]:h.to[0]])
		if letter == "c" {
			p.Printf("---\n")
		}
		p.side("> ", lines[1][h.from[1]:h.to[1]])
	}
	return 1
}

func (p *Process) unified(o options, a, b string, lines [2][]string, all []hunk) {
	context := 3
	if o.has("U") {
		context, _ = strconv.Atoi(o.value("U"))
	}
	labels := o.values("label")
	for i, f := range []string{a, b} {
		head := f + "\t" + p.now().UTC().Format("2006-01-02 15:04:05.000000000 +0000")
		if info, err := p.Guest.Root.Stat(p.Abs(f)); err == nil {
			head = f + "\t" + info.ModTime().UTC().Format("2006-01-02 15:04:05.000000000 +0000")
		}
		if i < len(labels) {
			head = labels[i]
		}
		p.Printf("%s %s\n", []string{"---", "+++"}[i], head)
	}
	at := func(from, to int) string {
		switch to - from {
		case 0:
			return fmt.Sprintf("%d,0", from)
		case 1:
			return strconv.Itoa(from + 1)
		}
		return fmt.Sprintf("%d,%d", from+1, to-from)
	}
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].from[0]-all[n-1].to[0] <= 2*context {
			n++
		}
		first, last := all[0], all[n-1]
		head := min(context, first.from[0])
		tail := min(context, len(lines[0])-last.to[0])
		p.Printf("@@ -%s +%s @@\n", at(first.from[0]-head, last.to[0]+tail), at(first.from[1]-head, last.to[1]+tail))
		done := first.from[0] - head
		for _, h := range all[:n] {
			p.side(" ", lines[0][done:h.from[0]])
			p.side("-", lines[0][h.from[0]:h.to[0]])
			p.side("+", lines[1][h.from[1]:h.to[1]])
			done = h.to[0]
		}
		p.side(" ", lines[0][done:last.to[0]+tail])
		all = all[n:]
	}
}

// side prints the lines of one of two texts, each after a sign.
func (p *Process) side(sign string, part []string) {
	for _, line := range part {
		p.Printf("%s%s", sign, line)
		if !strings.HasSuffix(line, "\n") {
			p.Printf("\n\\ No newline at end of file\n")
		}
	}
}

// cmpCommand prints the position of the first difference of two files.
func cmpCommand(_ context.Context, p *Process, o options) int {
	if len(o.operands) < 1 || len(o.operands) > 2 {
		return p.Refuse("cmp %s", strings.Join(p.Args[1:], " "))
	}
	names := append(o.operands, "-")[:2]
	var data [2][]byte
	for i, f := range names {
		var err error
		if data[i], err = p.read(f); err != nil {
			return p.Fail(2, "cmp: %s: %s", f, reason(err))
		}
	}
	x, y := data[0], data[1]
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	line := 1 + bytes.Count(x[:n], []byte("\n"))
	switch {
	case len(x) == len(y) && n == len(x):
		return 0
	case o.has("s"):
	case n == min(len(x), len(y)):
		short := map[bool]string{true: names[0], false: names[1]}[len(x) < len(y)]
		switch {
		case n == 0:
			fmt.Fprintf(p.Stderr, "cmp: EOF on %s which is empty\n", short)
		case x[n-1] == '\n':
			fmt.Fprintf(p.Stderr, "cmp: EOF on %s after byte %d, line %d\n", short, n, line-1)
		default:
			fmt.Fprintf(p.Stderr, "cmp: EOF on %s after byte %d, in line %d\n", short, n, line)
		}
	default:
		unit := map[bool]string{true: "char", false: "byte"}[p.Env["LC_ALL"] == "C" || p.Env["LC_ALL"] == "POSIX"]
		p.Printf("%s %s differ: %s %d, line %d\n", names[0], names[1], unit, n+1, line)
	}
	return 1
}

// runOperands runs the program after the options of nice and similar commands, which have no effect here.
func runOperands(ctx context.Context, p *Process, o options) int {
	if len(o.operands) == 0 {
		return p.Refuse("%s without a program", p.name())
	}
	return p.shell.child(ctx, p, o.operands)
}

// xxd prints bytes as hexadecimal digits, or with -r reads them.
func xxd(_ context.Context, p *Process, o options) int {
	text, code := p.inputs(o.operands)
	if code != 0 {
		return 2
	}
	data := []byte(text)
	if o.has("r") {
		if !o.has("p") {
			return p.Refuse("xxd -r of other than plain digits")
		}
		out, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			return p.Fail(1, "xxd: %v", err)
		}
		_, _ = p.Stdout.Write(out) // an error means that nothing reads the output
		return code
	}
	if n, err := strconv.Atoi(o.value("s")); err == nil {
		data = data[min(max(n, 0), len(data)):]
	}
	if n, err := strconv.Atoi(o.value("l")); err == nil {
		data = data[:min(max(n, 0), len(data))]
	}
	digits := "%02x"
	if o.has("u") {
		digits = "%02X"
	}
	per := map[bool]int{true: 30, false: 16}[o.has("p")]
	if n, err := strconv.Atoi(o.value("c")); err == nil && n > 0 {
		if per = n; n > 256 {
			return p.Fail(1, "xxd: invalid number of columns (max. 256).")
		}
	}
	for at := 0; at < len(data); at += per {
		p.meter.Step()
		part := data[at:min(at+per, len(data))]
		var b, shown strings.Builder
		for i, c := range part {
			fmt.Fprintf(&b, digits, c)
			if i%2 == 1 && !o.has("p") {
				b.WriteByte(' ')
			}
			if c < 32 || c > 126 {
				c = '.'
			}
			shown.WriteByte(c)
		}
		if o.has("p") {
			p.Printf("%s\n", b.String())
			continue
		}
		p.Printf("%08x: %-*s %s\n", at, per*5/2, b.String(), shown.String())
	}
	return code
}

// shuf prints lines in a random order.
func shuf(_ context.Context, p *Process, o options) int {
	var lines []string
	code := 0
	switch n, err := strconv.Atoi(cmp.Or(o.value("n"), "0")); {
	case err != nil || n < 0:
		return p.Fail(1, "shuf: invalid line count: '%s'", o.value("n"))
	case o.has("i"):
		low, high, _ := strings.Cut(o.value("i"), "-")
		from, err := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		if err != nil || err2 != nil || to < from || uint64(to)-uint64(from) > maxRange {
			return p.Fail(1, "shuf: invalid input range: '%s'", o.value("i"))
		}
		for n := from; n <= to; n++ {
			lines = append(lines, strconv.Itoa(n))
		}
	case o.has("e"):
		lines = slices.Clone(o.operands)
	case o.value("n") != "0": // with -n 0, nothing is read
		var text string
		text, code = p.inputs(o.operands)
		lines = p.linesOf(text)
	}
	rand.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	if n, err := strconv.Atoi(o.value("n")); err == nil {
		lines = lines[:min(max(n, 0), len(lines))]
	}
	for _, l := range lines {
		p.Printf("%s\n", l)
	}
	return code
}

// join joins the lines of two sorted files by a field.
func join(_ context.Context, p *Process, o options) int {
	if len(o.operands) != 2 {
		return p.missing("operand")
	}
	sep, code := o.value("t"), 0
	var rows [2][][]string
	var keys [2]int
	var wrong [2]string // the first line out of order of each file, which join reports if a line has no partner
	single := false
	key := func(i int, row []string) string {
		if keys[i] < len(row) {
			return row[keys[i]]
		}
		return ""
	}
	for i := range rows {
		n, err := strconv.Atoi(cmp.Or(o.value(strconv.Itoa(i+1)), o.value("j"), "1"))
		if err != nil || n < 1 {
			return p.Fail(1, "join: invalid field number: '%s'", o.value(strconv.Itoa(i+1)))
		}
		keys[i] = n - 1
		text, failed := p.inputs(o.operands[i : i+1])
		if failed != 0 {
			return failed
		}
		for _, line := range p.linesOf(text) {
			row := strings.Split(line, sep)
			if sep == "" {
				row = blanks.Split(strings.TrimLeft(line, " \t"), -1)
			}
			if n := len(rows[i]); n > 0 && wrong[i] == "" && key(i, row) < key(i, rows[i][n-1]) {
				wrong[i] = line
			}
			rows[i] = append(rows[i], row)
		}
	}
	columns := strings.FieldsFunc(strings.Join(o.values("o"), " "), func(r rune) bool { return r == ',' || r == ' ' })
	for _, c := range columns {
		if !joinColumn.MatchString(c) {
			return p.refuseAs(1, "join -o %s", c)
		}
	}
	show := func(pair [2][]string) {
		var parts []string
		for _, c := range columns {
			part := cmp.Or(key(0, pair[0]), key(1, pair[1]))
			if c != "0" {
				row, n := pair[c[0]-'1'], 0
				if n, _ = strconv.Atoi(c[2:]); n <= len(row) { // its form was checked before
					part = row[n-1]
				} else {
					part = ""
				}
			}
			parts = append(parts, part)
		}
		for i, row := range pair {
			if at := keys[i]; len(columns) == 0 && len(row) > 0 {
				if len(parts) == 0 && at < len(row) {
					parts = append(parts, row[at])
				}
				parts = append(append(parts, row[:min(at, len(row))]...), row[min(at+1, len(row)):]...)
			}
		}
		for i := range parts {
			parts[i] = cmp.Or(parts[i], o.value("e"))
		}
		p.Printf("%s\n", strings.Join(parts, cmp.Or(sep, " ")))
	}
	alone := func(i int) {
		if number := strconv.Itoa(i + 1); slices.Contains(o.values("a"), number) || slices.Contains(o.values("v"), number) {
			pair := [2][]string{}
			pair[i] = rows[i][0]
			show(pair)
		}
		rows[i], single = rows[i][1:], single || len(rows[1-i]) > 0
	}
	for len(rows[0])+len(rows[1]) > 0 {
		p.meter.Step()
		a, b := rows[0], rows[1]
		switch {
		case len(b) == 0 || len(a) > 0 && key(0, a[0]) < key(1, b[0]):
			alone(0)
		case len(a) == 0 || key(1, b[0]) < key(0, a[0]):
			alone(1)
		default:
			n, m := 1, 1
			for n < len(a) && key(0, a[n]) == key(0, a[0]) {
				n++
			}
			for m < len(b) && key(1, b[m]) == key(0, a[0]) {
				m++
			}
			for _, x := range a[:n] {
				for _, y := range b[:m] {
					if !o.has("v") {
						show([2][]string{x, y})
					}
				}
			}
			rows[0], rows[1] = a[n:], b[m:]
		}
	}
	for i, line := range wrong {
		if line != "" && single && !o.has("nocheck-order") {
			code = p.Fail(1, "join: %s: is not sorted: %s", o.operands[i], line)
		}
	}
	return code
}

var (
	blanks     = regexp.MustCompile(`[ \t]+`)
	joinColumn = regexp.MustCompile(`^(0|[12]\.[1-9]\d?)$`)
)

// expandCommand replaces tabs with blanks.
func expandCommand(_ context.Context, p *Process, o options) int {
	stop, err := strconv.Atoi(cmp.Or(o.value("t"), "8"))
	if err != nil || stop < 1 || stop > streamPart {
		return p.refuseAs(1, "expand -t %s", o.value("t"))
	}
	return p.eachLine(o.operands, func(line string) { p.Printf("%s\n", expandTabs(line, stop)) })
}

func expandTabs(line string, stop int) string {
	var b strings.Builder
	at := 0
	for _, r := range line {
		if r != '\t' {
			b.WriteRune(r)
			at++
			continue
		}
		n := stop - at%stop
		b.WriteString(strings.Repeat(" ", n))
		at += n
	}
	return b.String()
}
