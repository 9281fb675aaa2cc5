package host

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/kubelet"
)

// commandLine returns the command line of a process. It is empty for a moment while the process
// starts.
func commandLine(t *testing.T, p kubelet.Process) string {
	t.Helper()
	for {
		data, err := os.ReadFile("/proc/" + pidOf(p) + "/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 0 {
			return strings.ReplaceAll(string(data), "\x00", " ")
		}
		select {
		case <-p.Done():
			t.Fatal("the process has ended")
		default:
			runtime.Gosched()
		}
	}
}

// TestElection: a single scheduler runs without a lease; a second one makes both candidates of an
// election.
func TestElection(t *testing.T) {
	const command = "kube-scheduler --leader-elect=true --bind-address=127.0.0.1"
	e := &election{}
	first, second := testNode(t), testNode(t)
	first.election, second.election = e, e
	alone, err := first.StartProcess(t.Context(), processSpec(t, first, "kube-scheduler", command))
	if err != nil {
		t.Fatal(err)
	}
	if line := commandLine(t, alone); !strings.Contains(line, "--leader-elect=false") || strings.Contains(line, "--leader-elect=true") {
		t.Errorf("the only one runs as %s", line)
	}
	other, err := second.StartProcess(t.Context(), processSpec(t, second, "kube-scheduler", command))
	if err != nil {
		t.Fatal(err)
	}
	<-alone.Done() // which its kubelet restarts
	again, err := first.StartProcess(t.Context(), processSpec(t, first, "kube-scheduler", command))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []kubelet.Process{other, again} {
		if line := commandLine(t, p); !strings.Contains(line, "--leader-elect=true") ||
			!strings.Contains(line, "--leader-elect-renew-deadline=30s") {
			t.Errorf("one of two runs as %s", line)
		}
	}
}

func pidOf(p kubelet.Process) string {
	s, ok := p.(*staticProcess)
	if !ok {
		return ""
	}
	return strconv.Itoa(s.State().PID)
}
