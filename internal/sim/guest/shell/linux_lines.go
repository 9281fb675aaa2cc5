package shell

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

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
		return p.missing("operand")
	}
	count := math.Floor((to-from)/step+1e-9) + 1
	if step == 0 || math.IsNaN(count) || count > maxRange+1 {
		return p.Fail(1, "seq: invalid Zero increment value, or more than %d numbers (a bound of the simulation)", maxRange)
	}
	format := o.value("f")
	if m := seqFormat.FindStringSubmatch(format); m != nil {
		format = m[1] + cmp.Or(m[2], ".6") + m[3]
	} else if format != "" {
		return p.Refuse("seq -f %s", format)
	}
	number := func(i int) string {
		if format != "" {
			return fmt.Sprintf(format, from+float64(i)*step)
		}
		return strconv.FormatFloat(from+float64(i)*step, 'f', places, 64)
	}
	sep, width, all := "\n", 0, int(max(count, 0))
	if o.has("s") {
		sep = o.value("s")
	}
	if o.has("w") {
		width = max(len(number(0)), len(number(all-1)))
	}
	for i := range all {
		n, sign := number(i), ""
		if strings.HasPrefix(n, "-") {
			sign, n = "-", n[1:]
		}
		if i > 0 {
			p.Printf("%s", sep)
		}
		p.Printf("%s%s%s", sign, strings.Repeat("0", max(width-len(sign)-len(n), 0)), n)
		if p.unread() {
			break
		}
	}
	if all > 0 {
		p.Printf("\n")
	}
	return 0
}

// seqFormat matches the formats of seq that Go prints as C does.
var seqFormat = regexp.MustCompile(`^((?:[^%]|%%)*%[-+ 0]*\d*)(\.\d+)?([efg](?:[^%]|%%)*)$`)

func tee(_ context.Context, p *Process, o options) int {
	in, err := p.open("-")
	if err != nil {
		return p.failed("-", err)
	}
	code, write := 0, p.Guest.Root.WriteFile
	if o.has("a") {
		write = p.Guest.Root.AppendFile
	}
	files, buffer := o.operands, make([]byte, streamPart)
	for first := true; ; first = false { // the first pass also creates the file if the input is empty
		part := in.read(buffer)
		if len(part) == 0 && !first {
			return code
		}
		_, _ = p.Stdout.Write(part) // an error means that nothing reads the output
		files = slices.DeleteFunc(files, func(f string) bool {
			if p.device(f, part) {
				return false
			}
			err := write(p.Abs(f), part, p.newFileMode(0o666))
			if err != nil {
				code = p.failed(f, err)
			}
			return err != nil
		})
		write = p.Guest.Root.AppendFile
	}
}

// device writes to a file of /dev, and reports whether name is such a file.
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
	_, _ = w.Write(data) // an error means that nothing reads the output
	return true
}

// rev reverses the characters of each line; the last line may have no newline.
func rev(_ context.Context, p *Process, o options) int {
	in := p.opened(o.operands)
	for line, ok := in.line(); ok; line, ok = in.line() {
		body, ended := strings.CutSuffix(line, "\n")
		p.meter.During(len(line), func() { // a character takes four bytes
			letters := []rune(body)
			slices.Reverse(letters)
			p.Printf("%s%s", string(letters), map[bool]string{true: "\n"}[ended])
		})
	}
	return in.code
}

func tac(_ context.Context, p *Process, o options) int {
	text, code := p.inputs(o.operands)
	for _, line := range slices.Backward(p.linesAfter(text)) {
		p.Printf("%s", line)
	}
	return code
}

func nl(_ context.Context, p *Process, o options) int {
	width, err := strconv.Atoi(cmp.Or(o.value("w"), "6"))
	if err != nil || width < 1 {
		return p.Fail(1, "nl: invalid line number field width: ‘%s’", o.value("w"))
	}
	if width > streamPart {
		return p.Refuse("nl -w %d", width)
	}
	sep := "\t"
	if o.has("s") {
		sep = o.value("s")
	}
	n := 0
	return p.eachLine(o.operands, func(line string) {
		if line == "" && o.value("b") != "a" {
			p.Printf("%s\n", strings.Repeat(" ", width+len(sep)))
			return
		}
		n++
		p.Printf("%*d%s%s\n", width, n, sep, line)
	})
}

func paste(_ context.Context, p *Process, o options) int {
	seps := "\t"
	if o.has("d") {
		seps = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\0`, "\x00", `\\`, `\`).Replace(o.value("d")) // \0 is no separator
	}
	join := func(parts []string) string {
		var b strings.Builder
		for i, part := range parts {
			if i > 0 && seps != "" && seps[(i-1)%len(seps)] != 0 {
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
		if f == "-" && len(files) > 1 { // each - takes the next line of standard input
			if rest == nil {
				text, _ := p.inputs([]string{"-"})
				rest = p.linesOf(text)
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
		columns = append(columns, p.linesOf(text))
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
		return p.missing("operand")
	}
	left, code := p.inputs(o.operands[:1])
	right, code2 := p.inputs(o.operands[1:])
	if code+code2 != 0 {
		return 1
	}
	a, b := p.linesOf(left), p.linesOf(right)
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
	unsorted := 0
	for i, lines := range [][]string{a, b} {
		if !slices.IsSorted(lines) && !slices.Equal(a, b) {
			unsorted = p.Fail(1, "comm: file %d is not in sorted order", i+1)
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
	return unsorted
}

// yes repeats a line until the reader of its output ends.
func yes(ctx context.Context, p *Process, o options) int {
	line := "y"
	if len(o.operands) > 0 {
		line = strings.Join(o.operands, " ")
	}
	block := []byte(strings.Repeat(line+"\n", min(max(streamPart/(len(line)+1), 1), 512)))
	for range maxRange {
		if _, err := p.Stdout.Write(block); err != nil || ctx.Err() != nil {
			break
		}
	}
	return 141
}
