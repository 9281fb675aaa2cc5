package process

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
)

// left starts a process without a supervisor, like one whose parent was killed.
func left(t *testing.T) (*exec.Cmd, Identity) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "PROCESS_TEST_CHILD=sleep")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // most have ended
		_, _ = cmd.Process.Wait()
	})
	id, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, id
}

func TestEndOrphans(t *testing.T) {
	records := Records(t.TempDir())
	orphan, _ := left(t)
	records.note("orphan", orphan.Process.Pid)
	stopped, _ := left(t)
	records.note("stopped", stopped.Process.Pid)
	if err := stopped.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// Another process has the recorded ID: from a different start time, or a different boot.
	foreign, id := left(t)
	for _, edit := range []func(*Identity){func(i *Identity) { i.Start-- }, func(i *Identity) { i.Boot = "another" }} {
		other := id
		edit(&other)
		data, err := json.Marshal(record{other, "foreign"})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(records.file(id.PID)+other.Boot, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(records.file(1), []byte(`{"pid":`), 0o600); err != nil {
		t.Fatal(err)
	}
	// EndOrphans does not wait for a process of this test, so the process stays as a zombie.
	ended, err := records.EndOrphans()
	slices.Sort(ended)
	if err != nil || !slices.Equal(ended, []string{"orphan", "stopped"}) {
		t.Errorf("ended %v, %v", ended, err)
	}
	if !id.Alive() || foreign.Process.Signal(syscall.Signal(0)) != nil {
		t.Error("a process that was not recorded has been ended")
	}
	if entries, err := os.ReadDir(string(records)); err != nil || len(entries) > 0 {
		t.Errorf("records are left: %v, %v", entries, err)
	}
}

// TestEndOrphansOfAnOwner: a parent that is still ending removes the records of its processes meanwhile, which is no error.
func TestEndOrphansOfAnOwner(t *testing.T) {
	records := Records(t.TempDir())
	var owner sync.WaitGroup
	for range 5 {
		cmd, id := left(t)
		records.note("child", id.PID)
		owner.Go(func() {
			_, _ = cmd.Process.Wait()
			records.forget(id.PID)
		})
	}
	if _, err := records.EndOrphans(); err != nil {
		t.Error(err)
	}
	owner.Wait()
}

func TestRecordedWhileItRuns(t *testing.T) {
	records := Records(t.TempDir())
	spec, log := child(t, "sleep", Spec{Records: records})
	p, err := Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	awaitLog(t, log, "ready")
	if _, err := os.Stat(records.file(p.State().PID)); err != nil {
		t.Error(err)
	}
	p.Kill()
	if entries, err := os.ReadDir(string(records)); err != nil || len(entries) > 0 {
		t.Errorf("records are left: %v, %v", entries, err)
	}
}

func TestSignalOfAnotherProcess(t *testing.T) {
	_, id := left(t)
	other := id
	other.Start++
	if err := other.Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) || !id.Alive() {
		t.Errorf("signal: %v; alive %t", err, id.Alive())
	}
}
