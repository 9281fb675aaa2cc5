// Package apart runs a computation whose engine has no limits in a process of its own, which is this
// program started again with limits of memory and processor: templates of Jinja and filters of jq. A
// process costs some ten milliseconds and its own memory of up to Memory bytes beside the plane's; as many
// run at a time as there are processors.
//
// It confines no files: the computations are pure, and open none. Only the packages below
// internal/sim/guest import it.
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

// marker says to a process which computation it is for.
const marker = "CASEMENT_APART"

// LimitError says which bound ended a computation.
type LimitError struct{ Bound string }

// Error says that a bound ended it, and which.
func (e *LimitError) Error() string { return "it was ended, because it " + e.Bound }

// Serve answers one question and ends the process, if the process was started for the named computation.
// main calls it first, so that the process starts nothing else.
func Serve[Q, A any](name string, answer func(Q) A) {
	if os.Getenv(marker) == name {
		os.Exit(alone(os.Stdin, os.Stdout, answer))
	}
}

// alone is the main function of the process.
func alone[Q, A any](in io.Reader, out io.Writer, answer func(Q) A) int {
	debug.SetMaxStack(stack)
	// The limit of memory alone triggers a collection, and one thread runs it: the bound of the processor is the computation's.
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

// Run asks a process for the named computation. Its answer has at most a number of bytes.
// The error is ctx's, or a *LimitError.
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
	// The parent-death signal is sent when the thread that forked ends.
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
		return a, ended(cmd, complaint.String(), late.Err() != nil, err)
	case answer.Over:
		return a, &LimitError{fmt.Sprintf("answers with more than %d MiB", most>>20)}
	}
	if err := json.Unmarshal(answer.kept.Bytes(), &a); err != nil {
		return a, errors.New("the answer of a process is not as expected")
	}
	return a, nil
}

// ended returns an error that says how a process ended. The process's stderr is in no error, because it may
// quote the question.
func ended(cmd *exec.Cmd, complaint string, late bool, err error) error {
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

// Kept is a writer that keeps only the beginning of the written data. Its buffer is not embedded, whose other
// methods, such as ReadFrom, would pass the limit.
type Kept struct {
	kept bytes.Buffer
	// Left is how many bytes are still kept.
	Left int
	// Refuses makes a write beyond the limit an error, which ends the writer; otherwise the data is
	// dropped.
	Refuses bool
	// Over is set when there was data beyond the limit.
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
