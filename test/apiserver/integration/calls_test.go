package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/testing/golden"
)

// ledger records the writes to Azure by action.
type ledger struct {
	*bed
	mark uint64
	text strings.Builder
}

// action ends an action and records its cost: the writes since the end of the previous action.
func (l *ledger) action(name string) {
	writes := l.azure.writes(l.mark, l.name)
	price := "nothing"
	for i, call := range slices.Sorted(maps.Keys(writes)) {
		if i == 0 {
			price = ""
		} else {
			price += ", "
		}
		price += fmt.Sprintf("%d %s", writes[call], call)
	}
	fmt.Fprintf(&l.text, "%-34s %s\n", name, price)
	l.mark = l.azure.mark()
}

func newLedger(b *bed) *ledger { return &ledger{bed: b, mark: b.azure.mark()} }

// TestCalls checks the number of writes of every action: one for each resource that changes, and
// one for any number of instances of a pool.
func TestCalls(t *testing.T) {
	var all strings.Builder
	for _, part := range []struct {
		name string
		run  func(*ledger)
	}{
		{"machines", machineCalls},
		{"pool-uniform", func(l *ledger) { poolCalls(l, infrav1.UniformOrchestrationMode) }},
		{"pool-flexible", func(l *ledger) { poolCalls(l, infrav1.FlexibleOrchestrationMode) }},
	} {
		t.Run(part.name, func(t *testing.T) {
			l := newLedger(newBed(t))
			part.run(l)
			fmt.Fprintf(&all, "# %s\n%s\n", part.name, &l.text)
			if left := l.azure.left(l.name); len(left) > 0 {
				t.Errorf("left in Azure: %v", left)
			}
		})
	}
	golden.Compare(t, "testdata/calls.golden.txt", []byte(all.String()))
}

// TestCreationBudget checks the calls that create a cluster of four machines: a group that is known
// to be new is not listed, and a resource is not read after a complete answer. The polls of an
// operation count once, because their number depends on the speed of the machine that runs the
// test; make e2e-capz counts them all.
func TestCreationBudget(t *testing.T) {
	const writes, reads = 21, 30
	b := newBed(t)
	mark := b.azure.mark()
	b.provision()
	machines := []*infrav1.AzureMachine{b.machine("cp", "Linux", true), b.machine("linux", "Linux", false),
		b.machine("win-a", "Windows", false), b.machine("win-b", "Windows", false)}
	for _, m := range machines {
		b.create(m)
	}
	for _, m := range machines {
		b.running(m)
	}
	count := map[bool][]string{}
	for _, call := range b.azure.all(mark) {
		verb, path, _ := strings.Cut(call, " ")
		path = strings.ToLower(path)
		if strings.Contains(path, "/resourcegroups/") && !strings.Contains(path+"/", "/resourcegroups/"+b.name+"/") {
			continue // deletion of another test's cluster
		}
		isRead := verb == "GET" || verb == poll
		if verb != poll || !slices.Contains(count[isRead], call) {
			count[isRead] = append(count[isRead], call)
		}
	}
	if len(count[false]) > writes || len(count[true]) > reads {
		t.Errorf("%d writes of at most %d, %d reads and polls of at most %d:\n%s", len(count[false]), writes,
			len(count[true]), reads, strings.Join(slices.Concat(count[false], count[true]), "\n"))
	}
	t.Logf("%d writes, %d reads and polls:\n%s", len(count[false]), len(count[true]),
		strings.Join(slices.Concat(count[false], count[true]), "\n"))
	for _, m := range machines {
		b.delete(m)
		b.gone(m)
	}
	b.delete(b.azureC)
	b.gone(b.azureC)
}

func machineCalls(l *ledger) {
	l.provision()
	l.action("create the cluster")
	machines := l.machines("linux-a", "Linux", true)
	l.action("create a control plane machine")
	machines = append(machines, l.machines("windows-a", "Windows", false)...)
	l.action("create a worker")
	machines = append(machines, l.machines("windows-b", "Windows", false)...)
	machines = append(machines, l.machines("windows-c", "Windows", false)...)
	l.action("scale up by 2")
	next := l.machines("windows-d", "Windows", false)
	l.endMachines(machines[3:])
	machines = append(machines[:3], next...)
	l.action("upgrade one: make and delete")
	l.endMachines(machines[2:])
	l.action("scale down by 2")
	l.endMachines(machines[:2])
	l.action("delete the machines")
	l.end()
}

// machines creates one machine and waits until it runs.
func (l *ledger) machines(name, os string, controlPlane bool) []*infrav1.AzureMachine {
	m := l.machine(name, os, controlPlane)
	l.create(m)
	l.running(m)
	return []*infrav1.AzureMachine{m}
}

func (l *ledger) endMachines(machines []*infrav1.AzureMachine) {
	for _, m := range machines {
		l.delete(m)
	}
	for _, m := range machines {
		l.gone(m)
	}
}

func (l *ledger) end() {
	l.delete(l.azureC)
	l.gone(l.azureC)
	l.action("delete the cluster")
}

func poolCalls(l *ledger, mode infrav1.OrchestrationMode) {
	l.provision()
	l.action("create the cluster")
	p := l.pool("workers", "Windows", mode, 3)
	// Instances are replaced one after another unless the strategy allows more. The strategy is set
	// long before the upgrade, because the manager sees changes of the two kinds in no particular
	// order.
	p.change(p.azure, func() {
		p.azure.Spec.Strategy.Type = infrav1.RollingUpdateAzureMachinePoolDeploymentStrategyType
		p.azure.Spec.Strategy.RollingUpdate = &infrav1.MachineRollingUpdateDeployment{MaxSurge: new(intstr.FromInt32(3))}
	})
	p.settled()
	l.action("create a pool of 3")
	p.scale(8)
	p.settled()
	l.action("scale up by 5")
	p.scale(3)
	p.settled()
	l.action("scale down by 5")
	p.upgrade(version)
	p.settled()
	l.action("upgrade 3, all of them at a time")
	p.scale(0)
	p.settled()
	l.action("scale down to none")
	p.scale(2)
	p.settled()
	l.action("scale up from none")
	l.delete(p.azure)
	l.gone(p.azure)
	l.action("delete the pool")
	l.end()
}
