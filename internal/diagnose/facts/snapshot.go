package facts

import (
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// Snapshot is what was read of one cluster at one time, for those who judge it.
type Snapshot struct {
	// Taken is when the snapshot was read.
	Taken time.Time

	Cluster       *clusterv1.Cluster
	AzureCluster  *infrav1.AzureCluster
	ControlPlane  *controlplanev1.KubeadmControlPlane
	Machines      []clusterv1.Machine
	AzureMachines map[string]*infrav1.AzureMachine
	Configs       map[string]*bootstrapv1.KubeadmConfig
	// Deployments and Sets are the MachineDeployments and MachineSets, HealthChecks the
	// MachineHealthChecks.
	Deployments  []clusterv1.MachineDeployment
	Sets         []clusterv1.MachineSet
	HealthChecks []clusterv1.MachineHealthCheck
	// Pools, their infrastructure and what shows their instances, by name.
	Pools        []clusterv1.MachinePool
	AzurePools   map[string]*infrav1.AzureMachinePool
	PoolMachines map[string]*infrav1.AzureMachinePoolMachine
	// Dangling are references of these objects to what does not exist.
	Dangling []Reference
	// Notices are the warning events of these objects.
	Notices []corev1.Event
	// Charts are the Helm charts that could not be installed in the cluster, by KIND/NAME of
	// the object of Cluster API's addon provider for Helm that says so.
	Charts []Degraded

	// Unreachable says why the workload cluster could not be asked, or nothing;
	// Nodes, Pods, Warnings and Workloads are from there.
	Unreachable string
	Nodes       map[string]*corev1.Node
	Pods        []corev1.Pod
	Workloads   Workloads
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

	// Closed says which rules and routes of Azure's networks keep machines from the
	// cluster's API server.
	Closed []string

	// NotExamined says what was not looked at, and why, in the order of the texts.
	NotExamined []string
	mu          sync.Mutex
}

// Unexamined notes that something was not looked at, and why. It is safe for use from
// several goroutines.
func (s *Snapshot) Unexamined(what string, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.NotExamined = append(s.NotExamined, what+": "+why.Error())
	slices.Sort(s.NotExamined)
	s.NotExamined = slices.Compact(s.NotExamined)
}

// Workloads are what runs pods in the workload cluster, and what they need.
type Workloads struct {
	Deployments  []appsv1.Deployment
	ReplicaSets  []appsv1.ReplicaSet
	StatefulSets []appsv1.StatefulSet
	DaemonSets   []appsv1.DaemonSet
	Jobs         []batchv1.Job
	Services     []corev1.Service
	Claims       []corev1.PersistentVolumeClaim
}

// Reference is a field of an object that names another.
type Reference struct {
	// From is KIND/NAME of the object, Field the path of the field.
	From, Field string
	// Kind, Namespace and Name are what is named.
	Kind, Namespace, Name string
	// Why says that the kind is none that the API server has, or nothing.
	Why string
}

// Degraded is something whose operator reports that it does not work, and why.
type Degraded struct{ Name, Reason, Message string }

// Inside is what a look into one Windows node showed: what each probe's command
// printed there, by the probe's name.
type Inside map[string]string
