package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
)

// scp is the remote end of the copy protocol that OpenSSH's scp used before version 9, and still uses with -O: -t
// receives files and -f sends them.
func scp(_ context.Context, p *Process) int {
	var flags string
	var files []string
	for _, a := range p.Args[1:] {
		if strings.HasPrefix(a, "-") && len(a) > 1 {
			flags += a[1:]
		} else {
			files = append(files, a)
		}
	}
	c := &copyEnd{p: p, in: bufio.NewReader(p.Stdin), recursive: strings.Contains(flags, "r")}
	var err error
	switch {
	case len(files) == 0 || strings.ContainsAny(flags, "t") == strings.ContainsAny(flags, "f"):
		return p.Fail(1, "scp: simulated: only as the far end of a copy")
	case strings.Contains(flags, "t"):
		err = c.sink(scpPath(files[0]))
	default:
		err = c.source(files)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return 1
	}
	return c.code
}

// scpPath removes the slash before a drive.
func scpPath(name string) string {
	if len(name) > 2 && name[0] == '/' && name[2] == ':' {
		return name[1:]
	}
	return name
}

// copyEnd is the guest's side of a copy.
type copyEnd struct {
	p         *Process
	in        *bufio.Reader
	recursive bool
	code      int
}

// longestControl bounds a line of the protocol, in bytes.
const longestControl = 8 << 10

func (c *copyEnd) ok() error {
	_, err := c.p.Stdout.Write([]byte{0})
	return err
}

// refuse reports a failure to the other side; the copy continues.
func (c *copyEnd) refuse(format string, a ...any) error {
	c.code = 1
	_, err := fmt.Fprintf(c.p.Stdout, "\x01scp: "+format+"\n", a...)
	return err
}

// answered waits for the acknowledgement of the other side.
func (c *copyEnd) answered() error {
	b, err := c.in.ReadByte()
	if err != nil || b == 0 {
		return err
	}
	line, err := c.line()
	c.code = 1
	if err == nil && b == 1 {
		return nil // a warning
	}
	return fmt.Errorf("scp: %s", line)
}

func (c *copyEnd) line() (string, error) {
	var out []byte
	for len(out) < longestControl {
		b, err := c.in.ReadByte()
		if err != nil || b == '\n' {
			return string(out), err
		}
		out = append(out, b)
	}
	return "", errors.New("scp: a line has no end")
}

// sink receives files from the other side into the folder target, or as the file target.
func (c *copyEnd) sink(target string) error {
	root := c.p.Guest.Root
	dirs := []string{c.p.Abs(target)}
	if err := c.ok(); err != nil {
		return err
	}
	for {
		line, err := c.line()
		if err != nil || line == "" {
			return err
		}
		here := dirs[len(dirs)-1]
		switch line[0] {
		case 'T':
			err = c.ok()
		case 'E':
			if len(dirs) == 1 {
				return errors.New("scp: the end of no directory")
			}
			dirs = dirs[:len(dirs)-1]
			err = c.ok()
		case 'C', 'D':
			mode, size, name, valid := control(line)
			if !valid {
				return c.refuse("protocol error: %s", line[:1])
			}
			if root.IsDir(here) {
				here = root.Abs(here, name)
			}
			if line[0] == 'C' {
				err = c.take(here, mode, size)
				break
			}
			if err = root.MkdirAll(here); err != nil {
				return c.refuse("%s: %s", here, reason(err))
			}
			dirs = append(dirs, here)
			err = c.ok()
		default:
			return c.refuse("protocol error: unexpected %q", line[:1])
		}
		if err != nil {
			return err
		}
	}
}

// control parses a line such as "C0644 5 name". It refuses a name that leads to another folder.
func control(line string) (mode os.FileMode, size int64, name string, ok bool) {
	parts := strings.SplitN(line[1:], " ", 3)
	if len(parts) != 3 || strings.ContainsAny(parts[2], `/\`) || parts[2] == ".." || parts[2] == "" {
		return 0, 0, "", false
	}
	bits, err := strconv.ParseUint(parts[0], 8, 32)
	size, errSize := strconv.ParseInt(parts[1], 10, 64)
	return os.FileMode(bits) & os.ModePerm, size, parts[2], err == nil && errSize == nil && size >= 0
}

func (c *copyEnd) take(name string, mode os.FileMode, size int64) error {
	f, err := c.p.Guest.Root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode|0o600)
	if err != nil {
		return c.refuse("%s: %s", name, reason(err))
	}
	if err := c.ok(); err != nil {
		return errors.Join(err, f.Close())
	}
	_, err = io.CopyN(f, c.in, size)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := c.answered(); err != nil {
		return err
	}
	return c.ok()
}

// source sends files.
func (c *copyEnd) source(files []string) error {
	if err := c.answered(); err != nil {
		return err
	}
	for _, f := range files {
		if err := c.send(c.p.Abs(scpPath(f))); err != nil {
			return err
		}
	}
	return nil
}

// send sends a file, or a folder with its contents.
func (c *copyEnd) send(name string) error {
	root := c.p.Guest.Root
	info, err := root.Stat(name)
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	switch {
	case err != nil:
		return c.refuse("%s: %s", name, reason(err))
	case info.IsDir() && !c.recursive:
		return c.refuse("%s: not a regular file", name)
	case !info.IsDir():
		return c.giveFile(name, base, info)
	}
	entries, err := root.ReadDir(name)
	if err != nil {
		return c.refuse("%s: %s", name, reason(err))
	}
	c.p.Printf("D%04o 0 %s\n", info.Mode().Perm(), base)
	if err := c.answered(); err != nil {
		return err
	}
	for _, e := range entries {
		if err := c.send(root.Abs(name, e.Name())); err != nil {
			return err
		}
	}
	c.p.Printf("E\n")
	return c.answered()
}

func (c *copyEnd) giveFile(name, base string, info os.FileInfo) error {
	f, err := c.p.Guest.Root.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return c.refuse("%s: %s", name, reason(err))
	}
	defer f.Close()
	c.p.Printf("C%04o %d %s\n", info.Mode().Perm(), info.Size(), base)
	if err := c.answered(); err != nil {
		return err
	}
	if _, err := io.CopyN(c.p.Stdout, f, info.Size()); err != nil {
		return err
	}
	if err := c.ok(); err != nil {
		return err
	}
	return c.answered()
}
