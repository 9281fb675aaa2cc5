package explain

import (
	"strings"
	"testing"

	"casement.dev/casement/internal/diagnose/walk"
)

// TestHeadline: an answer that shows anything abnormal does not begin with the statement that nothing is wrong.
func TestHeadline(t *testing.T) {
	for name, test := range map[string]struct {
		answer walk.Answer
		calm   bool
	}{
		"well":                     {walk.Answer{Healthy: true}, true},
		"well, not all looked at":  {walk.Answer{Healthy: true, NotExamined: []string{"x"}}, true},
		"well, a part simulated":   {walk.Answer{Healthy: true, Notes: []string{"1 thing had no effect (simulated): ntp"}}, true},
		"well, and known trouble":  {walk.Answer{Healthy: true, Also: []walk.Seen{{At: "Node/n", Line: "x"}}}, false},
		"waits":                    {walk.Answer{Waiting: true}, true},
		"waits, and known trouble": {walk.Answer{Waiting: true, Also: []walk.Seen{{At: "Node/n", Line: "x"}}}, false},
		"wrong":                    {walk.Answer{At: "Node/n"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			writeAnswer(&b, test.answer, 80)
			if got := strings.Contains(b.String(), "nothing is wrong"); got != test.calm {
				t.Errorf("it says:\n%s", &b)
			}
		})
	}
}
