package kubeproc

import (
	"io"
	"net/http"
	"time"
)

// Pauses before a watch is retried; together half a second.
const (
	firstWatchPause = 16 * time.Millisecond
	lastWatchPause  = 256 * time.Millisecond
)

// eagerWatches retries a watch soon after the API server has refused it. An API server begins to fill the watch cache
// of a kind at the first request for the kind, and until then refuses watches with the advice to wait a second; for an
// empty kind it takes some hundredths of a second.
type eagerWatches struct{ next http.RoundTripper }

func (t eagerWatches) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if r.Method != http.MethodGet || r.URL.Query().Get("watch") != "true" {
		return resp, err
	}
	for pause := firstWatchPause; pause <= lastWatchPause && err == nil && resp.StatusCode == http.StatusTooManyRequests; pause *= 2 {
		io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // reading the rest lets the connection be used again
		resp.Body.Close()
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(pause):
		}
		resp, err = t.next.RoundTrip(r)
	}
	return resp, err
}
