// Package contain runs the work of guests so that a panic in it fails alone: the
// program that simulates guests goes on, and so does the rest of the guest. It is the one
// place where the packages that run something of a guest start goroutines
// (contain_test.go at the root of the module holds it).
//
// It repairs nothing and bounds nothing: memory that runs out and a stack that overflows
// end the process nevertheless, and package limit keeps guests from both. It imports
// nothing of the module; everything below internal/sim may import it, and internal/plane/supervisor and internal/cli/azure,
// which show what it reports.
package contain

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// ExitCode is the exit code of a command that panicked: 128 and the number of SIGSEGV.
const ExitCode = 139

// Panic is a panic in what a guest asked for.
type Panic struct {
	// What names what the guest ran.
	What string
	// Value is what the code panicked with.
	Value any
	// Where is the function, file and line of the panic; it is the same for each panic
	// of one cause.
	Where string
	// Trace is the stack of the goroutine.
	Trace []byte
}

// Error says what failed and whose fault it is.
func (p *Panic) Error() string {
	return fmt.Sprintf("%s: this is the simulation's own fault, and not the guest's: %v (at %s)", p.What, p.Value, p.Where)
}

// Wall is around one guest. The zero value and a nil Wall report on standard error.
type Wall struct {
	// Report hears each panic, from the goroutine that had it. It must be safe for use
	// from several goroutines.
	Report func(*Panic)
}

// Call runs f and returns its panic, or nil.
func (w *Wall) Call(what string, f func()) (p *Panic) {
	defer func() {
		if value := recover(); value != nil {
			p = &Panic{What: what, Value: value, Where: where(), Trace: debug.Stack()}
			w.report(p)
		}
	}()
	f()
	return nil
}

func (w *Wall) report(p *Panic) {
	if w == nil || w.Report == nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", p, p.Trace)
		return
	}
	w.Report(p)
}

// Go runs f in a goroutine, which group counts; group may be nil.
func (w *Wall) Go(group *sync.WaitGroup, what string, f func()) {
	if group == nil {
		group = &sync.WaitGroup{}
	}
	group.Go(func() { w.Call(what, f) })
}

// where returns the innermost function, other than the runtime's, of the panic that is
// being recovered.
func where() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	place, panicked := "an unknown place", false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic": // the last one was first: others panic again in a deferred function
			panicked = true
		case panicked && !strings.HasPrefix(f.Function, "runtime."):
			place, panicked = fmt.Sprintf("%s:%d", f.Function[strings.LastIndexByte(f.Function, '/')+1:], f.Line), false
		}
		if !more {
			return place
		}
	}
}
