package plane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"casement.dev/casement/internal/process"
	"casement.dev/casement/internal/tuning"
)

// lookPeriod is the interval at which a command reads the status of a starting plane.
const lookPeriod = 100 * time.Millisecond

// spawn starts the supervisor in the background: this program with args, detached from the terminal, with its output in
// the plane's log. It does not wait; the channel is closed when the process ends.
func spawn(dir Dir, args []string) (pid int, ended <-chan struct{}, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, nil, err
	}
	log, err := dir.OpenLog()
	if err != nil {
		return 0, nil, err
	}
	defer log.Close()
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), tuning.Starting(tuning.Roomy)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := process.WithSlack(cmd.Start); err != nil {
		return 0, nil, fmt.Errorf("start the local plane: %w", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // the log has the reason
	}()
	return cmd.Process.Pid, done, nil
}

// UpReport contains callbacks for the progress of Up.
type UpReport struct {
	// Note receives messages: that another command is already starting the plane, or that a plane is ending.
	Note func(string)
	// Seen receives each status.
	Seen func(Status)
}

// Up starts the plane and waits until it is ready: it runs this program with args in the background, or joins a start
// in progress; if a plane is ending, it first waits for the end. started reports whether this call started the plane.
// If ctx ends, the plane continues to start.
func Up(ctx context.Context, dir Dir, args []string, report UpReport) (s Status, started bool, err error) {
	if err := dir.Make(); err != nil {
		return Status{}, false, err
	}
	u := &up{dir: dir, args: args, client: NewClient(dir), report: report, noted: map[string]bool{}}
	tick := time.NewTicker(lookPeriod)
	defer tick.Stop()
	for {
		if err := u.begin(); err != nil {
			return u.last, u.started, err
		}
		if done, err := u.observe(ctx); done || err != nil {
			u.settle(ctx)
			return u.last, u.started, err
		}
		select {
		case <-ctx.Done():
			return u.last, u.started, u.cut(ctx)
		case <-u.ended:
			if err := u.gone(); err != nil {
				return u.last, u.started, err
			}
		case <-tick.C:
		}
	}
}

// up is the state of one call of Up.
type up struct {
	dir    Dir
	args   []string
	client *Client
	report UpReport
	// pid and ended belong to the process that this call started, if any. started is true if it waits for its own
	// start, joined if it waits for another command's.
	pid             int
	ended           <-chan struct{}
	started, joined bool
	last            Status
	noted           map[string]bool
	silent          int // consecutive reads of the status without a response
}

// begin starts the supervisor if none is running.
func (u *up) begin() error {
	running, err := u.dir.locked()
	if err != nil || running || u.ended != nil {
		return err
	}
	if u.joined {
		return errEnded
	}
	// The last status of an earlier run does not describe this one.
	if err := ignoreNotExist(os.Remove(u.dir.Snapshot())); err != nil {
		return err
	}
	u.pid, u.ended, err = spawn(u.dir, u.args)
	return err
}

// errEnded is the error of Up if another command ends the plane meanwhile.
var errEnded = errors.New("the local plane was ended while it started")

// settle waits for the process that this call started and that found the directory locked, so that it cannot lock the
// directory when the current plane ends.
func (u *up) settle(ctx context.Context) {
	if u.ended == nil || u.started {
		return
	}
	select {
	case <-u.ended:
	case <-ctx.Done():
	}
}

func (u *up) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !u.noted[text] {
		u.noted[text] = true
		u.report.Note(text)
	}
}

// silentLooks is the number of status requests without a response after which a note is shown.
const silentLooks = 20

// observe reads the status. done is true if the plane is ready.
func (u *up) observe(ctx context.Context) (done bool, err error) {
	s, err := u.client.Status(ctx)
	if ctx.Err() != nil || errors.Is(err, ErrNotRunning) {
		return false, nil
	}
	if errors.Is(err, ErrNoAnswer) {
		if u.silent++; u.silent == silentLooks {
			u.note("A process holds the state directory and does not answer yet; this command waits for it.")
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	u.last, u.silent, u.started = s, 0, s.PID == u.pid
	switch {
	case s.Error != "" && (s.Phase == PhaseFailed || s.Phase == PhaseStopping):
		return false, fmt.Errorf("the local plane failed: %s; its log is %s", s.Error, u.dir.Log())
	case s.Phase == PhaseStopping && (u.started || u.joined):
		return false, errEnded
	case s.Phase == PhaseStopping:
		u.note("The local plane (process %d) is being ended; it starts again after that.", s.PID)
		return false, nil
	case s.Phase == PhaseStarting && !u.started:
		u.joined = true
		u.note("Process %d starts the local plane already; this command waits with it.", s.PID)
	}
	u.report.Seen(s)
	return s.Phase == PhaseReady, nil
}

// gone handles the end of the started process: either another process had locked the directory, or the start has failed.
func (u *up) gone() error {
	running, err := u.dir.locked()
	if err != nil || running {
		u.ended = nil
		return err
	}
	s, err := u.dir.readSnapshot()
	if err == nil && s.Error == "" && s.Phase == PhaseStopping {
		return errEnded
	}
	reason := "its log is " + u.dir.Log()
	if err == nil && s.Error != "" {
		reason = s.Error + "; " + reason
	}
	return fmt.Errorf("the local plane ended while it started: %s", reason)
}

// cut returns the error of a wait whose context ended, with the plane's progress.
func (u *up) cut(ctx context.Context) error {
	at := "it has not answered yet"
	if n := len(u.last.Steps); n > 0 {
		at = "it is at: " + u.last.Steps[n-1].Name
		if u.last.Waiting != "" {
			at += " (" + u.last.Waiting + ")"
		}
	}
	return fmt.Errorf("the local plane is not ready: %w; %s. It goes on starting in the background: 'casement "+
		"up' waits for it again, 'casement status' shows it, 'casement down' ends it; its log is %s",
		ctx.Err(), at, u.dir.Log())
}

// DownReport is the result of Down.
type DownReport struct {
	// Ran is true if a plane was running.
	Ran bool
	// Killed is true if the plane had to be killed.
	Killed bool
	// Kept are the names in the state directory that do not belong to the plane and were therefore not deleted.
	Kept []string
}

// Down ends the plane, waits until its process is gone, and with purge deletes its state. The lock, not the socket,
// identifies the process: a plane that does not respond is signalled, and finally killed, if its process is known with
// certainty.
func Down(ctx context.Context, dir Dir, purge bool) (r DownReport, err error) {
	if r.Ran, err = dir.locked(); err != nil {
		return r, err
	}
	if r.Ran {
		if r.Killed, err = dir.end(ctx); err != nil {
			return r, err
		}
	}
	if !purge {
		return r, nil
	}
	lock, err := dir.lockExisting()
	if err != nil {
		return r, fmt.Errorf("nothing was deleted: %w", err)
	}
	if lock != nil {
		defer lock.Close() // the lock prevents a plane from starting while its directory is deleted
		if _, err := dir.Records().EndOrphans(); err != nil {
			return r, err
		}
	}
	r.Kept, err = dir.purge()
	return r, err
}

// lockExisting locks a plane's directory; it returns nil if the directory is not a plane's.
func (d Dir) lockExisting() (*os.File, error) {
	if _, err := os.Stat(d.Path(markFile)); err != nil {
		return nil, ignoreNotExist(err)
	}
	return d.Lock()
}

// end ends the plane that has locked the directory.
func (d Dir) end(ctx context.Context) (killed bool, err error) {
	holder, unknown := d.holder()
	ask, cancel := context.WithTimeout(ctx, askTimeout)
	asked := NewClient(d).Stop(ask)
	cancel()
	if asked != nil {
		if unknown != nil {
			return false, fmt.Errorf("a process holds %s and does not answer at its control socket, and which "+
				"one it is cannot be found: %w; find it with: fuser %s", d, unknown, d.lockFile())
		}
		if err := holder.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return false, fmt.Errorf("end process %d: %w", holder.PID, err)
		}
	}
	if unknown == nil {
		// A stopped process (SIGSTOP) does not end before SIGCONT.
		_ = holder.Signal(syscall.SIGCONT)
	}
	patience := 30 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		patience = time.Until(deadline) * 2 / 3
	}
	lose := time.NewTimer(patience)
	defer lose.Stop()
	tick := time.NewTicker(lookPeriod / 2)
	defer tick.Stop()
	for {
		// The lock is released with the end of the last thread, and another plane may take it immediately. The kernel
		// ends a killed plane's children only afterwards.
		if running, err := d.locked(); err != nil || !running {
			return killed, err
		}
		if next, err := d.holder(); err == nil && unknown == nil && next != holder {
			return killed, nil
		}
		select {
		case <-ctx.Done():
			return killed, fmt.Errorf("process %d did not end: %w", holder.PID, ctx.Err())
		case <-lose.C:
			if unknown == nil {
				killed = holder.Signal(syscall.SIGKILL) == nil
			}
		case <-tick.C:
		}
	}
}
