package host

import (
	"bytes"
	"io"
	"net/http"

	"casement.dev/casement/internal/sim/artifact"
)

// artifactFor returns the response to a guest's download of a simulated artifact; nil for any other
// request. It makes no connection.
func artifactFor(r *http.Request) *http.Response {
	if r.Method != http.MethodGet {
		return nil
	}
	data, ok := artifact.Download(r.URL.String())
	if !ok {
		return nil
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, Request: r, ContentLength: int64(len(data)),
		Header: http.Header{"Content-Type": {"application/octet-stream"}, "Server": {"casement (simulated)"}},
		Body:   io.NopCloser(bytes.NewReader(data))}
}

// depot is a RoundTripper that answers the downloads of simulated artifacts and forwards all other
// requests.
type depot struct{ corrupting }

// RoundTrip implements http.RoundTripper.
func (d depot) RoundTrip(r *http.Request) (*http.Response, error) {
	if resp := artifactFor(r); resp != nil {
		return resp, nil
	}
	return d.corrupting.RoundTrip(r)
}
