package facts

import (
	corev1 "k8s.io/api/core/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// Snapshot is what was read of one cluster at one time, for those who judge it.
type Snapshot struct {
	Cluster       *clusterv1.Cluster
	AzureCluster  *infrav1.AzureCluster
	ControlPlane  *controlplanev1.KubeadmControlPlane
	Machines      []clusterv1.Machine
	AzureMachines map[string]*infrav1.AzureMachine
	Configs       map[string]*bootstrapv1.KubeadmConfig
	// Pools, their infrastructure and what shows their instances, by name.
	Pools        []clusterv1.MachinePool
	AzurePools   map[string]*infrav1.AzureMachinePool
	PoolMachines map[string]*infrav1.AzureMachinePoolMachine

	// Unreachable says why the workload cluster could not be asked, or nothing;
	// Nodes, Pods and Warnings are from there.
	Unreachable string
	Nodes       map[string]*corev1.Node
	Pods        []corev1.Pod
	// Warnings are the workload cluster's warning events.
	Warnings []corev1.Event
	// Calico is what Calico's operator says is wrong with its parts.
	Calico []Degraded
	// Inside is what a look into Windows nodes showed, by node; one that was not
	// looked into is not there.
	Inside map[string]Inside
	// Logs returns the last lines of a container that ends again and again, or
	// nothing.
	Logs func(p *corev1.Pod, container string) string
	// Console returns a machine's boot log, or nothing where there is none to be had.
	Console func(*clusterv1.Machine) string
}

// Degraded is a part of Calico of which its operator reports that it does not work, and
// why: a TigeraStatus whose condition Degraded is True.
type Degraded struct{ Name, Reason, Message string }

// Inside is what a look into one Windows node showed: what each probe's command
// printed there, by the probe's name.
type Inside map[string]string
