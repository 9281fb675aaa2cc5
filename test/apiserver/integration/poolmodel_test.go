package integration

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// modelData is bootstrap data with a token that a provider renews.
const modelData = goodBootstrapData + "# token: abcdef.0123456789abcdef\n"

// rendered replaces the bootstrap data of the pool, as a bootstrap provider does.
func (p *pool) rendered(data string) {
	p.t.Helper()
	secret := &corev1.Secret{ObjectMeta: p.meta(p.machinePool.Name)}
	p.get(secret)
	p.change(secret, func() { secret.Data = map[string][]byte{"value": []byte(data)} })
}

// replaced waits until none of the instances in before exists. It fails the test if at any time
// fewer than least nodes were ready and not being deleted.
func (p *pool) replaced(before []infrav1.AzureMachinePoolMachine, least int) {
	p.t.Helper()
	old := map[string]bool{}
	for _, m := range before {
		old[m.Name] = true
	}
	p.eventually(p.azure, func() string {
		if serving := p.serving(); serving < least {
			p.t.Fatalf("%d nodes serve, and %d have to", serving, least)
		}
		p.play()
		shown, objection := p.unsettled()
		for _, m := range shown {
			if old[m.Name] {
				return m.Name + " is not replaced"
			}
		}
		return objection
	})
}

// serving returns the number of nodes that are ready and not being removed.
func (p *pool) serving() (n int) {
	p.t.Helper()
	for _, m := range p.machines() {
		if m.DeletionTimestamp.IsZero() && conditions.IsTrue(m, clusterv1.MachineNodeReadyCondition) {
			n++
		}
	}
	return n
}

// TestPoolModel checks that a change of an input that is not visible in the instances replaces all
// of them, one after another, and that a renewed token replaces none.
func TestPoolModel(t *testing.T) {
	t.Parallel()
	for _, mode := range []infrav1.OrchestrationMode{infrav1.UniformOrchestrationMode, infrav1.FlexibleOrchestrationMode} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.provision()
			p := b.pool("workers", "Linux", mode, 2)
			p.rendered(modelData)
			before := p.settled()

			p.rendered(strings.Replace(modelData, "abcdef.", "zyxwvu.", 1))
			p.scale(3) // new instances also read the renewed token
			for _, was := range before {
				if !has(p.settled(), was.Name) {
					t.Errorf("a renewed token replaced %s", was.Name)
				}
			}
			for _, change := range []struct {
				name string
				make func()
			}{
				{"bootstrap data", func() { p.rendered(modelData + "# more\n") }},
				{"extensions", func() {
					p.change(p.azure, func() {
						p.azure.Spec.Template.VMExtensions = []infrav1.VMExtension{{Name: "CustomScript",
							Publisher: "Microsoft.Azure.Extensions", Version: "2.1", Settings: infrav1.Tags{"commandToExecute": "true"}}}
					})
				}},
				{"", func() { p.change(p.azure, func() { p.azure.Spec.Template.VMSize = "Standard_D4s_v3" }) }},
				{"interfaces", func() {
					p.change(p.azure, func() { p.azure.Spec.Template.NetworkInterfaces[0].PrivateIPConfigs = 2 })
				}},
			} {
				before := p.settled()
				change.make()
				p.eventually(p.azure, func() string {
					if c := conditions.Get(p.azure, infrav1.ScaleSetModelUpdatedCondition); c != nil && strings.Contains(c.Message, change.name) {
						return ""
					}
					return "the condition does not say that the " + change.name + " have changed"
				})
				p.replaced(before, 3)
			}
			b.delete(p.azure)
			b.gone(p.azure)
		})
	}
}

// TestPoolWithFailingNode checks that a node of the new model that does not become ready stops the
// rollout in the middle of a pool, with every other node unchanged, and that the rollout completes
// after a MachineHealthCheck has deleted the node's Machine.
func TestPoolWithFailingNode(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.provision()
	p := b.pool("workers", "Windows", infrav1.UniformOrchestrationMode, 3)
	before := p.settled()
	p.upgrade(version)
	failing := ""
	p.eventually(p.azure, func() string {
		p.play()
		for _, m := range p.shown() {
			if !has(before, m.Name) && p.machines()[m.Name] != nil && len(p.shown()) == 4 {
				failing = m.Name
				return ""
			}
		}
		return "no instance of the new model is there"
	})
	b.nodeIs(failing, metav1.ConditionFalse, clusterv1.MachineNodeNotReadyReason)
	p.change(p.machinePool, func() { p.machinePool.Annotations = map[string]string{"integration.casement.dev/look": "again"} })
	p.eventually(p.azure, func() string {
		p.play()
		if c := conditions.Get(p.azure, infrav1.ScaleSetDesiredReplicasCondition); c == nil || c.Status != metav1.ConditionFalse {
			return "the roll goes on"
		}
		return ""
	})
	if serving := p.serving(); serving < 2 {
		t.Errorf("%d nodes serve beside the one that failed", serving)
	}
	machine := &clusterv1.Machine{ObjectMeta: b.meta(failing)}
	b.get(machine)
	conditions.Set(machine, metav1.Condition{Type: clusterv1.MachineOwnerRemediatedCondition,
		Status: metav1.ConditionFalse, Reason: clusterv1.MachineOwnerRemediatedWaitingForRemediationReason})
	if err := b.client.Status().Update(t.Context(), machine); err != nil {
		t.Fatal(err)
	}
	p.replaced(append(before, infrav1.AzureMachinePoolMachine{ObjectMeta: b.meta(failing)}), 2)
	b.delete(p.azure)
	b.gone(p.azure)
}

// TestPoolOutOfSight checks that the pool loses no node if Cluster API cannot reach the cluster in
// the middle of a rollout, although none of the nodes is known to be ready.
func TestPoolOutOfSight(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.provision()
	p := b.pool("workers", "Linux", infrav1.FlexibleOrchestrationMode, 3)
	before := p.settled()
	for name := range p.machines() {
		b.nodeIs(name, metav1.ConditionUnknown, clusterv1.MachineNodeConnectionDownReason)
	}
	p.upgrade(version)
	p.eventually(p.azure, func() string {
		p.play()
		if len(p.shown()) != 4 || p.serving() != 1 {
			return "the surge has not joined"
		}
		return ""
	})
	for _, was := range before {
		if m := p.machines()[was.Name]; m == nil || !m.DeletionTimestamp.IsZero() {
			t.Errorf("%s is deleted, and how its node is is not known", was.Name)
		}
	}
	for _, was := range before {
		b.nodeIs(was.Name, metav1.ConditionTrue, clusterv1.MachineNodeReadyReason)
	}
	p.replaced(before, 3)
	b.delete(p.azure)
	b.gone(p.azure)
}

func has(shown []infrav1.AzureMachinePoolMachine, name string) bool {
	for _, m := range shown {
		if m.Name == name {
			return true
		}
	}
	return false
}
