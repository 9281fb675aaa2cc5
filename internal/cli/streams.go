package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/terminal"
)

// Streams are the standard streams of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// app is the state that all commands share. Its own Out and Err are for people: control sequences in a text from a
// guest, a cluster or a file are escaped before they reach the terminal.
type app struct {
	Streams
	// raw are the process's unescaped streams, for sessions whose screen the remote program draws and for casement's
	// own control sequences.
	raw Streams
	dir plane.Dir
	// named is the state directory that --state named, or "" where it is the user's default one.
	named string
	// suit is suited's pattern.
	suit *regexp.Regexp
}

func newApp(raw Streams) *app {
	return &app{Streams: Streams{In: raw.In, Out: escaped(raw.Out), Err: escaped(raw.Err)}, raw: raw}
}

// suited adds --state to each command of casement's in a text that a user reads, where this command had it: what is
// suggested has to run in the shell in which it is read.
func (a *app) suited(text string) string {
	if a.named == "" || a.suit == nil {
		return text
	}
	return a.suit.ReplaceAllString(text, "casement --state "+strings.ReplaceAll(a.named, "$", "$$")+" $1")
}

// commandsOf returns the pattern of a text's commands: the program's name and a command after it.
func commandsOf(root *cobra.Command) *regexp.Regexp {
	var names []string
	for _, c := range root.Commands() {
		names = append(names, regexp.QuoteMeta(c.Name()))
	}
	return regexp.MustCompile(`\bcasement (` + strings.Join(names, "|") + `)\b`)
}

func escaped(w io.Writer) io.Writer {
	if w == nil {
		return nil
	}
	return terminal.NewWriter(w)
}

// Terminal reports whether standard output is a terminal, where progress may be drawn over.
func (a *app) Terminal() bool {
	f, ok := a.raw.Out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// complain writes why a command failed, in lines of the terminal's width.
func (a *app) complain(text string) {
	screen := terminal.NewScreen(a.raw.Err)
	for line := range strings.Lines(a.suited(text)) {
		line = strings.TrimSuffix(line, "\n")
		if screen.Size != nil {
			width, _ := screen.Size()
			line = terminal.Fold(line, width)
		}
		fmt.Fprintln(a.Err, line)
	}
}

// width returns the number of characters in a line: the terminal's width; where there is no terminal that of $COLUMNS, which
// no shell exports by itself, or otherwise.
func (a *app) width(otherwise int) int {
	screen := terminal.NewScreen(a.raw.Out)
	if screen.Size == nil {
		if asked, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && asked > 0 {
			return asked
		}
		return otherwise
	}
	width, _ := screen.Size()
	return width
}

// room returns the number of characters for a text that begins in the given column: the rest of the terminal's line, at
// most most; most where there is no terminal.
func (a *app) room(most, column int) int {
	return min(most, max(leastDetail, a.width(most+column)-column))
}

// data returns the stream for output that programs or files read, such as JSON, manifests, logs and archives: unchanged
// through a pipe, escaped on a terminal.
func (a *app) data() io.Writer {
	if a.Terminal() {
		return a.Out
	}
	return a.raw.Out
}

// report returns the stream for a result: Out for the format text, else data.
func (a *app) report(format string) io.Writer {
	if format == "text" {
		return a.Out
	}
	return a.data()
}

// flush writes the buffered output of the streams for people.
func (a *app) flush() {
	var errs []error
	for _, w := range []io.Writer{a.Out, a.Err} {
		if w, ok := w.(*terminal.Writer); ok {
			errs = append(errs, w.Flush())
		}
	}
	_ = errors.Join(errs...) // the process ends, and its streams with it
}
