package shell

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"casement.dev/casement/internal/sim/guest/awk"
)

var awkAssignment = regexp.MustCompile(`(?s)^([A-Za-z_][A-Za-z0-9_]*)=(.*)$`)

func awkCommand(ctx context.Context, p *Process, o options) int {
	args, script := o.operands, ""
	for _, f := range o.values("f") {
		data, err := p.read(f)
		if err != nil {
			return p.Fail(2, "awk: cannot open %s (%s)", f, reason(err))
		}
		script += string(data) + "\n"
	}
	if !o.has("f") {
		if len(args) == 0 {
			return p.Fail(0, "usage: awk [-F fs][-v var=value][prog | -f progfile][file ...]")
		}
		script, args = args[0], args[1:]
	}
	program, err := awk.Parse(script)
	code := 2
	if err == nil {
		vars := map[string]string{}
		if o.has("F") {
			vars["FS"] = unescape(o.value("F"))
		}
		for _, v := range o.values("v") {
			name, value, _ := strings.Cut(v, "=")
			vars[name] = unescape(value)
		}
		arrays := map[string]map[string]string{"ENVIRON": p.Env, "ARGV": {"0": "awk"}}
		for i, a := range args {
			arrays["ARGV"][strconv.Itoa(i+1)] = a
		}
		vars["ARGC"] = strconv.Itoa(len(args) + 1)
		in := &awkInputs{p: p, args: args}
		files := guestFiles{p, map[string]bool{}}
		write := func(name, text string, appended bool) error {
			if p.device(name, []byte(text)) {
				return nil
			}
			if appended {
				files.made[name] = true
			}
			return files.AppendFile(name, text)
		}
		open := func(name string) (awk.Input, error) {
			file, err := p.open(name)
			return awk.Input{Name: name, Until: file.until}, err
		}
		command := func(text, input string, captured bool) (string, int) {
			inner, out := *p, strings.Builder{}
			if input != "" {
				inner.Stdin = strings.NewReader(input)
			}
			if captured {
				inner.Stdout = &out
			}
			p.meter.Look() // the command may take long, so check that the program may continue
			code := p.shell.child(ctx, &inner, []string{"sh", "-c", text})
			return out.String(), code
		}
		code, err = program.Run(p.meter, vars, arrays, in.next, p.Stdout, awk.Host{Write: write, Open: open, Command: command})
		code = max(code, in.code)
	}
	if unsupported, ok := errors.AsType[awk.Unsupported](err); ok {
		return p.Refuse("%s of awk", unsupported)
	}
	if err != nil {
		return p.Fail(2, "awk: %v", err)
	}
	return code
}

// awkInputs are the operands of awk that are not read yet: files and assignments.
type awkInputs struct {
	p    *Process
	args []string
	read bool
	code int
}

func (in *awkInputs) next() (awk.Input, bool) {
	if len(in.args) > 0 {
		a := in.args[0]
		in.args = in.args[1:]
		if m := awkAssignment.FindStringSubmatch(a); m != nil {
			return awk.Input{Assign: m[1], Text: unescape(m[2])}, true
		}
		in.read = true
		file, err := in.p.open(a)
		if err != nil {
			in.code = in.p.Fail(2, "awk: cannot open %s (%s)", a, reason(err))
			return awk.Input{Failed: true}, true
		}
		return awk.Input{Name: a, Until: file.until}, true
	}
	if in.read {
		return awk.Input{}, false
	}
	in.read = true
	file, err := in.p.open("-")
	return awk.Input{Until: file.until}, err == nil
}
