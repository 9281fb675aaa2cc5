package shell

import (
	"bufio"
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
)

// choice prompts for one of several keys. Its exit code is the number of the key in the input, or of the default if
// there is no input.
func choice(_ context.Context, p *Process) int {
	o, kind, _ := declare("/ c: m: d: t: n cs").slashed(p.Args[1:])
	keys, text, other, exact := o.value("c"), o.value("m"), o.value("d"), o.has("cs")
	wrong := func() int { return p.Fail(255, "ERROR: Invalid syntax.\r\nType \"CHOICE /?\" for usage.\r") }
	if !o.has("c") {
		keys = "YN"
	}
	if kind != 0 || len(o.operands) > 0 || keys == "" {
		return wrong()
	}
	if !exact {
		keys, other = strings.ToUpper(keys), strings.ToUpper(other)
	}
	if text != "" {
		p.Printf("%s", text)
	}
	if !o.has("n") {
		p.Printf("%s[%s]?", map[bool]string{true: " "}[text != ""], strings.Join(strings.Split(keys, ""), ","))
	}
	in := bufio.NewReader(p.Stdin)
	for {
		c, err := in.ReadByte()
		key := string(rune(c))
		if err != nil {
			if key = other; key == "" {
				return p.Fail(255, "\r\nERROR: The file is either empty or does not contain the valid choices.\r")
			}
		}
		if !exact {
			key = strings.ToUpper(key)
		}
		if i := strings.Index(keys, key); i >= 0 {
			p.Printf("%s\r\n", key)
			return i + 1
		}
		if err != nil {
			return wrong()
		}
	}
}

// more prints files without stops, because there is no screen.
func more(_ context.Context, p *Process) int {
	o, code := p.switches("")
	if code != 0 {
		return code
	}
	names := o.operands
	if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "+") }) {
		return p.refuseAs(1, "more from a line on")
	}
	if len(names) == 0 {
		text, code := p.inputs(nil)
		p.Printf("%s\r\n", text)
		return code
	}
	for _, n := range names {
		if strings.EqualFold(n, "nul") {
			continue
		}
		data, err := p.read(n)
		if err != nil {
			p.Fail(0, "Cannot access file %s\r", p.Abs(n))
			continue
		}
		_, _ = p.Stdout.Write(data) // an error means that nothing reads the output
	}
	return 0
}

// fc compares two files by lines, or with /b by bytes.
func fc(_ context.Context, p *Process) int {
	o, code := p.switches("b c l n w! t! a! u!")
	names := o.operands
	switch {
	case code != 0:
		return 2
	case len(names) != 2:
		return p.Fail(-1, "FC: Insufficient number of file specifications\r")
	case strings.ContainsAny(names[0]+names[1], "*?"):
		return p.refuseAs(2, "fc %s", strings.Join(p.Args[1:], " "))
	}
	var data [2][]byte
	for i, n := range names {
		var err error
		if data[i], err = p.Guest.Root.ReadFile(p.Abs(n)); err != nil {
			return p.Fail(2, "FC: cannot open %s - No such file or folder\r", strings.ToUpper(n))
		}
	}
	heads := [2]string{strings.ToLower(names[0]), strings.ToUpper(names[1])}
	p.Printf("Comparing files %s and %s\r\n", heads[0], heads[1])
	if o.has("b") {
		same := true
		for i := range min(len(data[0]), len(data[1])) {
			p.meter.Step()
			if data[0][i] != data[1][i] {
				p.Printf("%08X: %02X %02X\r\n", i, data[0][i], data[1][i])
				same = false
			}
		}
		if len(data[0]) != len(data[1]) {
			longer, shorter := names[0], names[1]
			if len(data[0]) < len(data[1]) {
				longer, shorter = shorter, longer
			}
			p.Printf("FC: %s longer than %s\r\n\r\n", strings.ToUpper(longer), strings.ToUpper(shorter))
			return 1
		}
		if same {
			p.Printf("FC: no differences encountered\r\n\r\n")
			return 0
		}
		p.Printf("\r\n")
		return 1
	}
	var lines [2][]string
	for i := range lines {
		lines[i] = p.linesOf(string(bytes.ReplaceAll(data[i], []byte("\r\n"), []byte("\n"))))
	}
	compared := lines
	if o.has("c") {
		for i := range compared {
			compared[i] = strings.Split(strings.ToUpper(strings.Join(lines[i], "\n")), "\n")
		}
	}
	if slices.Equal(compared[0], compared[1]) {
		p.Printf("FC: no differences encountered\r\n\r\n")
		return 0
	}
	all, ok := p.hunks(compared)
	if !ok {
		return refusedCode
	}
	for i := range all {
		if i > 0 && all[i].from[0]-all[i-1].to[0] < 2 {
			return p.refuseAs(2, "fc of lines that are the same one at a time")
		}
	}
	for _, h := range all {
		around := 1
		if h.from[0] == len(lines[0]) || h.from[1] == len(lines[1]) { // the text after the end of the other file has no context lines
			around = 0
		}
		for i := range lines {
			p.Printf("***** %s\r\n", []string{names[0], strings.ToUpper(names[1])}[i])
			for n := max(h.from[i]-around, 0); n < min(h.to[i]+around, len(lines[i])); n++ {
				number := ""
				if o.has("n") {
					number = strconv.Itoa(n+1) + ":  "
				}
				p.Printf("%s%s\r\n", number, lines[i][n])
			}
		}
		p.Printf("*****\r\n\r\n")
	}
	return 1
}
