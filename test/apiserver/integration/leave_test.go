package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// TestLeave checks that the node of a machine that is being deleted is labelled, so that the cloud
// provider removes it from load balancers while it is drained. The workload cluster of the test is
// the management cluster itself.
func TestLeave(t *testing.T) {
	b := newBed(t)
	b.provision()
	b.kubeconfig()
	nodes := map[string]*corev1.Node{}
	for _, name := range []string{"stays", "goes"} {
		am := b.machine(name, "Windows", false)
		m := &clusterv1.Machine{ObjectMeta: b.meta(am.Name)}
		b.change(m, func() { m.Finalizers = append(m.Finalizers, "test.casement.dev/drain") })
		b.create(am)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: b.name + "-" + name}}
		b.create(node)
		t.Cleanup(func() { b.client.Delete(t.Context(), node) })
		m.Status.NodeRef.Name = node.Name
		if err := b.client.Status().Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		nodes[name] = node
	}
	goes := &clusterv1.Machine{ObjectMeta: b.meta("goes")}
	b.delete(goes)
	b.eventually(goes, func() string {
		b.get(nodes["goes"])
		if _, ok := nodes["goes"].Labels[corev1.LabelNodeExcludeBalancers]; !ok {
			return "the node is in load balancers"
		}
		return ""
	})
	b.get(nodes["stays"])
	if _, ok := nodes["stays"].Labels[corev1.LabelNodeExcludeBalancers]; ok {
		t.Error("the node of a machine that stays is not in load balancers")
	}
	for _, name := range []string{"stays", "goes"} {
		m := &clusterv1.Machine{ObjectMeta: b.meta(name)}
		b.get(m)
		b.change(m, func() { m.Finalizers = nil })
	}
}
