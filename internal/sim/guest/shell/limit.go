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

// Bounds of one run of a script, with all programs that it starts. They are far above the needs of bootstrap data and
// far below what would harm other guests.
const (
	// maxCalls bounds the number of commands, including builtins.
	maxCalls = 100_000
	// maxNested bounds the depth of scripts that run scripts.
	maxNested = 40
	// maxFrames bounds the depth of shell functions that call each other, in stack frames of the interpreter.
	maxFrames = 6000
	// maxWritten bounds the bytes written to files and streams.
	maxWritten = 256 << 20
	// maxRange bounds the repetitions and numbers that commands such as seq, yes and csplit produce.
	maxRange = 100_000
	// maxMatches bounds the names that patterns of file names match, in bytes. Each command of the script adds
	// matchesPerCall, because the shell cannot know when it no longer uses a match.
	maxMatches, matchesPerCall = 32 << 20, 4 << 10
	// maxScript bounds a script, in bytes.
	maxScript = 4 << 20
	// maxVariables bounds all variables of a shell together, in bytes.
	maxVariables = 256 << 10
	// maxArguments bounds the words of one command, in bytes; Linux allows 2 MiB.
	maxArguments = 1 << 20
	// maxCaptured bounds the output of a command substitution, in bytes.
	maxCaptured = maxVariables + maxArguments
	// maxExpanded bounds the expansion of the words of a statement, in bytes.
	maxExpanded = 32 << 20
)

// limits are the used amounts of the bounds and the nesting of scripts. They are stored in the context, so that all
// programs of a script share them.
type limits struct {
	used   *usage
	nested int
}

// ownShare is the memory that each script may use for its variables and its tree, in bytes.
const ownShare = 1 << 20

type usage struct {
	calls, written atomic.Int64
	// skipped is the time that waits skipped.
	skipped atomic.Int64
	// marks receives the marks of commands without effect: the standard error of the outermost script, which
	// redirections in the script do not change.
	marks io.Writer
	end   context.CancelCauseFunc
	// matches is the size of the names that patterns have matched, in bytes.
	matches atomic.Int64
	// jobs are the background jobs of the script and of the scripts that it starts.
	jobs sync.WaitGroup
}

// lateJobs is the time that jobs have to end after their script has ended.
const lateJobs = 200 * time.Millisecond

// close waits for the remaining jobs of a script, and ends those that take longer than lateJobs.
func (u *usage) close() {
	late := time.AfterFunc(lateJobs, func() { u.end(nil) })
	defer late.Stop()
	u.jobs.Wait()
	u.end(nil)
}

type limitsKey struct{}

// enter begins a script. The outermost script gets new bounds, and its standard error receives the marks. The caller
// calls leave at the end of the script.
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

// exceed ends a script that exceeded a bound. The guest stores the reason.
func (s *Shell) exceed(u *usage, bound string) error {
	err := errors.New("the script was ended, because it " + bound + " (a bound of the simulation)")
	s.guest.Overrun(err.Error())
	u.end(err)
	return err
}

// counted counts one command, and ends a script that exceeds its bounds.
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

// matched counts the names that a pattern of file names finds in a folder. It returns an error if there are too many,
// or if the script has ended.
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

// shared returns a writer to w that counts its bytes; several commands write to w, and mu serializes their writes.
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
