package shell

import (
	"bufio"
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	backReference = regexp.MustCompile(`\\([1-9])`)
	awkPrint      = regexp.MustCompile(`^\s*\{\s*print\s+((?:\$(?:\d+|NF)[\s,]*)+);?\s*\}\s*$`)
	awkField      = regexp.MustCompile(`\d+|NF`)
)

// sed does s/// with g and i, -e, -i, -E and -n not.
func sed(_ context.Context, p *Process) int {
	var scripts, files []string
	inPlace, extended := false, false
	args := p.Args[1:]
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-e" && i+1 < len(args):
			i++
			scripts = append(scripts, args[i])
		case strings.HasPrefix(a, "-i"), a == "--in-place":
			inPlace = true
		case a == "-E", a == "-r":
			extended = true
		case strings.HasPrefix(a, "-") && a != "-":
			return p.Fail(1, "sed: option %s is not simulated", a)
		case len(scripts) == 0 && len(files) == 0:
			scripts = append(scripts, a)
		default:
			files = append(files, a)
		}
	}
	var edits []func(string) string
	for _, sc := range scripts {
		edit, err := substitution(sc, extended)
		if err != nil {
			return p.Fail(1, "sed: %v", err)
		}
		edits = append(edits, edit)
	}
	for _, f := range orStdin(files) {
		data, err := p.read(f)
		if err != nil {
			return p.Fail(2, "sed: can't read %s: %s", f, reason(err))
		}
		lines := strings.SplitAfter(string(data), "\n")
		for i, line := range lines {
			body, nl := strings.CutSuffix(line, "\n")
			for _, edit := range edits {
				body = edit(body)
			}
			if nl {
				body += "\n"
			}
			lines[i] = body
		}
		out := strings.Join(lines, "")
		if !inPlace {
			p.Printf("%s", out)
		} else if err := p.Guest.Root.WriteFile(p.Abs(f), []byte(out), 0o644); err != nil {
			return p.failed(f, err)
		}
	}
	return 0
}

// substitution understands one s command.
func substitution(script string, extended bool) (func(string) string, error) {
	if len(script) < 2 || script[0] != 's' {
		return nil, fmt.Errorf("only s/// is simulated, not %q", script[:min(1, len(script))])
	}
	sep := script[1:2]
	parts := strings.Split(script[2:], sep)
	if len(parts) != 3 {
		return nil, fmt.Errorf("-e expression #1: unterminated `s' command")
	}
	pattern, to, flags := parts[0], parts[1], parts[2]
	if !extended {
		pattern = basicToExtended(pattern)
	}
	if strings.Contains(strings.ToLower(flags), "i") {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("-e expression #1: %w", err)
	}
	to = backReference.ReplaceAllString(strings.ReplaceAll(to, "$", "$$"), "$${$1}")
	to = strings.ReplaceAll(to, "&", "${0}")
	return func(line string) string {
		if strings.Contains(flags, "g") {
			return re.ReplaceAllString(line, to)
		}
		at := re.FindStringSubmatchIndex(line)
		if at == nil {
			return line
		}
		return line[:at[0]] + string(re.ExpandString(nil, to, line, at)) + line[at[1]:]
	}, nil
}

// basicToExtended swaps the roles of a basic expression's escaped operators.
func basicToExtended(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			if !strings.ContainsRune("(){}+?|", rune(s[i])) {
				b.WriteByte('\\')
			}
			b.WriteByte(s[i])
		case strings.ContainsRune("(){}+?|", rune(s[i])):
			b.WriteByte('\\')
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func grep(_ context.Context, p *Process) int {
	flags, args := operands(p.Args[1:])
	if len(args) == 0 {
		return p.Fail(2, "grep: no pattern")
	}
	pattern := args[0]
	switch {
	case strings.Contains(flags, "F"):
		pattern = regexp.QuoteMeta(pattern)
	case !strings.Contains(flags, "E"):
		pattern = basicToExtended(pattern)
	}
	if strings.Contains(flags, "i") {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return p.Fail(2, "grep: invalid pattern")
	}
	code, count := 1, 0
	for _, f := range orStdin(args[1:]) {
		data, err := p.read(f)
		if err != nil {
			return p.Fail(2, "grep: %s: %s", f, reason(err))
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSuffix(line, "\n")
			if re.MatchString(line) == strings.Contains(flags, "v") {
				continue
			}
			code = 0
			count++
			switch {
			case strings.ContainsAny(flags, "qc"):
			case strings.Contains(flags, "o"):
				for _, m := range re.FindAllString(line, -1) {
					p.Printf("%s\n", m)
				}
			default:
				p.Printf("%s\n", line)
			}
		}
	}
	if strings.Contains(flags, "c") {
		p.Printf("%d\n", count)
	}
	return code
}

// awk prints fields: '{ print $N, $M }', with -F.
func awk(_ context.Context, p *Process) int {
	sep, args := "", p.Args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-F") {
		sep = strings.TrimPrefix(args[0], "-F")
		args = args[1:]
		if sep == "" && len(args) > 0 {
			sep, args = args[0], args[1:]
		}
	}
	if len(args) == 0 {
		return p.Fail(2, "awk: no program")
	}
	m := awkPrint.FindStringSubmatch(args[0])
	if m == nil {
		return p.Fail(2, "awk: only '{ print $N }' is simulated")
	}
	want := awkField.FindAllString(m[1], -1)
	for _, f := range orStdin(args[1:]) {
		data, err := p.read(f)
		if err != nil {
			return p.failed(f, err)
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSuffix(line, "\n")
			fields := strings.Fields(line)
			if sep != "" {
				fields = strings.Split(line, sep)
			}
			var out []string
			for _, w := range want {
				out = append(out, field(line, fields, w))
			}
			p.Printf("%s\n", strings.Join(out, " "))
		}
	}
	return 0
}

func field(line string, fields []string, which string) string {
	n, err := strconv.Atoi(which)
	if err != nil {
		n = len(fields)
	}
	switch {
	case n == 0:
		return line
	case n > len(fields):
		return ""
	}
	return fields[n-1]
}

func cut(_ context.Context, p *Process) int {
	sep, n := "\t", 1
	for i, a := range p.Args {
		switch {
		case a == "-d" && i+1 < len(p.Args):
			sep = p.Args[i+1]
		case strings.HasPrefix(a, "-d"):
			sep = a[2:]
		case a == "-f" && i+1 < len(p.Args):
			n, _ = strconv.Atoi(p.Args[i+1])
		case strings.HasPrefix(a, "-f"):
			n, _ = strconv.Atoi(a[2:])
		}
	}
	if n < 1 || sep == "" {
		return p.Fail(1, "cut: only -d C -f N is simulated")
	}
	sc := bufio.NewScanner(p.Stdin)
	for sc.Scan() {
		p.Printf("%s\n", field(sc.Text(), strings.Split(sc.Text(), sep), strconv.Itoa(n)))
	}
	return 0
}

func tr(_ context.Context, p *Process) int {
	data, err := p.read("-")
	if err != nil {
		return p.failed("-", err)
	}
	text := string(data)
	unescape := strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t")
	switch {
	case p.Arg(1) == "-d":
		set := unescape.Replace(p.Arg(2))
		text = strings.Map(func(r rune) rune {
			if strings.ContainsRune(set, r) {
				return -1
			}
			return r
		}, text)
	case p.Arg(1) == "[:upper:]" || p.Arg(1) == "A-Z":
		text = strings.ToLower(text)
	case p.Arg(1) == "[:lower:]" || p.Arg(1) == "a-z":
		text = strings.ToUpper(text)
	default:
		from, to := []rune(unescape.Replace(p.Arg(1))), []rune(unescape.Replace(p.Arg(2)))
		if len(to) == 0 {
			return p.Fail(1, "tr: missing operand")
		}
		text = strings.Map(func(r rune) rune {
			if i := slices.Index(from, r); i >= 0 {
				return to[min(i, len(to)-1)]
			}
			return r
		}, text)
	}
	p.Printf("%s", text)
	return 0
}

func sortLines(_ context.Context, p *Process) int {
	flags, files := operands(p.Args[1:])
	var lines []string
	for _, f := range orStdin(files) {
		data, err := p.read(f)
		if err != nil {
			return p.failed(f, err)
		}
		for line := range strings.Lines(string(data)) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	slices.Sort(lines)
	if strings.Contains(flags, "u") {
		lines = slices.Compact(lines)
	}
	for _, l := range lines {
		p.Printf("%s\n", l)
	}
	return 0
}

func head(_ context.Context, p *Process) int {
	return ends(p, func(l []string, n int) []string { return l[:min(n, len(l))] })
}

func ends(p *Process, pick func([]string, int) []string) int {
	n := 10
	var files []string
	for i := 1; i < len(p.Args); i++ {
		a := p.Args[i]
		switch {
		case a == "-n" && i+1 < len(p.Args):
			i++
			n, _ = strconv.Atoi(p.Args[i])
		case strings.HasPrefix(a, "-") && a != "-":
			if v, err := strconv.Atoi(strings.TrimLeft(a, "-n")); err == nil {
				n = v
			}
		default:
			files = append(files, a)
		}
	}
	for _, f := range orStdin(files) {
		data, err := p.read(f)
		if err != nil {
			return p.failed(f, err)
		}
		lines := strings.SplitAfter(string(data), "\n")
		if last := len(lines) - 1; lines[last] == "" {
			lines = lines[:last]
		}
		p.Printf("%s", strings.Join(pick(lines, max(n, 0)), ""))
	}
	return 0
}

func wc(_ context.Context, p *Process) int {
	flags, files := operands(p.Args[1:])
	for _, f := range orStdin(files) {
		data, err := p.read(f)
		if err != nil {
			return p.failed(f, err)
		}
		n := len(data)
		switch {
		case strings.Contains(flags, "l"):
			n = strings.Count(string(data), "\n")
		case strings.Contains(flags, "w"):
			n = len(strings.Fields(string(data)))
		}
		p.Printf("%d\n", n)
	}
	return 0
}

func seq(_ context.Context, p *Process) int {
	from, to := 1, 0
	var err error
	switch len(p.Args) {
	case 2:
		to, err = strconv.Atoi(p.Args[1])
	case 3:
		if from, err = strconv.Atoi(p.Args[1]); err == nil {
			to, err = strconv.Atoi(p.Args[2])
		}
	default:
		return p.Fail(1, "seq: only [FIRST] LAST is simulated")
	}
	if err != nil || to-from > 100000 {
		return p.Fail(1, "seq: invalid argument")
	}
	for i := from; i <= to; i++ {
		p.Printf("%d\n", i)
	}
	return 0
}

func basename(_ context.Context, p *Process) int {
	p.Printf("%s\n", strings.TrimSuffix(path.Base(p.Arg(1)), p.Arg(2)))
	return 0
}

func dirname(_ context.Context, p *Process) int { p.Printf("%s\n", path.Dir(p.Arg(1))); return 0 }
