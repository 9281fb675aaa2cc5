package supervisor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"casement.dev/casement/internal/plane"
)

func TestRevive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &supervisor{opts: Options{Dir: plane.Dir(t.TempDir())}, log: logr.Discard(), steps: []plane.Step{{Name: "managers"}}}
		ctx, cancel := context.WithCancel(t.Context())
		runs, begun := 0, time.Now()
		c.revive(ctx, "managers", func(ctx context.Context) error {
			if runs++; runs <= 3 {
				return errors.New("too slow")
			}
			cancel()
			return ctx.Err()
		})
		if s := c.status(); runs != 4 || len(s.Restarts) != 1 || s.Restarts[0].Times != 3 ||
			s.Restarts[0].Reason != "too slow" || s.Waiting == "" {
			t.Errorf("after %d runs the status says %+v, %q", runs, s.Restarts, s.Waiting)
		}
		if took := time.Since(begun); took != 7*time.Second {
			t.Errorf("the pauses are %s in all", took)
		}
	})
}
