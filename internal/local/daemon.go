package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// errLocked is returned by a second plane on the same state directory.
var errLocked = errors.New("another casement holds the state directory")

// lock takes the state directory for this process. The kernel lets it go when
// the process ends, however it ends.
func (d Dir) lock() (*os.File, error) {
	f, err := os.OpenFile(d.Path("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", d, errLocked)
	}
	if err := f.Truncate(0); err != nil {
		return nil, err
	}
	_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return f, err
}

// holder returns the process that holds the lock, or 0.
func (d Dir) holder() int {
	data, err := os.ReadFile(d.Path("lock"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	return pid
}

// Spawn starts the conductor in the background: the program itself with args,
// detached from the terminal, its output in the plane's log. It returns at once;
// the channel is closed when the process ends.
func Spawn(dir Dir, args ...string) (ended <-chan struct{}, err error) {
	if err := dir.Make(); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(dir.Log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the local plane: %w", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // its log has the reason
	}()
	return done, nil
}

// Await asks the plane for its status until it is ready and reports each status
// to seen. It fails when the plane does, or when ended (of Spawn) is closed.
func Await(ctx context.Context, dir Dir, ended <-chan struct{}, seen func(Status)) (Status, error) {
	client, tick := NewClient(dir), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for {
		s, err := client.Status(ctx)
		switch {
		case err == nil && s.Phase == PhaseFailed:
			return s, fmt.Errorf("the local plane failed: %s; its log is %s", s.Error, dir.Log())
		case err == nil:
			seen(s)
			if s.Phase == PhaseReady {
				return s, nil
			}
		case !errors.Is(err, ErrNotRunning):
			return s, err
		}
		select {
		case <-ended:
			return s, fmt.Errorf("the local plane ended while it started; its log is %s", dir.Log())
		case <-ctx.Done():
			return s, fmt.Errorf("the local plane is not ready: %w; its log is %s", ctx.Err(), dir.Log())
		case <-tick.C:
		}
	}
}

// Down ends the plane and waits until its process is gone.
func Down(ctx context.Context, dir Dir) error {
	pid := dir.holder()
	if err := NewClient(dir).Stop(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for pid > 0 && syscall.Kill(pid, 0) == nil {
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d did not end: %w", pid, ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}
