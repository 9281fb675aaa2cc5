// Package apart runs a computation whose engine has no limits in a separate process, which is this program started
// again with limits of memory and processor time: templates of Jinja and filters of jq. A process costs about ten
// milliseconds and its own memory of up to Memory bytes in addition to the plane's; at most as many run at the same
// time as there are processors.
//
// It does not confine files: the computations are pure, and open none. Only the packages below internal/sim/guest
// import it.
package apart

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of one process.
const (
	// Memory is in bytes.
	Memory = memoryFactor * 512 << 20
	cpu    = cpuFactor * 3 // seconds
	stack  = 64 << 20
	wall   = 2 * time.Minute
)

// marker is the environment variable that names the computation of a process.
const marker = "CASEMENT_APART"

// LimitError names the bound that ended a computation.
type LimitError struct{ Bound string }

// Error says that a bound ended the computation, and which bound.
func (e *LimitError) Error() string { return "it was ended, because it " + e.Bound }

// Serve answers one question and ends the process, if the process was started for the named computation.
// main calls it first, so that the process starts nothing else.
func Serve[Q, A any](name string, answer func(Q) A) {
	if os.Getenv(marker) == name {
		os.Exit(serveOne(os.Stdin, os.Stdout, answer))
	}
}

// serveOne is the main function of the process and returns its exit code.
func serveOne[Q, A any](in io.Reader, out io.Writer, answer func(Q) A) int {
	debug.SetMaxStack(stack)
	// Only the memory limit triggers a garbage collection, and one thread runs it, because the bound of processor
	// time is meant for the computation.
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(1)
	debug.SetMemoryLimit(Memory / 2)
	for _, l := range []struct {
		what  int
		limit uint64
	}{{unix.RLIMIT_DATA, Memory}, {unix.RLIMIT_CPU, cpu}, {unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, 0}} {
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: l.limit, Max: l.limit}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	var q Q
	if err := json.NewDecoder(in).Decode(&q); err != nil {
		fmt.Fprintln(os.Stderr, "read the question: it is not as expected") // the error could quote it
		return 1
	}
	if err := json.NewEncoder(out).Encode(answer(q)); err != nil {
		return 1
	}
	return 0
}

// running limits the number of concurrent processes to the number of processors.
var running = make(chan struct{}, runtime.NumCPU())

// Run runs the named computation in a separate process and returns its answer, of at most most bytes as JSON. The
// error is ctx's, or a *LimitError, or says why the process failed.
func Run[Q, A any](ctx context.Context, name string, q Q, most int) (a A, err error) {
	question, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	select {
	case running <- struct{}{}:
		defer func() { <-running }()
	case <-ctx.Done():
		return a, ctx.Err()
	}
	self, err := os.Executable()
	if err != nil {
		return a, err
	}
	// The parent-death signal is sent when the thread that forked ends, so the goroutine keeps the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	late, cancel := context.WithTimeout(ctx, wall)
	defer cancel()
	cmd := exec.CommandContext(late, self)
	cmd.Env = []string{marker + "=" + name, "GOTRACEBACK=single"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	answer, complaint := &Kept{Left: most}, &Kept{Left: 1 << 12}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(question), answer, complaint
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return a, ctx.Err()
	case err != nil:
		return a, exitError(cmd, complaint.String(), late.Err() != nil, err)
	case answer.Over:
		return a, &LimitError{fmt.Sprintf("answers with more than %d MiB", most>>20)}
	}
	if err := json.Unmarshal(answer.kept.Bytes(), &a); err != nil {
		return a, errors.New("the answer of a process is not as expected")
	}
	return a, nil
}

// exitError returns an error that says how a process ended. No error contains the process's stderr, because it may quote
// the question.
func exitError(cmd *exec.Cmd, complaint string, late bool, err error) error {
	signal := syscall.Signal(0)
	if cmd.ProcessState != nil {
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			signal = status.Signal()
		}
	}
	switch {
	case strings.Contains(complaint, "stack overflow"), strings.Contains(complaint, "stack exceeds"):
		return &LimitError{fmt.Sprintf("calls itself too deep (a stack of %d MiB)", stack>>20)}
	case strings.Contains(complaint, "out of memory"), strings.Contains(complaint, "cannot allocate memory"),
		strings.Contains(complaint, "failed to allocate"), strings.Contains(complaint, "makeslice"):
		return &LimitError{fmt.Sprintf("needs more than %d MiB of memory", Memory>>20)}
	case signal == syscall.SIGXCPU, signal == syscall.SIGKILL && !late:
		return &LimitError{fmt.Sprintf("needs more than %d s of a processor", cpu)}
	case late:
		return &LimitError{fmt.Sprintf("takes longer than %s", wall)}
	}
	return fmt.Errorf("a process of its own: %w", err)
}

// Kept is a writer that keeps only the beginning of the written data. The buffer is not embedded, because its other
// methods, such as ReadFrom, would bypass the limit.
type Kept struct {
	kept bytes.Buffer
	// Left is the number of further bytes that are kept.
	Left int
	// Refuses makes a write beyond the limit an error; otherwise the data beyond the limit is dropped.
	Refuses bool
	// Over is set if data was written beyond the limit.
	Over bool
}

// Bytes returns the data up to the limit.
func (k *Kept) Bytes() []byte { return k.kept.Bytes() }

// String returns the data up to the limit.
func (k *Kept) String() string { return k.kept.String() }

// Write implements io.Writer.
func (k *Kept) Write(p []byte) (int, error) {
	n := min(len(p), k.Left)
	k.Over = k.Over || n < len(p)
	k.Left -= n
	k.kept.Write(p[:n])
	if k.Over && k.Refuses {
		return n, io.ErrShortWrite
	}
	return len(p), nil
}
