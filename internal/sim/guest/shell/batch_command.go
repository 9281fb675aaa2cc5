package shell

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// firstWord returns the first word of a line; a blank for an empty line.
func firstWord(line string) string {
	line = strings.TrimLeft(line, " \t")
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		return line[:i]
	}
	if line == "" {
		return " "
	}
	return line
}

// succeeds are the commands of cmd.exe whose success sets the errorlevel to 0. In a .cmd file, the commands in
// inCmdFile do so too (Windows Commands reference, "batch files": .bat and .cmd).
var (
	succeeds = strings.Fields("cd chdir md mkdir copy move ren rename del erase pushd setlocal endlocal ver date time dir type vol " +
		"label mklink call chcp verify color vol")
	inCmdFile = strings.Fields("set path prompt assoc ftype dpath append")
	// keeps are the commands whose failure does not change the errorlevel.
	keeps = strings.Fields("popd rmdir rd")
)

// simple runs a command without operators and redirections, and returns its code.
func (b *batch) simple(ctx context.Context, text string) int {
	text, err := b.late(text)
	if err != nil {
		return b.lacks("%v", err)
	}
	text = strings.TrimLeft(text, " \t,;=")
	if strings.TrimSpace(text) == "" {
		return 0
	}
	name, rest := commandName(text)
	before, missing := b.cmd.level, b.cmd.missing
	b.cmd.missing = false
	if code, ok := b.internal(ctx, name, rest, text); ok {
		switch {
		case name == "echo" || name == "goto" || name == "exit" || name == "shift" || name == "endlocal" && code == 0:
			b.cmd.missing = missing
		case code == 0 && (slices.Contains(succeeds, name) && name != "call" || b.inCmd() && slices.Contains(inCmdFile, name)):
			b.cmd.level = 0
		case code != 0 && slices.Contains(keeps, name) && !b.cmd.exited:
			b.cmd.level = before
		}
		return code
	}
	return b.external(ctx, text)
}

// inCmd reports whether the script is a .cmd file.
func (b *batch) inCmd() bool { return strings.HasSuffix(strings.ToLower(b.o.Name), ".cmd") }

// commandName splits a line after the name of an internal command: echo. and cd.. and dir/b have no blank after the
// name.
func commandName(text string) (name, rest string) {
	end := 0
	for end < len(text) && strings.IndexByte(" \t,;=/.:([]+\\\"\r", text[end]) < 0 {
		end++
	}
	return strings.ToLower(text[:end]), text[end:]
}

// separates reports whether the text after an internal command's name ends the name.
func separates(rest string) bool {
	return rest == "" || strings.IndexByte(" \t,;=/\r", rest[0]) >= 0
}

// internal runs an internal command of cmd.exe; ok is false if the name is another command.
func (b *batch) internal(ctx context.Context, name, rest, text string) (code int, ok bool) {
	switch name {
	case "echo":
		if separates(rest) || strings.IndexByte(".:([]+\\", rest[0]) >= 0 {
			return b.echo(rest), true
		}
	case "cd", "chdir":
		if separates(rest) || rest[0] == '.' || rest[0] == '\\' {
			return b.chdir(strings.TrimSpace(rest)), true
		}
	}
	if !separates(rest) && (rest[0] != ':' || name != "goto" && name != "call") {
		return 0, false
	}
	args := strings.TrimSpace(rest)
	tail := strings.TrimLeft(rest, " \t,;=") // blanks at the end are part of the value
	switch name {
	case "set":
		if args == "" {
			tail = ""
		}
		return b.set(tail), true
	case "exit":
		return b.exit(args), true
	case "goto":
		return b.jump(args), true
	case "call":
		if rest == "" {
			return b.fails(1, ""), true
		}
		return b.call(ctx, tail), true
	case "setlocal":
		return b.setlocal(args), true
	case "endlocal":
		b.endlocal()
		return 0, true
	case "shift":
		return b.shift(args), true
	case "pushd", "popd":
		return b.directories(name, args), true
	case "title", "break", "prompt":
		return 0, true // they change a window that is not shown
	case "ver", "verify", "cls", "color":
		switch low := strings.ToLower(args); {
		case name == "ver" && args == "":
			return ver(ctx, b.process(nil)), true
		case name == "cls" && args == "":
			b.print("\f")
			return 0, true
		case name == "verify" && args == "":
			b.print("VERIFY is off.\r\n")
			return 0, true
		case name == "verify" && (low == "on" || low == "off"), name == "color" && (args == "" || len(args) <= 2 && b.o.Stdin == nil):
			return 0, true
		case name == "verify":
			return b.fails(1, "An incorrect parameter was\r\nentered for the command."), true
		}
		return b.fails(1, ""), true
	case "pause":
		b.print("Press any key to continue . . . \r\n")
		if _, err := b.readLine(); err != nil {
			return b.fails(1, ""), true
		}
		return 0, true
	case "chcp":
		if args == "" {
			b.print("Active code page: 437\r\n")
		} else {
			b.print("Active code page: " + args + "\r\n")
		}
		return 0, true
	case "path":
		if args == "" {
			v, some := b.variable("PATH")
			if !some {
				v = "(null)"
			}
			b.print("PATH=" + v + "\r\n")
			return 0, true
		}
		return b.assign("PATH", strings.TrimPrefix(map[bool]string{false: tail}[args == ";"], "=")), true
	case "date", "time":
		return b.clock(name, args), true
	case "vol":
		if args != "" && !strings.EqualFold(args, "c:") {
			return b.fails(1, "The system cannot find the path specified."), true
		}
		b.print(" Volume in drive C is Windows\r\n Volume Serial Number is 5EED-CA5E\r\n")
		return 0, true
	case "label":
		return b.fails(1, "Access is denied."), true
	case "start":
		return b.start(ctx, args), true
	case "assoc", "ftype", "dpath", "keys":
		return b.lacks("%s of cmd.exe", name), true
	}
	c := cmdInternals[name]
	if c == nil {
		return 0, false
	}
	words := batchWords(args)
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, `"`, "")
	}
	p := b.process(append([]string{name}, words...))
	code = b.shell.start(ctx, c, p)
	if code != 0 {
		b.cmd.level = code
	}
	return code, true
}

// fails writes a message, sets the errorlevel and returns it.
func (b *batch) fails(code int, message string) int {
	if message != "" {
		b.errorf("%s", message)
	}
	b.cmd.level = code
	return code
}

// start runs a program in the current window and waits for it. It refuses a call that would open another window.
func (b *batch) start(ctx context.Context, args string) int {
	if title := batchWords(args); len(title) > 0 && strings.HasPrefix(title[0], `"`) {
		args = strings.TrimSpace(args[len(title[0]):])
	}
	waits, here := false, false
	for strings.HasPrefix(args, "/") {
		flag, rest, _ := strings.Cut(args, " ")
		switch strings.ToLower(flag) {
		case "/b":
			here = true
		case "/w", "/wait":
			waits = true
		case "/min", "/max", "/low", "/normal", "/high", "/belownormal", "/abovenormal":
		default:
			return b.fails(1, "Invalid switch - \""+flag+"\".")
		}
		args = strings.TrimSpace(rest)
	}
	if name, _ := programWord(args); args == "" || !waits && !here || b.shell.find(name) == nil && b.batchFile(name) == "" {
		return b.lacks("start of cmd.exe")
	}
	before := b.cmd.level
	code := b.external(ctx, args)
	if !waits {
		b.cmd.level, code = before, 0
	}
	return code
}

func (b *batch) print(text string) { _, _ = io.WriteString(b.o.Stdout, text) } // an error means that nothing reads the output

// process returns a process of the script with its current streams.
func (b *batch) process(args []string) *Process {
	return &Process{Args: args, Stdin: b.o.Stdin, Stdout: b.o.Stdout, Stderr: b.o.Stderr, Env: b.cmd.env,
		Dir: b.cmd.dir, Guest: b.shell.guest, shell: b.shell}
}

func (b *batch) echo(rest string) int {
	if rest == "" {
		b.print("ECHO is " + map[bool]string{true: "on", false: "off"}[b.cmd.echo] + ".\r\n")
		return 0
	}
	text := rest[1:]
	if rest[0] == '/' || rest[0] == ' ' || rest[0] == '\t' || rest[0] == ',' || rest[0] == ';' || rest[0] == '=' {
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "on":
			b.cmd.echo = true
			return 0
		case "off":
			b.cmd.echo = false
			return 0
		case "":
			return b.echo("")
		case "?":
			return b.lacks("echo /?")
		}
	}
	b.print(text + "\r\n")
	return 0
}

// chdir changes the directory, and spells it in the case of the existing folders.
func (b *batch) chdir(args string) int {
	drives := strings.HasPrefix(strings.ToLower(args), "/d") && separates(args[2:])
	if drives {
		args = strings.TrimSpace(args[2:])
	}
	code := b.enter(args, drives)
	parts := strings.Split(b.cmd.dir, `\`)
	for i := 1; i < len(parts) && args != "" && code == 0; i++ {
		entries, _ := b.shell.guest.Root.ReadDir(strings.Join(parts[:i], `\`) + `\`) // an unreadable part stays as it is
		for _, e := range entries {
			if strings.EqualFold(e.Name(), parts[i]) {
				parts[i] = e.Name()
			}
		}
	}
	b.cmd.dir = strings.Join(parts, `\`)
	return code
}

// enter changes the directory; drives allows another drive, as /d does.
func (b *batch) enter(to string, drives bool) int {
	to = strings.Trim(to, `"`)
	if to == "" {
		b.print(b.cmd.dir + "\r\n")
		return 0
	}
	dir := b.shell.guest.Root.Abs(b.cmd.dir, to)
	if !b.shell.guest.Root.IsDir(dir) {
		return b.fails(1, "The system cannot find the path specified.")
	}
	if !drives && !strings.EqualFold(dir[:2], b.cmd.dir[:min(2, len(b.cmd.dir))]) {
		return 0 // cmd.exe changes the other drive's own directory, which nothing uses
	}
	b.cmd.dir = dir
	return 0
}

// directories implements pushd and popd.
func (b *batch) directories(name, args string) int {
	if name == "pushd" {
		if args == "" {
			return 0
		}
		old := b.cmd.dir
		if code := b.enter(args, true); code != 0 {
			return code
		}
		if len(b.cmd.stack) < 1000 {
			b.cmd.stack = append(b.cmd.stack, old)
		}
		return 0
	}
	if n := len(b.cmd.stack); n > 0 {
		b.cmd.dir, b.cmd.stack = b.cmd.stack[n-1], b.cmd.stack[:n-1]
		return 0
	}
	return 1
}

func (b *batch) clock(name, args string) int {
	now := b.shell.guest.Clock.Now().UTC()
	if !strings.EqualFold(args, "/t") {
		if args == "" || strings.HasPrefix(args, "/") {
			return b.lacks("%s other than %s /t", name, name)
		}
		return b.fails(1, map[string]string{"date": "The system cannot accept the date entered.",
			"time": "The system cannot accept the time entered."}[name])
	}
	b.print(map[string]string{"date": now.Format("Mon 01/02/2006"), "time": now.Format("03:04 PM")}[name] + "\r\n")
	return 0
}

func (b *batch) exit(args string) int {
	inner := false
	words := strings.Fields(args)
	if len(words) > 0 && strings.EqualFold(words[0], "/b") {
		inner, words = true, words[1:]
	}
	if len(words) > 0 {
		if n, err := strconv.ParseInt(words[0], 0, 64); err == nil {
			b.cmd.level = int(int32(n))
		}
	}
	if inner {
		b.ended = true
	} else {
		b.cmd.exited = true
	}
	b.cmd.left = !inner || b.depth == 0
	return b.cmd.level
}

func (b *batch) shift(args string) int {
	at := 0
	if n, ok := strings.CutPrefix(args, "/"); ok {
		i, err := strconv.Atoi(n)
		if err != nil || i < 0 || i > 8 {
			return b.fails(1, "Invalid parameter to SHIFT command")
		}
		at = max(i-1, 0)
	}
	if at == 0 && args == "" && len(b.o.Args) > 0 {
		b.o.Name = b.o.Args[0]
	}
	if at < len(b.o.Args) {
		b.o.Args = slices.Concat(b.o.Args[:at], b.o.Args[at+1:])
	}
	return 0
}

// splitArgs splits a command line as the C runtime does: at blanks outside of quotes. Before a quote, each pair of
// backslashes becomes one backslash, and an odd one left over makes the quote literal. A doubled quote inside quotes
// is also a literal quote. Other backslashes are literal.
func splitArgs(line string) []string {
	var args []string
	var cur strings.Builder
	quoted, some := false, false
	for i := 0; i < len(line); i++ {
		slashes := len(line[i:]) - len(strings.TrimLeft(line[i:], `\`))
		i += slashes
		quote := i < len(line) && line[i] == '"'
		if quote {
			cur.WriteString(strings.Repeat(`\`, slashes/2))
		} else {
			cur.WriteString(strings.Repeat(`\`, slashes))
		}
		switch some = some || slashes > 0; {
		case i == len(line):
		case quote && (slashes%2 == 1 || quoted && strings.HasPrefix(line[i:], `""`)):
			cur.WriteByte('"')
			i += (slashes + 1) % 2
		case quote:
			quoted, some = !quoted, true
		case (line[i] == ' ' || line[i] == '\t') && !quoted:
			if some {
				args = append(args, cur.String())
			}
			cur.Reset()
			some = false
		default:
			cur.WriteByte(line[i])
			some = true
		}
	}
	if some {
		args = append(args, cur.String())
	}
	return args
}

// batchWords splits arguments as cmd.exe does for %1: at blanks, commas, semicolons and equals signs. Quotes stay.
func batchWords(line string) []string {
	var out []string
	var cur strings.Builder
	quoted := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		if c == '"' {
			quoted = !quoted
		}
		if !quoted && strings.IndexByte(" \t,;=\r", c) >= 0 {
			if cur.Len() > 0 {
				out = append(out, cur.String())
			}
			cur.Reset()
			continue
		}
		cur.WriteByte(c)
	}
	if cur.Len() > 0 {
		out = append(out, cur.String())
	}
	return out
}

// readLine reads a line of standard input, and nothing after it.
func (b *batch) readLine() (string, error) {
	if r, ok := b.o.Stdin.(*bufio.Reader); ok {
		s, err := r.ReadString('\n')
		return strings.TrimRight(s, "\r\n"), err
	}
	var line []byte
	var one [1]byte
	for {
		n, err := b.o.Stdin.Read(one[:])
		if n == 1 {
			if one[0] == '\n' {
				return strings.TrimSuffix(string(line), "\r"), nil
			}
			line = append(line, one[0])
		}
		if err != nil || len(line) > maxLine {
			if len(line) > 0 && errors.Is(err, io.EOF) {
				err = nil
			}
			return string(line), err
		}
	}
}
