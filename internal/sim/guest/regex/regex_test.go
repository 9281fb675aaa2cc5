package regex

import (
	"errors"
	"strings"
	"testing"
)

func TestCompile(t *testing.T) {
	for _, test := range []struct {
		name, pattern string
		options       Options
		text, match   string
	}{
		{"basic star", "ab*", Options{}, "xabbx", "abb"},
		{"basic plus is a letter", "a+", Options{}, "aa+", "a+"},
		{"basic group", `\(ab\)\{2\}`, Options{}, "ababab", "abab"},
		{"extended group", "(ab){2}", Options{Extended: true}, "ababab", "abab"},
		{"extended choice, the longest", "a|ab", Options{Extended: true}, "ab", "ab"},
		{"class", "[[:digit:]]+", Options{Extended: true}, "a12b", "12"},
		{"bracket with a bracket", "[]a]", Options{}, "x]", "]"},
		{"fixed", "a.b", Options{Fixed: true}, "axb a.b", "a.b"},
		{"any case", "ABC", Options{IgnoreCase: true}, "xabc", "abc"},
		{"word", "cat", Options{Word: true}, "concat cat", "cat"},
		{"line", "a.c", Options{Line: true}, "abc", "abc"},
		{"star at the beginning", "*a", Options{}, "*a", "*a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			re, err := Compile(test.pattern, test.options)
			if err != nil {
				t.Fatal(err)
			}
			if got := text(re, test.text); got != test.match {
				t.Errorf("got %q of %q, want %q", got, test.text, test.match)
			}
		})
	}
	if _, err := Compile(`\(a\)\1`, Options{}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a back reference: %v", err)
	}
	if _, err := Compile("("+strings.Repeat("a", 100)+"){999}", Options{Extended: true}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a repetition of a long text: %v", err)
	}
	if _, err := Compile(strings.Repeat("a", maxPattern), Options{}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a long pattern: %v", err)
	}
	for _, c := range []struct{ pattern, text, want string }{
		{`a(?=b)`, "ac ab", "a"}, {`id=\K\w+`, "x id=abc", "abc"}, {`(?<!x)\d+`, "x1 2", "2"}, {`(\w)\1`, "héé", "éé"},
	} {
		re, err := Perl(c.pattern, Options{})
		if err != nil || len(re.All(nil, c.text, -1)) != 1 || text(re, c.text) != c.want {
			t.Errorf("%s in %q: %v, want %q", c.pattern, c.text, err, c.want)
		}
	}
	if re, err := Any(`\(.\)\1`, Options{}); err != nil || !re.Match(nil, "abb") || re.Match(nil, "abc") {
		t.Errorf("a reference back: %v", err)
	}
}

// FuzzCompile checks that no pattern makes the translation panic.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{"ab*", `\(a\)\{2,3\}`, "(a|b)+?", "[[:alpha:]_-]", `\<w\>`, "[", "a{", `\`, "(", ")", "[^]]", "x**"} {
		f.Add(s, true, false)
	}
	f.Fuzz(func(t *testing.T, pattern string, extended, line bool) {
		re, err := Compile(pattern, Options{Extended: extended, Line: line})
		if (re == nil) == (err == nil) {
			t.Errorf("%q: pattern %v and error %v", pattern, re != nil, err)
		}
		if re != nil {
			re.Match(nil, "some text\nof two lines")
		}
		_, _ = Perl(pattern, Options{Line: line})
	})
}
