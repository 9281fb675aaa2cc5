package integration

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/record"
)

// TestLostNode stops a VM outside of casement. When the VM's node is unreachable, the condition
// explains why, which costs one read; when the node is back, the condition is true again.
func TestLostNode(t *testing.T) {
	b := newBed(t)
	b.provision()
	m := b.machine("worker-0", "Windows", false)
	b.create(m)
	b.running(m)
	vm := strings.TrimPrefix(*m.Spec.ProviderID, "azure://")
	b.nodeIs("worker-0", metav1.ConditionTrue, clusterv1.MachineNodeReadyReason)

	mark := b.azure.mark()
	b.post(vm + "/powerOff")
	b.nodeIs("worker-0", metav1.ConditionUnknown, clusterv1.MachineNodeReadyUnknownReason)
	b.eventually(m, func() string {
		if c := conditions.Get(m, infrav1.VMRunningCondition); c.Status != metav1.ConditionFalse ||
			c.Reason != "VMStopped" || !strings.Contains(c.Message, "worker-0 is stopped in Azure") {
			return "nothing is said of the stopped machine"
		}
		return ""
	})
	views := 0
	for _, call := range b.azure.since(mark) {
		if strings.HasSuffix(call, "/instanceView") {
			views++
		}
	}
	if views != 1 {
		t.Errorf("%d reads of the instance view, not 1", views)
	}

	b.post(vm + "/start")
	b.nodeIs("worker-0", metav1.ConditionTrue, clusterv1.MachineNodeReadyReason)
	b.eventually(m, func() string {
		if !conditions.IsTrue(m, infrav1.VMRunningCondition) {
			return "it runs again"
		}
		return ""
	})
}

// TestLostMachine deletes a VM that casement has just read. The unreachable node makes casement
// read the VM again.
func TestLostMachine(t *testing.T) {
	b := newBed(t)
	b.provision()
	m := b.machine("worker-0", "Windows", false)
	b.create(m)
	b.running(m)
	b.nodeIs("worker-0", metav1.ConditionTrue, clusterv1.MachineNodeReadyReason)
	b.remove(strings.TrimPrefix(*m.Spec.ProviderID, "azure://"))
	b.nodeIs("worker-0", metav1.ConditionUnknown, clusterv1.MachineNodeReadyUnknownReason)
	b.givenUp(m, "UpdateError")
}

// TestOutdatedCopy saves the result of a reconcile that began with an outdated copy, without the
// operation token that is stored meanwhile. The write must be refused, because it would leave the
// unknown token beside the new status.
func TestOutdatedCopy(t *testing.T) {
	b := newBed(t)
	m := &infrav1.AzureMachine{ObjectMeta: b.meta("alone")} // no controller writes a machine without an owner
	m.Spec.VMSize, m.Spec.OSDisk.OSType = "Standard_D2s_v3", "Linux"
	b.create(m)
	outdated := m.DeepCopy()
	m.Status.LongRunningOperationStates = []infrav1.LongRunningOperationState{
		{Type: "PUT", Name: "vm", ServiceName: infrav1.OperationService, Data: "{}"}}
	if err := b.client.Status().Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	after := outdated.DeepCopy()
	after.Status.Ready = true
	if err := record.Save(t.Context(), b.client, outdated, after, nil, false); !apierrors.IsConflict(err) {
		t.Errorf("saved: %v", err)
	}
	b.get(m)
	if m.Status.Ready || len(m.Status.LongRunningOperationStates) != 1 {
		t.Errorf("the status is %+v", m.Status)
	}
	fresh := m.DeepCopy()
	fresh.Status.Ready = true
	if err := record.Save(t.Context(), b.client, m.DeepCopy(), fresh, nil, false); err != nil {
		t.Error(err)
	}
}

// TestFailedInstance makes Azure fail to create one of two instances. The instance's object
// contains Azure's reason, and when a MachineHealthCheck has deleted its Machine, the pool creates
// another instance.
func TestFailedInstance(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.provision()
	p := b.pool(brokenVM+"pool", "Linux", infrav1.UniformOrchestrationMode, 2)
	failed := ""
	p.eventually(p.azure, func() string {
		for _, m := range p.shown() {
			if c := conditions.Get(&m, clusterv1.ReadyCondition); c != nil && c.Status == metav1.ConditionFalse &&
				strings.Contains(c.Message, "custom data cannot be read") {
				failed = m.Name
				return ""
			}
		}
		return "the failed instance is not shown with Azure's reason"
	})
	p.play()
	machine := &clusterv1.Machine{ObjectMeta: b.meta(failed)}
	b.get(machine)
	conditions.Set(machine, metav1.Condition{Type: clusterv1.MachineOwnerRemediatedCondition,
		Status: metav1.ConditionFalse, Reason: clusterv1.MachineOwnerRemediatedWaitingForRemediationReason})
	if err := b.client.Status().Update(t.Context(), machine); err != nil {
		t.Fatal(err)
	}
	for _, m := range p.settled() {
		if m.Name == failed {
			t.Errorf("%s is still there", failed)
		}
	}
	b.delete(p.azure)
	b.gone(p.azure)
}

// nodeIs sets a Machine's node conditions as Cluster API would.
func (b *bed) nodeIs(machine string, ready metav1.ConditionStatus, reason string) {
	b.t.Helper()
	m := &clusterv1.Machine{ObjectMeta: b.meta(machine)}
	b.get(m)
	m.Status.NodeRef.Name = machine
	conditions.Set(m, metav1.Condition{Type: clusterv1.MachineNodeReadyCondition, Status: ready, Reason: reason})
	if err := b.client.Status().Update(b.t.Context(), m); err != nil {
		b.t.Fatal(err)
	}
}

// post calls an action in Azure without the manager.
func (b *bed) post(action string) {
	b.t.Helper()
	result, err := b.azure.client.Post(b.t.Context(), action, desired.ComputeAPIVersion, nil)
	b.finish(action, result, err)
}
