package shell

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// failed reports err as coreutils do and returns 1.
func (p *Process) failed(name string, err error) int {
	return p.Fail(1, "%s: %s: %s", p.Args[0], name, reason(err))
}

func reason(err error) string {
	switch {
	case isErr(err, fs.ErrNotExist):
		return "No such file or directory"
	case isErr(err, fs.ErrExist):
		return "File exists"
	case isErr(err, fs.ErrPermission):
		return "Permission denied"
	}
	if pe, ok := asPathError(err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}

func cat(_ context.Context, p *Process) int {
	_, files := operands(p.Args[1:])
	code := 0
	for _, f := range orStdin(files) {
		data, err := p.read(f)
		if err != nil {
			code = p.failed(f, err)
			continue
		}
		p.Stdout.Write(data)
	}
	return code
}

func orStdin(files []string) []string {
	if len(files) == 0 {
		return []string{"-"}
	}
	return files
}

// read returns a file's content, or standard input for "-". It knows the few
// files of /proc and /sys that scripts ask for.
func (p *Process) read(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(p.Stdin, 64<<20))
	}
	switch file := p.Abs(name); file {
	case "/sys/class/net/eth0/address":
		return []byte(p.Guest.MAC() + "\n"), nil
	case "/proc/uptime":
		return []byte("60.00 60.00\n"), nil
	case "/dev/null":
		return nil, nil
	default:
		return p.Guest.Root.ReadFile(file)
	}
}

func mkdir(_ context.Context, p *Process) int {
	flags, dirs := operands(p.Args[1:])
	for i := 0; i < len(dirs); i++ {
		if strings.HasSuffix(flags, "m") && i == 0 && len(dirs) > 1 && isMode(dirs[0]) {
			continue
		}
		d := p.Abs(dirs[i])
		parents := strings.Contains(flags, "p") || strings.Contains(flags, "--parents")
		if !parents {
			if p.Guest.Root.Exists(d) {
				return p.Fail(1, "mkdir: cannot create directory '%s': File exists", dirs[i])
			}
			if !p.Guest.Root.IsDir(path.Dir(d)) {
				return p.Fail(1, "mkdir: cannot create directory '%s': No such file or directory", dirs[i])
			}
		}
		if err := p.Guest.Root.MkdirAll(d); err != nil {
			return p.failed(dirs[i], err)
		}
	}
	return 0
}

func isMode(s string) bool { _, err := strconv.ParseUint(s, 8, 12); return err == nil }

func remove(_ context.Context, p *Process) int {
	flags, files := operands(p.Args[1:])
	force, recursive := strings.Contains(flags, "f"), strings.ContainsAny(flags, "rR")
	for _, f := range files {
		name := p.Abs(f)
		info, err := p.Guest.Root.Lstat(name)
		if err != nil {
			if force {
				continue
			}
			return p.failed(f, err)
		}
		if info.IsDir() && !recursive {
			return p.Fail(1, "rm: cannot remove '%s': Is a directory", f)
		}
		if err := p.Guest.Root.RemoveAll(name); err != nil {
			return p.failed(f, err)
		}
	}
	return 0
}

func copyFiles(_ context.Context, p *Process) int {
	flags, args := operands(p.Args[1:])
	if len(args) < 2 {
		return p.Fail(1, "cp: missing file operand")
	}
	to := p.Abs(args[len(args)-1])
	for _, f := range args[:len(args)-1] {
		from, target := p.Abs(f), to
		if p.Guest.Root.IsDir(to) {
			target = path.Join(to, path.Base(from))
		}
		if p.Guest.Root.IsDir(from) && !strings.ContainsAny(flags, "rRa") {
			return p.Fail(1, "cp: -r not specified; omitting directory '%s'", f)
		}
		if err := copyTree(p, from, target); err != nil {
			return p.failed(f, err)
		}
	}
	return 0
}

// maxCopied bounds the files of one copy, which a tree that is copied into itself
// would never end.
const maxCopied = 1000

// copyTree copies a file, or a directory with all in it.
func copyTree(p *Process, from, to string) error {
	left := maxCopied
	return copyInto(p, from, to, 0, &left)
}

func copyInto(p *Process, from, to string, depth int, left *int) error {
	root := p.Guest.Root
	info, err := root.Stat(from)
	if err != nil {
		return err
	}
	if *left--; *left < 0 || depth > 64 {
		return fmt.Errorf("%s: the tree is too large or too deep, or copied into itself (a bound of the simulation)", from)
	}
	if !info.IsDir() {
		data, err := p.read(from)
		if err != nil {
			return err
		}
		return root.WriteFile(to, data, info.Mode().Perm())
	}
	if err := root.MkdirAll(to); err != nil {
		return err
	}
	entries, err := root.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := copyInto(p, root.Abs(from, e.Name()), root.Abs(to, e.Name()), depth+1, left); err != nil {
			return err
		}
	}
	return nil
}

func move(_ context.Context, p *Process) int {
	_, args := operands(p.Args[1:])
	if len(args) < 2 {
		return p.Fail(1, "mv: missing file operand")
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

func link(_ context.Context, p *Process) int {
	flags, args := operands(p.Args[1:])
	if len(args) < 2 || !strings.Contains(flags, "s") {
		return p.Fail(1, "ln: only symbolic links are simulated")
	}
	name := p.Abs(args[1])
	if strings.Contains(flags, "f") {
		_ = p.Guest.Root.Remove(name) // it need not be there
	}
	if err := p.Guest.Root.Symlink(args[0], name); err != nil {
		return p.failed(args[1], err)
	}
	return 0
}

func readlink(_ context.Context, p *Process) int {
	_, args := operands(p.Args[1:])
	for _, a := range args {
		p.Printf("%s\n", p.Abs(a))
	}
	return 0
}

func list(_ context.Context, p *Process) int {
	flags, names := operands(p.Args[1:])
	if len(names) == 0 {
		names = []string{"."}
	}
	code := 0
	for _, n := range names {
		dir := p.Abs(n)
		info, err := p.Guest.Root.Stat(dir)
		if err != nil {
			code = p.Fail(2, "ls: cannot access '%s': %s", n, reason(err))
			continue
		}
		infos := []fs.FileInfo{info}
		if info.IsDir() && !strings.Contains(flags, "d") {
			infos = nil
			entries, err := p.Guest.Root.ReadDir(dir)
			if err != nil {
				code = p.failed(n, err)
				continue
			}
			for _, e := range entries {
				if i, err := e.Info(); err == nil && (strings.ContainsAny(flags, "aA") || !strings.HasPrefix(e.Name(), ".")) {
					infos = append(infos, i)
				}
			}
		}
		for _, i := range infos {
			name := i.Name()
			if !info.IsDir() {
				name = n
			}
			if strings.Contains(flags, "l") {
				p.Printf("%s 1 root root %8d %s %s\n", i.Mode(), i.Size(), i.ModTime().UTC().Format("Jan _2 15:04"), name)
			} else {
				p.Printf("%s\n", name)
			}
		}
	}
	return code
}

func touch(_ context.Context, p *Process) int {
	_, files := operands(p.Args[1:])
	for _, f := range files {
		if err := p.Guest.Root.AppendFile(p.Abs(f), nil, 0o644); err != nil {
			return p.Fail(1, "touch: cannot touch '%s': %s", f, reason(err))
		}
	}
	return 0
}

func tee(_ context.Context, p *Process) int {
	flags, files := operands(p.Args[1:])
	data, err := p.read("-")
	if err != nil {
		return p.failed("-", err)
	}
	p.Stdout.Write(data)
	for _, f := range files {
		write := p.Guest.Root.WriteFile
		if strings.Contains(flags, "a") {
			write = p.Guest.Root.AppendFile
		}
		if err := write(p.Abs(f), data, 0o644); err != nil {
			return p.failed(f, err)
		}
	}
	return 0
}

func chmod(_ context.Context, p *Process) int {
	_, args := operands(p.Args[1:])
	if len(args) < 2 {
		return p.Fail(1, "chmod: missing operand")
	}
	for _, f := range args[1:] {
		info, err := p.Guest.Root.Stat(p.Abs(f))
		if err != nil {
			return p.Fail(1, "chmod: cannot access '%s': %s", f, reason(err))
		}
		mode := info.Mode().Perm()
		if n, err := strconv.ParseUint(args[0], 8, 12); err == nil {
			mode = fs.FileMode(n)
		} else if strings.Contains(args[0], "+x") {
			mode |= 0o111
		}
		if err := p.Guest.Root.Chmod(p.Abs(f), mode|0o600); err != nil { // the simulator itself must read it
			return p.failed(f, err)
		}
	}
	return 0
}

func find(_ context.Context, p *Process) int {
	dir, name := ".", "*"
	for i, a := range p.Args[1:] {
		if i == 0 && !strings.HasPrefix(a, "-") {
			dir = a
		}
		if a == "-name" && i+2 < len(p.Args) {
			name = p.Args[i+2]
		}
	}
	return findIn(p, dir, name, 0)
}

func findIn(p *Process, dir, name string, depth int) int {
	entries, err := p.Guest.Root.ReadDir(p.Abs(dir))
	if err != nil || depth > 64 {
		return p.Fail(1, "find: '%s': %s", dir, "No such file or directory")
	}
	for _, e := range entries {
		at := path.Join(dir, e.Name())
		if ok, err := path.Match(name, e.Name()); err == nil && ok {
			p.Printf("%s\n", at)
		}
		if e.IsDir() {
			findIn(p, at, name, depth+1)
		}
	}
	return 0
}

func mktemp(_ context.Context, p *Process) int {
	flags, _ := operands(p.Args[1:])
	name := fmt.Sprintf("/tmp/tmp.%d", p.Guest.Clock.Now().UnixNano())
	err := p.Guest.Root.WriteFile(name, nil, 0o600)
	if strings.Contains(flags, "d") {
		_ = p.Guest.Root.Remove(name) // made a moment ago
		err = p.Guest.Root.MkdirAll(name)
	}
	if err != nil {
		return p.failed(name, err)
	}
	p.Printf("%s\n", name)
	return 0
}
