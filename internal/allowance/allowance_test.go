package allowance

import (
	"testing"
	"time"
)

func TestAllowance(t *testing.T) {
	for name, c := range map[string]struct {
		share float64
		want  time.Duration
	}{
		"idle":    {4, 4 * time.Minute},
		"full":    {1, 4 * time.Minute},
		"busy":    {0.5, 8 * time.Minute},
		"starved": {0.001, 40 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1e9, 0)
			begun := now
			a := New(4 * time.Minute)
			a.now, a.share = func() time.Time { return now }, func() float64 { return c.share }
			for !a.Over() {
				now = now.Add(5 * time.Second)
			}
			if got := now.Sub(begun); got < c.want || got > c.want+10*time.Second {
				t.Errorf("over after %s, want %s", got, c.want)
			}
		})
	}
	if s := share(); s <= 0 {
		t.Errorf("the share of this machine is %v", s)
	}
}
