package casement_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestDocs: every link in the pages of the root and the book leads to a file, and the table of
// contents links every page. Pages about commands and rules are in separate tables.
func TestDocs(t *testing.T) {
	files := os.DirFS(".")
	pages, err := fs.Glob(files, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(files, "docs", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			pages = append(pages, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string]bool{"docs/SUMMARY.md": true}
	for _, page := range pages {
		text, err := fs.ReadFile(files, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			target = path.Join(path.Dir(page), target)
			if _, err := fs.Stat(files, target); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
			if page == "docs/SUMMARY.md" {
				linked[target] = true
			}
		}
	}
	for _, page := range pages {
		if dir := path.Dir(page); !linked[page] && dir != "." && dir != "docs/cli" && dir != "docs/rules" {
			t.Errorf("docs/SUMMARY.md does not lead to %s", page)
		}
	}
}
