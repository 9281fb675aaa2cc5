package catalog

import (
	"slices"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"Standard_F2s_v2", "Standard_D2s_v3", "Standard_D4s_v3", "Standard_D2s_v5", "Standard_B2ms"}
	for wrong, want := range map[string][]string{
		"Standard_D2s_v4": {"Standard_D2s_v3", "Standard_D2s_v5", "Standard_D4s_v3"},
		"standard_b2m":    {"Standard_B2ms", "Standard_D2s_v3", "Standard_D2s_v5"},
	} {
		if got := nearest(wrong, names); !slices.Equal(got, want) {
			t.Errorf("nearest to %s: %v, not %v", wrong, got, want)
		}
	}
	if got := nearest("x", nil); len(got) != 0 {
		t.Errorf("of no names %v is nearest", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 2}, {"same", "same", 0}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance of %q and %q: %d, not %d", c.a, c.b, got, c.want)
		}
	}
}
