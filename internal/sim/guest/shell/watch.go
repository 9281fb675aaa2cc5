package shell

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Failure is a line of a script that failed.
type Failure struct {
	// Line counts from 1, and Text is the text of the line.
	Line int
	Text string
	Code int
	// Says is the last line of the command's output; "" without output.
	Says string
}

// String formats the failure as one line.
func (f Failure) String() string {
	text := fmt.Sprintf("line %d failed with code %d: %s", f.Line, f.Code, f.Text)
	if f.Says != "" {
		text += ": " + f.Says
	}
	return text
}

// Bounds of the texts in a Failure, in bytes.
const (
	maxFailedText = 160
	maxFailedSays = 400
)

// watch reports the failed lines of a script with their last messages. A nil watch reports nothing.
type watch struct {
	lines  []string
	report func(Failure)
	said   [2]*ending // standard error and standard output

	mu       sync.Mutex
	line     int
	text     string
	reported int
}

// newWatch returns a watch of the session's script that also reads its output; nil if the
// session does not report failures.
func newWatch(o *Session, script string) *watch {
	if o.Failed == nil {
		return nil
	}
	w := &watch{lines: strings.Split(script, "\n"), report: o.Failed, said: [2]*ending{{to: o.Stderr}, {to: o.Stdout}}}
	o.Stderr, o.Stdout, o.Failed = w.said[0], w.said[1], nil
	return w
}

// begin records the running line.
func (w *watch) begin(line int, text string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line, w.text = line, strings.TrimSpace(text)
	for _, e := range w.said {
		e.reset()
	}
}

// end reports the line that ran, if it failed and was not reported before.
func (w *watch) end(code int) {
	if w == nil || code == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reported == w.line {
		return
	}
	w.reported = w.line
	says := w.said[0].message()
	if says == "" {
		says = w.said[1].message()
	}
	w.report(Failure{w.line, shorten(w.text, maxFailedText), code, shorten(says, maxFailedSays)})
}

// call records the line of each command of a shell.
func (w *watch) call(line int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	same := w.line == line || line < 1 || line > len(w.lines)
	w.mu.Unlock()
	if !same {
		w.begin(line, w.lines[line-1])
	}
}

func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// ending is a writer that also stores the end of the written data.
type ending struct {
	to io.Writer

	mu   sync.Mutex
	kept []byte
}

const maxEnding = 8 << 10

// Write implements io.Writer.
func (e *ending) Write(b []byte) (int, error) {
	e.mu.Lock()
	e.kept = append(e.kept, b...)
	if over := len(e.kept) - maxEnding; over > 0 {
		e.kept = bytes.Clone(e.kept[over:])
	}
	e.mu.Unlock()
	return e.to.Write(b)
}

func (e *ending) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept = e.kept[:0]
}

// message returns the last line that is neither a mark nor one of the lines that PowerShell adds to an error (its
// position and identity).
func (e *ending) message() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	lines := strings.Split(string(e.kept), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if line != "" && !strings.HasPrefix(line, "+ ") && !strings.HasPrefix(line, "At ") &&
			!strings.Contains(line, ": simulated: no effect") {
			return line
		}
	}
	return ""
}
