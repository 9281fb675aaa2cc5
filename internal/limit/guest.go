package limit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
)

// GuestMemory is how many bytes all programs that one guest runs hold together.
const GuestMemory = 512 << 20

// ErrExceeded is wrapped by the error of a program that exceeded a limit of its guest.
var ErrExceeded = errors.New("a bound of the simulation")

// Guest is the present resource usage of the programs of one guest. It is safe for use from several
// goroutines.
type Guest struct{ inUse, files atomic.Int64 }

// guestFiles is how many files all programs of one guest may have open together: a sixteenth of the limit
// of this process, and no more than Linux permits a process.
func guestFiles() int64 { return int64(min(max(Files()/16, 64), 1024)) }

// Open counts a file that a program of the guest keeps open, until release is called. It fails as Linux does where
// the guest has as many as it may.
func (g *Guest) Open() (release func(), err error) {
	if g.files.Add(1) > guestFiles() {
		g.files.Add(-1)
		return nil, syscall.EMFILE
	}
	return sync.OnceFunc(func() { g.files.Add(-1) }), nil
}

// Files returns how many files the guest's programs keep open.
func (g *Guest) Files() int64 { return g.files.Load() }

// InUse returns how many bytes the guest's programs hold.
func (g *Guest) InUse() int64 { return g.inUse.Load() }

// Meter returns the account of one program of the guest, which Close ends.
func (g *Guest) Meter(ctx context.Context) *Meter { return &Meter{guest: g, ctx: ctx} }

// Meter is the account of one program. Steps are those of one goroutine; Try and Close are safe for use
// from several. A nil Meter has no limits.
type Meter struct {
	guest *Guest
	ctx   context.Context
	inUse atomic.Int64
	steps uint
}

// stop is the value with which Step and Hold panic.
type stop struct{ err error }

// Run calls f, and returns why Step or Hold has ended it. Only f's own goroutine may use
// the meter.
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

// stepsPerLook is how many steps are taken between two looks at the context.
const stepsPerLook = 256

// Step ends the program if it was cancelled. Every loop of a program calls it; a loop with long passes
// calls Look.
func (m *Meter) Step() {
	if m == nil {
		return
	}
	if m.steps++; m.steps%stepsPerLook == 0 {
		m.Look()
	}
}

// Look is Step for a pass that takes long.
func (m *Meter) Look() {
	if m != nil && m.ctx.Err() != nil {
		panic(stop{context.Cause(m.ctx)})
	}
}

// End ends the program for a reason of its own. Without a meter nothing ends.
func (m *Meter) End(err error) {
	if m != nil {
		panic(stop{err})
	}
}

// Hold notes that the program is about to hold more bytes, or fewer, and ends it if the
// guest has no more.
func (m *Meter) Hold(bytes int) {
	if err := m.Try(bytes); err != nil {
		panic(stop{err})
	}
}

// Try is Hold that returns the error.
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

// During holds bytes for as long as f runs.
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
