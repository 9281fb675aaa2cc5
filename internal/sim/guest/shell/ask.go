package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// answer is what a server said to a program of the guest.
type answer struct {
	status int
	kind   string
	body   []byte
}

const (
	askTimeout = 30 * time.Second
	maxAnswer  = 1 << 20
)

// ask makes one HTTP request in the guest's network.
func (s *Shell) ask(ctx context.Context, method, url string, headers map[string]string) (answer, error) {
	if s.web == nil {
		return answer{}, fmt.Errorf("this guest is simulated and downloads nothing")
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return answer{}, err
	}
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	resp, err := s.web.RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return answer{resp.StatusCode, resp.Header.Get("Content-Type"), body}, err
}

// errNoNetwork is for a guest that nothing carries requests for.
var errNoNetwork = errors.New("this guest is simulated and downloads nothing")
