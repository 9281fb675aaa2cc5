package powershell

import (
	"bytes"
	"strings"
)

// programStage is the stage of a native program in a pipeline.
type programStage struct {
	r     *run
	name  string
	args  []argumentValue
	input []any
	out   sink
	piped bool
}

func (s *programStage) begin() error        { return nil }
func (s *programStage) process(v any) error { s.input = append(s.input, v); return s.r.take(16) }

func (s *programStage) end() error {
	r := s.r
	p := &Program{Args: append([]string{s.name}, split(commandLine(s.args))...), Stdin: r.session.Stdin, Env: r.session.Env, Dir: r.dir}
	if base := strings.TrimSuffix(strings.ToLower(base(s.name)), ".exe"); base == "cmd" {
		p.Args = append([]string{s.name}, words(s.args)...)
	}
	if s.piped {
		var b bytes.Buffer
		shown := &printer{r: r, to: &b}
		for _, v := range s.input {
			if err := shown.put(v); err != nil {
				return err
			}
		}
		shown.flush(nil)
		p.Stdin = &b
	}
	out := &lineWriter{r: r, to: s.out}
	p.Stdout = out
	// If the preference is Stop, a line of the redirected error stream ends the script.
	stops := r.redirected[2] != nil && r.preference("erroractionpreference") == "stop"
	var complaint error
	errs := &lineWriter{r: r, to: func(v any) error {
		f := &failure{exception: exception{kind: "System.Management.Automation.RemoteException", message: text(v)},
			id: "NativeCommandError", command: base(s.name)}
		if stops && complaint == nil {
			complaint = f.stop()
		}
		if to := r.redirected[2]; to != nil {
			return to(f)
		}
		return nil
	}}
	p.Stderr = r.session.Stderr
	if r.redirected[2] != nil {
		p.Stderr = errs
	}
	code, found := r.host.Start(r.ctx, p)
	if !found {
		return noCommand(s.name)
	}
	out.flush()
	errs.flush()
	r.lastExit, r.ok = int64(int32(code)), code == 0
	if out.err != nil {
		return out.err
	}
	if complaint != nil {
		return complaint
	}
	return r.ctx.Err()
}

// lineWriter passes each line that is written to it to a sink.
type lineWriter struct {
	r    *run
	to   sink
	part []byte
	err  error
}

// Write implements io.Writer.
func (w *lineWriter) Write(b []byte) (int, error) {
	w.part = append(w.part, b...)
	if err := w.r.take(len(b)); err != nil {
		w.err = err
		return 0, err
	}
	for w.err == nil {
		i := bytes.IndexByte(w.part, '\n')
		if i < 0 {
			break
		}
		line := strings.TrimSuffix(string(w.part[:i]), "\r")
		w.part = w.part[i+1:]
		w.err = w.to(line)
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(b), nil
}

func (w *lineWriter) flush() {
	if len(w.part) > 0 && w.err == nil {
		w.err = w.to(strings.TrimSuffix(string(w.part), "\r"))
		w.part = nil
	}
}

// words returns arguments as the words of a native program's command line.
func words(args []argumentValue) []string {
	var out []string
	for n, a := range args {
		switch {
		case a.parameter != "" && a.joined:
			out = append(out, a.text+text(a.value))
			continue
		case a.parameter != "":
			out = append(out, a.text)
			continue
		}
		if a.text == "--%" && a.bare {
			for _, rest := range args[n+1:] {
				out = append(out, split(text(rest.value))...)
			}
			return out
		}
		for i, item := range argumentItems(a) {
			if i == 0 && a.glued && len(out) > 0 {
				out[len(out)-1] += item
				continue
			}
			out = append(out, item)
		}
	}
	return out
}

// argumentItems returns the words that a value becomes on a program's command line. A list becomes one word per item.
func argumentItems(a argumentValue) []string {
	if a.value == nil {
		return nil
	}
	if isNumber(a.value) && a.bare && a.text != "" {
		return []string{a.text}
	}
	var out []string
	for _, item := range list(a.value) {
		out = append(out, text(item))
	}
	return out
}

// commandLine returns the command line that Windows PowerShell makes: a word with a blank outside of quotes is
// put into quotes, and quotes within it are not escaped.
func commandLine(args []argumentValue) string {
	list := words(args)
	for i, a := range list {
		quotes, blank := 0, false
		for j := range len(a) {
			switch {
			case a[j] == '"' && (j == 0 || a[j-1] != '\\'):
				quotes++
			case (a[j] == ' ' || a[j] == '\t') && quotes%2 == 0:
				blank = true
			}
		}
		if blank {
			if strings.HasSuffix(a, `\`) {
				a += `\`
			}
			list[i] = `"` + a + `"`
		}
	}
	return strings.Join(list, " ")
}

// split splits a command line into words as the C runtime does.
func split(line string) []string {
	var args []string
	var cur strings.Builder
	quoted, started := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\':
			n := 0
			for i < len(line) && line[i] == '\\' {
				n, i = n+1, i+1
			}
			if i < len(line) && line[i] == '"' {
				cur.WriteString(strings.Repeat(`\`, n/2))
				if n%2 == 1 {
					cur.WriteByte('"')
					started = true
					continue
				}
				i--
				continue
			}
			cur.WriteString(strings.Repeat(`\`, n))
			started = true
			i--
		case c == '"':
			quoted, started = !quoted, true
		case (c == ' ' || c == '\t') && !quoted:
			if started {
				args = append(args, cur.String())
			}
			cur.Reset()
			started = false
		default:
			cur.WriteByte(c)
			started = true
		}
	}
	if started {
		args = append(args, cur.String())
	}
	return args
}
