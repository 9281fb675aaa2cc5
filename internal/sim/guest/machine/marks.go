package machine

import (
	"slices"
	"sync"
)

// maxMarks bounds the number of marks of each kind.
const maxMarks = 200

// Marks are the requests of a guest's programs that the simulation does not carry out, each once and in the order of
// arrival.
type Marks struct {
	// Refused are requests that failed by name, as a missing program does.
	Refused []string
	// NoEffect are requests that were accepted and did nothing.
	NoEffect []string
}

// marks is a Marks that several goroutines can use.
type marks struct {
	mu   sync.Mutex
	kept Marks
}

func (k *marks) add(list *[]string, what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.Contains(*list, what) && len(*list) < maxMarks {
		*list = append(*list, what)
	}
}

// Refused records a request that is not simulated and failed.
func (m *Machine) Refused(what string) { m.marks.add(&m.marks.kept.Refused, what) }

// NoEffect records that a program did nothing where the real program has an effect.
func (m *Machine) NoEffect(what string) { m.marks.add(&m.marks.kept.NoEffect, what) }

// TakeMarks returns the marks since the last call.
func (m *Machine) TakeMarks() Marks {
	out := m.Marks()
	m.marks.mu.Lock()
	defer m.marks.mu.Unlock()
	m.marks.kept = Marks{}
	return out
}

// Marks returns all marks since New created the guest.
func (m *Machine) Marks() Marks {
	m.marks.mu.Lock()
	defer m.marks.mu.Unlock()
	return Marks{slices.Clone(m.marks.kept.Refused), slices.Clone(m.marks.kept.NoEffect)}
}
