package terminal

import (
	"fmt"
	"strings"
	"time"
)

// State is the state of one step of a View.
type State int

// The states of a step.
const (
	// Ahead is a step that has not begun.
	Ahead State = iota
	// Now is a step in progress.
	Now
	// Done is a step that has ended.
	Done
	// Failed is a step that cannot continue.
	Failed
)

// Step is one step of a View.
type Step struct {
	Name  string
	State State
	// Detail describes the progress of the step and the reason why it waits.
	Detail string
	// Took is the duration of an ended step; zero is not shown.
	Took time.Duration
}

// View is a snapshot of an operation's progress.
type View struct {
	// Title is the name of the operation, and Elapsed the time since it began.
	Title   string
	Elapsed time.Duration
	Steps   []Step
	// Waits names the object that the operation waits for; Cause is the reason why it makes no progress. Each may be "".
	Waits, Cause string
}

// marks are the prefixes of lines, by the state of the step.
var marks = map[State]string{Ahead: "  ", Now: "… ", Done: "✓ ", Failed: "✗ "}

// paint is the colour of a line, by the state of its step.
var paint = map[State]string{Now: "\x1b[36m", Done: "\x1b[32m", Failed: "\x1b[31m"}

const plain = "\x1b[0m"

// Lines returns the lines of a view: none is wider than width, in characters, and there are at most height. If there is
// too little room, ended steps are omitted first.
func (v View) Lines(width, height int, color bool) []string {
	head := fmt.Sprintf("%s  %s", v.Title, seconds(v.Elapsed))
	lines := []string{Cut(head, width)}
	name := 0
	for _, s := range v.Steps {
		name = max(name, len([]rune(s.Name)))
	}
	name = min(name, max(8, width*2/3))
	var tail []string
	if v.Waits != "" {
		tail = append(tail, indented("waits  ", v.Waits, width)...)
	}
	if v.Cause != "" {
		tail = append(tail, indented("why    ", v.Cause, width)...)
	}
	steps, hidden := fit(v.Steps, height-len(lines)-len(tail))
	if hidden > 0 {
		lines[0] = Cut(fmt.Sprintf("%s  (%d more steps)", head, hidden), width)
	}
	for _, s := range steps {
		lines = append(lines, s.line(name, width, color))
	}
	lines = append(lines, tail...)
	return lines[:min(len(lines), max(1, height))]
}

// fit keeps as many steps as fit: steps in progress and failed steps take precedence over ended steps, and those over
// steps ahead.
func fit(steps []Step, room int) (kept []Step, hidden int) {
	for _, drop := range []State{Done, Ahead, Now, Failed} {
		for i := 0; i < len(steps) && len(steps) > max(0, room); {
			if steps[i].State != drop {
				i++
				continue
			}
			steps = append(append([]Step(nil), steps[:i]...), steps[i+1:]...)
			hidden++
		}
	}
	return steps, hidden
}

func (s Step) line(name, width int, color bool) string {
	text := fmt.Sprintf("%s%-*s", marks[s.State], name, Cut(s.Name, name))
	if s.Took > 0 {
		text += fmt.Sprintf("  %7s", seconds(s.Took))
	}
	if s.Detail != "" {
		text += "  " + s.Detail
	}
	text = strings.TrimRight(Cut(text, width), " ")
	if color && paint[s.State] != "" {
		return paint[s.State] + text + plain
	}
	return text
}

// maxTail is the maximum number of lines of a text below the steps.
const maxTail = 4

// indented returns a text in lines of a width, after a label.
func indented(label, text string, width int) []string {
	lines := Wrap(Escape(text), max(10, width-len(label)))
	if len(lines) > maxTail {
		lines = append(lines[:maxTail-1], lines[maxTail-1]+" …")
	}
	for i := range lines {
		lines[i] = Cut(label+lines[i], width)
		label = strings.Repeat(" ", len(label))
	}
	return lines
}

// seconds formats a duration for progress.
func seconds(d time.Duration) string {
	if d >= 2*time.Minute {
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// Cut makes text safe, joins it into one line, and shortens it to a width in characters; 0 means any width.
func Cut(text string, width int) string {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, Escape(text))
	if runes := []rune(text); width > 0 && len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return text
}

// Fold returns a line unchanged if it has at most width characters, and otherwise breaks it between words into lines of
// that width, with the indentation of the first.
func Fold(line string, width int) string {
	if len([]rune(line)) <= width {
		return line
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	return indent + strings.Join(Wrap(line, max(10, width-len(indent))), "\n"+indent)
}

// Wrap breaks text between words into lines of at most width characters, as far as its words allow.
func Wrap(text string, width int) []string {
	var lines []string
	line, length := "", 0
	for _, word := range strings.Fields(text) {
		n := len([]rune(word))
		if length > 0 && length+1+n > width {
			lines, line, length = append(lines, line), "", 0
		}
		if length > 0 {
			line, length = line+" ", length+1
		}
		line, length = line+word, length+n
	}
	return append(lines, line)
}
