package kubeproc

import (
	"io"
	"net/http"
	"time"
)

// Pauses before a watch is tried again; together half a second.
const (
	firstWatchPause = 16 * time.Millisecond
	lastWatchPause  = 256 * time.Millisecond
)

// eagerWatches tries a watch again soon after the API server has refused it. An API server begins to fill the
// watch cache of a kind at the first request for it, and refuses watches until then with an advice to
// wait a second; an empty kind takes some hundredths.
type eagerWatches struct{ next http.RoundTripper }

func (t eagerWatches) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if r.Method != http.MethodGet || r.URL.Query().Get("watch") != "true" {
		return resp, err
	}
	for pause := firstWatchPause; pause <= lastWatchPause && err == nil && resp.StatusCode == http.StatusTooManyRequests; pause *= 2 {
		io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // the connection is used again if it can be
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
