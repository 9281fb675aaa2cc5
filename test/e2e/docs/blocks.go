package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// languages are the allowed info strings of a fenced block. Only sh is run; console contains
// commands with their output, text a picture or a list of forms.
var languages = []string{"sh", "console", "text", "yaml", "json"}

// notRun begins the comment above a block that is not run; the reason follows.
const notRun = "<!-- not run: "

// block is one fenced block of a page.
type block struct {
	page     string
	line     int
	language string
	// reason is the reason why the block is not run; "" if it is run.
	reason string
	lines  []string
}

// command is one command of a block, with all its lines if it is continued.
type command struct {
	at, text string
}

// pages returns the README and the pages of the book in order; generated pages have other
// tests.
func pages(root string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "SUMMARY.md"))
	if err != nil {
		return nil, err
	}
	out := []string{"README.md"}
	for _, part := range strings.Split(string(text), "](")[1:] {
		if page, _, _ := strings.Cut(part, ")"); !strings.Contains(page, "/") {
			out = append(out, filepath.Join("docs", page))
		}
	}
	return out, nil
}

// blocksOf returns the fenced blocks of a page.
func blocksOf(root, page string) ([]block, error) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return nil, err
	}
	var out []block
	var open *block
	before := ""
	for i, line := range strings.Split(string(text), "\n") {
		switch info, fence := strings.CutPrefix(line, "```"); {
		case fence && open == nil:
			open = &block{page: page, line: i + 1, language: info}
			if reason, ok := strings.CutPrefix(before, notRun); ok {
				open.reason = strings.TrimSuffix(reason, " -->")
			}
		case fence:
			out, open = append(out, *open), nil
		case open != nil:
			open.lines = append(open.lines, line)
		}
		before = line
	}
	if open != nil {
		return nil, fmt.Errorf("%s:%d: the block has no end", page, open.line)
	}
	return out, nil
}

// commands returns the commands of a block; a line that ends in a backslash or a pipe
// continues on the next one.
func (b block) commands() (out []command) {
	continued := false
	for i, line := range b.lines {
		bare := strings.TrimSpace(line)
		switch {
		case bare == "" || strings.HasPrefix(bare, "#"):
			continue
		case continued:
			out[len(out)-1].text += "\n" + line
		default:
			out = append(out, command{fmt.Sprintf("%s:%d", b.page, b.line+1+i), line})
		}
		continued = strings.HasSuffix(bare, `\`) || strings.HasSuffix(bare, "|")
	}
	return out
}
