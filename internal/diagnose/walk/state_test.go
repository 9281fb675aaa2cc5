package walk

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/facts"
)

// state returns a snapshot in which a user names an object that has a status and was created an hour ago.
func state(status map[string]any) func(*facts.Snapshot) {
	return func(f *facts.Snapshot) {
		object("Backup", map[string]any{"status": status})(f)
		f.Asked.SetCreationTimestamp(metav1.NewTime(f.Taken.Add(-time.Hour)))
	}
}

// withoutID leaves the node of the only machine without a provider ID, and the machine without its node.
func withoutID(age time.Duration, taints ...corev1.Taint) func(*facts.Snapshot) {
	return func(f *facts.Snapshot) {
		id := "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/n"
		f.AzureMachines["am"].Spec.ProviderID = new(id)
		f.Machines[0].Status.NodeRef = clusterv1.MachineNodeReference{}
		for _, n := range f.Nodes {
			n.Spec.ProviderID, n.Spec.Taints, n.CreationTimestamp = "", taints, metav1.NewTime(f.Taken.Add(-age))
			n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.1.0.8"}}
		}
		f.AzureMachines["am"].Status.Addresses = []clusterv1.MachineAddress{{Type: clusterv1.MachineInternalIP, Address: "10.1.0.8"}}
	}
}

// TestStates: states that no condition reports are found, as faults if they last, and as Waiting answers if they are new.
func TestStates(t *testing.T) {
	ago := func(f *facts.Snapshot, age time.Duration) metav1.Time { return metav1.NewTime(f.Taken.Add(-age)) }
	gone := func(age time.Duration, finalizers ...string) func(*facts.Snapshot) {
		return func(f *facts.Snapshot) {
			f.Pods[0].DeletionTimestamp, f.Pods[0].Finalizers = new(ago(f, age)), finalizers
		}
	}
	request := func(age time.Duration) func(*facts.Snapshot) {
		return func(f *facts.Snapshot) {
			object("CertificateSigningRequest", map[string]any{"spec": map[string]any{"signerName": "kubernetes.io/kubelet-serving"}})(f)
			f.Asked.SetCreationTimestamp(ago(f, age))
		}
	}
	abandoned := func(age time.Duration) func(*facts.Snapshot) {
		return func(f *facts.Snapshot) {
			f.Cluster.DeletionTimestamp, f.Cluster.Finalizers = new(ago(f, age)), []string{clusterv1.ClusterFinalizer}
			f.Machines, f.Pools, f.AzureCluster, f.ControlPlane = nil, nil, nil, nil
			f.Dangling = []facts.Reference{{From: "Cluster/c", Field: "spec.topology.classRef", Kind: "ClusterClass", Namespace: "default",
				Name: "azure-widnows"}}
		}
	}
	noInstance := func(status metav1.ConditionStatus, age time.Duration) func(*facts.Snapshot) {
		return func(f *facts.Snapshot) {
			*f = *pooled()
			f.Taken, f.PoolMachines = time.Now(), nil
			f.Machines[0].Status.Conditions = append(f.Machines[0].Status.Conditions, metav1.Condition{LastTransitionTime: ago(f, age),
				Type: clusterv1.MachineInfrastructureReadyCondition, Status: status, Reason: "InternalError", Message: "not found"})
		}
	}
	refused := func(status metav1.ConditionStatus, age time.Duration) func(*facts.Snapshot) {
		return func(f *facts.Snapshot) {
			f.Unreachable = "dial tcp 10.0.0.1:6443: connect: connection refused"
			f.Cluster.Status.Conditions = append(f.Cluster.Status.Conditions, metav1.Condition{LastTransitionTime: ago(f, age),
				Type: clusterv1.ClusterRemoteConnectionProbeCondition, Status: status, Reason: "Probe"})
		}
	}
	for name, test := range map[string]struct {
		inject  func(*facts.Snapshot)
		waiting bool
		cause   string // "" if it is not known
		line    string
	}{
		"a phase and why": {state(map[string]any{"phase": "Failed", "failureReason": "no object store"}), false, "",
			"status.phase: Failed; status.failureReason: no object store"},
		"errors without a phase": {state(map[string]any{"validationErrors": []any{"no location called default"}}), false, "",
			"status.validationErrors: no location called default"},
		"a queue": {func(f *facts.Snapshot) {
			state(map[string]any{"phase": "Queued"})(f)
			f.Asked.SetCreationTimestamp(ago(f, time.Minute))
		}, true, "Queued", "status.phase: Queued"},
		"a queue that does not move": {state(map[string]any{"phase": "Queued"}), false, "Queued", "status.phase: Queued"},
		"a summary that is not known": {object("Database", says("Ready", "Unknown", "NoSuchNode", "lost the primary")), false, "",
			"lost the primary"},
		"a finalizer of a pod, at first": {gone(time.Second, "example.com/upload"), true, "StuckTerminating",
			"finalizer example.com/upload"},
		"a finalizer of a pod": {gone(time.Hour, "example.com/upload"), false, "StuckTerminating",
			"finalizer example.com/upload"},
		"a certificate request, at first":        {request(time.Second), true, "CSRPending", "kubernetes.io/kubelet-serving"},
		"a certificate request":                  {request(time.Hour), false, "CSRPending", "kubernetes.io/kubelet-serving"},
		"a cluster without its class, at first":  {abandoned(time.Second), true, "Deleting", "azure-widnows"},
		"a cluster that its missing class keeps": {abandoned(time.Hour), false, "", "azure-widnows"},
		"a node without a provider ID, at first": {withoutID(time.Second), true, "ProviderIDMissing", "spec.providerID is empty"},
		"a node without a provider ID":           {withoutID(time.Hour), false, "ProviderIDMissing", "spec.providerID is empty"},
		"a node that waits for the provider": {withoutID(time.Hour, corev1.Taint{Key: uninitializedTaint}), false,
			"CloudProviderMissing", ""},
		"an instance that is gone, unseen":       {noInstance(metav1.ConditionTrue, time.Hour), true, "InstanceGone", "which does not exist"},
		"an instance that is gone, at first":     {noInstance(metav1.ConditionFalse, time.Second), true, "InstanceGone", "not found"},
		"an instance that is gone":               {noInstance(metav1.ConditionFalse, time.Hour), false, "InstanceGone", "not found"},
		"an API server that starts":              {refused(metav1.ConditionTrue, time.Hour), true, "APIServerStarts", "connection refused"},
		"an API server that ended a while ago":   {refused(metav1.ConditionFalse, time.Second), true, "APIServerStarts", "connection refused"},
		"an API server that is down for an hour": {refused(metav1.ConditionFalse, time.Hour), false, "APIRefused", "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			f.Taken = time.Now()
			test.inject(f)
			o := facts.Object{Kind: "Cluster", Name: f.Cluster.Name}
			if f.Asked != nil {
				o = facts.Object{Kind: f.Asked.GetKind(), Name: "x"}
			}
			a, err := Object(f, o)
			if err != nil {
				t.Fatal(err)
			}
			if a.Healthy || a.Waiting != test.waiting || a.Means.Cause != test.cause || !strings.Contains(strings.Join(a.Lines(), "\n"), test.line) {
				t.Errorf("%+v", a)
			}
		})
	}
}

// TestStatedWell: a status that reports no problem, or that has conditions, is no fault.
func TestStatedWell(t *testing.T) {
	for name, status := range map[string]map[string]any{
		"done":             {"phase": "Completed", "message": ""},
		"no errors":        {"phase": "Active", "errors": int64(0), "validationErrors": []any{}},
		"other words":      {"phase": "Bound", "lastBackup": "failed-over-7"},
		"conditions speak": {"phase": "Failed", "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
	} {
		f := healthy()
		f.Taken = time.Now()
		state(status)(f)
		f.Asked.SetUID(types.UID("x"))
		if a, err := Object(f, facts.Object{Kind: "Backup", Name: "x"}); err != nil || !a.Healthy {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

// TestPodsOfStumbled: an answer about a pod does not include other faults of its node's machine, and the pod's own
// fault comes first.
func TestPodsOfStumbled(t *testing.T) {
	for name, inject := range map[string]func(*facts.Snapshot){
		"a command of the boot failed": func(f *facts.Snapshot) {
			f.Console = func(*clusterv1.Machine) string { return "runcmd: line 3 failed with code 1: agent.sh --join\n" }
		},
		"a paused machine": func(f *facts.Snapshot) {
			f.Machines[0].Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		},
	} {
		f := healthy()
		inject(f)
		if a := Cluster(f); a.Healthy {
			t.Errorf("%s: the cluster: %+v", name, a)
		}
		pod := facts.Object{Kind: "Pod", Name: "p", Namespace: "default"}
		if a, err := Object(f, pod); err != nil || !a.Healthy {
			t.Errorf("%s: a pod that runs: %+v, %v", name, a, err)
		}
		waiting("CreateContainerConfigError", `configmap "settings" not found`)(f)
		if a, err := Object(f, pod); err != nil || a.Means.Cause != "ConfigMissing" {
			t.Errorf("%s: a pod without its ConfigMap: %+v, %v", name, a, err)
		}
	}
}
