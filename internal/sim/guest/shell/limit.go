package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of one run of a script, with all that it starts. They are far above what
// bootstrap data does and far below what would hurt the other guests.
const (
	// maxCalls bounds the commands, builtins among them.
	maxCalls = 100_000
	// maxNested bounds scripts that run scripts.
	maxNested = 40
	// maxFrames bounds functions of a shell that call each other, in frames of
	// the interpreter's own stack.
	maxFrames = 6000
	// maxWritten bounds the bytes that are written to files and streams.
	maxWritten = 256 << 20
	// maxRange bounds a sequence such as {1..9}.
	maxRange = 100_000
	// maxMatches bounds what patterns of file names match, in bytes of names, and matchesPerCall is what each command adds
	// to that: the shell says of no match when it is forgotten.
	maxMatches, matchesPerCall = 32 << 20, 4 << 10
	// maxScript bounds a script, in bytes.
	maxScript = 4 << 20
	// maxVariables bounds all variables of a shell together, in bytes.
	maxVariables = 256 << 10
	// maxArguments bounds the words of one command; Linux has 2 MiB.
	maxArguments = 1 << 20
	// maxCaptured bounds what a command substitution prints.
	maxCaptured = maxVariables + maxArguments
	// maxExpanded bounds what the words of a statement become.
	maxExpanded = 32 << 20
)

// limits are the remaining amounts of the bounds. They are part of the context, so that all
// programs of a script share them.
type limits struct {
	used   *usage
	nested int
}

// ownShare is what a script holds for its variables and its tree.
const ownShare = 1 << 20

type usage struct {
	calls, written atomic.Int64
	// skipped is the time that was slept through without waiting.
	skipped atomic.Int64
	// marks receives the marks of commands without effect: the standard error of the
	// outermost script, which no redirection of the script changes.
	marks io.Writer
	end   context.CancelCauseFunc
	// matches are the bytes of names that patterns have matched.
	matches atomic.Int64
	// jobs are what the script and those it starts have in the background.
	jobs sync.WaitGroup
}

// lateJobs is how long the jobs that a script leaves behind may go on.
const lateJobs = 200 * time.Millisecond

// close waits for the jobs that a script leaves behind, and ends those that take longer.
func (u *usage) close() {
	late := time.AfterFunc(lateJobs, func() { u.end(nil) })
	defer late.Stop()
	u.jobs.Wait()
	u.end(nil)
}

type limitsKey struct{}

// enter begins a script: the outermost one gets its bounds, and its standard error takes
// the marks. leave is called at its end.
func (s *Shell) enter(ctx context.Context, script string, stderr io.Writer) (inner context.Context, leave func(), err error) {
	l, some := ctx.Value(limitsKey{}).(limits)
	leave = func() {}
	if !some {
		l.used = &usage{marks: stderr}
		ctx, l.used.end = context.WithCancelCause(ctx)
		leave = l.used.close
	}
	l.nested++
	meter, end := s.guest.Usage.Meter(ctx), leave
	leave = func() { meter.Close(); end() }
	if err := meter.Try(len(script)); err != nil {
		return ctx, leave, err
	}
	switch {
	case l.nested > maxNested:
		err = s.exceed(l.used, fmt.Sprintf("starts scripts more than %d deep", maxNested))
	case len(script) > maxScript:
		err = s.exceed(l.used, fmt.Sprintf("is longer than %d bytes", maxScript))
	}
	return context.WithValue(ctx, limitsKey{}, l), leave, err
}

// exceed ends a script by a bound; the guest keeps the reason.
func (s *Shell) exceed(u *usage, bound string) error {
	err := errors.New("the script was ended, because it " + bound + " (a bound of the simulation)")
	s.guest.Overrun(err.Error())
	u.end(err)
	return err
}

// counted notes one command.
func (s *Shell) counted(ctx context.Context) error {
	l, some := ctx.Value(limitsKey{}).(limits)
	if !some {
		return nil
	}
	n := l.used.calls.Add(1)
	if n > maxCalls {
		return s.exceed(l.used, fmt.Sprintf("runs more than %d commands", maxCalls))
	}
	var frame [1]uintptr
	if n%16 == 0 && runtime.Callers(maxFrames, frame[:]) > 0 {
		return s.exceed(l.used, "has functions that call each other too deep")
	}
	return nil
}

// matched notes what a pattern of file names finds in a folder, and ends the script if that is too much, or with it.
func (s *Shell) matched(ctx context.Context, folder string, entries []fs.DirEntry) error {
	l, some := ctx.Value(limitsKey{}).(limits)
	if err := ctx.Err(); err != nil || !some {
		return err
	}
	size := len(folder)
	for _, e := range entries {
		size += len(folder) + len(e.Name())
	}
	if l.used.matches.Add(int64(size)) > maxMatches+matchesPerCall*l.used.calls.Load() {
		return s.exceed(l.used, fmt.Sprintf("has patterns that match more than %d MiB of names", maxMatches>>20))
	}
	return nil
}

// writer returns a writer to w that counts its bytes against the limit.
func (s *Shell) writer(ctx context.Context, w io.Writer) io.Writer {
	return s.shared(ctx, w, &sync.Mutex{})
}

// shared is writer for one that several commands write to: mu keeps their writes apart.
func (s *Shell) shared(ctx context.Context, w io.Writer, mu *sync.Mutex) io.Writer {
	l, some := ctx.Value(limitsKey{}).(limits)
	if _, counted := w.(*counter); !some || counted {
		return w
	}
	return &counter{shell: s, used: l.used, mu: mu, w: w}
}

type counter struct {
	shell  *Shell
	used   *usage
	mu     *sync.Mutex
	w      io.Writer
	failed atomic.Bool
}

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	if c.used.written.Add(int64(len(p))) > maxWritten {
		return 0, c.shell.exceed(c.used, fmt.Sprintf("writes more than %d MiB", maxWritten>>20))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if captured, ok := c.w.(interface{ Len() int }); ok && captured.Len()+len(p) > maxCaptured {
		return 0, c.shell.exceed(c.used, fmt.Sprintf("substitutes a command that prints more than %d KiB", maxCaptured>>10))
	}
	n, err := c.w.Write(p)
	if err != nil {
		c.failed.Store(true)
	}
	return n, err
}
