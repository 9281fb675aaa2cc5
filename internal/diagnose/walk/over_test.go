package walk

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
)

// warned adds a warning about the object with UID "o", with a given age.
func warned(f *facts.Snapshot, age time.Duration, reason, message string) {
	f.Warnings = append(f.Warnings, corev1.Event{InvolvedObject: corev1.ObjectReference{UID: "o"}, Reason: reason, Message: message,
		LastTimestamp: metav1.NewTime(f.Taken.Add(-age))})
}

// pendingClaim adds a claim of class fast without a volume.
func pendingClaim(f *facts.Snapshot) {
	c := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default", UID: "o"}}
	c.Spec.StorageClassName, c.Status.Phase = new("fast"), corev1.ClaimPending
	f.Workloads.Claims = append(f.Workloads.Claims, c)
}

// TestOver: messages about a state that has ended give no cause.
func TestOver(t *testing.T) {
	const noClass, quota = `storageclass.storage.k8s.io "fast" not found`, `pods "x" is forbidden: exceeded quota: small`
	short := func(f *facts.Snapshot) {
		d := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "default", UID: "o"}}
		d.Status.DesiredNumberScheduled = 2
		f.Workloads.DaemonSets = []appsv1.DaemonSet{d}
	}
	lost := func(f *facts.Snapshot) { // the boot log has only messages from before the node joined
		f.Machines[0].Status.NodeRef.Name = ""
		f.AzureMachines["am"].Spec.ProviderID = new("azure:///vm/n")
		f.AzureMachines["am"].SetConditions([]metav1.Condition{
			{Type: clusterv1.ReadyCondition, Status: metav1.ConditionFalse, Reason: "NoRouteToAPI", Message: "x"},
			{Type: infrav1.BootstrapSucceededCondition, Status: metav1.ConditionFalse, Reason: "NoRouteToAPI",
				Message: "kubeadm: dial tcp 10.0.0.100:6443: i/o timeout", LastTransitionTime: metav1.NewTime(f.Taken.Add(-time.Hour))}})
		f.Console = func(*clusterv1.Machine) string { return "[discovery] dial tcp 10.0.0.100:6443: i/o timeout\n" }
	}
	evicted := func(ready int32) func(*facts.Snapshot) {
		return func(f *facts.Snapshot) {
			r := appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "default", UID: "r"}}
			r.Spec.Replicas, r.Status.Replicas, r.Status.ReadyReplicas = new(int32(1)), 1, ready
			f.Workloads.ReplicaSets = []appsv1.ReplicaSet{r}
			p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "r-1", Namespace: "default",
				OwnerReferences: []metav1.OwnerReference{{UID: "r", Controller: new(true)}}}}
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
			f.Pods = append(f.Pods, p)
		}
	}
	noCNI := ready("KubeletNotReady", "container runtime network not ready: cni plugin not initialized")
	for name, test := range map[string]struct {
		inject func(*facts.Snapshot)
		cause  string // "" for none
	}{
		"a StorageClass that is missing": {func(f *facts.Snapshot) { pendingClaim(f); warned(f, time.Minute, "ProvisioningFailed", noClass) },
			"StorageClassMissing"},
		"a StorageClass that was made since": {func(f *facts.Snapshot) {
			pendingClaim(f)
			warned(f, time.Minute, "ProvisioningFailed", noClass)
			f.Workloads.Classes = []storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "fast", CreationTimestamp: metav1.NewTime(f.Taken)}}}
		}, ""},
		"another StorageClass that was made since": {func(f *facts.Snapshot) {
			pendingClaim(f)
			warned(f, time.Minute, "ProvisioningFailed", noClass)
			f.Workloads.Classes = []storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "slow", CreationTimestamp: metav1.NewTime(f.Taken)}}}
		}, "StorageClassMissing"},
		"a quota that is used up": {func(f *facts.Snapshot) { short(f); warned(f, time.Minute, "FailedCreate", quota) },
			"ResourceQuotaExceeded"},
		"a quota of half an hour":                  {func(f *facts.Snapshot) { short(f); warned(f, 30*time.Minute, "FailedCreate", quota) }, ""},
		"an evicted pod":                           {evicted(0), "EvictedForResources"},
		"an evicted pod with another in its place": {evicted(1), ""},
		"a boot that is over":                      {func(f *facts.Snapshot) { noCNI(f); lost(f) }, "CNIMissing"},
		"a boot that is not over":                  {func(f *facts.Snapshot) { lost(f); f.Nodes = nil }, "NoRouteToAPI"},
		"a chart of the CNI failed": {func(f *facts.Snapshot) {
			noCNI(f)
			f.Nodes["n"].CreationTimestamp = metav1.NewTime(f.Taken.Add(-time.Second))
			f.Charts = []facts.Degraded{{Name: "HelmReleaseProxy/csi", Reason: "HelmInstallOrUpgradeFailed", Message: "chart azuredisk: x"},
				{Name: "HelmReleaseProxy/calico-c", Reason: "HelmInstallOrUpgradeFailed", Message: "no such host"}}
		}, "ChartNotInstalled"},
		"the image has another kubelet": {func(f *facts.Snapshot) {
			f.Machines[0].Spec.Version, f.Nodes["n"].Status.NodeInfo.KubeletVersion = "v1.37.2", "v1.34.1"
		}, "KubeletVersion"},
		"the image has another kubelet, and another machine failed": {func(f *facts.Snapshot) {
			f.Machines[0].Spec.Version, f.Nodes["n"].Status.NodeInfo.KubeletVersion = "v1.37.2", "v1.34.1"
			f.Machines = append(f.Machines, *f.Machines[0].DeepCopy())
			f.Machines[1].Name, f.Machines[1].Status.NodeRef.Name = "m2", "gone"
		}, "NodeDeleted"},
		"the kubelet of a build": {func(f *facts.Snapshot) {
			f.Machines[0].Spec.Version, f.Nodes["n"].Status.NodeInfo.KubeletVersion = "1.37.2", "v1.37.2+rke2r1"
		}, ""},
		"a chart of something else failed": {func(f *facts.Snapshot) {
			noCNI(f)
			f.Charts = []facts.Degraded{{Name: "HelmReleaseProxy/disks", Reason: "HelmInstallOrUpgradeFailed", Message: "chart azuredisk: x"}}
		}, "CNIMissing"},
		"a chart of the CNI failed for a node of the cloud provider": {func(f *facts.Snapshot) {
			f.Nodes["n"].Spec.Taints = []corev1.Taint{{Key: uninitializedTaint}}
			f.Charts = []facts.Degraded{{Name: "HelmReleaseProxy/calico-c", Reason: "HelmInstallOrUpgradeFailed", Message: "x"}}
		}, "CloudProviderMissing"},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			f.Taken = time.Now()
			test.inject(f)
			a := Cluster(f)
			if a.Means.Cause != test.cause && (test.cause != "" || !a.Waiting) {
				t.Errorf("got %+v", a)
			}
			if test.cause == "CloudProviderMissing" && a.Means.Fix != "casement addons install cloud-provider-azure --cluster c" {
				t.Errorf("the fix is %q", a.Means.Fix)
			}
			if test.cause == "ChartNotInstalled" && !strings.Contains(a.Lines()[0], "no such host") {
				t.Errorf("not the chart's own words: %q", a.Lines())
			}
		})
	}
}

// TestClassed: a fix of a template that a ClusterClass makes names the class and the variables.
func TestClassed(t *testing.T) {
	f := healthy()
	vm("VMRunning", "NotSupported", "the size has no such disk")(f)
	if fix := Cluster(f); !strings.Contains(fix.Means.Fix, "make another and name it") {
		t.Errorf("got %q", fix.Means.Fix)
	}
	f.Cluster.Spec.Topology.ClassRef = clusterv1.ClusterClassRef{Name: "windows", Namespace: "classes"}
	f.Cluster.Spec.Topology.Variables = []clusterv1.ClusterVariable{{Name: "workerSize"}}
	fix := Cluster(f).Means.Fix
	for _, want := range []string{"ClusterClass classes/windows", "workerSize"} {
		if !strings.Contains(fix, want) || strings.Contains(fix, "make another and name it") {
			t.Errorf("%s is not in %q", want, fix)
		}
	}
}
