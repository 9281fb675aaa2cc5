package sed

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// none is a Files without files.
type none struct{}

func (none) ReadFile(string) ([]byte, error) { return nil, fs.ErrNotExist }
func (none) AppendFile(string, string) error { return errors.New("no file is written") }

func TestRun(t *testing.T) {
	for _, test := range []struct {
		name, script    string
		extended, quiet bool
		input, want     string
	}{
		{"substitution", "s/a/b/", false, false, "aa\nca\n", "ba\ncb\n"},
		{"all", "s/a/b/g", false, false, "aa\n", "bb\n"},
		{"second", "s/a/b/2", false, false, "aaa\n", "aba\n"},
		{"group", `s/\(x\)\(y\)/\2\1/`, false, false, "xy\n", "yx\n"},
		{"extended", `s/(x)(y)?/[\1]/`, true, false, "x\n", "[x]\n"},
		{"other separator", "s|/a|/b|", false, false, "/a\n", "/b\n"},
		{"delete", "/swap/d", false, false, "a\nswap\nb\n", "a\nb\n"},
		{"print", "2p", false, true, "a\nb\n", "b\n"},
		{"range", "/a/,/b/d", false, false, "1\na\nx\nb\n2\n", "1\n2\n"},
		{"append", "/a/a after", false, false, "a\nb\n", "a\nafter\nb\n"},
		{"last", "$s/$/!/", false, false, "a\nb\n", "a\nb!\n"},
		{"no newline at the end", "s/a/b/", false, false, "a", "b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := Parse(test.script, test.extended)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			code, err := p.Run(nil, LinesOf(test.input, '\n'), test.quiet, &out, none{})
			if err != nil || code != 0 || out.String() != test.want {
				t.Errorf("got %q, %d, %v; want %q", out.String(), code, err, test.want)
			}
		})
	}
	for _, script := range []string{"s/a", "s/a/b/x", "}", "{", "b nowhere", "y/ab/c/"} {
		if _, err := Parse(script, false); err == nil {
			t.Errorf("%s: there is no error", script)
		}
	}
}

// FuzzParse checks that no script makes the parser panic.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"s/a/b/g", "/x/,$d", "2{p;d}", "y/abc/xyz/", "a\\\ntext", ":a;N;$!ba;s/\\n/ /g",
		"s/a/\\U&/e", "w file", "{", "s", "1~2p"} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, script string, extended bool) {
		p, err := Parse(script, extended)
		if (p == nil) == (err == nil) {
			t.Errorf("%q: program %v and error %v", script, p != nil, err)
		}
	})
}
