package logs

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"

	"casement.dev/casement/internal/redact"
)

// Printer writes the lines of several logs to one place, each below a heading as
// tail gives one, and without secrets. It is safe for use from several goroutines.
type Printer struct {
	// Out takes the lines, Notes what could not be read.
	Out, Notes io.Writer

	mu    sync.Mutex
	last  string
	wrote bool
}

// Note writes what is not a line of a log.
func (p *Printer) Note(format string, a ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.Notes, format+"\n", a...)
}

// Log is one log on its way to a Printer. It has whole lines only until Close.
type Log struct {
	p      *Printer
	title  string
	filter recent
	rest   []byte
	keep   int
	kept   []string
	live   bool
	lines  redact.Lines
}

// Log begins a log under a title.
func (p *Printer) Log(title string, o Options) *Log {
	return &Log{p: p, title: title, filter: recent{since: o.Since, now: o.now()}, keep: o.Tail, live: o.Follow && o.Tail == 0}
}

// longestLine is where a line without an end is broken.
const longestLine = 1 << 20

// Write takes a part of the log. Its error is Out's.
func (l *Log) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 && len(l.rest) < longestLine {
			return len(b), nil
		}
		line := l.rest
		if i >= 0 {
			line = l.rest[:i]
		}
		if err := l.line(string(bytes.TrimRight(line, "\r"))); err != nil {
			return 0, err
		}
		l.rest = bytes.Clone(l.rest[min(len(line)+1, len(l.rest)):])
	}
}

func (l *Log) line(line string) error {
	line = l.lines.Text(line) // before lines are left out: a key may begin in one of them
	if !l.filter.pass(line) {
		return nil
	}
	if l.keep == 0 {
		return l.p.line(l.title, line)
	}
	l.kept = append(l.kept, line)
	if len(l.kept) > l.keep {
		l.kept = l.kept[1:]
	}
	return nil
}

// Follow lets what was held back for its being the last lines go, and all that
// comes from now on.
func (l *Log) Follow() error {
	l.keep = 0
	kept := l.kept
	l.kept = nil
	for _, line := range kept {
		if err := l.p.line(l.title, line); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the log; a line without an end counts.
func (l *Log) Close() error {
	if len(l.rest) > 0 {
		line := string(bytes.TrimRight(l.rest, "\r"))
		l.rest = nil
		if err := l.line(line); err != nil {
			return err
		}
	}
	return l.Follow()
}

func (p *Printer) line(title, line string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != title || !p.wrote {
		gap := ""
		if p.wrote {
			gap = "\n"
		}
		if _, err := fmt.Fprintf(p.Out, "%s==> %s <==\n", gap, title); err != nil {
			return err
		}
		p.last, p.wrote = title, true
	}
	_, err := fmt.Fprintln(p.Out, line)
	return err
}

// Options say how much of a log is wanted.
type Options struct {
	// Since leaves out older lines, as far as they say when they were written.
	Since time.Time
	// Tail is how many of the last lines are wanted; 0 is all.
	Tail int
	// Follow goes on as the log grows, until the context ends.
	Follow bool
	// Now is the time that Since was reckoned from; zero is the present.
	Now time.Time
}

func (o Options) now() time.Time {
	if o.Now.IsZero() {
		return time.Now()
	}
	return o.Now
}
