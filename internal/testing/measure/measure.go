// Package measure runs a program and reports the time and memory that it used. The bench and tests
// import it.
package measure

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"
)

// Usage is the time and memory that a program used, and its end.
type Usage struct {
	Wall, CPU time.Duration
	// Peak is the maximum resident memory, in bytes.
	Peak     float64
	Code     int
	Out, Err bytes.Buffer
}

// forget reduces this process's memory and resets its peak, because Linux counts this memory as the child's until the
// child runs its own program. Source: proc(5), clear_refs.
func forget() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// Run runs a program until it ends. An exit code other than 0 is no error, but a signal is.
func Run(stdin io.Reader, path string, args ...string) (*Usage, error) {
	forget()
	u := &Usage{}
	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &u.Out, &u.Err
	begun := time.Now()
	err := cmd.Run()
	u.Wall = time.Since(begun)
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() < 0) {
		return nil, fmt.Errorf("%s: %w: %.2000s", filepath.Base(path), err, u.Err.String())
	}
	u.CPU, u.Code = cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), cmd.ProcessState.ExitCode()
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.Peak = float64(r.Maxrss) * 1024 // in KiB on Linux
	}
	return u, nil
}
