package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"casement.dev/casement/internal/sshroute"
)

// pollPeriod is the interval at which a followed file is read.
const pollPeriod = time.Second

// Reader reads logs of one machine.
type Reader interface {
	// Read prints a source. With Follow it continues until ctx ends, and then returns nil.
	Read(ctx context.Context, s Source, o Options, p *Printer) error
	// Via returns a short name of the access method.
	Via() string
}

// SSH reads logs over an SSH session: on Linux with sudo, which the templates' user may use, and on Windows over SFTP,
// because that user is an administrator.
type SSH struct {
	Client  *ssh.Client
	Node    string
	Windows bool
}

// Via implements Reader.
func (r SSH) Via() string { return "SSH" }

// Read implements Reader.
func (r SSH) Read(ctx context.Context, s Source, o Options, p *Printer) error {
	at := s.at(r.Windows)
	title := r.Node + " " + s.Name
	switch {
	case at.Command != "":
		return r.run(ctx, at.Command, title+": "+at.Command, Options{}, p)
	case at.Unit != "":
		return r.run(ctx, journalctl(at.Unit, o), title+": journal of "+at.Unit, o, p)
	case r.Windows:
		return r.remote(ctx, at.Files, title, o, p)
	}
	files, err := r.list(ctx, at.Files)
	if err != nil {
		return err
	}
	if len(files) == 0 && !s.ControlPlane {
		p.Note("%s: no log at %s", title, strings.Join(at.Files, ", "))
	}
	return each(o.Follow, files, func(file string) error {
		return r.run(ctx, "sudo -n tail "+tailFlags(o)+" "+quote(file), title+": "+file, o, p)
	})
}

func journalctl(unit string, o Options) string {
	line := "sudo -n journalctl --no-pager -o short-iso -u " + unit
	if !o.Since.IsZero() {
		line += fmt.Sprintf(" --since @%d", o.Since.Unix())
	}
	count := "all"
	if o.Tail > 0 {
		count = fmt.Sprint(o.Tail)
	}
	line += " -n " + count
	if o.Follow {
		line += " -f"
	}
	return line
}

func tailFlags(o Options) string {
	flags := "-n +1"
	if o.Tail > 0 && o.Since.IsZero() {
		flags = fmt.Sprintf("-n %d", o.Tail)
	}
	if o.Follow {
		flags += " -F"
	}
	return flags
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// run prints a command's output, until ctx ends.
func (r SSH) run(ctx context.Context, command, title string, o Options, p *Printer) error {
	if o.Follow { // the command selects the last lines itself, because a followed log has no end
		o.Tail = 0
	}
	log := p.Log(title, o)
	var errOut bytes.Buffer
	code, err := sshroute.Output(ctx, r.Client, command, log, &errOut)
	if ctx.Err() != nil && o.Follow {
		return log.Close()
	}
	if err := errors.Join(err, log.Close()); err != nil {
		return fmt.Errorf("%s: %w", title, err)
	}
	if code != 0 {
		return fmt.Errorf("%s: %q ended with %d: %s", title, command, code, strings.TrimSpace(errOut.String()))
	}
	return nil
}

// list resolves globs on Linux with sudo, because the user may not read the directories.
func (r SSH) list(ctx context.Context, globs []string) ([]string, error) {
	var out, errOut bytes.Buffer
	// ls fails if one of the globs has no match, which is no error here.
	if _, err := sshroute.Output(ctx, r.Client,
		"sudo -n sh -c "+quote("ls -1d "+strings.Join(globs, " ")+" 2>/dev/null"), &out, &errOut); err != nil {
		return nil, err
	}
	if strings.Contains(errOut.String(), "sudo:") {
		return nil, fmt.Errorf("the user may not read logs: %s", strings.TrimSpace(errOut.String()))
	}
	return strings.Fields(out.String()), nil
}

// remote reads files over SFTP.
func (r SSH) remote(ctx context.Context, globs []string, title string, o Options, p *Printer) error {
	c, err := sftp.NewClient(r.Client)
	if err != nil {
		return fmt.Errorf("start SFTP on %s: %w", r.Node, err)
	}
	defer c.Close()
	var files []string
	for _, g := range globs {
		found, err := c.Glob(path.Clean("/" + g))
		if err != nil {
			return fmt.Errorf("look for %s on %s: %w", g, r.Node, err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		p.Note("%s: no log at %s", title, strings.Join(globs, ", "))
	}
	return each(o.Follow, files, func(file string) error {
		return poll(ctx, p.Log(title+": "+strings.TrimPrefix(file, "/"), o), o.Follow, func(offset int64) (io.ReadCloser, error) {
			f, err := c.Open(file)
			if err != nil {
				return nil, err
			}
			if _, err := f.Seek(offset, io.SeekStart); err != nil {
				f.Close()
				return nil, err
			}
			return f, nil
		})
	})
}

// poll copies a file from the last offset, once or until ctx ends.
func poll(ctx context.Context, log *Log, follow bool, open func(offset int64) (io.ReadCloser, error)) error {
	var offset int64
	for first := true; ; first = false {
		f, err := open(offset)
		if err == nil {
			var n int64
			n, err = io.Copy(log, f)
			offset += n
			f.Close() // the file was only read
		}
		switch {
		case follow && ctx.Err() != nil:
			return log.Close()
		case err != nil && (first || !follow):
			return errors.Join(fmt.Errorf("%s: %w", log.title, err), log.Close())
		case !follow:
			return log.Close()
		case first:
			if err := log.Follow(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return log.Close()
		case <-time.After(pollPeriod):
		}
	}
}

// each calls read for each file, one after the other or, if together is true, concurrently.
func each(together bool, files []string, read func(string) error) error {
	if !together {
		var errs []error
		for _, f := range files {
			errs = append(errs, read(f))
		}
		return errors.Join(errs...)
	}
	errs := make([]error, len(files))
	var wg sync.WaitGroup
	for i, f := range files {
		wg.Go(func() { errs[i] = read(f) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Read prints sources one after the other, or concurrently if they are followed. A source that fails does not stop the others.
func Read(ctx context.Context, r Reader, sources []Source, o Options, p *Printer) error {
	named := map[string]Source{}
	var names []string
	for _, s := range sources {
		named[s.Name] = s
		names = append(names, s.Name)
	}
	return each(o.Follow, names, func(name string) error { return r.Read(ctx, named[name], o, p) })
}
