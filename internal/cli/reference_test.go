package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
)

// every calls check for each command in the help, and for each hidden command with examples.
func every(t *testing.T, check func(t *testing.T, c *cobra.Command)) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if !c.Hidden || c.Example != "" {
			t.Run(c.CommandPath(), func(t *testing.T) { check(t, c) })
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(app.New(app.Streams{}), "casement"))
}

// TestHelp: every command has a description and a usage line, and its help fits a screen.
func TestHelp(t *testing.T) {
	every(t, func(t *testing.T, c *cobra.Command) {
		if c.Short == "" || c.Example == "" {
			t.Error("no purpose or no example")
		}
		for line := range strings.Lines(c.Long + "\n" + c.Short) {
			if len(strings.TrimRight(line, "\n")) > 100 {
				t.Errorf("wider than 100 columns: %s", line)
			}
		}
	})
}

// TestExamples parses each call of casement in the help's examples: the command and its flags exist, the values have
// the right types, and the number of arguments is permitted.
func TestExamples(t *testing.T) {
	every(t, func(t *testing.T, c *cobra.Command) {
		calls := 0
		for _, words := range commands(c.Example) {
			i := slices.IndexFunc(words, func(w string) bool { return w == "casement" || w == "kubectl-casement" })
			if i < 0 {
				continue
			}
			calls++
			if err := parses(words[i+1:]); err != nil {
				t.Errorf("%s: %v", strings.Join(words, " "), err)
			}
		}
		if calls == 0 {
			t.Errorf("no call of casement in %q", c.Example)
		}
	})
}

func TestWrongExamples(t *testing.T) {
	for _, example := range []string{"casement nonsense", "casement images list --nonsense", "casement images show",
		"casement wait demo --timeout soon"} {
		if err := parses(commands(example)[0][1:]); err == nil {
			t.Errorf("%s parses", example)
		}
	}
}

// parses returns an error if the command of a call does not exist, or its flags or arguments are invalid.
func parses(args []string) error {
	root := newRoot(app.New(app.Streams{}), "casement")
	root.InitDefaultCompletionCmd()
	c, rest, err := root.Find(args)
	if err != nil || c.DisableFlagParsing {
		return err
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if !c.Runnable() {
		return app.Usagef("%s does nothing by itself", c.CommandPath())
	}
	return c.ValidateArgs(c.Flags().Args())
}

// commands splits shell text into the words of its simple commands. Quotes keep words together; $(...) inside of them
// is a command too.
func commands(text string) [][]string {
	var out [][]string
	var words []string
	var word strings.Builder
	quote, inWord, redirect := rune(0), false, false
	endWord := func() {
		if inWord && !redirect {
			words = append(words, word.String())
		}
		redirect = redirect && !inWord
		word.Reset()
		inWord = false
	}
	endCommand := func() {
		endWord()
		if len(words) > 0 {
			out = append(out, words)
		}
		words, redirect = nil, false
	}
	text = strings.ReplaceAll(text, "\\\n", " ")
	for {
		before, after, ok := strings.Cut(text, "$(")
		if !ok {
			break
		}
		inner, rest, _ := strings.Cut(after, ")")
		out = append(out, commands(inner)...)
		text = before + "SUBSTITUTED" + rest
	}
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, inWord = r, true
		case r == '#' && !inWord:
			endCommand()
			quote = '\n'
		case strings.ContainsRune("\n|;&", r):
			endCommand()
		case r == '>' || r == '<':
			endWord()
			redirect = true // the next word is a file
		case r == ' ' || r == '\t':
			endWord()
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	endCommand()
	return out
}

// TestReference: each visible command has a page in docs/cli. `make verify` checks that the pages are current.
func TestReference(t *testing.T) {
	dir := t.TempDir()
	if code := Main([]string{"casement", "docs", dir}, app.Streams{Out: io.Discard, Err: os.Stderr}); code != app.ExitDone {
		t.Fatalf("exit code %d", code)
	}
	every(t, func(t *testing.T, c *cobra.Command) {
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "_")+".md"))
		if c.Hidden {
			if err == nil {
				t.Error("it is hidden, and has a page")
			}
			return
		}
		if err != nil || !bytes.Contains(page, []byte(c.Short)) {
			t.Errorf("%v: %.200s", err, page)
		}
	})
}

func TestManPages(t *testing.T) {
	dir := t.TempDir()
	if code := Main([]string{"casement", "docs", "--format", "man", dir}, app.Streams{Out: io.Discard, Err: os.Stderr}); code != app.ExitDone {
		t.Fatalf("exit code %d", code)
	}
	page, err := os.ReadFile(filepath.Join(dir, "casement-images-show.1"))
	if err != nil || !bytes.Contains(page, []byte(`.SH EXAMPLE`)) || !bytes.Contains(page, []byte("--release")) {
		t.Errorf("%v: %.200s", err, page)
	}
}

// TestPlugin: called as a kubectl plugin, the help shows the plugin's name, and kubectl gets completions.
func TestPlugin(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"help", []string{"/x/kubectl-casement", "images", "--help"}, "kubectl casement images [command]"},
		{"by its own name", []string{"/x/casement", "images", "--help"}, "casement images [command]"},
		{"a command", []string{"/x/kubectl_complete-casement", "pref"}, "preflight\t"},
		{"a value", []string{"/x/kubectl_complete-casement", "images", "list", "-o", ""}, "jsonpath=\nname\ntable\nwide\nyaml\n"},
		{"bash", []string{"/x/casement", "completion", "bash"}, "__start_casement"},
		{"zsh", []string{"/x/casement", "completion", "zsh"}, "#compdef casement"},
		{"fish", []string{"/x/casement", "completion", "fish"}, "complete -c casement"},
		{"powershell", []string{"/x/casement", "completion", "powershell"}, "Register-ArgumentCompleter"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			if code := Main(tc.args, app.Streams{Out: &out, Err: io.Discard}); code != app.ExitDone {
				t.Errorf("exit code %d", code)
			}
			if !strings.Contains(out.String(), tc.want) {
				t.Errorf("no %q in %.300s", tc.want, out.String())
			}
		})
	}
}
