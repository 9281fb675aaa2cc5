package integration

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
)

var (
	lives    = flag.Int("lives", 1, "how many clusters live while Azure fails")
	theme    = flag.String("theme", "", "what goes wrong in every life, instead of each in turn")
	machines = flag.Int("machines", 4, "how many machines each of them has, beside its pools")
)

// chaosPatience limits the time in which a cluster must settle while calls fail. It is many times
// the usual duration.
const chaosPatience = 15 * time.Minute

// failures contains fault rules by theme. The probability is divided among the rules of a theme.
var failures = map[string][]fault.Rule{
	"429":               {{Kind: fault.Throttle}},
	"409":               {{Kind: fault.Conflict, Verbs: []string{"PUT", "PATCH", "DELETE"}}},
	"5xx":               {{Kind: fault.Unavailable}, {Kind: fault.Unavailable, Status: 500, Code: "InternalServerError"}},
	"dropped requests":  {{Kind: fault.Drop}},
	"lost answers":      {{Kind: fault.Lose}},
	"failed operations": {{Kind: fault.Operation}},
}

// themes returns the names of the failures, and twice the theme that combines all of them.
func themes() []string {
	if *theme != "" {
		return []string{*theme}
	}
	out := slices.Sorted(maps.Keys(failures))
	return append(append([]string{everything}, out...), everything)
}

const everything = "everything"

// life is one cluster with injected faults, and the counts of the run.
type life struct {
	*bed
	random *rand.Rand
	theme  string
	chance float64
	// workers are the existing worker machines, and leaving those that are being deleted.
	workers, leaving []*infrav1.AzureMachine
	pools            []*pool // a uniform and a flexible pool
	vmIDs            map[string]string

	faults, orphans, duplicates, stuck, lost int
	slowest                                  time.Duration // duration of the slowest step
}

// TestLifeAmongFaults creates, scales, repairs and deletes clusters with machines and pools of both
// modes while up to 30 % of the calls fail. Each step settles while faults continue; no resource
// remains, is created twice, is stuck or is lost.
func TestLifeAmongFaults(t *testing.T) {
	t.Parallel()
	all := make([]*life, *lives)
	t.Run("life", func(t *testing.T) {
		for i := range all {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				l := &life{bed: newBed(t), random: rand.New(rand.NewPCG(*seed, uint64(i))),
					theme: themes()[i%len(themes())], vmIDs: map[string]string{}}
				l.azureC.Spec.SubscriptionID = subscriptionOf(i) // a 429 affects a whole subscription
				l.chance = 0.2 + 0.1*l.random.Float64()
				all[i] = l
				l.live()
				t.Logf("%s at %.0f %%: %d faults, slowest step %s", l.theme, 100*l.chance, l.faults, l.slowest.Round(100*time.Millisecond))
			})
		}
	})
	t.Logf("seed %d\n%s", *seed, lifeTable(all))
}

// manySubscriptions is the number of subscriptions of the local Azure; each life has its own
// subscription.
const manySubscriptions = 64

func subscriptionOf(life int) string {
	return fmt.Sprintf("00000000-0000-0000-0001-%012d", life%manySubscriptions)
}

// subscriptions returns the IDs of all subscriptions of the local Azure.
func subscriptions() []string {
	out := []string{subscription}
	for i := range manySubscriptions {
		out = append(out, subscriptionOf(i))
	}
	return out
}

// live runs the actions of the cluster's life.
func (l *life) live() {
	l.fail()
	l.create(l.azureC)
	l.step("create", func() {
		l.rest(l.azureC, func() string { return provisioned(l.azureC.Status.Initialization.Provisioned) })
		l.cluster.Status.Initialization.InfrastructureProvisioned = new(true)
		if err := l.client.Status().Update(l.t.Context(), l.cluster); err != nil {
			l.t.Fatal(err)
		}
		l.grow(*machines)
		l.pools = []*pool{l.bed.pool("uniform", "Linux", infrav1.UniformOrchestrationMode, 2),
			l.bed.pool("flexible", "Linux", infrav1.FlexibleOrchestrationMode, 2)}
	})
	l.step("scale up", func() {
		l.grow(*machines / 2)
		l.pools[0].scale(4)
		l.pools[1].scale(3)
	})
	l.step("repair", func() {
		m := l.draw()
		l.calm() // the deletion by a person must not fail
		l.remove(strings.TrimPrefix(*m.Spec.ProviderID, "azure://"))
		l.fail()
		// Only the next comparison with Azure finds the change, and its calls fail too.
		l.change(m, func() { m.Annotations["look"] = "now" })
		l.rest(m, func() string {
			if m.Status.FailureReason == nil {
				return "not given up"
			}
			return ""
		})
		l.delete(m) // as a MachineHealthCheck does
		l.grow(1)
	})
	l.step("scale down", func() {
		for range *machines / 2 {
			l.delete(l.draw())
		}
		l.pools[0].scale(1)
		l.pools[1].scale(1)
	})
	l.end()
}

// draw removes a random worker from the list of workers and returns it.
func (l *life) draw() *infrav1.AzureMachine {
	i := 1 + l.random.IntN(len(l.workers)-1)
	m := l.workers[i]
	l.workers = slices.Delete(l.workers, i, i+1)
	l.leaving = append(l.leaving, m)
	return m
}

// end deletes the cluster and checks that no resource remains.
func (l *life) end() {
	began := time.Now()
	for _, p := range l.pools {
		l.delete(p.azure)
	}
	for _, m := range l.workers {
		l.delete(m)
	}
	l.workers, l.leaving = nil, append(l.leaving, l.workers...)
	for _, p := range l.pools {
		l.away(p.azure)
	}
	l.departed()
	l.delete(l.azureC)
	l.away(l.azureC)
	l.slowest = max(l.slowest, time.Since(began))
	l.calm()
	if left := l.azure.left(l.name); len(left) > 0 {
		l.orphans += len(left)
		l.t.Errorf("deleted, and left in Azure: %v", left)
	}
}

// departed waits until the deleted machines are gone.
func (l *life) departed() {
	l.t.Helper()
	for _, m := range l.leaving {
		l.away(m)
	}
	l.leaving = nil
}

// away waits until an object is gone.
func (l *life) away(o conditionsObject) {
	l.t.Helper()
	err := wait.PollUntilContextTimeout(l.t.Context(), often, chaosPatience, true, func(ctx context.Context) (bool, error) {
		err := l.client.Get(ctx, client.ObjectKeyFromObject(o), o)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		l.stuck++
		l.t.Fatalf("%T %s is still there: %v; conditions:\n%s", o, o.GetName(), err, show(o))
	}
}

// rest reads o until f returns "", with the patience for failing calls.
func (l *life) rest(o conditionsObject, f func() string) {
	l.t.Helper()
	objection := ""
	err := wait.PollUntilContextTimeout(l.t.Context(), often, chaosPatience, true, func(ctx context.Context) (bool, error) {
		if err := l.read(ctx, o); err != nil {
			return false, err
		}
		objection = f()
		return objection == "", nil
	})
	if err != nil {
		l.lost++
		l.t.Fatalf("%T %s: %s (%v); conditions:\n%s", o, o.GetName(), objection, err, show(o))
	}
}

// fail adds the fault rules of the theme for the cluster's resource group.
func (l *life) fail() {
	rules := failures[l.theme]
	if l.theme == everything {
		for _, name := range slices.Sorted(maps.Keys(failures)) {
			rules = append(rules, failures[name]...)
		}
	}
	for _, r := range rules {
		r.Group, r.Seed, r.Probability = l.name, l.random.Uint64(), l.chance/float64(len(rules))
		if _, err := l.azure.Faults().Add(r); err != nil {
			l.t.Fatal(err)
		}
	}
}

// calm removes the rules and counts their matches.
func (l *life) calm() {
	for _, r := range l.azure.Faults().List() {
		if r.Group == l.name {
			l.faults += r.Matched
			if err := l.azure.Faults().Clear(r.ID); err != nil {
				l.t.Error(err)
			}
		}
	}
}

// grow creates more machines; the first machine of the cluster is a control plane machine.
func (l *life) grow(count int) {
	for range count {
		os := []string{"Linux", "Windows"}[l.random.IntN(2)]
		first := len(l.workers) == 0
		if first {
			os = "Linux"
		}
		m := l.machine(fmt.Sprintf("m-%x", l.random.Uint32()), os, first)
		l.create(m)
		l.workers = append(l.workers, m)
	}
}

// step runs an action, waits until nothing changes any more, and compares the resources in Azure
// with the expected ones.
func (l *life) step(name string, do func()) {
	l.t.Helper()
	began := time.Now()
	do()
	for _, m := range l.workers {
		l.rest(m, func() string {
			if m.Status.FailureReason != nil {
				l.lost++
				l.t.Fatalf("%s: %s is given up: %s: %s", name, m.Name, *m.Status.FailureReason, *m.Status.FailureMessage)
			}
			return provisioned(m.Status.Initialization.Provisioned)
		})
	}
	l.departed()
	for _, p := range l.pools {
		l.rest(p.azure, func() string {
			p.play()
			p.replaceFailed()
			_, objection := p.unsettled()
			return objection
		})
	}
	l.slowest = max(l.slowest, time.Since(began))
	l.calm()
	l.t.Logf("%s, %s: settled after %s, %d faults so far", l.theme, name, time.Since(began).Round(100*time.Millisecond), l.faults)
	l.account(name)
	l.fail()
}

// provisioned returns an objection unless p points to true.
func provisioned(p *bool) string {
	if p == nil || !*p {
		return "not provisioned"
	}
	return ""
}

// replaceFailed deletes the Machines of failed instances, as a MachineHealthCheck does when they do
// not become nodes in time.
func (p *pool) replaceFailed() {
	p.t.Helper()
	machines := p.machines()
	for _, m := range p.shown() {
		c, machine := conditions.Get(&m, clusterv1.ReadyCondition), machines[m.Name]
		if c == nil || c.Reason != infrav1.VMProvisionFailedReason || machine == nil || !machine.DeletionTimestamp.IsZero() {
			continue
		}
		if err := client.IgnoreNotFound(p.client.Delete(p.t.Context(), machine)); err != nil {
			p.t.Fatal(err)
		}
	}
}

// account counts the VMs, network interfaces and disks without an owner, and the machines whose VM was replaced.
func (l *life) account(step string) {
	l.t.Helper()
	vms := map[string]bool{}
	for _, id := range l.azure.left(l.name) {
		var r struct {
			Properties struct {
				VMID           string `json:"vmId"`
				VirtualMachine struct{ ID string }
			}
			ManagedBy string
		}
		kind := strings.ToLower(arm.TypeOf(id))
		switch kind {
		case "microsoft.compute/virtualmachines", "microsoft.network/networkinterfaces", "microsoft.compute/disks":
		default:
			continue
		}
		body, err := l.azure.client.Get(l.t.Context(), id, desired.APIVersion(arm.TypeOf(id)))
		if err == nil {
			err = json.Unmarshal(body, &r)
		}
		if err != nil {
			l.t.Fatalf("%s: %v", id, err)
		}
		if kind == "microsoft.compute/virtualmachines" {
			vms[strings.ToLower(id)] = true
			if was := l.vmIDs[strings.ToLower(id)]; was != "" && was != r.Properties.VMID {
				l.duplicates++
				l.t.Errorf("%s: %s was made twice", step, id)
			}
			l.vmIDs[strings.ToLower(id)] = r.Properties.VMID
		} else if r.ManagedBy == "" && r.Properties.VirtualMachine.ID == "" {
			l.orphans++
			l.t.Errorf("%s: %s belongs to no VM", step, id)
		}
	}
	for _, m := range l.workers {
		id := strings.ToLower(strings.TrimPrefix(*m.Spec.ProviderID, "azure://"))
		if !vms[id] {
			l.lost++
			l.t.Errorf("%s: the VM of %s is lost", step, m.Name)
		}
		delete(vms, id)
	}
	if flexible := int(*l.pools[1].machinePool.Spec.Replicas); len(vms) != flexible {
		l.orphans++
		l.t.Errorf("%s: %d VMs belong to no machine, and the flexible pool has %d: %v", step, len(vms), flexible,
			slices.Collect(maps.Keys(vms)))
	}
}

// lifeTable formats the results of the lives by theme.
func lifeTable(all []*life) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-20s %6s %7s %9s | %7s %10s %13s %12s\n", "WHAT GOES WRONG", "LIVES", "FAULTS", "SLOWEST",
		"ORPHANS", "DUPLICATES", "STUCK DELETES", "LOST OBJECTS")
	line := func(name string, group []*life) {
		var s life
		for _, l := range group {
			s.faults, s.orphans, s.duplicates, s.stuck, s.lost = s.faults+l.faults, s.orphans+l.orphans,
				s.duplicates+l.duplicates, s.stuck+l.stuck, s.lost+l.lost
			s.slowest = max(s.slowest, l.slowest)
		}
		fmt.Fprintf(&b, "%-20s %6d %7d %7.1f s | %7d %10d %13d %12d\n", name, len(group), s.faults,
			s.slowest.Seconds(), s.orphans, s.duplicates, s.stuck, s.lost)
	}
	groups := map[string][]*life{}
	for _, l := range all {
		groups[l.theme] = append(groups[l.theme], l)
	}
	for _, theme := range slices.Sorted(maps.Keys(groups)) {
		line(theme, groups[theme])
	}
	line("all", all)
	return b.String()
}
