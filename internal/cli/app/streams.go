// Package app has the parts that all commands share: streams, exit codes, the state directory, the
// management cluster that the flags select, and output in the formats of --output.
//
// It knows no command. cmd/casement, internal/cli and tests may import it.
package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/term"

	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/terminal"
)

// Streams are the standard streams of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// App is the state that all commands share. Its own Out and Err are for people: control sequences in a text from a
// guest, a cluster or a file are escaped before they reach the terminal.
type App struct {
	Streams
	// Raw are the process's unescaped streams, for sessions whose screen the remote program draws and for casement's
	// own control sequences.
	Raw Streams
	Dir plane.Dir
	// Named is the value of --state, or "" for the user's default state directory.
	Named string
	// Commands matches the beginning of a casement command in a text.
	Commands *regexp.Regexp
}

func New(raw Streams) *App {
	return &App{Streams: Streams{In: raw.In, Out: escaped(raw.Out), Err: escaped(raw.Err)}, Raw: raw}
}

// Suited adds --state to each casement command in a text for the user, if this command had the flag: a suggested
// command has to work in the same shell.
func (a *App) Suited(text string) string {
	if a.Named == "" || a.Commands == nil {
		return text
	}
	return a.Commands.ReplaceAllString(text, "casement --state "+strings.ReplaceAll(a.Named, "$", "$$")+" $1")
}

func escaped(w io.Writer) io.Writer {
	if w == nil {
		return nil
	}
	return terminal.NewWriter(w)
}

// Terminal reports whether standard output is a terminal, on which progress can be overwritten.
func (a *App) Terminal() bool {
	f, ok := a.Raw.Out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Complain writes the reason why a command failed, wrapped to the terminal's width.
func (a *App) Complain(text string) {
	screen := terminal.NewScreen(a.Raw.Err)
	for line := range strings.Lines(a.Suited(text)) {
		line = strings.TrimSuffix(line, "\n")
		if screen.Size != nil {
			width, _ := screen.Size()
			line = terminal.Fold(line, width)
		}
		fmt.Fprintln(a.Err, line)
	}
}

// Width returns the number of characters in a line: the terminal's width; without a terminal $COLUMNS, which no shell
// exports by itself; or else the value otherwise.
func (a *App) Width(otherwise int) int {
	screen := terminal.NewScreen(a.Raw.Out)
	if screen.Size == nil {
		if asked, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && asked > 0 {
			return asked
		}
		return otherwise
	}
	width, _ := screen.Size()
	return width
}

// Room returns the number of characters for a text that begins in the given column: the rest of the terminal's line,
// but not more than limit; limit if there is no terminal.
func (a *App) Room(limit, column int) int {
	return min(limit, max(LeastDetail, a.Width(limit+column)-column))
}

// Data returns the stream for output that programs or files read, such as JSON, manifests, logs and archives: unchanged
// through a pipe, escaped on a terminal.
func (a *App) Data() io.Writer {
	if a.Terminal() {
		return a.Out
	}
	return a.Raw.Out
}

// Report returns the stream for a result: Out for the format text, otherwise Data.
func (a *App) Report(format string) io.Writer {
	if format == "text" {
		return a.Out
	}
	return a.Data()
}

// Flush writes the buffered output of the streams for people.
func (a *App) Flush() {
	var errs []error
	for _, w := range []io.Writer{a.Out, a.Err} {
		if w, ok := w.(*terminal.Writer); ok {
			errs = append(errs, w.Flush())
		}
	}
	_ = errors.Join(errs...) // the process is about to end, and there is no other stream for an error
}

// Settle determines the state directory: the named one, or the user's default. It refuses a directory that other users
// could replace.
func (a *App) Settle(named string) (err error) {
	if named == "" {
		a.Dir, err = plane.DefaultDir()
	} else {
		named, err = filepath.Abs(named)
		a.Dir = plane.Dir(named)
		if usual, _ := plane.DefaultDir(); usual != a.Dir {
			a.Named = named
		}
	}
	if err != nil {
		return err
	}
	return a.Dir.Check()
}

// LeastDetail is the minimum width of a table's last column, in characters.
const LeastDetail = 16
