package casement_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// phrases maps regular expressions for words that comments and messages must not contain to better
// words.
var phrases = map[string]string{
	`bears?|bore|borne`:         "has, records",
	`mends?|mended|mending`:     "repairs, fixes",
	`for ever|forever`:          "without end, never ends",
	`lies`:                      "is",
	`stands?|stood`:             "is, occurs, means",
	`tells?|told`:               "reports, says, shows",
	`takes up|took up|taken up`: "resumes, continues",
	`goes with`:                 "is deleted with, belongs to",
	`nobody|somebody's`:         "no one that the sentence can name: the user, a controller, a server",
	`doomed`:                    "to be deleted",
	`gist`:                      "summary",
	`anew`:                      "again",
	`alas|hath|naught|whence`:   "plain words",
	`ailments?|afflicts?`:       "guest fault, injects",
	`conductor`:                 "supervisor",
	`stand-?ins?`:               "stub",
	`posh`:                      "PowerShell",
	`at rest`:                   "as stored",
	`stirs?|stirred`:            "broadcasts, notifies",
	`begets?|dwells?|hearkens?`: "plain words",
	`strikes?|struck|spoils?`:   "matches, fails",
}

// names maps words that identifiers must not contain to better words.
var names = map[string]string{
	"mend": "fix, repair", "mended": "fixed", "told": "shown, reported", "gist": "summary", "doomed": "toDelete",
	"afflict": "inject", "ailment": "GuestFault",
	"stir": "broadcast", "conductor": "supervisor", "posh": "powershell", "dig": "lookup", "strike": "match",
	"spoil": "fail", "forever": "unbounded", "anew": "again",
}

// kept are literals that are exempt because they are in users' files and scripts.
var kept = []string{"`json:\"ailment,omitempty\"`", "`json:\"struck,omitempty\"`", "`json:\"standIns\"`", `"ailment"`, `"ailments"`,
	`"- {path: /out/a, content: one, owner: 'nobody:there'}\n"`,
	"`json:\"strikes\"`", "`json:\"conductor\"`",
	`"nobody"`, `"Install-ADServiceAccount Nobody -ErrorAction Stop"`, // names of users
	`"#cloud-config\nwrite_files:\n- {path: /1, content: a, owner: 'nobody:x', defer: true}\n"`,
	// The output format of ip of iproute2.
	`"%d: %s    inet %s %sscope %s\\       valid_lft forever preferred_lft forever\n"`,
	`"    inet %s %sscope %s\n       valid_lft forever preferred_lft forever\n"`,
}

// exactNames maps identifiers that must not be used to better names.
var exactNames = map[string]string{
	"standIn": "stub", "heldBack": "blocked", "takesAlong": "cascadesDelete", "atRest": "storedAsServed",
	"act": "invoke", "underWay": "inProgress", "look": "observe", "held": "blocked", "conduct": "supervise",
}

var camel = regexp.MustCompile(`[A-Z]?[a-z0-9]+|[A-Z]+`)

// TestWords: code, comments and pages are in plain technical English.
func TestWords(t *testing.T) {
	banned := regexp.MustCompile(`(?i)\b(?:` + strings.Join(slices.Sorted(maps.Keys(phrases)), "|") + `)\b`)
	checked, pages := 0, 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() && (path == "bin" || path == "dist"):
			return filepath.SkipDir
		case filepath.Ext(path) == ".md":
			pages++
			return checkPage(t, path, banned)
		case d.IsDir() || filepath.Ext(path) != ".go" || path == "words_test.go":
			return nil
		}
		checked++
		return checkWords(t, path, banned)
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 50 {
		t.Errorf("only %d files were checked", checked)
	}
	if pages < 50 {
		t.Errorf("only %d pages were checked", pages)
	}
}

// quoted matches code spans, which a page may quote from programs and files.
var quoted = regexp.MustCompile("`[^`]*`")

// checkPage checks the text of a page, without its code blocks.
func checkPage(t *testing.T, path string, banned *regexp.Regexp) error {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	example := false
	for i, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			example = !example
		}
		if example {
			continue
		}
		for _, word := range banned.FindAllString(quoted.ReplaceAllString(line, "`"), -1) {
			t.Errorf("%s:%d: %q: say: %s", path, i+1, word, inPlaceOf(word))
		}
	}
	return nil
}

// checkLines checks that no line has more than 140 characters, except controller-gen's markers,
// which cannot be broken.
func checkLines(t *testing.T, path, data string) {
	t.Helper()
	n := 0
	for line := range strings.Lines(data) {
		n++
		length := utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
		if length > 140 && !strings.Contains(line, "+kubebuilder:") {
			t.Errorf("%s:%d: the line has %d characters; 140 are the most", path, n, length)
		}
	}
}

func checkWords(t *testing.T, path string, banned *regexp.Regexp) error {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, data, parser.ParseComments)
	if err != nil {
		return err
	}
	if !ast.IsGenerated(file) {
		checkLines(t, path, string(data))
	}
	text := func(at token.Pos, s string) {
		for _, word := range banned.FindAllString(s, -1) {
			t.Errorf("%s: %q: say: %s", set.Position(at), word, inPlaceOf(word))
		}
	}
	for _, group := range file.Comments {
		text(group.Pos(), group.Text())
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING && !slices.Contains(kept, n.Value) {
				text(n.Pos(), n.Value)
			}
		case *ast.Ident:
			if say := exactNames[n.Name]; say != "" {
				t.Errorf("%s: %s: say: %s", set.Position(n.Pos()), n.Name, say)
			}
			for _, word := range camel.FindAllString(n.Name, -1) {
				if say := names[strings.ToLower(word)]; say != "" {
					t.Errorf("%s: %s: say: %s", set.Position(n.Pos()), n.Name, say)
				}
			}
		}
		return true
	})
	return nil
}

// inPlaceOf returns the better wording for a word.
func inPlaceOf(word string) string {
	for pattern, say := range phrases {
		if regexp.MustCompile(`(?i)^(?:` + pattern + `)$`).MatchString(word) {
			return say
		}
	}
	return ""
}
