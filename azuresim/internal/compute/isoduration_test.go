package compute

import (
	"testing"
	"time"
)

func TestIsoDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"PT0S": 0, "PT5M": 5 * time.Minute, "pt1h2m3s": time.Hour + 2*time.Minute + 3*time.Second,
	} {
		if got, ok := isoDuration(in); !ok || got != want {
			t.Errorf("%s is %v (%v), want %v", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "5m", "P1D", "PT5X", "PT99999999999999999999S"} {
		if got, ok := isoDuration(in); ok {
			t.Errorf("%q is read as %v", in, got)
		}
	}
}

func FuzzIsoDuration(f *testing.F) {
	f.Add("PT1H2M3S")
	f.Fuzz(func(t *testing.T, in string) {
		if d, ok := isoDuration(in); ok && d < 0 {
			t.Errorf("%q is %v", in, d)
		}
	})
}
