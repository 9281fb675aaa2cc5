package quickstart

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/golden"
	"casement.dev/casement/internal/testing/plane"
	"casement.dev/casement/internal/testing/tmux"
)

// ports matches the texts that differ from plane to plane.
var ports = regexp.MustCompile(`127\.0\.0\.1:[0-9]+|/tmp/cas[0-9]+|process [0-9]+, since .*`)

// TestPlaneScreens compares the screen of `casement up` on a new plane with a golden file, and
// checks that status, and up on a running plane, wrap no line.
func TestPlaneScreens(t *testing.T) {
	for _, width := range []int{60, 80, 200} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			p := plane.New(t)
			env := []string{"CASEMENT_HOME=" + p.Home, "KUBECONFIG="}
			if width == 80 {
				env = append(env, "NO_COLOR=1")
			}
			casement := plane.Binary(t, "casement")
			up := ports.ReplaceAllString(tmux.Run(t, width, env, casement+" up"), "THERE")
			golden.Compare(t, filepath.Join("testdata", fmt.Sprintf("up-%d.txt", width)), []byte(up))
			for command, want := range map[string]string{
				"up": "is running", "status": "SIMULATED HERE", "calls": "throttled", "addons list": "calico",
			} {
				if shown := tmux.Run(t, width, env, casement+" "+command); !strings.Contains(shown, want) {
					t.Errorf("%s does not show %q:\n%s", command, want, shown)
				}
			}
		})
	}
}

// TestPipe compares the lines that `casement up` writes into a pipe, without the progress lines,
// which differ from run to run.
func TestPipe(t *testing.T) {
	p := plane.New(t)
	out := p.Everything("up")
	if strings.ContainsAny(out, "\x1b\r") {
		t.Errorf("a pipe gets control functions: %q", out)
	}
	var lasting strings.Builder
	for line := range strings.Lines(tmux.Stable(ports.ReplaceAllString(out, "THERE"))) {
		if !strings.Contains(line, "…") {
			lasting.WriteString(line)
		}
	}
	golden.Compare(t, filepath.Join("testdata", "up-pipe.txt"), []byte(lasting.String()))
}
