package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
)

// texts returns the string constants of a file; values within a concatenation are replaced by X.
func texts(file *ast.File) (out []string) {
	var text func(e ast.Expr) (string, bool)
	text = func(e ast.Expr) (string, bool) {
		switch e := e.(type) {
		case *ast.BasicLit:
			s, err := strconv.Unquote(e.Value)
			return s, e.Kind == token.STRING && err == nil
		case *ast.BinaryExpr:
			a, isA := text(e.X)
			b, isB := text(e.Y)
			return a + b, e.Op == token.ADD && (isA || isB)
		}
		return "X", false
	}
	ast.Inspect(file, func(n ast.Node) bool {
		e, is := n.(ast.Expr)
		if !is {
			return true
		}
		if s, is := text(e); is {
			out = append(out, s)
			return false
		}
		return true
	})
	return out
}

var (
	verb  = regexp.MustCompile(`%(\[\d\])?[svdq]`)
	glued = regexp.MustCompile(`(\w)%(\[\d\])?[svdq]`)
	// after matches the end of a command in a sentence.
	after = regexp.MustCompile("['`\");|\n]|, | \\(|: |\\. |\\.$| &&")
)

// suggested returns the commands in a text: the words after the program's name up to the sentence's next punctuation
// mark. Examples in help texts, which begin with two spaces, have their own test.
func suggested(pattern *regexp.Regexp, text string) (out [][]string) {
	if strings.HasPrefix(text, "  ") {
		return nil
	}
	text = verb.ReplaceAllString(glued.ReplaceAllString(text, "$1"), "X")
	for _, at := range pattern.FindAllStringIndex(text, -1) {
		line := strings.TrimPrefix(text[at[0]:], "casement ")
		if end := after.FindStringIndex(line); end != nil {
			line = line[:end[0]]
		}
		out = append(out, strings.Fields(line))
	}
	return out
}

// runs returns an error if neither the words nor a prefix of them can be run as a command; the remaining words of the
// sentence must not contain a flag. Words without arguments are a command's name, and the last flag may have no value.
func runs(root *cobra.Command, words []string) (err error) {
	if c, rest, err := root.Find(words); err == nil && len(rest) == 0 && c != root {
		return nil
	}
	if strings.HasPrefix(words[len(words)-1], "--") {
		words = append(words, "X") // a flag that is mentioned without its value
	}
	for n := len(words); n > 0; n-- {
		failed := parses(words[:n])
		if failed == nil {
			return nil
		}
		if err == nil {
			err = failed
		}
		if strings.HasPrefix(words[n-1], "-") {
			break
		}
	}
	return err
}

// TestSuggestions: each command that a text of the program suggests exists, with its flags and arguments.
func TestSuggestions(t *testing.T) {
	root, found := newRoot(app.New(app.Streams{}), "casement"), 0
	pattern := commandsOf(root)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, text := range texts(file) {
			for _, words := range suggested(pattern, text) {
				found++
				if err := runs(root, words); err != nil {
					t.Errorf("%s: casement %s: %v", path, strings.Join(words, " "), err)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 100 {
		t.Errorf("only %d suggestions were found", found)
	}
}

func TestWrongSuggestions(t *testing.T) {
	root := newRoot(app.New(app.Streams{}), "casement")
	for _, text := range []string{"see: casement images shw x", "see casement azure nosuch", "casement logs MACHINE --nosuch says more",
		"'casement wait %s --timeout soon'"} {
		words := suggested(commandsOf(root), text)
		if len(words) != 1 || runs(root, words[0]) == nil {
			t.Errorf("%s runs: %q", text, words)
		}
	}
}
