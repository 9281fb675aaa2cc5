package sshroute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"casement.dev/casement/internal/input"
)

// Copied counts the copied files and bytes.
type Copied struct {
	Files int
	Bytes int64
}

// ErrDirectory is the error for the copy of a directory without recursive.
var ErrDirectory = errors.New("it is a directory: copy it with --recursive")

// Copier copies files to and from one machine over SFTP. A path on the machine has the machine's syntax, C:\k or C:/k
// on Windows, or is relative to the user's home.
type Copier struct {
	sftp      *sftp.Client
	recursive bool
	copied    Copied
}

// NewCopier starts SFTP on a machine. Directories are copied only if recursive is true. The caller has to close it; the
// end of ctx ends it too.
func NewCopier(ctx context.Context, c *ssh.Client, recursive bool) (*Copier, error) {
	s, err := sftp.NewClient(c)
	if err != nil {
		return nil, fmt.Errorf("start SFTP: %w", err)
	}
	context.AfterFunc(ctx, func() { s.Close() })
	return &Copier{sftp: s, recursive: recursive}, nil
}

// Close ends the SFTP session.
func (c *Copier) Close() error { return c.sftp.Close() }

// wire returns a path on the machine in SFTP's form, in which a Windows drive is the first element.
func wire(name string) string {
	if len(name) >= 2 && name[1] == ':' {
		return path.Clean("/" + strings.ReplaceAll(name, `\`, "/"))
	}
	return path.Clean(name)
}

// Put copies a file or directory of this computer to a path on the machine; into it, if it is a directory.
func (c *Copier) Put(from, to string) (Copied, error) {
	c.copied = Copied{}
	info, err := os.Stat(from)
	if err != nil {
		return c.copied, err
	}
	to = wire(to)
	if info, err := c.sftp.Stat(to); err == nil && info.IsDir() {
		to = path.Join(to, filepath.Base(from))
	}
	if !info.IsDir() {
		err := c.putFile(from, to, info)
		return c.copied, err
	}
	if !c.recursive {
		return c.copied, fmt.Errorf("%s: %w", from, ErrDirectory)
	}
	err = filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := path.Join(to, filepath.ToSlash(inside))
		if e.IsDir() {
			return there("make", target, c.sftp.MkdirAll(target))
		}
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		return c.putFile(name, target, info)
	})
	return c.copied, err
}

func (c *Copier) putFile(from, to string, info fs.FileInfo) error {
	if err := input.Check(from, info, math.MaxInt64); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := c.sftp.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return there("write", to, err)
	}
	n, err := io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return there("write", to, err)
	}
	c.copied.Files, c.copied.Bytes = c.copied.Files+1, c.copied.Bytes+n
	return there("set the mode of", to, c.sftp.Chmod(to, info.Mode().Perm()))
}

// Get copies a file or directory from the machine to a path on this computer; into it, if it is a directory. File names
// from the machine cannot lead out of that path.
func (c *Copier) Get(from, to string) (Copied, error) {
	c.copied = Copied{}
	from = wire(from)
	info, err := c.sftp.Stat(from)
	if err != nil {
		return c.copied, there("read", from, err)
	}
	if here, err := os.Stat(to); err == nil && here.IsDir() {
		to = filepath.Join(to, path.Base(from))
	}
	if info.IsDir() {
		if !c.recursive {
			return c.copied, fmt.Errorf("%s: %w", from, ErrDirectory)
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			return c.copied, err
		}
		root, err := os.OpenRoot(to)
		if err != nil {
			return c.copied, err
		}
		defer root.Close()
		err = c.getTree(root, from)
		return c.copied, err
	}
	root, err := os.OpenRoot(filepath.Dir(to))
	if err != nil {
		return c.copied, err
	}
	defer root.Close()
	err = c.getFile(root, from, filepath.Base(to), info)
	return c.copied, err
}

func (c *Copier) getTree(root *os.Root, from string) error {
	for walk := c.sftp.Walk(from); walk.Step(); {
		if err := walk.Err(); err != nil {
			return there("read", walk.Path(), err)
		}
		inside := filepath.FromSlash(strings.TrimPrefix(strings.TrimPrefix(walk.Path(), from), "/"))
		switch info := walk.Stat(); {
		case inside == "":
		case info.IsDir():
			if err := root.MkdirAll(inside, 0o755); err != nil {
				return err
			}
		case info.Mode().IsRegular():
			if err := c.getFile(root, walk.Path(), inside, info); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Copier) getFile(root *os.Root, from, to string, info fs.FileInfo) error {
	in, err := c.sftp.Open(from)
	if err != nil {
		return there("read", from, err)
	}
	defer in.Close()
	out, err := root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	c.copied.Files, c.copied.Bytes = c.copied.Files+1, c.copied.Bytes+n
	return nil
}

// there wraps an error with the information that it occurred on the machine.
func there(verb, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s on the machine: %w", verb, name, err)
}
