package console

import (
	"strings"
	"testing"
	"time"
)

func TestFailure(t *testing.T) {
	const canary = "c4n4ryc4n4ryc4n4"
	for name, test := range map[string]struct{ console, reason string }{
		"nothing": {"guest: boots\n[preflight] Running pre-flight checks\n", ""},
		"bad token": {"[preflight] Running\nkubeadm join --token abcdef." + canary +
			"\ncould not find a JWS signature for token abcdef." + canary +
			": the token is invalid\nreturn code 1\n", "TokenInvalid"},
		"the last": {"dial tcp 10.0.0.4:6443: connection refused\nfailed to create new CRI runtime service\n", "WrongCRISocket"},
	} {
		t.Run(name, func(t *testing.T) {
			reason, message, found := Failure(test.console, "m")
			if reason != test.reason || found != (test.reason != "") {
				t.Fatalf("got %q, want %q", reason, test.reason)
			}
			if strings.Contains(message, canary) {
				t.Errorf("the message holds a token: %s", message)
			}
			if found && !strings.Contains(message, "casement logs m") {
				t.Errorf("no next step: %s", message)
			}
		})
	}
}

func TestLooks(t *testing.T) {
	began := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	var looks Looks
	for _, step := range []struct {
		name  string
		id    string
		age   time.Duration
		due   bool
		again time.Duration
	}{
		{"too young", "a", 20 * time.Second, false, 40 * time.Second},
		{"the first look", "a", time.Minute, true, time.Minute},
		{"a pass just after", "a", 61 * time.Second, false, 59 * time.Second},
		{"another machine", "b", 61 * time.Second, true, 61 * time.Second},
		{"twice as old", "a", 2 * time.Minute, true, 2 * time.Minute},
		{"not twice as old", "a", 3 * time.Minute, false, time.Minute},
		{"late", "a", 50 * time.Minute, true, 50 * time.Minute},
		{"too old", "a", 61 * time.Minute, false, 0},
	} {
		due, again := looks.Due(step.id, began, began.Add(step.age))
		if due != step.due || again != step.again {
			t.Errorf("%s: %t, again in %v, want %t, %v", step.name, due, again, step.due, step.again)
		}
	}
	if due, _ := looks.Due("a", began.Add(2*time.Hour), began.Add(2*time.Hour+time.Minute)); !due {
		t.Error("a machine that booted again is not looked at")
	}
	if len(looks.last) != 1 {
		t.Errorf("%d machines are remembered, want 1: the other is too old", len(looks.last))
	}
}
