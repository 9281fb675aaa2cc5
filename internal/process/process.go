// Package process runs child processes that must not outlive their parent: it starts them, logs their output to a file,
// restarts them if requested, ends them in order, and ends processes that an earlier parent left behind.
//
// It does not depend on the programs; the only state that it stores is Records, if it gets a directory.
// internal/kubeproc, internal/plane and internal/sim/podrun use it; all code that starts programs should.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// maxLog is the size in bytes at which a log is renamed to NAME.1 before a start, so that a crash loop cannot fill the disk.
const maxLog = 16 << 20

// Spec is a program to run.
type Spec struct {
	// Name is the program's name in messages.
	Name string
	// Argv is the command line; its first element is the program's path, or any name if Path is set.
	Argv []string
	// Path is the program's file; "" means Argv[0].
	Path string
	// Env is added to the parent's environment or, with OnlyEnv, is the whole environment.
	Env     []string
	OnlyEnv bool
	// Dir is the working directory; "" means the parent's.
	Dir string
	// Before, if set, is called once on the operating-system thread that starts the program and does nothing else; the
	// program inherits the thread's settings. Start returns its error.
	Before func() error
	// Slack is the timer slack of the program; zero keeps the caller's.
	Slack time.Duration
	// Log is the file that receives standard output and error; "" discards them.
	Log string
	// Output, if set, receives standard output and error instead of Log. The caller may close it once Start has
	// returned, unless Restart is set.
	Output *os.File
	// Restart makes the process start again when it ends by itself, first without a pause and then with a growing pause
	// of up to maxBackoff.
	Restart bool
	// Records is the place where the process is recorded while it runs.
	Records Records
	// OnChange, if set, is called when the process has started and when it has ended.
	OnChange func(State)
}

// maxBackoff is the longest pause between two starts of a failing process; it is shorter than a kubelet's five minutes
// because a user waits.
const maxBackoff = 10 * time.Second

// State is the state of a process.
type State struct {
	Running bool
	PID     int
	// Restarts is the number of starts after the first.
	Restarts int
	// ExitCode is the exit code of the last end, -1 if a signal ended the process; Ended is the time of that end.
	ExitCode int
	Ended    time.Time
}

// Process is a supervised program.
type Process struct {
	spec Spec
	done chan struct{}

	mu       sync.Mutex
	state    State
	cmd      *exec.Cmd
	stopping bool
	wake     chan struct{}
}

// Start starts the program. It returns after the first start, so that it returns an error for a program that cannot be started.
func Start(spec Spec) (*Process, error) {
	p := &Process{spec: spec, done: make(chan struct{}), wake: make(chan struct{})}
	started := make(chan error, 1)
	go p.supervise(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	return p, nil
}

// Name returns the name in the Spec.
func (p *Process) Name() string { return p.spec.Name }

// State returns the current state of the process.
func (p *Process) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// Done returns a channel that is closed when the process has ended and will not be restarted.
func (p *Process) Done() <-chan struct{} { return p.done }

// supervise runs on one locked thread: the parent-death signal is sent when the
// thread that forked ends (prctl(2), PR_SET_PDEATHSIG).
func (p *Process) supervise(started chan<- error) {
	runtime.LockOSThread()
	defer close(p.done)
	if p.spec.Slack > 0 {
		_ = setSlack(p.spec.Slack) // without it, only the timers of the program are more exact
	}
	if p.spec.Before != nil {
		if err := p.spec.Before(); err != nil {
			started <- err
			return
		}
	}
	pause := 100 * time.Millisecond
	for first := true; ; first = false {
		begun := time.Now()
		if ran := p.run(first, started); !ran && first {
			return
		}
		p.mu.Lock()
		again := p.spec.Restart && !p.stopping
		p.mu.Unlock()
		if !again {
			return
		}
		if time.Since(begun) > time.Minute {
			pause = 100 * time.Millisecond
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-p.wake:
			timer.Stop()
			return
		}
		pause = min(2*pause, maxBackoff)
	}
}

// run starts the program once and waits for its end. It returns false if the program did not start.
func (p *Process) run(first bool, started chan<- error) (ran bool) {
	cmd, log, err := p.command()
	if err == nil {
		p.mu.Lock()
		if p.stopping {
			err = errors.New("stopped before it started")
		} else {
			err = cmd.Start()
		}
		if err == nil {
			p.cmd = cmd
			p.state.Running, p.state.PID = true, cmd.Process.Pid
			if !first {
				p.state.Restarts++
			}
		}
		p.mu.Unlock()
	}
	if first {
		started <- err
	}
	if log != nil {
		defer log.Close()
	}
	if err != nil {
		return false
	}
	elsewhere(func() { p.spec.Records.note(p.spec.Name, cmd.Process.Pid) })
	p.changed()
	_ = cmd.Wait() // ProcessState below has the result
	elsewhere(func() { p.spec.Records.forget(cmd.Process.Pid) })
	p.mu.Lock()
	p.cmd = nil
	p.state.Running, p.state.PID, p.state.ExitCode, p.state.Ended = false, 0, cmd.ProcessState.ExitCode(), time.Now()
	p.mu.Unlock()
	p.changed()
	return true
}

// elsewhere calls a function on another thread, because Before may have restricted this one.
func elsewhere(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	<-done
}

func (p *Process) changed() {
	if p.spec.OnChange != nil {
		p.spec.OnChange(p.State())
	}
}

func (p *Process) command() (*exec.Cmd, *os.File, error) {
	path := p.spec.Path
	if path == "" {
		path = p.spec.Argv[0]
	}
	cmd := exec.Command(path)
	cmd.Args = p.spec.Argv
	cmd.Dir = p.spec.Dir
	cmd.Env = p.spec.Env
	if !p.spec.OnlyEnv {
		cmd.Env = append(os.Environ(), p.spec.Env...)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if p.spec.Output != nil {
		cmd.Stdout, cmd.Stderr = p.spec.Output, p.spec.Output
		return cmd, nil, nil
	}
	if p.spec.Log == "" {
		return cmd, nil, nil
	}
	if info, err := os.Stat(p.spec.Log); err == nil && info.Size() > maxLog {
		if err := os.Rename(p.spec.Log, p.spec.Log+".1"); err != nil {
			return nil, nil, err
		}
	}
	log, err := os.OpenFile(p.spec.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	return cmd, log, nil
}

// Stop ends the process with SIGTERM, and with SIGKILL to its group once ctx ends. It returns when the process is gone
// and will not be restarted.
func (p *Process) Stop(ctx context.Context) {
	p.mu.Lock()
	if !p.stopping {
		p.stopping = true
		close(p.wake)
	}
	p.signal(syscall.SIGTERM)
	p.mu.Unlock()
	select {
	case <-p.done:
		return
	case <-ctx.Done():
	}
	p.mu.Lock()
	p.signal(syscall.SIGKILL)
	p.mu.Unlock()
	<-p.done
}

// Kill ends the process immediately and prevents a restart.
func (p *Process) Kill() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p.Stop(ctx)
}

// signal sends a signal to the process. The caller holds the lock.
func (p *Process) signal(s syscall.Signal) {
	if p.cmd != nil && p.cmd.Process != nil {
		// The group is the process's own (Setpgid), so that its children are ended too.
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}
