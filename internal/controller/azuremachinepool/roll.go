package azuremachinepool

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/pass"
)

// budget limits the number of instances that may be deleted and created at the same time.
type budget struct {
	wanted, surge, unavailable int32
	policy                     infrav1.AzureMachinePoolDeletePolicyType
	// busy is true if only broken instances may be replaced in this pass.
	busy bool
	// minReady is the time for which a new instance has to be ready before another is replaced for it.
	minReady time.Duration
	now      time.Time
}

func (s *scope) budget() budget {
	b := budget{wanted: s.replicas(), surge: 1, busy: s.busy, policy: infrav1.OldestDeletePolicyType}
	b.minReady = time.Duration(ptr.Deref(s.machinePool.Spec.Template.Spec.MinReadySeconds, 0)) * time.Second
	r := s.pool.Spec.Strategy.RollingUpdate
	if r == nil {
		return b
	}
	b.surge = amount(r.MaxSurge, b.wanted, true, 1)
	b.unavailable = amount(r.MaxUnavailable, b.wanted, false, 0)
	b.policy = cmp.Or(r.DeletePolicy, b.policy)
	if b.surge == 0 && b.unavailable == 0 {
		b.surge = 1 // percentages of a few replicas can both be 0, and then no instance could ever be replaced
	}
	return b
}

// amount returns a number, or a share of the replicas; a value that admission refuses
// counts as unset.
func amount(v *intstr.IntOrString, replicas int32, up bool, unset int32) int32 {
	if v == nil {
		return unset
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(v, int(replicas), up)
	if err != nil {
		return unset
	}
	return int32(max(n, 0))
}

// choose returns the members to delete now: those that a MachineHealthCheck considers unhealthy, surplus ones, and
// those with an old model whose deletion leaves as many ready nodes as the budget requires.
//
// Among the members with an old model, a member that never became a node is deleted at any time. A member whose node is
// not ready may still serve its pods; and when many nodes are not ready, the reason is seldom in the nodes: the budget
// of ready nodes applies to such members too. A member that Cluster API cannot observe is not deleted.
//
// A member with the new model that Azure has given up is deleted during a rolling update if another member with that
// model is ready. If none is, the model itself may be the reason, and the member stays for inspection.
func choose(members []member, b budget) []*member {
	var alive, outdated, broken, failed []*member
	ready, going, proven := int32(0), int32(0), false
	for i := range members {
		m := &members[i]
		switch {
		case m.dying():
			going++
			continue
		case unhealthy(m.machine):
			broken = append(broken, m)
			continue
		}
		alive = append(alive, m)
		if m.ready() && (m.instance.outdated || m.readyFor(b) == 0) {
			ready++
		}
		switch {
		case m.instance.outdated:
			outdated = append(outdated, m)
		case m.ready():
			proven = true
		case m.instance.state == string(infrav1.Failed) && m.machine != nil && !m.machine.Status.NodeRef.IsDefined():
			failed = append(failed, m)
		}
	}
	if b.busy {
		return broken
	}
	if len(outdated) == 0 {
		order(alive, b.policy)
		return append(broken, alive[:max(len(alive)-int(b.wanted), 0)]...)
	}
	order(outdated, b.policy)
	spare := ready - (b.wanted - b.unavailable)
	silent := max(b.surge, b.unavailable) - going
	chosen := broken
	if proven {
		chosen = append(chosen, failed...)
	}
	for _, m := range outdated {
		switch {
		case unseen(m.machine):
			continue
		case m.machine == nil, !m.machine.Status.NodeRef.IsDefined():
		case m.ready() && spare > 0:
			spare--
		case !m.ready() && silent > 0:
			silent--
		default:
			continue
		}
		chosen = append(chosen, m)
	}
	return chosen
}

// soonest returns the time until the next of the new instances has been ready for long enough; 0 if there is none.
func soonest(members []member, b budget) time.Duration {
	var next time.Duration
	for i := range members {
		m := &members[i]
		if left := m.readyFor(b); !m.dying() && m.ready() && !m.instance.outdated && left > 0 && (next == 0 || left < next) {
			next = left
		}
	}
	return next
}

// order sorts members by the order of their deletion: first members that a user marked, then members that do not work,
// then by age or at random. The random order is the same in every pass.
func order(members []*member, policy infrav1.AzureMachinePoolDeletePolicyType) {
	rank := func(m *member) int {
		switch {
		case toDelete(m.machine):
			return 0
		case m.instance.state == string(infrav1.Failed):
			return 1
		case !m.ready():
			return 2
		}
		return 3
	}
	slices.SortStableFunc(members, func(a, b *member) int {
		byAge := cmp.Or(a.instance.created.Compare(b.instance.created),
			cmp.Compare(len(a.instance.number), len(b.instance.number)),
			cmp.Compare(a.instance.number, b.instance.number))
		switch policy {
		case infrav1.NewestDeletePolicyType:
			byAge = -byAge
		case infrav1.RandomDeletePolicyType:
			byAge = cmp.Compare(shuffled(a.instance.id), shuffled(b.instance.id))
		}
		return cmp.Or(rank(a)-rank(b), byAge)
	})
}

func shuffled(id string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(id))
	return h.Sum32()
}

// roll deletes the Machines of the chosen instances. Cluster API drains their nodes and then deletes their
// AzureMachinePoolMachines; deleteMarkedInstances waits for that.
func (r *Reconciler) roll(ctx context.Context, s *scope) pass.Result {
	s.reportProgress()
	b := s.budget()
	b.now = time.Now()
	if s.scaledElsewhere() {
		b.wanted = math.MaxInt32 // instances that others added are kept, even with an old model
	}
	going := choose(s.members, b)
	for _, m := range going {
		var object client.Object = m.machine
		if m.machine == nil {
			object = m.shown
		}
		ctrl.LoggerFrom(ctx).Info("Deleting an instance of the pool", "instance", m.instance.number, "oldModel", m.instance.outdated,
			"changed", m.instance.changed)
		if err := client.IgnoreNotFound(r.Client.Delete(ctx, object)); err != nil {
			return pass.Error(fmt.Errorf("delete %s of AzureMachinePool %s: %w", object.GetName(), s.pool.Name, err))
		}
	}
	if left := soonest(s.members, b); left > 0 && s.outdated() > 0 {
		return pass.Within(min(left, r.Resync))
	}
	if !s.scaledElsewhere() && len(going) == 0 && int32(s.present()) < s.replicas() {
		return pass.Within(soon) // instances are being created, and no event triggers the next pass
	}
	return pass.Next()
}

// reportProgress sets the conditions for the progress of scaling and rolling updates.
func (s *scope) reportProgress() {
	present, dying := int32(s.present()), int32(0)
	for i := range s.members {
		if s.members[i].instance != nil && s.members[i].dying() {
			dying++
		}
	}
	if wanted := s.replicas(); present == wanted && dying == 0 {
		condition.True(s.pool, infrav1.ScaleSetDesiredReplicasCondition, condition.Provisioned)
	} else {
		condition.False(s.pool, infrav1.ScaleSetDesiredReplicasCondition, condition.Scaling,
			fmt.Sprintf("%d instances, of which %d are on their way out; %d are wanted", present, dying, wanted))
	}
	old, why := s.outdated(), ""
	if names := s.changed(); len(names) > 0 {
		why = " (" + strings.Join(names, ", ") + ")"
	}
	if old == 0 {
		condition.True(s.pool, infrav1.ScaleSetModelUpdatedCondition, condition.Provisioned)
	} else {
		condition.False(s.pool, infrav1.ScaleSetModelUpdatedCondition, condition.RollingUpdate,
			fmt.Sprintf("%d of %d instances are of an old model%s and are replaced as the strategy allows", old, present, why))
	}
}
