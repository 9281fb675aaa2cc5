package shell

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// listed is a file that ls shows.
type listed struct {
	name string
	info fs.FileInfo
}

// list is ls. Without a terminal it prints one name per line.
func list(_ context.Context, p *Process, o options) int {
	if o.has("C", "i", "n") {
		return p.Refuse("ls %s", strings.Join(p.Args[1:], " "))
	}
	names := o.operands
	if len(names) == 0 {
		names = []string{"."}
	}
	code := 0
	var files, dirs []listed
	for _, n := range names {
		info, err := p.Guest.Root.Lstat(p.Abs(n))
		if err == nil && info.Mode()&fs.ModeSymlink != 0 && !o.has("l", "d") {
			if to, err := p.Guest.Root.Stat(p.Abs(n)); err == nil {
				info = to
			}
		}
		switch {
		case err != nil:
			code = p.Fail(2, "ls: cannot access '%s': %s", n, reason(err))
		case info.IsDir() && !o.has("d"):
			dirs = append(dirs, listed{n, info})
		default:
			files = append(files, listed{n, info})
		}
	}
	showFiles(p, o, files)
	sortFiles(o, dirs)
	for i, d := range dirs {
		if i > 0 || len(files) > 0 {
			p.Printf("\n")
		}
		listDir(p, o, d.name, len(names) > 1 || o.has("R"))
	}
	return code
}

func listDir(p *Process, o options, dir string, named bool) {
	if named {
		p.Printf("%s:\n", dir)
	}
	var entries []listed
	var below []string
	if o.has("a") {
		for _, dots := range []string{".", ".."} {
			if info, err := p.Guest.Root.Stat(p.Abs(dir + "/" + dots)); err == nil {
				entries = append(entries, listed{dots, info})
			}
		}
	}
	all, err := p.Guest.Root.ReadDir(p.Abs(dir))
	if err != nil {
		p.failed(dir, err)
		return
	}
	for _, e := range all {
		info, err := e.Info()
		if err != nil || strings.HasPrefix(e.Name(), ".") && !o.has("a", "A") {
			continue
		}
		entries = append(entries, listed{e.Name(), info})
		if info.IsDir() {
			below = append(below, dir+"/"+e.Name())
		}
	}
	if o.has("l") {
		p.Printf("total %d\n", 4*len(entries))
	}
	showFiles(p, o, entries)
	for _, d := range below {
		if o.has("R") {
			p.Printf("\n")
			listDir(p, o, d, true)
		}
	}
}

// sortFiles orders files as ls prints them.
func sortFiles(o options, files []listed) {
	slices.SortStableFunc(files, func(a, b listed) int {
		c := strings.Compare(a.name, b.name)
		switch {
		case o.has("t"):
			c = cmp.Or(b.info.ModTime().Compare(a.info.ModTime()), c)
		case o.has("S"):
			c = cmp.Or(cmp.Compare(b.info.Size(), a.info.Size()), c)
		}
		if o.has("r") {
			return -c
		}
		return c
	})
}

func showFiles(p *Process, o options, files []listed) {
	sortFiles(o, files)
	width := 1
	for _, f := range files {
		width = max(width, len(fmt.Sprint(f.info.Size())))
	}
	for _, f := range files {
		name := f.name
		mode := f.info.Mode()
		switch {
		case (o.has("F") || o.has("p")) && mode.IsDir():
			name += "/"
		case o.has("F") && mode.IsRegular() && mode&0o111 != 0:
			name += "*"
		case o.has("F") && mode&fs.ModeSymlink != 0 && !o.has("l"):
			name += "@"
		}
		if !o.has("l") {
			p.Printf("%s\n", name)
			continue
		}
		if target, err := p.Guest.Root.Readlink(p.Abs(f.name)); err == nil && mode&fs.ModeSymlink != 0 {
			name += " -> " + target
		}
		p.Printf("%s 1 root root %*d %s %s\n", modeText(mode), width, f.info.Size(), f.info.ModTime().UTC().Format("Jan _2 15:04"), name)
	}
}

// programPath returns the path of a command on the Linux image.
func (s *Shell) programPath(name string) string {
	if s.commands[name] == nil || s.lacks(name) {
		return ""
	}
	switch name {
	case "kubeadm", "kubelet", "kubectl":
		return "/usr/bin/" + name
	case "reboot", "shutdown", "modprobe", "sysctl", "swapoff", "iptables", "useradd", "groupadd", "usermod":
		return "/usr/sbin/" + name
	}
	return "/usr/bin/" + name
}

// whichCommand prints where programs are.
func whichCommand(_ context.Context, p *Process, o options) int {
	code := 0
	for _, n := range o.operands {
		at := p.shell.programPath(n)
		if strings.Contains(n, "/") {
			at = ""
			if p.Guest.Root.Exists(p.Abs(n)) || isBin(p.Abs(n)) && p.shell.programPath(path.Base(n)) != "" {
				at = n
			}
		}
		for _, dir := range strings.Split(p.Env["PATH"], ":") {
			file := path.Join(dir, n)
			if info, err := p.Guest.Root.Stat(file); err == nil && !strings.Contains(n, "/") &&
				info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				at = file
				break
			}
		}
		if at == "" {
			code = 1
			continue
		}
		p.Printf("%s\n", at)
	}
	return code
}
