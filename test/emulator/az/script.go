package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed script/*.txt
var scriptFiles embed.FS

// step is an az command with the expected answer.
type step struct {
	area string
	line int
	// repaired means that az runs with the repair of Debian's packages.
	repaired bool
	// proxied means that az reaches the local Azure's other names through its proxy.
	proxied bool
	// args are az's arguments, before $NAMES are replaced.
	args []string
	// want is the shape of the answer; nil if it is not checked.
	want any
	// exit is az's exit code; out and errs are texts that its streams must contain.
	exit int
	out  []string
	errs []string
	// keep maps names for later commands to the paths, with dots, of parts of the answer.
	keep map[string]string
}

// short returns the command in one line.
func (s step) short() string {
	text := strings.Join(s.args, " ")
	if r := []rune(text); len(r) > 150 {
		return string(r[:149]) + "…"
	}
	return text
}

// scripts reads the command files in the order of their names. Their form:
//
//	== AREA              the area of the lines that follow
//	== AREA repaired     the same, with Debian's packages repaired
//	== AREA ... proxied  the same, through the proxy of the local Azure
//	$ az ARGS            a command; a following line with two spaces continues it
//	{...} or [...]       the shape of its JSON answer, over one or more lines
//	exit N               its exit code, 0 by default
//	stdout TEXT          text that its standard output must contain
//	stderr TEXT          text that its standard error must contain
//	keep NAME PATH       $NAME is that part of the answer in later commands
//
// and lines with # are comments.
func scripts() ([]step, error) {
	files, err := fs.Glob(scriptFiles, "script/*.txt")
	if err != nil {
		return nil, err
	}
	var out []step
	for _, f := range files {
		data, err := scriptFiles.ReadFile(f)
		if err != nil {
			return nil, err
		}
		steps, err := parseScript(string(data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		out = append(out, steps...)
	}
	return out, nil
}

func parseScript(text string) ([]step, error) {
	var out []step
	var shape strings.Builder
	area, repaired, proxied := "", false, false
	end := func() error {
		if shape.Len() == 0 {
			return nil
		}
		s := &out[len(out)-1]
		if err := json.Unmarshal([]byte(shape.String()), &s.want); err != nil {
			return fmt.Errorf("line %d: the shape: %w", s.line, err)
		}
		shape.Reset()
		return nil
	}
	for i, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			continue
		case word == "==":
			if err := end(); err != nil {
				return nil, err
			}
			area, proxied = strings.CutSuffix(rest, " proxied")
			area, repaired = strings.CutSuffix(area, " repaired")
			continue
		case word == "$":
			if err := end(); err != nil {
				return nil, err
			}
			args, err := words(strings.TrimPrefix(rest, "az "))
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			out = append(out, step{area: area, repaired: repaired, proxied: proxied, line: i + 1, args: args, keep: map[string]string{}})
			continue
		case len(out) == 0:
			return nil, fmt.Errorf("line %d: %q comes before the first command", i+1, line)
		}
		s := &out[len(out)-1]
		switch {
		case strings.HasPrefix(line, "  ") && shape.Len() == 0:
			args, err := words(line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			s.args = append(s.args, args...)
		case word == "exit":
			if _, err := fmt.Sscan(rest, &s.exit); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		case word == "stdout":
			s.out = append(s.out, rest)
		case word == "stderr":
			s.errs = append(s.errs, rest)
		case word == "keep":
			name, path, ok := strings.Cut(rest, " ")
			if !ok {
				return nil, fmt.Errorf("line %d: keep NAME PATH", i+1)
			}
			s.keep[name] = path
		default:
			shape.WriteString(line + "\n")
		}
	}
	return out, end()
}

// words splits a command line; words in single or double quotes are not split.
func words(line string) ([]string, error) {
	var out []string
	var b strings.Builder
	var quote rune
	in := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case r == '\'' || r == '"':
			quote, in = r, true
		case r == ' ':
			if in {
				out = append(out, b.String())
				b.Reset()
			}
			in = false
		default:
			b.WriteRune(r)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote is not closed in %q", line)
	}
	if in {
		out = append(out, b.String())
	}
	return out, nil
}
