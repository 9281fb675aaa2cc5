package cause

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/golden"
)

// samples returns short texts that a pattern matches, one for each alternative.
func samples(t *testing.T, c Cause) (out []string) {
	t.Helper()
	if c.match == nil {
		return nil
	}
	re, err := syntax.Parse(c.match.String(), syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	for _, gap := range []string{"", " "} { // replacement of .*
		for _, text := range words(re, gap) {
			if c.by != nil {
				text = "kubeadm: plugin: " + text
			}
			if c.match.MatchString(text) && (c.by == nil || c.by.MatchString(text)) {
				out = append(out, text)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return out
}

// words returns texts that a pattern matches; gap replaces each part that may be anything.
func words(re *syntax.Regexp, gap string) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}
	case syntax.OpCharClass:
		for _, r := range "a0 -./:\"x" {
			for i := 0; i+1 < len(re.Rune); i += 2 {
				if re.Rune[i] <= r && r <= re.Rune[i+1] {
					return []string{string(r)}
				}
			}
		}
		return []string{string(re.Rune[0])}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []string{"x"}
	case syntax.OpCapture:
		return words(re.Sub[0], gap)
	case syntax.OpStar:
		if op := re.Sub[0].Op; op == syntax.OpAnyChar || op == syntax.OpAnyCharNotNL {
			return []string{gap}
		}
		return []string{""}
	case syntax.OpQuest:
		return []string{""}
	case syntax.OpPlus:
		return words(re.Sub[0], gap)
	case syntax.OpRepeat:
		return []string{strings.Repeat(words(re.Sub[0], gap)[0], re.Min)}
	case syntax.OpAlternate:
		var out []string
		for _, sub := range re.Sub {
			out = append(out, words(sub, gap)...)
		}
		return out
	case syntax.OpConcat:
		out := []string{""}
		for _, sub := range re.Sub {
			var next []string
			for _, before := range out {
				for _, word := range words(sub, gap) {
					next = append(next, before+word)
				}
			}
			if out = next; len(out) > maxSamples {
				out = out[:maxSamples]
			}
		}
		return out
	}
	return []string{""} // anchors and boundaries
}

const maxSamples = 60

// TestOverlap matches every cause's texts and reasons at every other step. None may match there, except the pairs in
// the golden file, for which the same words mean another fault there, or the same one.
func TestOverlap(t *testing.T) {
	pairs := map[string]bool{}
	for _, step := range Steps() {
		for _, c := range Of(step) {
			texts := samples(t, c)
			if len(texts) == 0 && len(c.reasons) == 0 {
				t.Errorf("%s %s: no text matches its pattern %s", step, c.Name, c.pattern)
			}
			for _, other := range Steps() {
				if other == step {
					continue
				}
				for _, reason := range c.reasons {
					if found, _, is := Classify(other, reason, ""); is && found.Name != c.Name {
						pairs[fmt.Sprintf("%-10s %-24s at %-10s is %s, as the reason %s", step, c.Name, other, found.Name, reason)] = true
					}
				}
				for _, text := range texts {
					if found, _, is := Classify(other, "", text); is && found.Name != c.Name {
						pairs[fmt.Sprintf("%-10s %-24s at %-10s is %s", step, c.Name, other, found.Name)] = true
					}
				}
			}
		}
	}
	var out strings.Builder
	for _, pair := range slices.Sorted(func(yield func(string) bool) {
		for pair := range pairs {
			if !yield(pair) {
				return
			}
		}
	}) {
		fmt.Fprintln(&out, pair)
	}
	golden.Compare(t, "testdata/overlap.txt", []byte(out.String()))
}

// TestOrder: no cause of a step is hidden by an earlier one: at least one of its texts gives this cause.
func TestOrder(t *testing.T) {
	for _, step := range Steps() {
		for _, c := range Of(step) {
			texts := samples(t, c)
			own := len(texts) == 0 || slices.ContainsFunc(texts, func(text string) bool {
				found, _, _ := Classify(step, "", text)
				return found.Name == c.Name
			})
			if !own {
				t.Errorf("%s %s is hidden by a cause before it: %q", step, c.Name, texts)
			}
			for _, reason := range c.reasons {
				found, _, _ := Classify(step, reason, "")
				if refines := step == Volume || step == Service; found.Name != c.Name && !refines { // among Azure's causes
					t.Errorf("%s: the reason %s of %s is %s", step, reason, c.Name, found.Name)
				}
			}
			if needs := c.Needs(step); needs == "" || strings.HasSuffix(needs, "with ") || strings.HasPrefix(needs, " ") {
				t.Errorf("%s %s does not say what it needs: %q", step, c.Name, needs)
			}
		}
	}
}
