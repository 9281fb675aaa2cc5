package shell

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"casement.dev/casement/internal/sim/guest/sed"
)

// guestFiles gives a script of sed access to the files that it names. made has the files that the run has written to.
type guestFiles struct {
	p    *Process
	made map[string]bool
}

// ReadFile implements sed.Files.
func (f guestFiles) ReadFile(name string) ([]byte, error) {
	if name == "/dev/stdin" {
		name = "-"
	}
	return f.p.read(name)
}

// AppendFile implements sed.Files.
func (f guestFiles) AppendFile(name, text string) error {
	if name == "/dev/stdout" {
		f.p.Printf("%s", text)
		return nil
	}
	write := f.p.Guest.Root.AppendFile
	if !f.made[name] {
		write = f.p.Guest.Root.WriteFile
	}
	f.made[name] = true
	return write(f.p.Abs(name), []byte(text), 0o644)
}

func sedCommand(_ context.Context, p *Process, o options) int {
	scripts := o.values("e")
	for _, f := range o.values("f") {
		data, err := p.read(f)
		if err != nil {
			return p.Fail(1, "sed: couldn't open file %s: %s", f, reason(err))
		}
		scripts = append(scripts, strings.TrimSuffix(string(data), "\n"))
	}
	files := o.operands
	if len(scripts) == 0 {
		if len(files) == 0 {
			return p.Fail(1, "Usage: sed [OPTION]... {script-only-if-no-other-script} [input-file]...")
		}
		scripts, files = files[:1], files[1:]
	}
	program, err := sed.Parse(strings.Join(scripts, "\n"), o.has("E"))
	if unsupported, ok := errors.AsType[sed.Unsupported](err); ok {
		return p.Refuse("%s of sed", unsupported)
	}
	if err != nil {
		return p.Fail(1, "sed: -e expression #1: %v", err)
	}
	if o.has("z") {
		program.End = "\x00"
	}
	if o.has("i") && len(files) == 0 {
		return p.Fail(4, "sed: no input files")
	}
	if !o.has("i", "s") {
		in := p.opened(files)
		in.unreadable = func(name string, err error) {
			if in.code = p.Fail(2, "sed: can't read %s: %s", name, reason(err)); errors.Is(err, errIsDirectory) {
				in.code = 4
			}
		}
		lines := func() (string, bool) { return in.until(program.End[0]) }
		c, err := program.Run(p.meter, lines, o.has("n"), p.Stdout, guestFiles{p, map[string]bool{}})
		if err != nil {
			return p.Fail(1, "sed: %v", err)
		}
		return cmp.Or(c, in.code)
	}
	code := 0
	for _, f := range orStdin(files) {
		data, err := p.read(f)
		if err != nil {
			code = p.Fail(2, "sed: can't read %s: %s", f, reason(err))
			continue
		}
		if c := sedFile(p, program, f, data, o); c != 0 {
			return c
		}
	}
	return code
}

// sedFile edits one file separately, and in place with -i.
func sedFile(p *Process, program *sed.Program, name string, data []byte, o options) int {
	var out bytes.Buffer
	c, err := program.Run(p.meter, sed.LinesOf(string(data), program.End[0]), o.has("n"), &out, guestFiles{p, map[string]bool{}})
	if err != nil {
		return p.Fail(1, "sed: %v", err)
	}
	if !o.has("i") {
		_, _ = p.Stdout.Write(out.Bytes()) // an error means that nothing reads the output
		return c
	}
	root, at := p.Guest.Root, p.Abs(name)
	if suffix := o.value("i"); suffix != "" {
		backup := at + suffix
		if strings.Contains(suffix, "*") {
			backup = path.Join(path.Dir(at), strings.ReplaceAll(suffix, "*", path.Base(at)))
		}
		if err := root.WriteFile(backup, data, modeOf(p, at)); err != nil {
			return p.failed(name, err)
		}
	}
	if err := root.WriteFile(at, out.Bytes(), 0o644); err != nil {
		return p.failed(name, err)
	}
	return c
}

func modeOf(p *Process, name string) fs.FileMode {
	if info, err := p.Guest.Root.Stat(name); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}
