package limit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
)

// GuestMemory is the maximum number of bytes that all programs of one guest may use together.
const GuestMemory = 512 << 20

// ErrExceeded is wrapped by the error of a program that exceeded a limit of its guest.
var ErrExceeded = errors.New("a bound of the simulation")

// Guest is the current resource usage of the programs of one guest. It is safe for concurrent use.
type Guest struct{ inUse, files atomic.Int64 }

// guestFiles returns the maximum number of files that all programs of one guest may have open together: a sixteenth of
// the limit of this process, and not more than Linux permits a process.
func guestFiles() int64 { return int64(min(max(Files()/16, 64), 1024)) }

// Open counts a file that a program of the guest has open, until release is called. It fails with Linux's error if the
// guest has the maximum number of files open.
func (g *Guest) Open() (release func(), err error) {
	if g.files.Add(1) > guestFiles() {
		g.files.Add(-1)
		return nil, syscall.EMFILE
	}
	return sync.OnceFunc(func() { g.files.Add(-1) }), nil
}

// Files returns the number of files that the guest's programs have open.
func (g *Guest) Files() int64 { return g.files.Load() }

// InUse returns the number of bytes that the guest's programs use.
func (g *Guest) InUse() int64 { return g.inUse.Load() }

// Meter returns the account of one program of the guest, which Close ends.
func (g *Guest) Meter(ctx context.Context) *Meter { return &Meter{guest: g, ctx: ctx} }

// Meter is the account of one program. Only one goroutine may call Step and Hold; Try and Close are safe for concurrent
// use. A nil Meter has no limits.
type Meter struct {
	guest *Guest
	ctx   context.Context
	inUse atomic.Int64
	steps uint
}

// stop is the value with which Step and Hold panic.
type stop struct{ err error }

// Run calls f, and returns the error with which Step or Hold has ended it. Only f's own goroutine may use the meter.
func (m *Meter) Run(f func()) (err error) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case stop:
			err = value.err
		default:
			panic(value)
		}
	}()
	f()
	return nil
}

// stepsPerLook is the number of steps between two checks of the context.
const stepsPerLook = 256

// Step ends the program if it was cancelled. Every loop of a program calls it; a loop with long passes calls Look.
func (m *Meter) Step() {
	if m == nil {
		return
	}
	if m.steps++; m.steps%stepsPerLook == 0 {
		m.Look()
	}
}

// Look is like Step, but checks the context at each call, for loops with long passes.
func (m *Meter) Look() {
	if m != nil && m.ctx.Err() != nil {
		panic(stop{context.Cause(m.ctx)})
	}
}

// End ends the program with an error. Without a meter it has no effect.
func (m *Meter) End(err error) {
	if m != nil {
		panic(stop{err})
	}
}

// Hold records that the program is about to use more bytes, or fewer if bytes is negative, and ends the program if this
// exceeds the guest's limit.
func (m *Meter) Hold(bytes int) {
	if err := m.Try(bytes); err != nil {
		panic(stop{err})
	}
}

// Try is like Hold, but returns the error.
func (m *Meter) Try(bytes int) error {
	if m == nil {
		return nil
	}
	m.inUse.Add(int64(bytes))
	if all := m.guest.inUse.Add(int64(bytes)); bytes > 0 && all > GuestMemory {
		m.inUse.Add(int64(-bytes))
		m.guest.inUse.Add(int64(-bytes))
		return fmt.Errorf("this guest used more than %d MiB (%w)", GuestMemory>>20, ErrExceeded)
	}
	return nil
}

// During counts bytes as used while f runs.
func (m *Meter) During(bytes int, f func()) {
	m.Hold(bytes)
	defer m.Hold(-bytes)
	f()
}

// Close returns the program's memory and files to the guest.
func (m *Meter) Close() {
	if m != nil {
		m.guest.inUse.Add(-m.inUse.Swap(0))
	}
}
