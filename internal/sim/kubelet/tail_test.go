package kubelet

import (
	"strings"
	"testing"
)

// TestTail: the last lines of a log of any size are found from its end, and at most maxLog bytes
// are shown.
func TestTail(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 99)+"\n", 1000)
	for _, c := range []struct{ name, log, lines, want string }{
		{"one", "a\nb\nc\n", "1", "c\n"}, {"two", "a\nb\nc\n", "2", "b\nc\n"}, {"all", "a\nb\nc\n", "3", "a\nb\nc\n"},
		{"more than there are", "a\nb\n", "9", "a\nb\n"}, {"none", "a\nb\n", "0", ""}, {"no end", "a\nb", "1", "b"},
		{"not said", "a\nb\n", "", "a\nb\n"}, {"no number", "a\nb\n", "-1", "a\nb\n"}, {"nothing", "", "3", ""},
		{"parts", long, "500", long[50000:]}, {"empty lines", "\n\n\n", "2", "\n\n"},
		{"too long", strings.Repeat("y", maxLog) + "z\n", "", strings.Repeat("y", maxLog-2) + "z\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.log[tail(strings.NewReader(c.log), int64(len(c.log)), c.lines):]; got != c.want {
				t.Errorf("%d bytes, want %d", len(got), len(c.want))
			}
		})
	}
}
