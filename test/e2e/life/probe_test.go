package life

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// probe requests a service repeatedly, each time with a new connection, like a client that does not
// know the nodes.
type probe struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu       sync.Mutex
	asked    int
	failed   int
	longest  time.Duration
	since    time.Time
	lastFail string
}

// interval is the pause between two requests.
const interval = 25 * time.Millisecond

func startProbe(url string) *probe {
	ctx, stop := context.WithCancel(context.Background())
	p := &probe{stop: stop}
	// A lost request has no response at all; on a busy computer a response can be late.
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	p.done.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				p.note(ask(ctx, client, url), ctx)
			}
		}
	})
	return p
}

func ask(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "casement")) {
		err = fmt.Errorf("%s: %.80s", resp.Status, body)
	}
	return err
}

func (p *probe) note(err error, ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	p.asked++
	if err == nil {
		p.since = time.Time{}
		return
	}
	p.failed++
	p.lastFail = err.Error()
	if p.since.IsZero() {
		p.since = time.Now()
	}
	p.longest = max(p.longest, time.Since(p.since))
}

// take returns the numbers of requests and failures since the last call, and the last failure.
func (p *probe) take() (asked, failed int, lastFail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked, failed, lastFail = p.asked, p.failed, p.lastFail
	p.asked, p.failed, p.lastFail = 0, 0, ""
	return asked, failed, lastFail
}

// end stops the requests; it does nothing if the probe was not started.
func (p *probe) end() {
	if p == nil {
		return
	}
	p.stop()
	p.done.Wait()
}
