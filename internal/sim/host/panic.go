package host

import "casement.dev/casement/internal/contain"

// met is how often guests met one cause of panics.
type met struct {
	times int
	vm    string // the last one's; "" for what is done for all guests
}

// panicked returns what hears of the panics in what a guest ran: the first of each cause is
// logged with its trace. The guest's console has them all, and Notices counts them.
func (h *Host) panicked(vm string) func(*contain.Panic) {
	return func(p *contain.Panic) {
		h.mu.Lock()
		times := h.panics[p.Where].times + 1
		h.panics[p.Where] = met{times, vm}
		h.mu.Unlock()
		if times == 1 {
			h.config.Log.Error(p, "what a guest ran met a fault of the simulation; please report it", "vm", vm, "trace", string(p.Trace))
		} else {
			h.config.Log.Info("What a guest ran met a known fault of the simulation", "vm", vm, "at", p.Where, "times", times)
		}
	}
}
