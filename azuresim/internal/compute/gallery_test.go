package compute

import "testing"

// TestVersionNames checks that each number of an image version's name is limited to a
// signed 32-bit integer.
func TestVersionNames(t *testing.T) {
	for name, want := range map[string]bool{
		"1.36.3": true, "0.3.1707767847": true, "0.0.2147483647": true, "0.0.2147483648": false, "1.2": false,
		"1.2.3.4": false, "latest": false, "v1.2.3": false, "1.-2.3": false, "1.+2.3": false, "1..3": false, "": false,
	} {
		if got := isVersion(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}
