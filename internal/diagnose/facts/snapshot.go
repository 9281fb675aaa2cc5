package facts

import (
	"context"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// Snapshot contains the facts of one cluster at one time.
type Snapshot struct {
	// Taken is the time at which the snapshot was read.
	Taken time.Time

	Cluster       *clusterv1.Cluster
	AzureCluster  *infrav1.AzureCluster
	ControlPlane  *controlplanev1.KubeadmControlPlane
	Machines      []clusterv1.Machine
	AzureMachines map[string]*infrav1.AzureMachine
	Configs       map[string]*bootstrapv1.KubeadmConfig
	// Deployments and Sets are the MachineDeployments and MachineSets; HealthChecks are the MachineHealthChecks.
	Deployments  []clusterv1.MachineDeployment
	Sets         []clusterv1.MachineSet
	HealthChecks []clusterv1.MachineHealthCheck
	// DrainRules are the MachineDrainRules in the namespace, read if a machine is being deleted.
	DrainRules []clusterv1.MachineDrainRule
	// Pools are the MachinePools; AzurePools and Instances are their infrastructure and the objects of their instances, by name.
	Pools        []clusterv1.MachinePool
	AzurePools   map[string]*infrav1.AzureMachinePool
	PoolMachines map[string]*infrav1.AzureMachinePoolMachine
	// Dangling are the references of the objects above whose targets do not exist.
	Dangling []Reference
	// Notices are the warning events about the objects above.
	Notices []corev1.Event
	// Remediations are the events by which MachineHealthChecks mark machines that they have replaced.
	Remediations []corev1.Event
	// Charts are the Helm charts that could not be installed in the cluster, each with KIND/NAME of the object of
	// Cluster API's addon provider for Helm that reports it.
	Charts []Degraded

	// Unreachable is the reason why the workload cluster could not be read, or ""; Nodes, Pods, Warnings and Workloads
	// are read from it.
	Unreachable string
	// Slow is true if Unreachable is set although the cluster answered some of the requests.
	Slow  bool
	Nodes map[string]*corev1.Node
	Pods  []corev1.Pod
	// PodsOf are the nodes whose pods were read; nil means that Pods has all pods of the cluster.
	PodsOf    map[string]bool
	Workloads Workloads
	// Warnings are the workload cluster's warning events.
	Warnings []corev1.Event
	// Calico are the components that Calico's operator reports as degraded.
	Calico []Degraded
	// Inside are the outputs of the probes on Windows nodes, by node; a node without probes is absent.
	Inside map[string]Inside
	// Refused is the API server's error for the object Asked, of which only the name is known then.
	Refused string
	// More reads Others; it is nil if the workload cluster does not respond. Others are objects of other kinds, by kind.
	More   func(context.Context) error
	Others map[string][]unstructured.Unstructured
	// Custom are the objects of the kinds that other projects have added to the workload cluster; More reads them.
	Custom []unstructured.Unstructured
	// Asked is the object that a user named, if its kind is none of the kinds above.
	Asked *unstructured.Unstructured
	// Logs returns the last lines of the log of a container that ends repeatedly, or "".
	Logs func(p *corev1.Pod, container string) string
	// Console returns a machine's boot log, or "" if none is available.
	Console func(*clusterv1.Machine) string

	// Closed are the obstacles in Azure between machines and the cluster's API server: rules, routes, pools, zones.
	Closed []Obstacle
	// VMs are virtual machines as read from Azure, by the name of the Machine; nil if they were not read.
	VMs map[string]VM

	// NotExamined are the parts that were not examined, with the reasons, sorted.
	NotExamined []string
	mu          sync.Mutex
}

// Unexamined records that a part was not examined, and the reason. It is safe for concurrent use.
func (s *Snapshot) Unexamined(what string, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.NotExamined = append(s.NotExamined, what+": "+why.Error())
	slices.Sort(s.NotExamined)
	s.NotExamined = slices.Compact(s.NotExamined)
}

// Obstacle is a setting or state in Azure that prevents connections.
type Obstacle struct {
	// Cause is the name of its cause; Line describes the observation, with the owner of the resource.
	Cause, Line string
}

// VM is a virtual machine as read from Azure.
type VM struct {
	// Gone is true if the VM does not exist.
	Gone bool
	// Power is Azure's power state, such as running or deallocated; Identities are the IDs of the user-assigned
	// identities, in lower case and sorted.
	Power      string
	Identities []string
}

// Off reports whether the machine is neither running nor starting.
func (v VM) Off() bool {
	return v.Power == "stopped" || v.Power == "deallocated" || v.Power == "deallocating"
}

// Workloads are the objects that create pods in the workload cluster, and the objects that they need.
type Workloads struct {
	Deployments  []appsv1.Deployment
	ReplicaSets  []appsv1.ReplicaSet
	StatefulSets []appsv1.StatefulSet
	DaemonSets   []appsv1.DaemonSet
	Jobs         []batchv1.Job
	Services     []corev1.Service
	Claims       []corev1.PersistentVolumeClaim
	Classes      []storagev1.StorageClass
}

// Reference is a field of an object that names another object.
type Reference struct {
	// From is KIND/NAME of the object, and Field the path of the field.
	From, Field string
	// Kind, Namespace and Name identify the target.
	Kind, Namespace, Name string
	// Why is set if the API server does not have the kind.
	Why string
}

// Degraded is a component whose operator reports that it does not work, and the reason.
type Degraded struct{ Name, Reason, Message string }

// Inside is the output of the probes on one Windows node, by the probe's name.
type Inside map[string]string
