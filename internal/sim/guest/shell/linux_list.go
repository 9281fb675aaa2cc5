package shell

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"time"
)

// listed is a file that ls shows: its name and its path.
type listed struct {
	name, at string
	info     fs.FileInfo
}

// list implements ls. Without a terminal it prints one name per line.
func list(_ context.Context, p *Process, o options) int {
	if style := o.value("time-style"); o.has("C", "i", "n") || style != "" && style != "long-iso" && style != "full-iso" && style[0] != '+' {
		return p.Refuse("ls %s", strings.Join(p.Args[1:], " "))
	}
	names := orFolder(o.operands)
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
			dirs = append(dirs, listed{n, p.Abs(n), info})
		default:
			files = append(files, listed{n, p.Abs(n), info})
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

// listDir lists a folder, and with -R the folders below it.
func listDir(p *Process, o options, dir string, named bool) {
	if named {
		p.Printf("%s:\n", dir)
	}
	var entries []listed
	var below []string
	if o.has("a") {
		for _, dots := range []string{".", ".."} {
			if info, err := p.Guest.Root.Stat(p.Abs(dir + "/" + dots)); err == nil {
				entries = append(entries, listed{dots, p.Abs(dir + "/" + dots), info})
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
		entries = append(entries, listed{e.Name(), p.Abs(dir + "/" + e.Name()), info})
		if info.IsDir() {
			below = append(below, dir+"/"+e.Name())
		}
	}
	if o.has("l") {
		blocks := int64(0)
		for _, e := range entries {
			if e.info.Mode()&fs.ModeSymlink == 0 {
				blocks += (e.info.Size() + 4095) / 4096 * 4
			}
		}
		p.Printf("total %s\n", map[bool]string{true: humanSize(blocks << 10), false: fmt.Sprint(blocks)}[o.has("h")])
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
	sizes, links := make([]string, len(files)), make([]string, len(files))
	width, most := 0, 0
	for i, f := range files {
		sizes[i], links[i] = fmt.Sprint(f.info.Size()), "1"
		if o.has("h") {
			sizes[i] = humanSize(f.info.Size())
		}
		if f.info.IsDir() && o.has("l") {
			links[i] = fmt.Sprint(2 + len(p.foldersIn(f.at)))
		}
		width, most = max(width, len(sizes[i])), max(most, len(links[i]))
	}
	for i, f := range files {
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
		if target, err := p.Guest.Root.Readlink(f.at); err == nil && mode&fs.ModeSymlink != 0 {
			name += " -> " + target
		}
		when, now := f.info.ModTime().UTC(), p.now()
		format := "%b %e %H:%M"
		if when.After(now) || now.Sub(when) > 31556952/2*time.Second {
			format = "%b %e  %Y"
		}
		if style := o.value("time-style"); style != "" {
			format = cmp.Or(map[string]string{"long-iso": "%Y-%m-%d %H:%M", "full-iso": "%Y-%m-%d %H:%M:%S.%N %z"}[style],
				strings.TrimPrefix(style, "+"))
		}
		date, _ := dateText(format, when)
		p.Printf("%s %*s root root %*s %s %s\n", modeText(mode), most, links[i], width, sizes[i], date, name)
	}
}

// foldersIn returns the folders in a folder.
func (p *Process) foldersIn(dir string) []fs.DirEntry {
	entries, _ := p.Guest.Root.ReadDir(dir) // an unreadable folder has none
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() })
}

// humanSize returns a number of bytes with a unit, rounded up.
func humanSize(n int64) string {
	size, unit := float64(n), -1
	for ; size >= 1024; size /= 1024 {
		unit++
	}
	switch {
	case unit < 0:
		return fmt.Sprint(n)
	case math.Ceil(size*10) < 100:
		return fmt.Sprintf("%.1f%c", math.Ceil(size*10)/10, "KMGTPE"[unit])
	case math.Ceil(size) >= 1024:
		return fmt.Sprintf("1.0%c", "KMGTPE"[unit+1])
	}
	return fmt.Sprintf("%.0f%c", math.Ceil(size), "KMGTPE"[unit])
}

// programPath returns the path of a command on the Linux image.
func (s *Shell) programPath(name string) string {
	if s.commands[name] == nil || s.lacks(name) {
		return ""
	}
	switch name {
	case "reboot", "shutdown", "modprobe", "sysctl", "swapoff", "iptables", "useradd", "groupadd", "usermod":
		return "/usr/sbin/" + name
	}
	return "/usr/bin/" + name
}

// whichCommand prints the paths of programs.
func whichCommand(_ context.Context, p *Process, o options) int {
	code := 0
	for _, n := range o.operands {
		at := ""
		switch {
		case !strings.Contains(n, "/"):
			at = cmp.Or(p.shell.inPath(p.Dir, p.Env["PATH"], n, isExecutable), p.shell.programPath(n))
		case p.Guest.Root.Exists(p.Abs(n)) || isBin(p.Abs(n)) && p.shell.programPath(path.Base(n)) != "":
			at = n
		}
		if at == "" {
			code = 1
			continue
		}
		p.Printf("%s\n", at)
	}
	return code
}
