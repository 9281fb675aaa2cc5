package shell

import (
	"context"
	"path"
	"regexp"
	"strings"
)

// operands splits one-letter and long options from the rest.
func operands(args []string) (flags string, rest []string) {
	for i, a := range args {
		switch {
		case a == "--":
			return flags, append(rest, args[i+1:]...)
		case strings.HasPrefix(a, "--"):
			flags += " " + a
		case strings.HasPrefix(a, "-") && a != "-":
			flags += a[1:]
		default:
			rest = append(rest, a)
		}
	}
	return flags, rest
}

// move is move and ren.
func move(_ context.Context, p *Process) int {
	_, args := operands(p.Args[1:])
	if len(args) < 2 {
		return p.Fail(1, "The syntax of the command is incorrect.")
	}
	to := p.Abs(args[len(args)-1])
	for _, f := range args[:len(args)-1] {
		from, target := p.Abs(f), to
		if p.Guest.Root.IsDir(to) {
			target = p.Guest.Root.Abs(to, path.Base(strings.ReplaceAll(from, `\`, "/")))
		}
		if err := p.Guest.Root.Rename(from, target); err != nil {
			return p.failed(f, err)
		}
	}
	return 0
}

// grep is findstr.
func grep(_ context.Context, p *Process) int {
	flags, args := operands(p.Args[1:])
	if len(args) == 0 {
		return p.Fail(2, "FINDSTR: Bad command line")
	}
	pattern := args[0]
	if strings.Contains(flags, "i") {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return p.Fail(2, "FINDSTR: Bad command line")
	}
	code := 1
	for _, f := range orStdin(args[1:]) {
		data, err := p.read(f)
		if err != nil {
			return p.Fail(2, "FINDSTR: Cannot open %s", f)
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSuffix(line, "\n")
			if re.MatchString(line) != strings.Contains(flags, "v") {
				code = 0
				p.Printf("%s\n", line)
			}
		}
	}
	return code
}

// which is where and Get-Command.
func which(_ context.Context, p *Process) int {
	code := 0
	for _, n := range p.Args[1:] {
		if p.shell.find(n) == nil {
			code = 1
			continue
		}
		p.Printf("/usr/bin/%s\n", n)
	}
	return code
}
