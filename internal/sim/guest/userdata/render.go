package userdata

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

// A template is a program, and its engine bounds nothing: a macro that calls itself
// or a text that is doubled would end the process that renders it. What only prints
// variables is rendered here; every other template in a process of its own, with
// limits, which is this program once more.

// Bounds of a template.
const (
	maxRendered  = maxSize
	renderMemory = memoryFactor * 512 << 20
	renderCPU    = cpuFactor * 3 // seconds
	renderStack  = 64 << 20
	renderWall   = 2 * time.Minute
)

// renderMarker says to a process that it is the one that renders.
const renderMarker = "CASEMENT_RENDER"

// LimitError says which bound a template was ended by.
type LimitError struct{ Bound string }

func (e *LimitError) Error() string {
	return "jinja: the template was ended, because it " + e.Bound
}

// IsLimit reports whether err is a template that was ended by a bound.
func IsLimit(err error) bool {
	_, ok := errors.AsType[*LimitError](err)
	return ok
}

// request and reply are what the two processes say to each other.
type request struct {
	Source []byte         `json:"source"`
	Vars   map[string]any `json:"vars"`
}

type reply struct {
	Out []byte `json:"out,omitempty"`
	// Template is an error of the template, Limit the bound that it ran into.
	Template *TemplateError `json:"template,omitempty"`
	Limit    string         `json:"limit,omitempty"`
}

// This runs before all else, so that the child process starts only what it needs.
func init() {
	if os.Getenv(renderMarker) != "" {
		os.Exit(renderAlone(os.Stdin, os.Stdout))
	}
}

// renderAlone is the main function of the process that renders one template.
func renderAlone(in io.Reader, out io.Writer) int {
	debug.SetMaxStack(renderStack)
	// The limit of memory alone triggers a collection, and one thread runs it: the bound of the processor is the template's.
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(1)
	debug.SetMemoryLimit(renderMemory / 2)
	for _, l := range []struct {
		what  int
		limit uint64
	}{{unix.RLIMIT_DATA, renderMemory}, {unix.RLIMIT_CPU, renderCPU}, {unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, 0}} {
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: l.limit, Max: l.limit}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	var q request
	if err := json.NewDecoder(in).Decode(&q); err != nil {
		fmt.Fprintln(os.Stderr, "read the template: it is not as expected") // the error could quote it
		return 1
	}
	var r reply
	rendered, err := renderHere(q.Source, q.Vars)
	if l, ok := errors.AsType[*LimitError](err); ok {
		r.Limit = l.Bound
	} else if t, ok := errors.AsType[*TemplateError](err); ok {
		r.Template = t
	} else if err != nil {
		r.Template = &TemplateError{Reason: "the template cannot be rendered"}
	} else {
		r.Out = rendered
	}
	if err := json.NewEncoder(out).Encode(r); err != nil {
		return 1
	}
	return 0
}

// rendering bounds the processes at a time to what the machine can run.
var rendering = make(chan struct{}, runtime.NumCPU())

// renderApart renders a template in a separate process.
func renderApart(ctx context.Context, source []byte, vars map[string]any) ([]byte, error) {
	question, err := json.Marshal(request{source, vars})
	if err != nil {
		return nil, err
	}
	select {
	case rendering <- struct{}{}:
		defer func() { <-rendering }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// The parent-death signal is sent when the thread that forked ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	wall, cancel := context.WithTimeout(ctx, renderWall)
	defer cancel()
	cmd := exec.CommandContext(wall, self)
	cmd.Env = []string{renderMarker + "=1", "GOTRACEBACK=single"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	answer, complaint := &limited{left: 2*maxRendered + 1<<10}, &limited{left: 1 << 12}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(question), answer, complaint
	err = cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, ended(cmd, complaint.kept.String(), wall.Err() != nil, err)
	}
	var r reply
	if err := json.Unmarshal(answer.kept.Bytes(), &r); err != nil {
		return nil, errors.New("render a template: the answer is not as expected")
	}
	switch {
	case r.Limit != "":
		return nil, &LimitError{r.Limit}
	case r.Template != nil:
		return nil, r.Template
	}
	return r.Out, nil
}

// ended names what ended the process that renders. Its complaint may quote the
// template and goes nowhere.
func ended(cmd *exec.Cmd, complaint string, late bool, err error) error {
	signal := syscall.Signal(0)
	if cmd.ProcessState != nil {
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			signal = status.Signal()
		}
	}
	switch {
	case strings.Contains(complaint, "stack overflow"), strings.Contains(complaint, "stack exceeds"):
		return &LimitError{fmt.Sprintf("calls itself too deep (a stack of %d MiB)", renderStack>>20)}
	case strings.Contains(complaint, "out of memory"), strings.Contains(complaint, "cannot allocate memory"),
		strings.Contains(complaint, "failed to allocate"), strings.Contains(complaint, "makeslice"):
		return &LimitError{fmt.Sprintf("needs more than %d MiB of memory", renderMemory>>20)}
	case signal == syscall.SIGXCPU, signal == syscall.SIGKILL && !late:
		return &LimitError{fmt.Sprintf("needs more than %d s of a processor", renderCPU)}
	case late:
		return &LimitError{fmt.Sprintf("takes longer than %s", renderWall)}
	}
	return fmt.Errorf("render a template: %w", err)
}

// limited is a writer that keeps only the beginning of the written data. Its buffer is not embedded, whose other
// methods, such as ReadFrom, would pass the limit.
type limited struct {
	kept bytes.Buffer
	left int
	// refuses makes a write beyond the limit an error, which ends what writes; else the data is dropped.
	refuses bool
	// over is set when there was data beyond the limit.
	over bool
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.over = l.over || n < len(p)
	l.left -= n
	l.kept.Write(p[:n])
	if l.over && l.refuses {
		return n, io.ErrShortWrite
	}
	return len(p), nil
}
