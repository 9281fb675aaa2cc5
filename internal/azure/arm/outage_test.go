package arm

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestOutage checks that failures request longer waits the longer all calls fail, and that a successful response ends this.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := vm + "2"
		w := &wire{replies: map[string][]reply{
			"GET " + vm:    {{status: http.StatusServiceUnavailable}},
			"GET " + other: {{status: http.StatusNotFound}},
		}}
		c := newClient(t, w)
		for _, step := range []struct {
			pass time.Duration
			id   string
			want time.Duration
		}{
			{0, vm, 0},
			{40 * time.Second, vm, 0},
			{40 * time.Second, vm, 20 * time.Second},
			{time.Hour, vm, longestOutageWait},
			{0, other, 0},
			{time.Hour, vm, 0},
			{4 * time.Minute, vm, time.Minute},
		} {
			time.Sleep(step.pass)
			_, err := c.Get(t.Context(), step.id, "1")
			if got := RetryAfter(err); err == nil || got != step.want {
				t.Errorf("after %s: %v asks for %s, want %s", step.pass, err, got, step.want)
			}
		}
	})
}
