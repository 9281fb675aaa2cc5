package shell

import (
	"context"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/internal/sim/guest/machine"
)

// followPeriod is how often a file that is followed is looked at.
const followPeriod = 200 * time.Millisecond

// lastLines are the last n lines of text, all of them for a negative n.
func lastLines(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	if n < 0 || n > len(lines) {
		n = len(lines)
	}
	return strings.Join(lines[len(lines)-n:], "")
}

// follow prints what is appended to files after the sizes they had, until ctx
// ends. With heads it names each file before its lines, as tail does.
func follow(ctx context.Context, p *Process, files []string, sizes []int64, heads bool) int {
	sizes = slices.Clone(sizes)
	current := len(files) - 1
	for {
		for i, name := range files {
			grown, err := readFrom(p.Guest.Root, p.Abs(name), sizes[i])
			if err != nil || len(grown) == 0 {
				continue // it will be there later, or nothing new is
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

func readFrom(root *machine.Root, name string, offset int64) ([]byte, error) {
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
	return io.ReadAll(f)
}

// tail prints the ends of files, or what follows a line: -n 5, -n +1, -5, -f, -F.
func tail(ctx context.Context, p *Process) int {
	count, goOn, quiet := "10", false, false
	var files []string
	for i := 1; i < len(p.Args); i++ {
		switch a := p.Args[i]; {
		case a == "-n" && i+1 < len(p.Args):
			i++
			count = p.Args[i]
		case strings.HasPrefix(a, "--lines="):
			count = strings.TrimPrefix(a, "--lines=")
		case a == "-f" || a == "-F" || a == "--follow":
			goOn = true
		case a == "-q":
			quiet = true
		case len(a) > 1 && a[0] == '-':
			count = strings.TrimLeft(a, "-n")
		default:
			files = append(files, a)
		}
	}
	n, err := strconv.Atoi(strings.TrimPrefix(count, "+"))
	if err != nil {
		return p.Fail(1, "tail: invalid number of lines: '%s'", count)
	}
	heads, code := len(files) > 1 && !quiet, 0
	sizes := make([]int64, len(files))
	for i, f := range orStdin(files) {
		data, err := p.read(f)
		if err != nil {
			code = p.failed(f, err)
			continue
		}
		if len(files) > 0 {
			sizes[i] = int64(len(data))
		}
		if heads {
			p.Printf("%s==> %s <==\n", map[bool]string{true: "\n"}[i > 0], f)
		}
		text := string(data)
		if strings.HasPrefix(count, "+") {
			skipped := strings.SplitAfter(text, "\n")
			text = strings.Join(skipped[min(max(n-1, 0), len(skipped)):], "")
		} else {
			text = lastLines(text, n)
		}
		p.Printf("%s", text)
	}
	if goOn && len(files) > 0 {
		return follow(ctx, p, files, sizes, heads)
	}
	return code
}

// journalctl shows the log of a unit that the guest keeps one of: -u UNIT, -n N,
// -f and --since @SECONDS; other flags change only the form.
func journalctl(ctx context.Context, p *Process) int {
	unit, since, lines, goOn := "", "", "", false
	for i := 1; i < len(p.Args); i++ {
		name, value, inline := strings.Cut(p.Args[i], "=")
		if takes := strings.Contains(" -u --unit -n --lines -S --since -o --output ", " "+name+" "); takes && !inline && i+1 < len(p.Args) {
			i++
			value = p.Args[i]
		}
		switch name {
		case "-u", "--unit":
			unit = strings.TrimSuffix(value, ".service")
		case "-S", "--since":
			since = value
		case "-n", "--lines":
			lines = value
		case "-f", "--follow":
			goOn = true
		}
	}
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
	p.Printf("%s", lastLines(text, n))
	if goOn {
		return follow(ctx, p, []string{file}, []int64{int64(len(data))}, false)
	}
	return 0
}

// stampedSince are the lines, each of which begins with time=, from a time on.
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
