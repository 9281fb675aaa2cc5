package supervisor

import (
	"context"
	"fmt"
	"time"

	"casement.dev/casement/internal/plane"
)

// Pauses between the end of a part and its next start.
const (
	reviveFirst = time.Second
	reviveLast  = 30 * time.Second
	// reviveSteady is the running time after which an end does not count as a repeated failure.
	reviveSteady = time.Minute
)

// revive runs a part of the supervisor and restarts it, with a growing pause, whenever it ends by itself, until ctx
// ends. The status shows the number of restarts and the reason. The rest of the plane continues meanwhile.
func (c *supervisor) revive(ctx context.Context, name string, run func(context.Context) error) {
	for pause := reviveFirst; ; pause = min(2*pause, reviveLast) {
		begun := time.Now()
		err := run(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(begun) > reviveSteady {
			pause = reviveFirst
		}
		if err == nil {
			err = fmt.Errorf("it ended")
		}
		c.log.Error(err, "a part of the plane ended and starts again", "part", name, "in", pause)
		c.noteRestart(name, err, pause)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (c *supervisor) noteRestart(name string, err error, pause time.Duration) {
	c.mu.Lock()
	if c.restarts == nil {
		c.restarts = map[string]plane.Restart{}
	}
	r := c.restarts[name]
	c.restarts[name] = plane.Restart{Name: name, Times: r.Times + 1, Last: time.Now(), Reason: err.Error()}
	if n := len(c.steps); n > 0 && !c.steps[n-1].Done {
		c.waiting = fmt.Sprintf("it has ended %d times, and starts again in %s: %v", r.Times+1, pause, err)
	}
	c.mu.Unlock()
	c.notify()
}

// wait sets the status text about the condition that the present step waits for.
func (c *supervisor) wait(text string) {
	c.mu.Lock()
	c.waiting = text
	c.mu.Unlock()
	c.notify()
}
