package fabric

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
)

// TestSlowIsNotDown: a machine that answers late stays behind its frontend, and a machine that refuses
// connections does not.
func TestSlowIsNotDown(t *testing.T) {
	slow, refused := fmt.Errorf("probe: %w", context.DeadlineExceeded), errors.New("connection refused")
	for name, c := range map[string]struct {
		threshold int
		answers   []error
		healthy   bool
	}{
		"one late answer":       {1, []error{slow}, true},
		"late, good, late":      {1, []error{slow, slow, nil, slow, slow}, true},
		"late too often":        {1, []error{slow, slow, slow}, false},
		"refused":               {1, []error{refused}, false},
		"refused less than set": {2, []error{refused}, true},
		"late as often as set":  {5, []error{slow, slow, slow, slow}, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &Fabric{log: slog.New(slog.DiscardHandler)}
			p := &prober{healthy: true}
			for _, err := range c.answers {
				f.recordProbe(probeKey{threshold: c.threshold}, p, err)
			}
			if p.healthy != c.healthy {
				t.Errorf("healthy is %v", p.healthy)
			}
		})
	}
}
