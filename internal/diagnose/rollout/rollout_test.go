package rollout

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

func isTrue(kind string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, ObservedGeneration: 1}
}

func object(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Generation: 1} }

func machine(name string) clusterv1.Machine {
	m := clusterv1.Machine{ObjectMeta: object(name)}
	m.Status.Conditions = []metav1.Condition{isTrue(clusterv1.MachineNodeReadyCondition)}
	return m
}

// settled returns a fully rolled out cluster with a control plane of one machine, a
// deployment of two and a pool of one.
func settled() Objects {
	o := Objects{Cluster: &clusterv1.Cluster{ObjectMeta: object("demo")},
		ControlPlane: &controlplanev1.KubeadmControlPlane{ObjectMeta: object("cp")}}
	o.Cluster.Status.ObservedGeneration = 1
	o.Cluster.Status.Conditions = []metav1.Condition{isTrue(clusterv1.ClusterAvailableCondition)}
	k := o.ControlPlane
	k.Spec.Replicas = new(int32(1))
	k.Status = controlplanev1.KubeadmControlPlaneStatus{ObservedGeneration: 1, Replicas: new(int32(1)),
		ReadyReplicas: new(int32(1)), UpToDateReplicas: new(int32(1))}
	d := clusterv1.MachineDeployment{ObjectMeta: object("md")}
	d.Spec.Replicas = new(int32(2))
	d.Status = clusterv1.MachineDeploymentStatus{ObservedGeneration: 1, Replicas: new(int32(2)),
		ReadyReplicas: new(int32(2)), UpToDateReplicas: new(int32(2))}
	o.Deployments = []clusterv1.MachineDeployment{d}
	p := clusterv1.MachinePool{ObjectMeta: object("mp")}
	p.Spec.Replicas = new(int32(1))
	p.Spec.Template.Spec.Version = "v1.36.3"
	p.Status = clusterv1.MachinePoolStatus{ObservedGeneration: 1, Replicas: new(int32(1)), ReadyReplicas: new(int32(1))}
	o.Pools = []clusterv1.MachinePool{p}
	pooled := machine("mp-1")
	pooled.Labels = map[string]string{clusterv1.MachinePoolNameLabel: "mp"}
	pooled.Status.NodeInfo = &corev1.NodeSystemInfo{KubeletVersion: "v1.36.3"}
	o.Machines = []clusterv1.Machine{machine("cp-1"), machine("md-1"), machine("md-2"), pooled}
	return o
}

func TestMissing(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Objects)
		want   string
	}{
		{"nothing", func(*Objects) {}, ""},
		{"deployment scaled, status of before",
			func(o *Objects) { o.Deployments[0].Generation++; o.Deployments[0].Spec.Replicas = new(int32(3)) },
			"MachineDeployment md: its status is of generation 1, its spec of 2"},
		{"deployment scaled, machines to come", func(o *Objects) { o.Deployments[0].Spec.Replicas = new(int32(3)) },
			"MachineDeployment md: 2 of 3 replicas are there"},
		{"deployment rolling", func(o *Objects) { o.Deployments[0].Status.UpToDateReplicas = new(int32(1)) },
			"1 of 2 replicas are up to date"},
		{"deployment scaled to none", func(o *Objects) {
			o.Deployments[0].Spec.Replicas = new(int32(0))
			o.Deployments[0].Status = clusterv1.MachineDeploymentStatus{ObservedGeneration: 1}
			o.Machines = append(o.Machines[:1], o.Machines[3])
		}, ""},
		{"pool scaled, status of before", func(o *Objects) { o.Pools[0].Generation++ },
			"MachinePool mp: its status is of generation 1, its spec of 2"},
		{"pool scaled down, instances to go", func(o *Objects) { o.Pools[0].Status.Replicas = new(int32(2)) },
			"MachinePool mp: 2 of 1 replicas are there"},
		{"pool of which nothing is known", func(o *Objects) { o.Pools[0].Status.ReadyReplicas = nil },
			"nothing is known of its ready replicas"},
		{"pool that gets another version", func(o *Objects) { o.Pools[0].Spec.Template.Spec.Version = "v1.37.0" },
			"its kubelet is v1.36.3, not v1.37.0 yet"},
		{"control plane scaled, status of before", func(o *Objects) { o.ControlPlane.Generation++ },
			"KubeadmControlPlane cp: its status is of generation 1, its spec of 2"},
		{"control plane not ready", func(o *Objects) { o.ControlPlane.Status.ReadyReplicas = new(int32(0)) }, "0 of 1 replicas are ready"},
		{"another control plane", func(o *Objects) {
			o.ControlPlane = nil
			o.Cluster.Status.ControlPlane = &clusterv1.ClusterControlPlaneStatus{
				DesiredReplicas: new(int32(3)), ReadyReplicas: new(int32(2)),
			}
		}, "2 of 3 replicas are ready"},
		{"cluster changed, status of before", func(o *Objects) { o.Cluster.Generation++ },
			"Cluster demo: its status is of generation 1, its spec of 2"},
		{"cluster not available", func(o *Objects) {
			o.Cluster.Status.Conditions[0].Status, o.Cluster.Status.Conditions[0].Message = metav1.ConditionFalse, "no quorum"
		}, "Cluster demo: it is not available: no quorum"},
		{"topology changed, condition of before", func(o *Objects) {
			o.Cluster.Spec.Topology.ClassRef.Name = "windows"
			o.Cluster.Generation, o.Cluster.Status.ObservedGeneration = 2, 2
			o.Cluster.Status.Conditions = append(o.Cluster.Status.Conditions, isTrue(clusterv1.ClusterTopologyReconciledCondition))
		}, "its topology is not reconciled"},
		{"machine on its way out", func(o *Objects) { o.Machines[1].DeletionTimestamp = new(metav1.Now()) },
			"Machine md-1: it is on its way out"},
		{"machine without a node", func(o *Objects) { o.Machines[1].Status.Conditions = nil }, "Machine md-1: its node is not ready"},
		{"no machines", func(o *Objects) { o.Machines = nil }, "it has no machines"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := settled()
			test.change(&o)
			got := o.Missing()
			if got == test.want || test.want != "" && strings.Contains(got, test.want) {
				return
			}
			t.Errorf("missing %q, want %q", got, test.want)
		})
	}
}
