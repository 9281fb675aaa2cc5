package cloud

import (
	"strings"
	"testing"
)

func TestBootstrapFailure(t *testing.T) {
	const canary = "c4n4ryc4n4ryc4n4"
	for name, test := range map[string]struct{ console, reason string }{
		"nothing": {"guest: boots\n[preflight] Running pre-flight checks\n", ""},
		"bad token": {"[preflight] Running\nkubeadm join --token abcdef." + canary +
			"\ncould not find a JWS signature for token abcdef." + canary +
			": the token is invalid\nreturn code 1\n", "TokenInvalid"},
		"the last": {"dial tcp 10.0.0.4:6443: connection refused\nfailed to create new CRI runtime service\n", "WrongCRISocket"},
	} {
		t.Run(name, func(t *testing.T) {
			reason, message, found := BootstrapFailure(test.console, "m")
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
