package shell

import (
	"cmp"
	"context"
	"crypto/rand"
	"io/fs"
	"path"
	"strings"
)

func mktemp(_ context.Context, p *Process, o options) int {
	dir, template := cmp.Or(p.Env["TMPDIR"], "/tmp"), "tmp.XXXXXXXXXX"
	if given := cmp.Or(o.value("p"), o.value("tmpdir")); given != "" {
		dir = given
	}
	if len(o.operands) > 0 {
		template = o.operands[0]
		if !o.has("p", "t", "tmpdir") {
			dir = ""
		}
	}
	template += o.value("suffix")
	marks := strings.Count(template, "X")
	if marks < 3 {
		return p.Fail(1, "mktemp: too few X's in template '%s'", template)
	}
	end := strings.LastIndexByte(template, 'X') + 1
	start := end
	for start > 0 && template[start-1] == 'X' {
		start--
	}
	for range 100 {
		name := template[:start] + strings.Repeat(rand.Text(), (end-start)/26+1)[:end-start] + template[end:]
		if dir != "" {
			name = strings.TrimSuffix(dir, "/") + "/" + name
		}
		at := p.Abs(name)
		if p.Guest.Root.Exists(at) {
			continue
		}
		var err error
		switch {
		case !p.Guest.Root.IsDir(path.Dir(at)):
			err = fs.ErrNotExist
		case o.has("u"):
		case o.has("d"):
			err = p.makeDir(at, 0o700)
		default:
			err = p.Guest.Root.WriteFile(at, nil, 0o600)
		}
		if err != nil {
			if o.has("q") {
				return 1
			}
			return p.Fail(1, "mktemp: failed to create file via template '%s': %s", template, reason(err))
		}
		p.Printf("%s\n", name)
		return 0
	}
	return p.Fail(1, "mktemp: failed to create file via template '%s': File exists", template)
}

func basename(_ context.Context, p *Process, o options) int {
	names, suffix := o.operands, o.value("s")
	if len(names) == 0 {
		return p.missing("operand")
	}
	if !o.has("a", "s") {
		if len(names) > 2 {
			return p.Fail(1, "basename: extra operand '%s'", names[2])
		}
		if len(names) == 2 {
			suffix = names[1]
		}
		names = names[:1]
	}
	for _, n := range names {
		base := path.Base(n)
		if n == "" {
			base = ""
		}
		if base != suffix {
			base = strings.TrimSuffix(base, suffix)
		}
		p.Printf("%s\n", base)
	}
	return 0
}

func dirname(_ context.Context, p *Process, o options) int {
	if len(o.operands) == 0 {
		return p.missing("operand")
	}
	for _, n := range o.operands {
		trimmed := strings.TrimRight(n, "/")
		i := strings.LastIndexByte(trimmed, '/')
		switch {
		case trimmed == "" && n != "":
			trimmed = "/"
		case i < 0:
			trimmed = "."
		default:
			if trimmed = strings.TrimRight(trimmed[:i], "/"); trimmed == "" {
				trimmed = "/"
			}
		}
		p.Printf("%s\n", trimmed)
	}
	return 0
}
