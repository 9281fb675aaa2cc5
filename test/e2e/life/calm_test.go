package life

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"time"
)

// healthy matches the actions that cause no fault: why must find nothing wrong from their beginning
// to their end.
var healthy = regexp.MustCompile(`^(create|scale|upgrade|delete)`)

// pause is the interval between two runs of why.
const pause = time.Second

// calm runs why repeatedly during an action.
type calm struct {
	running sync.WaitGroup
	over    context.CancelFunc
	// gone is the workload whose last suitable nodes an upgrade removes. why may report that no
	// node fits it.
	gone string
	// runs counts the answers; alarms are the answers that report a fault.
	runs   int
	alarms []string
}

// watch starts to run why during an action; it returns nil for an action that causes a fault.
func (l *life) watch(action string) *calm {
	if !healthy.MatchString(action) {
		return nil
	}
	ctx, over := context.WithCancel(l.t.Context())
	c := &calm{over: over, gone: "Pod/web-" + builds[l.release].release}
	c.running.Go(func() {
		for {
			c.ask(l.p.Everything("why", "demo", "-o", "json"))
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
	})
	return c
}

// ask records an answer. An error is ignored, because the cluster may not exist yet or any
// more.
func (c *calm) ask(text string) {
	var answer struct {
		Object, At       string
		Healthy, Waiting bool
		Means            struct{ Cause string }
	}
	_, object, found := strings.Cut(text, "{")
	if !found || json.NewDecoder(strings.NewReader("{"+object)).Decode(&answer) != nil || answer.Object == "" {
		return
	}
	c.runs++
	if !answer.Healthy && !answer.Waiting && !(answer.Means.Cause == "Unschedulable" && strings.HasPrefix(answer.At, c.gone)) {
		c.alarms = append(c.alarms, text)
	}
}

// end stops the runs of why and keeps the alarms until the end of the test, so that the following
// actions are watched as well.
func (c *calm) end(l *life, action string) {
	if c == nil {
		return
	}
	c.over()
	c.running.Wait()
	l.asked += c.runs
	l.note("why: %d runs, %d alarms", c.runs, len(c.alarms))
	for _, text := range c.alarms {
		l.alarms = append(l.alarms, action+": why raises an alarm of a healthy cluster:\n"+text)
	}
}

// complain logs the alarms, and with -full fails the test if there are any.
func (l *life) complain() {
	l.t.Helper()
	l.t.Logf("why ran %d times while nothing was harmed and raised %d alarms", l.asked, len(l.alarms))
	for _, text := range l.alarms {
		if *full {
			l.t.Error(text)
		} else {
			l.t.Log(text)
		}
	}
}
