package expansion

import "testing"

// TestExpand: variables that are set, variables that are not, and text that is not a name.
func TestExpand(t *testing.T) {
	env := map[string]string{"A": "1", "EMPTY": ""}
	for in, want := range map[string]string{
		"plain": "plain", "$(A)x$(A)": "1x1", "$(B)": "$(B)", "$$(A)": "$(A)", "$A": "$A", "$(A": "$(A", "$(EMPTY)": "", "end$": "end$",
	} {
		if got := Expand(in, env); got != want {
			t.Errorf("Expand(%q) = %q, want %q", in, got, want)
		}
	}
}
