package shell

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/internal/guestfs"
)

// followPeriod is the interval at which a followed file is read.
const followPeriod = 200 * time.Millisecond

// lastLines returns the last n lines of text; all lines if n is negative.
func (p *Process) lastLines(text string, n int) string {
	lines := p.linesAfter(text)
	if n < 0 || n > len(lines) {
		n = len(lines)
	}
	return strings.Join(lines[len(lines)-n:], "")
}

// follow prints the text that is appended to files after the given sizes, until ctx ends. With heads, it prints a
// file's name before its lines, as tail does.
func follow(ctx context.Context, p *Process, files []string, sizes []int64, heads bool) int {
	sizes = slices.Clone(sizes)
	current := len(files) - 1
	for {
		for i, name := range files {
			grown, err := readFrom(p.Guest.Root, p.Abs(name), sizes[i])
			if err != nil || len(grown) == 0 {
				continue // the file does not exist yet, or has no new text
			}
			sizes[i] += int64(len(grown))
			if heads && current != i {
				p.Printf("\n==> %s <==\n", name)
			}
			current = i
			if _, err := p.Stdout.Write(grown); err != nil {
				return 1
			}
		}
		select {
		case <-ctx.Done():
			return 130
		case <-p.Guest.Clock.After(followPeriod):
		}
	}
}

func readFrom(root *guestfs.Root, name string, offset int64) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() <= offset {
		return nil, err
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, guestfs.MaxRead))
}

// tail prints the ends of files, or the text from a line on.
func tail(ctx context.Context, p *Process, o options) int {
	files, goOn := o.operands, o.has("f", "F")
	what, count := "lines", cmp.Or(o.value("n"), "10")
	if o.has("c") {
		what, count = "bytes", o.value("c")
	}
	n, ok := sized(strings.TrimLeft(count, "+-"))
	if !ok {
		return p.Fail(1, "tail: invalid number of %s: '%s'", what, count)
	}
	heads, code, before := (len(files) > 1 || o.has("v")) && !o.has("q"), 0, ""
	if n == 0 && count[0] != '+' && !goOn {
		return 0
	}
	sizes := make([]int64, len(files))
	for i, f := range orStdin(files) {
		data, err := p.read(f)
		if err != nil {
			code = p.Fail(1, "tail: cannot open '%s' for reading: %s", f, reason(err))
			continue
		}
		if len(files) > 0 {
			sizes[i] = int64(len(data))
		}
		if heads {
			p.Printf("%s==> %s <==\n", before, f)
			before = "\n"
		}
		text := string(data)
		switch from := max(n-1, 0); {
		case count[0] == '+' && o.has("c"):
			text = text[min(from, len(text)):]
		case count[0] == '+':
			lines := p.linesAfter(text)
			text = strings.Join(lines[min(from, len(lines)):], "")
		case o.has("c"):
			text = text[max(len(text)-n, 0):]
		default:
			text = p.lastLines(text, n)
		}
		p.Printf("%s", text)
	}
	if goOn && len(files) > 0 {
		return follow(ctx, p, files, sizes, heads)
	}
	return code
}

// journalctl shows the log of a unit whose log the guest stores: -u UNIT, -n N, -f and --since @SECONDS; the other
// flags change only the form.
func journalctl(ctx context.Context, p *Process, o options) int {
	unit, since, lines, goOn := strings.TrimSuffix(o.value("u"), ".service"), o.value("S"), o.value("n"), o.has("f")
	if unit == "" {
		return p.Fail(1, "journalctl: this guest is simulated by casement and keeps the logs of units only: name one with -u")
	}
	file := p.Guest.UnitLog(unit)
	data, err := p.Guest.Root.ReadFile(file)
	if err != nil || len(data) == 0 {
		p.Printf("-- No entries --\n")
	}
	text := string(data)
	if seconds, ok := strings.CutPrefix(since, "@"); ok {
		if s, err := strconv.ParseInt(seconds, 10, 64); err == nil {
			text = stampedSince(text, time.Unix(s, 0))
		}
	}
	n, err := strconv.Atoi(lines)
	switch {
	case err == nil:
	case goOn && lines != "all":
		n = 10
	default:
		n = -1
	}
	p.Printf("%s", p.lastLines(text, n))
	if goOn {
		return follow(ctx, p, []string{file}, []int64{int64(len(data))}, false)
	}
	return 0
}

// stampedSince returns the lines from a time on. Each line begins with time=.
func stampedSince(text string, from time.Time) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		stamp, _, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
		if at, err := time.Parse(time.RFC3339, stamp); err == nil && at.Before(from) {
			continue
		}
		out.WriteString(line)
	}
	return out.String()
}
