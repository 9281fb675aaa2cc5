package kubeadm

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

// hasty is a clock without waiting.
type hasty struct{ clock.RealClock }

// After implements clock.Clock.
func (hasty) After(time.Duration) <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}

// TestAskAgain: a join repeats its requests to an API server that has just started as many times as kubeadm
// does.
func TestAskAgain(t *testing.T) {
	for name, c := range map[string]struct {
		answer       int
		times, asked int
		want         string
	}{
		"at once":             {200, 0, 1, ""},
		"not ready, then":     {503, 5, 6, ""},
		"no rights yet, then": {403, 100, 101, ""},
		"never":               {500, 1000, apiAttempts, "500"},
		"not there":           {404, 1000, 1, "404"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked++; asked <= c.times {
					http.Error(w, "{}", c.answer)
					return
				}
				_, _ = io.WriteString(w, `{"data":{"a":"b"}}`)
			}))
			defer server.Close()
			j := &join{Options: Options{Clock: hasty{}, Out: io.Discard}}
			data, err := j.configMap(t.Context(), &cluster{server: server.URL, http: server.Client()}, "kubeadm-config")
			if asked != c.asked || c.want == "" && (err != nil || data["a"] != "b") ||
				c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("asked %d times: %v, %v", asked, data, err)
			}
		})
	}
}
