package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/terminal"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// app is what the commands share. Its own Out and Err are for people: what a guest, a
// cluster or a file put into a text cannot reach the terminal's control functions.
type app struct {
	Streams
	// raw are the streams of the process, for sessions that the far end draws and for
	// control sequences of our own.
	raw Streams
	dir plane.Dir
}

func newApp(raw Streams) *app {
	return &app{Streams: Streams{In: raw.In, Out: escaped(raw.Out), Err: escaped(raw.Err)}, raw: raw}
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
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if screen.Size != nil {
			width, _ := screen.Size()
			line = terminal.Fold(line, width)
		}
		fmt.Fprintln(a.Err, line)
	}
}

// width is how many characters a line for people may have: those of the terminal, or as
// many as otherwise where there is none.
func (a *app) width(otherwise int) int {
	screen := terminal.NewScreen(a.raw.Out)
	if screen.Size == nil {
		return otherwise
	}
	width, _ := screen.Size()
	return width
}

// room is how many characters a text may have that begins in a column: at most most, and
// where there is no terminal most.
func (a *app) room(most, column int) int {
	return min(most, max(leastDetail, a.width(most+column)-column))
}

// data is where bytes go that a program or a file takes, such as JSON, manifests, logs
// and archives: unchanged through a pipe, escaped on a terminal.
func (a *app) data() io.Writer {
	if a.Terminal() {
		return a.Out
	}
	return a.raw.Out
}

// report is where a result in a format goes: text is for people, all else is data.
func (a *app) report(format string) io.Writer {
	if format == "text" {
		return a.Out
	}
	return a.data()
}

// flush writes what the streams for people hold back.
func (a *app) flush() {
	var errs []error
	for _, w := range []io.Writer{a.Out, a.Err} {
		if w, ok := w.(*terminal.Writer); ok {
			errs = append(errs, w.Flush())
		}
	}
	_ = errors.Join(errs...) // the process ends, and its streams with it
}
