// Package terminal makes text from other sources safe for a terminal: a guest's console, the fields of a cluster's
// objects, or a file. It also shows the progress of any operation, on a terminal of any size, or as plain lines
// elsewhere. The command line imports it for its output streams, and internal/diagnose/support for YAML without control
// characters.
package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Escape returns s with its control characters made visible: ^[ is an escape character, \u202e a change of the writing
// direction, \xff a byte that is not valid UTF-8. Newlines, tabs and the carriage return before a newline are kept.
// Escaping two parts of a text, cut between characters, gives the same result as escaping the whole. JSON of the
// standard encoder, which has no control characters below a space, stays JSON with the same value, and becomes valid
// YAML.
func Escape(s string) string {
	if !strings.ContainsFunc(s, acts) {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, s[0])
		case !acts(r), strings.HasPrefix(s, "\r\n"):
			out.WriteString(s[:size])
		case r < ' ':
			out.WriteString("^" + string('@'+r))
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		s = s[size:]
	}
	return out.String()
}

// acts reports whether a terminal reacts to a character instead of showing it: control characters (C0 without newline
// and tab, C1), characters that reorder text, and line separators. The replacement character is included, because an
// invalid byte is read as one.
func acts(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case utf8.RuneError, '\u2028', '\u2029':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// Writer escapes the text that is written to it. It keeps a partial character, and a carriage return at the end, until
// the next Write or Flush. It is safe for concurrent use.
type Writer struct {
	mu   sync.Mutex
	out  io.Writer
	part []byte
}

// NewWriter returns a Writer that writes to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Write escapes b. Its error is the underlying writer's.
func (w *Writer) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.part, b...)
	whole := len(text) - unfinished(text)
	w.part = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(w.out, Escape(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Flush writes the text that Write has kept.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := Escape(string(w.part))
	w.part = nil
	if text == "" {
		return nil
	}
	_, err := io.WriteString(w.out, text)
	return err
}

// unfinished returns the number of bytes at the end of a text that depend on the bytes that follow and cannot be
// escaped yet.
func unfinished(text []byte) int {
	if n := len(text); n > 0 && text[n-1] == '\r' {
		return 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
