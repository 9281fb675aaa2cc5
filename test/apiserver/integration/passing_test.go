package integration

import (
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/azuresim/fault"
)

// fault adds a fault rule to the local Azure until the test ends or clear is called.
func (b *bed) fault(rule fault.Rule) (clear func()) {
	b.t.Helper()
	rule, err := b.azure.Faults().Add(rule)
	if err != nil {
		b.t.Fatal(err)
	}
	cleared := false
	clear = func() {
		if cleared {
			return
		}
		cleared = true
		if err := b.azure.Faults().Clear(rule.ID); err != nil {
			b.t.Error(err)
		}
	}
	b.t.Cleanup(clear)
	return clear
}

// TestCreateFailsForAWhile checks, for the network, a machine and a pool, that operations that end
// with transient errors of Azure are retried and that none becomes a terminal failure.
func TestCreateFailsForAWhile(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.fault(fault.Rule{Kind: fault.Operation, Type: "*/virtualNetworks", Group: b.name, Count: 1})
	b.provision()
	for _, os := range []string{"Linux", "Windows"} {
		b.fault(fault.Rule{Kind: fault.Operation, Verbs: []string{"PUT"}, Type: "*/virtualMachines", Group: b.name, Count: 1})
		mark := b.azure.mark()
		m := b.machine("passing-"+strings.ToLower(os[:3]), os, false)
		b.create(m)
		b.eventually(m, func() string {
			if m.Status.FailureReason != nil {
				t.Fatalf("given up: %s: %s", *m.Status.FailureReason, *m.Status.FailureMessage)
			}
			if p := m.Status.Initialization.Provisioned; p == nil || !*p {
				return "not provisioned"
			}
			return ""
		})
		writes := b.azure.writes(mark, b.name)
		if writes["PUT virtualMachines"] != 2 || writes["DELETE virtualMachines"] != 1 {
			t.Errorf("%s: writes %v", os, writes)
		}
		b.delete(m)
		b.gone(m)
	}
	b.fault(fault.Rule{Kind: fault.Operation, Verbs: []string{"PUT"}, Type: "*/virtualMachineScaleSets", Group: b.name, Count: 1})
	p := b.pool("passing", "Linux", infrav1.UniformOrchestrationMode, 1)
	b.eventually(p.azure, func() string {
		p.play()
		for _, m := range p.shown() {
			c, machine := conditions.Get(&m, clusterv1.ReadyCondition), p.machines()[m.Name]
			if c == nil || c.Reason != infrav1.VMProvisionFailedReason || machine == nil {
				continue
			}
			// A MachineHealthCheck deletes the Machine if the instance does not become a node in
			// time.
			if err := b.client.Delete(t.Context(), machine); err != nil {
				t.Fatal(err)
			}
			return ""
		}
		return "the failed instance is not reported"
	})
	p.settled()
}

// TestRunningMachineTellsWhatIsRefused checks that a running machine stays ready while Azure
// refuses casement's calls, and that the condition Synced, an event and a log line name the
// refusal.
func TestRunningMachineTellsWhatIsRefused(t *testing.T) {
	b := newBed(t)
	b.provision()
	m := b.machine("worker-0", "Linux", false)
	b.create(m)
	b.running(m)
	reported := func(what, reason, message string, ready metav1.ConditionStatus) {
		t.Helper()
		b.eventually(m, func() string {
			c := conditions.Get(m, infrav1.SyncedCondition)
			if c == nil || c.Status != metav1.ConditionFalse || c.Reason != reason || !strings.Contains(c.Message, message) {
				return what + ": the refusal is not reported"
			}
			return ""
		})
		if got := conditions.Get(m, clusterv1.ReadyCondition); got.Status != ready {
			t.Errorf("%s: Ready is %s: %s", what, got.Status, got.Message)
		}
		b.eventIs(m, reason, "Synced: ")
	}
	again := func() {
		b.change(m, func() { m.Annotations["again"] += "x" })
	}
	healed := func(what string) {
		t.Helper()
		b.eventually(m, func() string {
			if !conditions.IsTrue(m, infrav1.SyncedCondition) {
				return what + ": Synced does not hold again"
			}
			return ""
		})
	}
	// The cluster's credentials become invalid, and the machine stays ready.
	b.secret("sp", "password", "good")
	again()
	reported("credentials", "IdentityInvalid", "the key clientSecret has no value", metav1.ConditionTrue)
	b.secret("sp", "clientSecret", "good")
	again()
	healed("credentials")
	// Writes of the VM's tags are denied.
	clear := b.fault(fault.Rule{Kind: fault.Unavailable, Verbs: []string{"PATCH"}, Type: "*/virtualMachines",
		Group: b.name, Status: 403, Code: "AuthorizationFailed", Message: "may not write"})
	b.change(m, func() { m.Spec.AdditionalTags = infrav1.Tags{"a": "b"} })
	reported("tags", "AuthorizationFailed", "may not write", metav1.ConditionTrue)
	clear()
	b.change(m, func() { m.Spec.AdditionalTags = infrav1.Tags{"a": "c"} })
	healed("tags")
}

// eventIs waits for an event about an object with a reason and a text.
func (b *bed) eventIs(o conditionsObject, reason, note string) {
	b.t.Helper()
	b.eventually(o, func() string {
		var all eventsv1.EventList
		if err := b.client.List(b.t.Context(), &all, client.InNamespace(b.namespace)); err != nil {
			return err.Error()
		}
		for _, e := range all.Items {
			if e.Regarding.UID == o.GetUID() && e.Reason == reason && strings.HasPrefix(e.Note, note) {
				return ""
			}
		}
		return "no event " + reason
	})
}
