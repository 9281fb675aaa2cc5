package host

import (
	"context"
	"fmt"
	"path"
	"sync"
	"time"
)

// election records, for each component that elects a leader, the instances that run in a cluster. A
// single instance runs without leader election: so it cannot lose a lease while the machine is
// busy, and need not wait after a crash until the lease of the dead process expires.
type election struct {
	mu      sync.Mutex
	running map[string][]candidate // by program
}

type candidate struct {
	node    *node
	process *staticProcess
	alone   bool
}

// yieldTimeout is the time for which an instance that ran alone may stop; then it is killed.
const yieldTimeout = 3 * time.Second

func elects(program string) bool {
	return program == "kube-controller-manager" || program == "kube-scheduler"
}

// elected starts the process of a static pod. A program that elects a leader takes part in the
// cluster's election.
func (n *node) elected(args []string, start func(alone bool) (*staticProcess, error)) (*staticProcess, error) {
	if program := path.Base(args[0]); n.election != nil && elects(program) {
		return n.election.enter(n, program, start)
	}
	return start(false)
}

// enter starts an instance of a program on a machine. start gets whether the instance is alone. An
// instance that was alone until now is stopped first; its kubelet starts it again as a candidate.
func (e *election) enter(n *node, program string, start func(alone bool) (*staticProcess, error)) (*staticProcess, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var others []candidate
	for _, c := range e.running[program] {
		if c.node != n && c.process.State().Running {
			others = append(others, c)
		}
	}
	var rest []candidate
	for _, c := range others {
		if !c.alone {
			rest = append(rest, c)
			continue
		}
		fmt.Fprintf(c.node.console, "casement: %s is not the only one of its cluster any more: it starts again "+
			"and takes part in the election of a leader\n", program)
		ctx, cancel := context.WithTimeout(n.ctx, yieldTimeout)
		c.process.Process.Stop(ctx)
		cancel()
	}
	alone := len(others) == 0
	p, err := start(alone)
	if err == nil {
		rest = append(rest, candidate{n, p, alone})
	}
	if e.running == nil {
		e.running = map[string][]candidate{}
	}
	e.running[program] = rest
	return p, err
}
