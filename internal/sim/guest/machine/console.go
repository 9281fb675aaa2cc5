package machine

import (
	"bytes"
	"io"
	"slices"
	"sync"

	"casement.dev/casement/internal/redact"
)

// keptLines is the number of the console's last lines that a status shows.
const keptLines = 20

// Console is a line buffer in front of the host's console. It removes the secrets of bootstrap data and stores the
// last lines. It is safe for use from several goroutines.
type Console struct {
	mu   sync.Mutex
	out  io.Writer
	part []byte
	last []string
	// clean removes secrets; it buffers the beginning of an unfinished line.
	clean redact.Lines
}

// NewConsole returns a console that writes lines to out, which may be nil.
func NewConsole(out io.Writer) *Console {
	if out == nil {
		out = io.Discard
	}
	return &Console{out: out}
}

// Write writes whole lines to the host's console. It never fails, because a console without a reader does not stop a
// machine.
func (c *Console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.part = append(c.part, b...)
	for {
		i := bytes.IndexByte(c.part, '\n')
		if i < 0 {
			if len(c.part) > 64<<10 {
				c.emit(string(c.part))
				c.part = nil
			}
			return len(b), nil
		}
		c.emit(string(bytes.TrimRight(c.part[:i], "\r")))
		c.part = c.part[i+1:]
	}
}

// Flush writes an unfinished line to the host's console.
func (c *Console) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.part) > 0 {
		c.emit(string(c.part))
		c.part = nil
	}
}

func (c *Console) emit(line string) {
	line = c.clean.Text(line)
	_, _ = io.WriteString(c.out, line+"\n") // see Write
	c.last = append(c.last, line)
	if len(c.last) > keptLines {
		c.last = slices.Delete(c.last, 0, len(c.last)-keptLines)
	}
}

// Last returns the last lines, at most 20.
func (c *Console) Last() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.last)
}
