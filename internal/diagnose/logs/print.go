package logs

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"

	"casement.dev/casement/internal/redact"
)

// Printer writes the lines of several logs to one writer, each log below a heading like that of tail, with secrets
// removed. It is safe for concurrent use.
type Printer struct {
	// Out receives the log lines; Notes receives the messages about logs that could not be read.
	Out, Notes io.Writer

	mu    sync.Mutex
	last  string
	wrote bool
}

// Note writes a message that is not a line of a log.
func (p *Printer) Note(format string, a ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.Notes, format+"\n", a...)
}

// Log is a log that is being written to a Printer. It writes complete lines only; Close writes the rest.
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

// Log starts a log with a title.
func (p *Printer) Log(title string, o Options) *Log {
	return &Log{p: p, title: title, filter: recent{since: o.Since, now: o.now()}, keep: o.Tail, live: o.Follow && o.Tail == 0}
}

// longestLine is the length in bytes at which a line without a newline is broken.
const longestLine = 1 << 20

// Write adds a part of the log. It returns the error of Out.
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
	line = l.lines.Text(line) // before lines are dropped, because a key may begin in one of them
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

// Follow writes the last lines that were buffered for Options.Tail; later lines are written immediately.
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

// Close ends the log and writes its last line even if that has no newline.
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

// Options select the part of a log to print.
type Options struct {
	// Since excludes older lines, as far as lines have a time.
	Since time.Time
	// Tail is the number of last lines to print; 0 prints all.
	Tail int
	// Follow keeps reading as the log grows, until the context ends.
	Follow bool
	// Now is the time relative to which Since was computed; the zero value means the current time.
	Now time.Time
}

func (o Options) now() time.Time {
	if o.Now.IsZero() {
		return time.Now()
	}
	return o.Now
}
