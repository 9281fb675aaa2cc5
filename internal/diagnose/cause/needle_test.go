package cause

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNeedles(t *testing.T) {
	for expression, want := range map[string][]string{
		`(?i)No Such Host`:                {"no such host"},
		`a+bcd?|\bxyz`:                    {"bc", "xyz"},
		`(?:timed|not) out`:               {" out"},
		`one|.*`:                          nil,
		`^\d+$`:                           nil,
		`x?y*`:                            nil,
		`(?i)\b(?:refused|denied)\b: \d+`: {"refused", "denied"},
	} {
		if got := needles(expression); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", expression, got, want)
		}
	}
	for _, step := range Steps() {
		for _, c := range Of(step) {
			if c.match != nil && len(c.needles) == 0 {
				t.Errorf("%s %s: its expression is matched with every line; begin each alternative with a text", step, c.Name)
			}
		}
	}
}

// BenchmarkLast reads the boot log of a machine without faults.
func BenchmarkLast(b *testing.B) {
	var lines []string
	for i := range 300 {
		lines = append(lines, fmt.Sprintf("2026-11-28 09:00:%02d.123 1234 INFO cloudbaseinit.plugins.common.executil [-] running C:\\k\\%s.ps1",
			i%60, strings.Repeat("file", i%5)))
	}
	for b.Loop() {
		Last(Guest, lines)
	}
}
