package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// defaultWidth and defaultHeight are the size of a terminal that reports none.
const defaultWidth, defaultHeight = 80, 24

// Screen is the output on which progress is shown: a terminal, a file or a pipe.
type Screen struct {
	// Out receives the text.
	Out io.Writer
	// Size returns the columns and rows of the terminal; nil if the output is no terminal.
	Size func() (width, height int)
	// Color is true if lines may be coloured.
	Color bool
}

// NewScreen returns the Screen for an output. A terminal is coloured unless NO_COLOR has a value or TERM is dumb
// (https://no-color.org).
func NewScreen(out io.Writer) Screen {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return Screen{Out: out}
	}
	size := func() (int, int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 || height <= 0 {
			return defaultWidth, defaultHeight
		}
		return width, height
	}
	return Screen{Out: out, Size: size, Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// Progress shows views one after another: on a terminal each one overwrites the last, elsewhere it writes a line for
// each change. It is safe for concurrent use.
type Progress struct {
	screen Screen
	mu     sync.Mutex
	drawn  int
	last   map[string]string
}

// NewProgress returns a Progress that has not shown anything yet.
func NewProgress(s Screen) *Progress { return &Progress{screen: s, last: map[string]string{}} }

// Show shows a view in place of the last one.
func (p *Progress) Show(v View) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.screen.Size == nil {
		p.log(v)
		return
	}
	width, height := p.screen.Size()
	// The last column and row stay free, because a terminal scrolls or wraps if they are filled.
	lines := v.Lines(max(10, width-1), max(2, height-1), p.screen.Color)
	p.write(p.over(lines))
	p.drawn = len(lines)
}

// End removes the drawn view, and writes the finished steps, a sentence, and the next command.
func (p *Progress) End(v View, sentence, next string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	if p.screen.Size == nil {
		p.log(v)
	} else {
		width, _ := p.screen.Size()
		lines = v.Lines(max(10, width-1), len(v.Steps)+len(v.Cause)+8, p.screen.Color)[1:]
	}
	for _, text := range []string{sentence, next} {
		if text != "" {
			lines = append(lines, Escape(text))
		}
	}
	p.write(p.over(lines))
	p.drawn = 0
}

// Clear removes the last drawn view.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write(p.over(nil))
	p.drawn = 0
}

// over draws lines over the last view, line by line, because a terminal that is cleared from its first row may keep the
// old content as history.
func (p *Progress) over(lines []string) string {
	var out strings.Builder
	clear := ""
	if p.drawn > 0 {
		fmt.Fprintf(&out, "\r\x1b[%dA", p.drawn)
		clear = "\x1b[K"
	}
	for _, line := range lines {
		out.WriteString(line + clear + "\n")
	}
	if left := p.drawn - len(lines); left > 0 {
		out.WriteString(strings.Repeat(clear+"\n", left) + fmt.Sprintf("\x1b[%dA", left))
	}
	return out.String()
}

// log writes a line for each step that has ended or whose detail has changed, and for a new cause.
func (p *Progress) log(v View) {
	var out strings.Builder
	for _, s := range v.Steps {
		now := fmt.Sprintf("%s%s", marks[s.State], s.Name)
		if s.State == Now || s.State == Failed {
			now += "  " + s.Detail
		}
		if s.State == Done && s.Took > 0 {
			now += "  " + seconds(s.Took)
		}
		if s.State == Now && s.Detail == "" {
			continue // its end has a line
		}
		if s.State != Ahead && p.last[s.Name] != now {
			p.last[s.Name] = now
			fmt.Fprintf(&out, "%10s  %s\n", seconds(v.Elapsed), strings.TrimRight(Cut(now, 0), " "))
		}
	}
	for _, tail := range [][2]string{{"waits", v.Waits}, {"why", v.Cause}} {
		if label, text := tail[0], tail[1]; text != "" && p.last[label+":"] != text {
			p.last[label+":"] = text
			fmt.Fprintf(&out, "%10s  %s: %s\n", seconds(v.Elapsed), label, Cut(text, 0))
		}
	}
	p.write(out.String())
}

func (p *Progress) write(text string) {
	if text != "" {
		_, _ = io.WriteString(p.screen.Out, text) // a closed terminal shows nothing
	}
}
