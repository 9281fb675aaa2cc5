package kubeproc

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// refusals is an API server that refuses a number of requests and serves the following ones.
type refusals struct{ left, asked int }

func (r *refusals) RoundTrip(*http.Request) (*http.Response, error) {
	r.asked++
	status := http.StatusOK
	if r.left > 0 {
		r.left--
		status = http.StatusTooManyRequests
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader("storage is (re)initializing"))}, nil
}

func TestEagerWatches(t *testing.T) {
	for name, tc := range map[string]struct {
		query         string
		refused       int
		status, asked int
	}{
		"a watch that is refused twice": {"?watch=true", 2, http.StatusOK, 3},
		"a watch that stays refused":    {"?watch=true", 100, http.StatusTooManyRequests, 6},
		"a list":                        {"", 1, http.StatusTooManyRequests, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &refusals{left: tc.refused}
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1/api/v1/pods"+tc.query, nil)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := eagerWatches{server}.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != tc.status || server.asked != tc.asked {
					t.Errorf("status %d after %d requests, want %d after %d", resp.StatusCode, server.asked, tc.status, tc.asked)
				}
			})
		})
	}
}
