package integration

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// capacityLabels is the annotation from which cluster-autoscaler reads the labels of nodes that do not exist yet.
const capacityLabels = "capacity.cluster-autoscaler.kubernetes.io/labels"

func autoscaled() map[string]string {
	return map[string]string{clusterv1.AutoscalerMinSizeAnnotation: "0", clusterv1.AutoscalerMaxSizeAnnotation: "3",
		capacityLabels: "team=blue"}
}

// promised checks what cluster-autoscaler needs for a group without nodes, so that a pod that
// selects the operating system and the Windows build starts its first node. It returns the name of
// the missing annotation or status field, or "".
func promised(cpu int64, info *infrav1.NodeInfo, annotations map[string]string, build string) string {
	switch {
	case info == nil || info.OperatingSystem != "windows" || info.Architecture != "amd64":
		return "no node info"
	case cpu != 2:
		return "no capacity"
	case annotations[capacityLabels] != "team=blue,node.kubernetes.io/windows-build="+build:
		return "the build is not promised: " + annotations[capacityLabels]
	}
	return ""
}

// TestScaleFromZeroPool checks that a pool without instances reports the capacity of its nodes,
// follows a scale request to one instance, and is scaled back to zero.
func TestScaleFromZeroPool(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.provision()
	p := b.pool("workers", "Windows", infrav1.FlexibleOrchestrationMode, 0)
	p.change(p.machinePool, func() { p.machinePool.Annotations = autoscaled() })
	p.eventually(p.azure, func() string {
		p.get(p.machinePool)
		return promised(p.azure.Status.Capacity.Cpu().Value(), p.azure.Status.NodeInfo, p.machinePool.Annotations, "10.0.20348")
	})
	for _, size := range []int32{1, 0} {
		// cluster-autoscaler writes to the scale subresource.
		p.get(p.machinePool)
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: size}}
		if err := b.client.SubResource("scale").Update(t.Context(), p.machinePool, client.WithSubResourceBody(scale)); err != nil {
			t.Fatal(err)
		}
		if got := len(p.settled()); got != int(size) {
			t.Errorf("%d instances, want %d", got, size)
		}
	}
	b.delete(p.azure)
	b.gone(p.azure)
}

// TestScaleFromZeroDeployment checks that a template and the MachineDeployment that refers to it
// report the capacity of the nodes.
func TestScaleFromZeroDeployment(t *testing.T) {
	b := newBed(t)
	b.provision()
	template := &infrav1.AzureMachineTemplate{ObjectMeta: b.owned("md-win", "Cluster", b.cluster)}
	template.Spec.Template.ObjectMeta.Annotations = map[string]string{"windowsServerVersion": "windows-2025"}
	template.Spec.Template.Spec.VMSize = vmSize
	template.Spec.Template.Spec.OSDisk = infrav1.OSDisk{OSType: "Windows", DiskSizeGB: new(int32(128))}
	b.create(template)
	d := &clusterv1.MachineDeployment{ObjectMeta: b.owned("md-win", "Cluster", b.cluster), Spec: clusterv1.MachineDeploymentSpec{
		ClusterName: b.name, Replicas: new(int32(0)),
		Template: clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{
			ClusterName: b.name, Version: version, Bootstrap: clusterv1.Bootstrap{DataSecretName: new("md-win")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "AzureMachineTemplate", Name: "md-win",
			},
		}},
	}}
	d.Spec.Selector.MatchLabels = map[string]string{"pool": "win"}
	d.Spec.Template.Labels = map[string]string{"pool": "win"}
	b.create(d)
	b.change(d, func() { d.Annotations = autoscaled() })
	b.eventually(template, func() string {
		b.get(d)
		return promised(template.Status.Capacity.Cpu().Value(), template.Status.NodeInfo, d.Annotations, "10.0.26100")
	})
}
