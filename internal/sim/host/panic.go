package host

import (
	"strings"

	"casement.dev/casement/internal/contain"
)

// met counts the occurrences of one cause of panics.
type met struct {
	times int
	vm    string // the VM of the last occurrence; "" for work for all guests
	vms   map[string]bool
}

// panicked returns a function that handles the panics in a guest's code: the first of each cause is
// logged with its trace, and OnPanic gets the first of each cause and machine. All of them are
// written to the guest's console and counted by Notices and Panics. id and vm are "" for work for
// all guests.
func (h *Host) panicked(id, vm string) func(*contain.Panic) {
	return func(p *contain.Panic) {
		h.mu.Lock()
		m := h.panics[p.Where]
		if m.vms == nil {
			m.vms = map[string]bool{}
		}
		first := !m.vms[id]
		m.times, m.vm, m.vms[id] = m.times+1, vm, true
		h.panics[p.Where] = m
		h.mu.Unlock()
		if m.times == 1 {
			h.config.Log.Error(p, "what a guest ran met a fault of the simulation; please report it", "vm", vm, "trace", string(p.Trace))
		} else {
			h.config.Log.Info("What a guest ran met a known fault of the simulation", "vm", vm, "at", p.Where, "times", m.times)
		}
		if first && id != "" && h.config.OnPanic != nil {
			h.config.OnPanic(id, p)
		}
	}
}

// Panics returns the number of panics in the code of guests, by package.
func (h *Host) Panics() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]int{}
	for where, m := range h.panics {
		part, _, inPackage := strings.Cut(where, ".")
		if !inPackage {
			part = "unknown"
		}
		out[part] += m.times
	}
	return out
}
