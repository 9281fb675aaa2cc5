package casement_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	shownTest = regexp.MustCompile("`((?:internal|test)/\\S+) (Test\\w+)`")
	shownRule = regexp.MustCompile(`\.\./rules/(WIN\d+)\.md`)
)

// TestWindowsTables: each row of the page about features of Windows nodes names a rule, an existing
// test, or the reason for a refusal.
func TestWindowsTables(t *testing.T) {
	text, err := os.ReadFile("docs/reference/windows-tables.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || strings.HasPrefix(cells[0], "---") || strings.TrimSpace(cells[0]) == "row" ||
			strings.TrimSpace(cells[0]) == "what is promised" {
			continue
		}
		rows++
		shown := strings.TrimSpace(cells[2])
		tests := shownTest.FindAllStringSubmatch(shown, -1)
		for _, m := range shownRule.FindAllStringSubmatch(shown, -1) {
			if _, err := os.Stat("docs/rules/" + m[1] + ".md"); err != nil {
				t.Errorf("%s: %v", strings.TrimSpace(cells[0]), err)
			}
		}
		if len(tests) == 0 && !shownRule.MatchString(shown) && !strings.HasPrefix(shown, "Refused: ") {
			t.Errorf("%s: neither a rule, nor a test, nor a reason: %q", strings.TrimSpace(cells[0]), shown)
		}
		for _, m := range tests {
			if !hasTest(t, m[1], m[2]) {
				t.Errorf("%s: %s has no %s", strings.TrimSpace(cells[0]), m[1], m[2])
			}
		}
	}
	if guide, err := os.ReadFile("docs/windows.md"); err != nil {
		t.Error(err)
	} else {
		for line := range strings.Lines(string(text)) {
			title, is := strings.CutPrefix(strings.TrimSpace(line), "## ")
			anchor := "windows-tables.md#" + strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(title, ",", ""), " ", "-"))
			if is && title != "Not here yet" && !strings.Contains(string(guide), anchor) {
				t.Errorf("docs/windows.md does not link %s", anchor)
			}
		}
	}
	if rows < 50 {
		t.Errorf("the page has %d rows", rows)
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "func "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
