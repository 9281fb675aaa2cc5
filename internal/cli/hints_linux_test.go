//go:build !client

package cli

import (
	"bytes"
	"strings"
	"testing"

	"casement.dev/casement/internal/cli/app"
)

// TestHintsNameTheState: a command with --state suggests commands with --state, and a command without it
// suggests none.
func TestHintsNameTheState(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"flag":         {[]string{"--state", "DIR", "status"}, "casement --state DIR up"},
		"behind":       {[]string{"status", "--state", "DIR"}, "casement --state DIR up"},
		"in a cluster": {[]string{"tree", "demo", "--state", "DIR"}, "casement --state DIR up"},
		"none":         {[]string{"status"}, "start it with: casement up"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("CASEMENT_HOME", t.TempDir())
			t.Setenv("KUBECONFIG", "")
			args := []string{"casement"}
			for _, a := range c.args {
				args = append(args, strings.ReplaceAll(a, "DIR", dir))
			}
			var out, err bytes.Buffer
			if code := Main(args, app.Streams{In: strings.NewReader(""), Out: &out, Err: &err}); code != app.ExitFailed {
				t.Errorf("exit code %d", code)
			}
			if want := strings.ReplaceAll(c.want, "DIR", dir); !strings.Contains(err.String(), want) {
				t.Errorf("it says %q, not %q", err.String(), want)
			}
		})
	}
}
