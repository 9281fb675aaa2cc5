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
func (s *supervisor) revive(ctx context.Context, name string, run func(context.Context) error) {
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
		s.log.Error(err, "a part of the plane ended and starts again", "part", name, "in", pause)
		s.noteRestart(name, err, pause)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (s *supervisor) noteRestart(name string, err error, pause time.Duration) {
	s.mu.Lock()
	if s.restarts == nil {
		s.restarts = map[string]plane.Restart{}
	}
	r := s.restarts[name]
	s.restarts[name] = plane.Restart{Name: name, Times: r.Times + 1, Last: time.Now(), Reason: err.Error()}
	if n := len(s.steps); n > 0 && !s.steps[n-1].Done {
		s.waiting = fmt.Sprintf("it has ended %d times, and starts again in %s: %v", r.Times+1, pause, err)
	}
	s.mu.Unlock()
	s.notify()
}

// wait sets the status text about the condition that the current step waits for.
func (s *supervisor) wait(text string) {
	s.mu.Lock()
	s.waiting = text
	s.mu.Unlock()
	s.notify()
}
