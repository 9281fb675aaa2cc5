package record

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/plan"
)

func TestStatesAndTokens(t *testing.T) {
	tokens := []plan.Token{{
		ID:   "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/loadBalancers/lb",
		Verb: plan.Put, Resume: `{"type":"x"}`, Begun: time.Unix(1000, 0).UTC(), Attempts: 2,
	}}
	states := States(tokens)
	if len(states) != 1 || states[0].Name != "lb" || states[0].ResourceGroup != "g" || states[0].Type != "PUT" {
		t.Errorf("states %+v", states)
	}
	foreign := infrav1.LongRunningOperationState{ServiceName: "loadbalancers", Type: "PUT", Name: "lb", Data: "eyJ0eXBlIjoieCJ9"}
	unreadable := infrav1.LongRunningOperationState{ServiceName: infrav1.OperationService, Type: "PUT", Name: "lb", Data: "{"}
	if diff := cmp.Diff(tokens, Tokens(append(states, foreign, unreadable))); diff != "" {
		t.Errorf("tokens differ (-want +got):\n%s", diff)
	}
}

// TestKept: a poll without news changes no state; everything else does.
func TestKept(t *testing.T) {
	begun := time.Unix(1000, 0).UTC()
	resume := func(url, state string) string {
		return `{"type":"RawMessage","token":{"asyncURL":"` + url + `","state":"` + state + `"}}`
	}
	token := plan.Token{ID: "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm", Verb: plan.Put,
		Resume: resume("https://a/1", "Creating"), Begun: begun, NotBefore: begun.Add(time.Second)}
	before := States([]plan.Token{token})
	for _, test := range []struct {
		name   string
		change func(*plan.Token)
		kept   bool
	}{
		{"nothing", func(*plan.Token) {}, true},
		{"a poll", func(t *plan.Token) {
			t.NotBefore, t.Resume = begun.Add(time.Minute), resume("https://a/1", "InProgress")
		}, true},
		{"another address", func(t *plan.Token) { t.Resume = resume("https://a/2", "Creating") }, false},
		{"another operation", func(t *plan.Token) { t.Begun = begun.Add(time.Minute) }, false},
		{"its end", func(t *plan.Token) { t.Resume = "" }, false},
		{"a failure", func(t *plan.Token) { t.Class = arm.Quota }, false},
		{"another resource", func(t *plan.Token) { t.ID += "2" }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			after := token
			test.change(&after)
			states := States([]plan.Token{after})
			want := states
			if test.kept {
				want = before
			}
			if diff := cmp.Diff(want, Kept(before, states)); diff != "" {
				t.Errorf("states differ (-want +got):\n%s", diff)
			}
		})
	}
	if left := Kept(before, nil); len(left) != 0 {
		t.Errorf("an operation that has ended is kept: %v", left)
	}
}
