package shell

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// sortKey is one of sort's keys: a range of fields and of characters in them, counted from 1. A to of 0 means the end
// of the line.
type sortKey struct {
	from, fromLetter, to, toLetter int
	flags                          string
}

var sortKeySyntax = regexp.MustCompile(`^(\d+)(?:\.(\d+))?([bfghnrV]*)(?:,(\d+)(?:\.(\d+))?([bfghnrV]*))?$`)

func sortLines(_ context.Context, p *Process, o options) int {
	global := ""
	for _, f := range []string{"n", "r", "f", "V", "h", "b", "g"} {
		if o.has(f) {
			global += f
		}
	}
	var keys []sortKey
	for _, k := range o.values("k") {
		m := sortKeySyntax.FindStringSubmatch(k)
		if strings.HasPrefix(k, "0") {
			return p.Fail(2, "sort: -: invalid field specification '%s': field number is zero", k)
		}
		if m == nil {
			return p.Refuse("sort -k %s", k)
		}
		number := func(s string) int { n, _ := strconv.Atoi(s); return n }
		key := sortKey{number(m[1]), number(m[2]), number(m[4]), number(m[5]), m[3] + m[6]}
		if key.flags == "" {
			key.flags = global
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		keys = []sortKey{{1, 0, 0, 0, global}}
	}
	text, code := p.inputs(o.operands)
	if code != 0 {
		return 2 // sort reads all input before it writes
	}
	end := "\n"
	if o.has("z") {
		end = "\x00"
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\n", "\x01"), "\x00", "\n")
	}
	lines := p.linesOf(text)
	byKeys := func(a, b string) int {
		p.meter.Step()
		for _, k := range keys {
			if c := k.compare(k.field(a, o.value("t")), k.field(b, o.value("t"))); c != 0 {
				return c
			}
		}
		return 0
	}
	whole := func(a, b string) int {
		c := byKeys(a, b)
		if c == 0 && !o.has("u", "s") {
			if c = strings.Compare(a, b); o.has("r") {
				c = -c
			}
		}
		return c
	}
	if o.has("c", "C") {
		for i := 1; i < len(lines); i++ {
			if c := whole(lines[i-1], lines[i]); c > 0 || c == 0 && o.has("u") {
				if o.has("C") {
					return 1
				}
				return p.Fail(1, "sort: %s:%d: disorder: %s", orStdin(o.operands)[0], i+1, lines[i])
			}
		}
		return 0
	}
	slices.SortStableFunc(lines, whole)
	if o.has("R") {
		rand.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	}
	if o.has("u") {
		lines = slices.CompactFunc(lines, func(a, b string) bool { return byKeys(a, b) == 0 })
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l + end)
	}
	out := b.String()
	if o.has("z") {
		out = strings.ReplaceAll(out, "\x01", "\n")
	}
	if name := o.value("o"); name != "" {
		if err := p.Guest.Root.WriteFile(p.Abs(name), []byte(out), 0o644); err != nil {
			return p.failed(name, err)
		}
		return code
	}
	p.Printf("%s", out)
	return code
}

// field returns the part of a line that a sort key compares.
func (k sortKey) field(line, sep string) string {
	if k.from == 1 && k.fromLetter == 0 && k.to == 0 {
		return line
	}
	var fields []string
	if sep != "" {
		fields = strings.SplitAfter(line, sep)
	} else { // without a separator, a field starts with its leading blanks
		for rest := line; rest != ""; {
			i := len(rest) - len(strings.TrimLeft(rest, " \t"))
			if j := strings.IndexAny(rest[i:], " \t"); j >= 0 {
				fields, rest = append(fields, rest[:i+j]), rest[i+j:]
				continue
			}
			fields, rest = append(fields, rest), ""
		}
	}
	at := func(n int) int {
		length := 0
		for i := range min(n, len(fields)) {
			length += len(fields[i])
		}
		return length
	}
	from := at(k.from-1) + max(k.fromLetter-1, 0)
	to := len(line)
	switch {
	case k.to > 0 && k.toLetter > 0:
		to = at(k.to-1) + k.toLetter
	case k.to > 0:
		to = at(k.to)
		if sep != "" && k.to < len(fields) {
			to -= len(sep)
		}
	}
	from, to = min(from, len(line)), min(to, len(line))
	if from > to {
		return ""
	}
	return line[from:to]
}

func (k sortKey) compare(a, b string) (c int) {
	has := func(f string) bool { return strings.Contains(k.flags, f) }
	if has("b") || has("n") || has("h") {
		a, b = strings.TrimLeft(a, " \t"), strings.TrimLeft(b, " \t")
	}
	switch {
	case has("g"):
		c = cmp.Compare(generalNumber(a), generalNumber(b))
	case has("n"):
		c = cmp.Compare(leadingNumber(a), leadingNumber(b))
	case has("h"):
		c = cmp.Compare(humanNumber(a), humanNumber(b))
	case has("V"):
		c = compareVersions(a, b)
	case has("f"):
		c = strings.Compare(strings.ToUpper(a), strings.ToUpper(b))
	default:
		c = strings.Compare(a, b)
	}
	if has("r") {
		return -c
	}
	return c
}

// generalNumber returns the number at the start of a text as C reads it. A text without a number is less than all
// numbers.
func generalNumber(s string) float64 {
	s = strings.TrimLeft(s, " \t")
	for end := len(s); end > 0; end-- {
		if n, err := strconv.ParseInt(s[:end], 0, 64); err == nil && len(s) > 1 && (s[1]|0x20) == 'x' {
			return float64(n)
		}
		if n, err := strconv.ParseFloat(s[:end], 64); err == nil {
			return n
		}
	}
	return math.Inf(-1)
}

var numberStart = regexp.MustCompile(`^-?[0-9]*(\.[0-9]+)?`)

func leadingNumber(s string) float64 {
	n, _ := strconv.ParseFloat(numberStart.FindString(s), 64)
	return n
}

func humanNumber(s string) float64 {
	number := numberStart.FindString(s)
	n := leadingNumber(s)
	if rest := s[len(number):]; rest != "" {
		for range strings.IndexByte("KMGTPE", rest[0]&^0x20) + 1 {
			n *= 1024
		}
	}
	return n
}

// compareVersions compares two texts, letters as letters and digits as numbers.
func compareVersions(a, b string) int {
	for a != "" || b != "" {
		wordA, wordB := leading(a, false), leading(b, false)
		rank := func(x, y byte) int { return versionRank(x) - versionRank(y) }
		if c := slices.CompareFunc([]byte(wordA+"\x00"), []byte(wordB+"\x00"), rank); c != 0 {
			return c
		}
		a, b = a[len(wordA):], b[len(wordB):]
		numberA, numberB := leading(a, true), leading(b, true)
		x, y := strings.TrimLeft(numberA, "0"), strings.TrimLeft(numberB, "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); c != 0 {
			return c
		}
		a, b = a[len(numberA):], b[len(numberB):]
	}
	return 0
}

// versionRank returns the rank of a character that is no digit: ~ before the end of a text, letters before all others
// (GNU's filevercmp).
func versionRank(c byte) int {
	switch {
	case c == '~':
		return -1
	case c == 0:
		return 0
	case c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z':
		return int(c)
	}
	return int(c) + 256
}

// leading returns the leading digits of s, or the leading characters that are no digits.
func leading(s string, digits bool) string {
	i := strings.IndexFunc(s, func(r rune) bool { return (r >= '0' && r <= '9') != digits })
	if i < 0 {
		return s
	}
	return s[:i]
}
