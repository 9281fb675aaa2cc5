// Package contain runs the work of guests so that a panic only fails the command in which it happens: the program that
// simulates guests continues, and so does the rest of the guest. It is the only place where packages that run commands
// of a guest start goroutines (contain_test.go at the root of the module checks this).
//
// It neither repairs nor limits anything: exhausted memory and a stack overflow still end the process, and package
// limit prevents both. It imports nothing of the module. Everything below internal/sim may import it, and
// internal/plane/supervisor and internal/cli/azure, which show its reports.
package contain

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// ExitCode is the exit code of a command that panicked: 128 plus the number of SIGSEGV.
const ExitCode = 139

// Panic is a panic in the work for a guest.
type Panic struct {
	// What names the guest's command.
	What string
	// Value is the argument of the call of panic.
	Value any
	// Where is the function, file and line of the panic; it is the same for every panic with the same cause.
	Where string
	// Trace is the stack of the goroutine.
	Trace []byte
}

// Error names the failed command and says that the fault is in the simulation.
func (p *Panic) Error() string {
	return fmt.Sprintf("%s: this is the simulation's own fault, and not the guest's: %v (at %s)", p.What, p.Value, p.Where)
}

// Wall catches the panics of one guest. The zero value and a nil Wall report on standard error.
type Wall struct {
	// Report is called for each panic, by the goroutine that panicked. It must be safe for concurrent use.
	Report func(*Panic)
}

// Call runs f and returns its panic, or nil.
func (w *Wall) Call(what string, f func()) (p *Panic) {
	defer func() {
		if value := recover(); value != nil {
			p = &Panic{What: what, Value: value, Where: panickingFunction(), Trace: debug.Stack()}
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

// panickingFunction returns the innermost function, other than the runtime's, of the panic that is being recovered.
func panickingFunction() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	place, panicked := "an unknown place", false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic": // the last panic is the first cause: others panic again in a deferred function
			panicked = true
		case panicked && !strings.HasPrefix(f.Function, "runtime."):
			place, panicked = fmt.Sprintf("%s:%d", f.Function[strings.LastIndexByte(f.Function, '/')+1:], f.Line), false
		}
		if !more {
			return place
		}
	}
}
