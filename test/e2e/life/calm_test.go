package life

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"time"
)

// healthy are the actions in which nothing is harmed: why has to find nothing wrong from
// their beginning to their end.
var healthy = regexp.MustCompile(`^(create|scale|upgrade|delete)`)

// pause is between two runs of why.
const pause = time.Second

// calm runs why again and again while an action goes on.
type calm struct {
	running sync.WaitGroup
	over    context.CancelFunc
	// runs counts the answers; alarms are those that call something wrong.
	runs   int
	alarms []string
}

// watch starts to ask; nil for an action that does harm.
func (l *life) watch(action string) *calm {
	if !healthy.MatchString(action) {
		return nil
	}
	ctx, over := context.WithCancel(l.t.Context())
	c := &calm{over: over}
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

// ask notes an answer. What is none is about a cluster that is not there yet or no more.
func (c *calm) ask(text string) {
	var answer struct {
		Object           string
		Healthy, Waiting bool
	}
	_, object, found := strings.Cut(text, "{")
	if !found || json.NewDecoder(strings.NewReader("{"+object)).Decode(&answer) != nil || answer.Object == "" {
		return
	}
	c.runs++
	if !answer.Healthy && !answer.Waiting {
		c.alarms = append(c.alarms, text)
	}
}

// end stops to ask. It shows alarms, and with -full fails the test for them.
func (c *calm) end(l *life, action string) {
	if c == nil {
		return
	}
	c.over()
	c.running.Wait()
	l.asked, l.alarms = l.asked+c.runs, l.alarms+len(c.alarms)
	l.note("why: %d runs, %d alarms", c.runs, len(c.alarms))
	complain := l.t.Logf
	if *full {
		complain = l.t.Errorf
	}
	for _, text := range c.alarms {
		complain("%s: why raises an alarm of a healthy cluster:\n%s", action, text)
	}
}
