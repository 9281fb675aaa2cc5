package shell

import (
	"context"
	"strings"
)

// call runs a subroutine, a batch file or a command after its text is expanded a second time.
func (b *batch) call(ctx context.Context, rest string) int {
	again, err := b.percent(rest)
	if err != nil {
		return b.lacks("%v", err)
	}
	words := batchWords(again)
	if len(words) == 0 { // "call " succeeds
		return b.fails(0, "")
	}
	if b.depth > 16 {
		b.errorf("scripts call each other too deep (a bound of the simulation)")
		b.cmd.level, b.cmd.exited = 1, true
		return 1
	}
	name, behind := programWord(again)
	if label, ok := strings.CutPrefix(words[0], ":"); ok {
		return b.subroutine(ctx, label, words[1:], behind)
	}
	if file := b.batchFile(name); file != "" {
		return b.script(ctx, file, append([]string{name}, batchWords(behind)...), behind)
	}
	command, tail := commandName(again)
	if code, ok := b.internal(ctx, command, tail, again); ok {
		return code
	}
	code := b.external(ctx, again)
	b.cmd.missing = false // after call the errorlevel stays 1
	return code
}

// programWord returns the first name of a command line, in which quotes may contain blanks, and the text after the
// name.
func programWord(text string) (name, behind string) {
	text = strings.TrimLeft(text, " \t,;=")
	quoted, end := false, 0
	for ; end < len(text); end++ {
		if text[end] == '"' {
			quoted = !quoted
		} else if !quoted && strings.IndexByte(" \t,;=(\r", text[end]) >= 0 {
			break
		}
	}
	return strings.ReplaceAll(text[:end], `"`, ""), strings.TrimLeft(text[end:], " \t")
}

func (b *batch) subroutine(ctx context.Context, label string, args []string, tail string) int {
	if strings.EqualFold(label, "eof") {
		return 0
	}
	at := b.label(label)
	if at < 0 {
		b.errorf("The system cannot find the batch label specified - %s", label)
		b.cmd.level = 1
		return 1
	}
	inner := *b
	inner.at, inner.depth, inner.saved, inner.loops = at, b.depth+1, nil, nil
	inner.o.Args, inner.tail, inner.ended, inner.jumped = args, tail, false, false
	inner.called = ":" + label
	inner.runLines(ctx)
	return b.cmd.level
}

// script runs a batch file with call; its errorlevel becomes the caller's.
func (b *batch) script(ctx context.Context, file string, words []string, tail string) int {
	data, err := b.shell.guest.Root.ReadAtMost(file, maxScript)
	if err != nil {
		return b.unknown(words[0])
	}
	if b.depth > 16 {
		b.errorf("scripts call each other too deep (a bound of the simulation)")
		b.cmd.level, b.cmd.exited = 1, true
		return 1
	}
	o := b.o
	o.Name, o.Args = file, words[1:]
	inner := &batch{shell: b.shell, o: o, cmd: b.cmd, depth: b.depth + 1, tail: tail, called: words[0]}
	inner.run(ctx, string(data))
	return b.cmd.level
}

// batchFile returns the path of the batch file that a name refers to, or "".
func (b *batch) batchFile(word string) string {
	name := strings.Trim(word, `"`)
	p := b.process([]string{name})
	if isBatchFile(strings.ToLower(name)) {
		if at := p.Abs(name); p.Guest.Root.Exists(at) {
			return at
		}
		if strings.ContainsAny(name, `\/`) {
			return ""
		}
	}
	if strings.ContainsAny(name, `\/`) {
		for _, suffix := range []string{".cmd", ".bat"} {
			if at := p.Abs(name + suffix); p.Guest.Root.Exists(at) && !p.Guest.Root.Exists(p.Abs(name+".exe")) {
				return at
			}
		}
		return ""
	}
	if b.shell.find(name) != nil && !isBatchFile(strings.ToLower(name)) {
		return ""
	}
	for _, at := range p.findProgram(name) {
		if isBatchFile(strings.ToLower(at)) {
			return at
		}
	}
	return ""
}

func (b *batch) unknown(name string) int {
	b.errorf("'%s' is not recognized as an internal or external command,\r\noperable program or batch file.", name)
	b.cmd.level, b.cmd.missing = 1, true
	return 1
}

// external runs a program or a batch file.
func (b *batch) external(ctx context.Context, text string) int {
	args := splitArgs(text)
	if len(args) == 0 {
		return 0
	}
	if drive := args[0]; len(drive) == 2 && drive[1] == ':' {
		return b.enter(drive+`\`, true)
	}
	if name, behind := programWord(text); b.batchFile(name) != "" {
		code := b.script(ctx, b.batchFile(name), append([]string{name}, batchWords(behind)...), behind)
		b.ended = true // without call, the calling script ends
		return code
	}
	name := strings.ToLower(args[0])
	p := b.process(args)
	p.line = text
	c := b.shell.find(args[0])
	if c == nil || !b.shell.reachable(p) {
		return b.unknown(args[0])
	}
	if base := strings.TrimSuffix(name[strings.LastIndexAny(name, `\/`)+1:], ".exe"); base == "cmd" {
		p.Args = cmdArgs(text, args)
	}
	b.cmd.level = b.shell.start(ctx, c, p)
	return b.cmd.level
}

// cmdArgs returns the arguments of cmd.exe; the text after /c keeps its quotes and blanks.
func cmdArgs(text string, args []string) []string {
	low := strings.ToLower(text)
	for _, flag := range []string{"/c", "/k"} {
		if i := strings.Index(low, flag); i > 0 && (low[i-1] == ' ' || i == strings.IndexByte(low, '/') ||
			low[strings.LastIndexByte(low[:i], ' ')+1] == '/') {
			out := []string{args[0]}
			for _, a := range args[1:] {
				if at := strings.Index(strings.ToLower(a), flag); at >= 0 && a[0] == '/' {
					for one := range strings.SplitSeq(strings.Trim(a[:at], "/"), "/") {
						out = append(out, map[bool]string{true: "/" + one}[one != ""])
					}
					break
				}
				out = append(out, a)
			}
			return append(out, flag, strings.TrimSpace(text[i+2:]))
		}
	}
	return args
}

// reachable reports whether the file of a command exists.
func (s *Shell) reachable(p *Process) bool {
	name := p.Args[0]
	if !strings.ContainsAny(name, `\/`) {
		return s.onPath(p)
	}
	file := p.Abs(name)
	lower := strings.ToLower(file)
	return strings.HasPrefix(lower, `c:\windows\`) || s.guest.Root.Exists(file) || s.guest.Root.Exists(file+".exe")
}

func isBatchFile(name string) bool {
	return strings.HasSuffix(name, ".cmd") || strings.HasSuffix(name, ".bat")
}
