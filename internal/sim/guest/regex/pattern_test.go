package regex

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"casement.dev/casement/internal/limit"
)

// text returns the text of the first match.
func text(p *Pattern, s string) string {
	if m := p.Find(nil, s); m != nil {
		return s[m[0]:m[1]]
	}
	return ""
}

// TestAllIsGos compares the search match by match with Go's own search.
func TestAllIsGos(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	atoms := []string{"a", "b", ".", "[ab]", `\b`, "^", "$", "(a|b)", "(ab)", "x*", "a+", "b?", "|", " ", "é", "(b*)", `\B`, "c{2}"}
	letters := []string{"a", "b", "ab", " ", "\n", "é", "x", "c", "\xff"}
	draw := func(from []string, most int) (out string) {
		for range 1 + r.IntN(most) {
			out += from[r.IntN(len(from))]
		}
		return out
	}
	for range 4000 {
		expression, s := "(?s)"+draw(atoms, 5), draw(letters, 12)
		if r.IntN(3) == 0 {
			expression = "(?sm)" + draw(atoms, 5)
		}
		p, err := compile(expression, r.IntN(2) == 0)
		if err != nil {
			continue
		}
		for _, most := range []int{-1, 1, 2} {
			if got, want := p.All(nil, s, most), p.re.FindAllStringSubmatchIndex(s, most); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q in %q, at most %d: got %v, want %v", expression, s, most, got, want)
			}
		}
		if got, want := p.Split(nil, s), p.re.Split(s, -1); strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Fatalf("%q splits %q into %q, want %q", expression, s, got, want)
		}
	}
}

// TestSearchesEnd checks that a search with many matches stops with its program, and that a search that is too large
// is refused.
func TestSearchesEnd(t *testing.T) {
	var guest limit.Guest
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := guest.Meter(ctx)
	for _, expression := range []string{"(a|b)*c|a", `\b(a|b)*c|a`} {
		p, err := New(expression)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Run(func() { p.All(m, strings.Repeat("a", 1<<20), -1) }); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: ended with %v", expression, err)
		}
	}
	p, err := New("(a?){500}a{500}")
	if err != nil {
		t.Fatal(err)
	}
	m = guest.Meter(t.Context())
	if err := m.Run(func() { p.Match(m, strings.Repeat("a", 8<<20)) }); !errors.Is(err, limit.ErrExceeded) {
		t.Errorf("too much ended with %v", err)
	}
	if letters, err := New("abc"); err != nil || !letters.Match(m, strings.Repeat("x", 32<<20)+"abc") {
		t.Errorf("letters alone are not found: %v", err)
	}
}
