package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain makes the test binary also act as the child process, because it exists on every
// computer.
func TestMain(m *testing.M) {
	switch os.Getenv("PROCESS_TEST_CHILD") {
	case "":
		os.Exit(m.Run())
	case "fail":
		os.Stdout.WriteString("failing\n")
		os.Exit(3)
	case "stubborn":
		ignore := make(chan os.Signal, 1)
		notify(ignore)
		os.Stdout.WriteString("ready\n")
		select {}
	case "slack":
		slack, err := os.ReadFile("/proc/self/timerslack_ns")
		fmt.Printf("slack %s%v\n", slack, err)
		os.Exit(0)
	case "sleep":
		os.Stdout.WriteString("ready\n")
		time.Sleep(time.Hour)
	}
}

func child(t *testing.T, kind string, spec Spec) (Spec, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spec.Name, spec.Argv, spec.Env = kind, []string{self}, []string{"PROCESS_TEST_CHILD=" + kind}
	spec.Log = filepath.Join(t.TempDir(), "log")
	return spec, spec.Log
}

func awaitLog(t *testing.T, log, want string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		data, _ := os.ReadFile(log)
		if strings.Contains(string(data), want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("log %q never held %q", data, want)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func TestStopEndsAProcess(t *testing.T) {
	for _, kind := range []string{"sleep", "stubborn"} {
		t.Run(kind, func(t *testing.T) {
			spec, log := child(t, kind, Spec{Restart: true})
			p, err := Start(spec)
			if err != nil {
				t.Fatal(err)
			}
			awaitLog(t, log, "ready")
			pid := p.State().PID
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			p.Stop(ctx)
			if err := syscall.Kill(pid, 0); err == nil {
				t.Errorf("process %d is still there", pid)
			}
			if s := p.State(); s.Running || s.Restarts != 0 {
				t.Errorf("after Stop: %+v", s)
			}
		})
	}
}

func TestRestart(t *testing.T) {
	states := make(chan State, 64)
	spec, _ := child(t, "fail", Spec{Restart: true, OnChange: func(s State) { states <- s }})
	p, err := Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	for s := range states {
		if !s.Running && s.ExitCode != 3 {
			t.Fatalf("exit code %d, want 3", s.ExitCode)
		}
		if s.Running && s.Restarts == 2 {
			return
		}
	}
}

func TestEndsOnceWithoutRestart(t *testing.T) {
	spec, log := child(t, "fail", Spec{})
	p, err := Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if s := p.State(); s.Running || s.ExitCode != 3 || s.Restarts != 0 {
		t.Errorf("state %+v", s)
	}
	awaitLog(t, log, "failing")
}

func TestStartFails(t *testing.T) {
	if _, err := Start(Spec{Name: "nothing", Argv: []string{"/nonexistent/program"}}); err == nil ||
		!strings.Contains(err.Error(), "nothing") {
		t.Errorf("error %v does not name the program", err)
	}
}

// TestSlack: a program has the timer slack that it is started with, and its parent's slack does not change.
func TestSlack(t *testing.T) {
	own, err := os.ReadFile("/proc/self/timerslack_ns")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		slack time.Duration
		want  string
	}{"the parent's": {0, "slack " + string(own)}, "a resting plane's": {Slack, "slack 50000000\n"}} {
		t.Run(name, func(t *testing.T) {
			spec, log := child(t, "slack", Spec{Slack: tc.slack})
			p, err := Start(spec)
			if err != nil {
				t.Fatal(err)
			}
			<-p.Done()
			if data, _ := os.ReadFile(log); !strings.HasPrefix(string(data), tc.want) {
				t.Errorf("the child says %q, want %q", data, tc.want)
			}
		})
	}
	t.Run("of a command", func(t *testing.T) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self)
		var out strings.Builder
		cmd.Env, cmd.Stdout = []string{"PROCESS_TEST_CHILD=slack"}, &out
		if err := WithSlack(cmd.Start); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil || !strings.HasPrefix(out.String(), "slack 50000000\n") {
			t.Errorf("the child says %q: %v", out.String(), err)
		}
	})
}
