package walk

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/facts"
)

// owned sets the controller of an object.
func owned(o metav1.Object, kind, name string, uid types.UID) {
	o.SetOwnerReferences([]metav1.OwnerReference{{Kind: kind, Name: name, UID: uid, Controller: new(true)}})
}

// ago returns a time before the snapshot.
func ago(f *facts.Snapshot, d time.Duration) metav1.Time { return metav1.NewTime(f.Taken.Add(-d)) }

// serving adds a DaemonSet for Windows nodes whose pod on node n is the snapshot's.
func serving(name, mounts string) func(*facts.Snapshot) {
	return func(f *facts.Snapshot) {
		d := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system", UID: "ds"}}
		d.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "windows"}
		d.Spec.Template.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: mounts}}}}
		d.Status.DesiredNumberScheduled, d.Status.CurrentNumberScheduled = 1, 1
		f.Workloads.DaemonSets = append(f.Workloads.DaemonSets, d)
		owned(&f.Pods[0], "DaemonSet", name, "ds")
	}
}

// pinnedTo leaves the pod without a node, and lets it run on only one node.
func pinnedTo(node, message string, since time.Duration) func(*facts.Snapshot) {
	return func(f *facts.Snapshot) {
		p := &f.Pods[0]
		p.Spec.NodeName, p.Status.Phase = "", corev1.PodPending
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}}}}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
			Message: message, LastTransitionTime: ago(f, since)}}
	}
}

// comes adds a machine that is being created, so that new nodes are expected.
func comes(f *facts.Snapshot) {
	m := *f.Machines[0].DeepCopy()
	m.Name, m.Status.NodeRef.Name, m.CreationTimestamp = "new", "", metav1.NewTime(f.Taken)
	m.Spec.InfrastructureRef.Name = "new"
	f.AzureMachines["new"] = f.AzureMachines["am"].DeepCopy()
	f.AzureMachines["new"].SetConditions([]metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Creating",
		LastTransitionTime: metav1.NewTime(f.Taken)}})
	f.Machines = append(f.Machines, m)
}

func all(changes ...func(*facts.Snapshot)) func(*facts.Snapshot) {
	return func(f *facts.Snapshot) {
		for _, change := range changes {
			change(f)
		}
	}
}

// asked returns the answer for an object of the workload cluster.
func asked(f *facts.Snapshot, kind, name string) Answer {
	a, err := Object(f, facts.Object{Kind: kind, Name: name, Namespace: "default"})
	if err != nil {
		panic(err)
	}
	return a
}

// TestBlind: failures that once had a wrong answer, with a fix that does not help, or none.
func TestBlind(t *testing.T) {
	noCNI := ready("KubeletNotReady", "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "+
		"message:Network plugin returns error: cni plugin not initialized")
	young := func(f *facts.Snapshot) { f.Nodes["n"].CreationTimestamp = ago(f, 20*time.Second) }
	taint := func(key, value string) func(*facts.Snapshot) {
		return func(f *facts.Snapshot) {
			f.Nodes["n"].Spec.Taints = append(f.Nodes["n"].Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule})
		}
	}
	reserved := func(f *facts.Snapshot) {
		f.Nodes["n"].Status.Capacity = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("16Gi")}
		f.Nodes["n"].Status.Allocatable = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("0")}
	}
	pulls := waiting("ImagePullBackOff", "Back-off pulling image \"x\": ErrImagePull: rpc error: code = NotFound desc = x: not found")
	cluster := func(f *facts.Snapshot) Answer { return Cluster(f) }
	machine := func(f *facts.Snapshot) Answer {
		a, err := Object(f, facts.Object{Kind: "Machine", Name: "m"})
		if err != nil {
			panic(err)
		}
		return a
	}
	of := func(kind, name string) func(*facts.Snapshot) Answer {
		return func(f *facts.Snapshot) Answer { return asked(f, kind, name) }
	}
	const lacksMemory = "0/8 nodes are available: 1 Insufficient memory, 7 node(s) didn't satisfy plugin(s) [NodeAffinity]."
	for name, test := range map[string]struct {
		inject          func(*facts.Snapshot)
		ask             func(*facts.Snapshot) Answer
		cause, at, line string
	}{
		"the CNI's pod cannot pull its image": {all(serving("calico-node-windows", `C:\opt\cni\bin`), pulls, noCNI, young), machine,
			"ContainerImageNotFound", "Pod/p", "not found"},
		"the cloud node manager finds no memory": {all(serving("cloud-node-manager-windows", ""), pinnedTo("n", lacksMemory, time.Hour), comes,
			taint(uninitializedTaint, "true"), young), machine, "Unschedulable", "Pod/p", "Insufficient memory"},
		"a pod of one node waits for no other": {all(pinnedTo("n", lacksMemory, time.Hour), comes), cluster, "Unschedulable", "Pod/p",
			"Insufficient memory"},
		"a kubelet that reserves all": {all(reserved, taint(uninitializedTaint, "true"), young), machine, "NothingAllocatable", "Node/n",
			"status.allocatable.memory: 0, status.capacity.memory: 16Gi"},
		"a Secret of one's own that is not there": {all(vm("VMRunning", "WaitingForBootstrapData", "secret default/data with the bootstrap data "+
			"does not exist")), machine, "BootstrapSecretMissing", "AzureMachine/am", "does not exist"},
		"cluster-info": {console(`[discovery] Failed to request cluster info, will try again: configmaps "cluster-info" not found`), machine,
			"ClusterInfoMissing", "guest of Machine/m", "cluster-info"},
		"kubelet-config": {console(`error: error execution phase kubelet-start: configmaps "kubelet-config" is forbidden: User ` +
			`"system:bootstrap:abcdef" cannot get resource "configmaps" in API group "" in the namespace "kube-system"`), machine,
			"JoinConfigUnread", "guest of Machine/m", "is forbidden"},
		"a directory of patches": {console(`error: error execution phase kubelet-start: could not list patch files for path "/x": no such file ` +
			`or directory`), machine, "KubeadmPhaseFailed", "guest of Machine/m", "patch files"},
		"an in-tree cloud provider": {console(`kubelet: kubelet: unknown cloud provider "azure": use --cloud-provider=external`), machine,
			"CloudProviderUnknown", "guest of Machine/m", "azure"},
		"a program of the control plane that refuses a flag": {func(f *facts.Snapshot) {
			f.ControlPlane = &controlplanev1.KubeadmControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "kcp"}}
			f.ControlPlane.Status.Conditions = []metav1.Condition{{Type: controlplanev1.KubeadmControlPlaneControlPlaneComponentsHealthyCondition,
				Status: metav1.ConditionFalse, Reason: "NotHealthy", Message: "* Machine m: CrashLoopBackOff", LastTransitionTime: ago(f, time.Minute)}}
			f.Nodes["n"].Labels = map[string]string{controlPlane: ""}
			crash(`Error: invalid argument "1y" for "--cluster-signing-duration" flag: time: unknown unit "y" in duration "1y"`)(f)
			p := &f.Pods[0]
			p.Namespace, p.Annotations = "kube-system", map[string]string{corev1.MirrorPodAnnotationKey: "x"}
			p.Status.ContainerStatuses[0].RestartCount = 3
		}, of("KubeadmControlPlane", "kcp"), "FlagInvalid", "Pod/p", "invalid argument"},
		"a taint that the message does not name": {func(f *facts.Snapshot) {
			taint("ToBeDeletedByClusterAutoscaler", "1")(f)
			f.Pods[0].Spec.NodeName, f.Pods[0].Status.Phase = "", corev1.PodPending
			f.Pods[0].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
				Message: "0/1 nodes are available: 1 node(s) had untolerated taint(s)."}}
		}, cluster, "Unschedulable", "Pod/p", "Node/n has the taint ToBeDeletedByClusterAutoscaler=1:NoSchedule"},
		"a node that the autoscaler has marked and left": {taint("ToBeDeletedByClusterAutoscaler", "1"), machine, "AutoscalerTaint", "Node/n",
			"ToBeDeletedByClusterAutoscaler"},
		"a service that something keeps": {func(f *facts.Snapshot) {
			f.Workloads.Services = []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default",
				DeletionTimestamp: new(ago(f, time.Hour)), Finalizers: []string{"service.kubernetes.io/load-balancer-cleanup"}},
				Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "gone"}, Type: corev1.ServiceTypeLoadBalancer}}}
		}, of("Service", "s"), "DeletionStays", "Service/s", "load-balancer-cleanup"},
		"the cluster with such a service": {func(f *facts.Snapshot) {
			f.Workloads.Services = []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default",
				DeletionTimestamp: new(ago(f, time.Hour)), Finalizers: []string{"service.kubernetes.io/load-balancer-cleanup"}}}}
		}, cluster, "DeletionStays", "Service/s", "load-balancer-cleanup"},
		"a claim that a pod uses": {func(f *facts.Snapshot) {
			f.Workloads.Claims = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default",
				DeletionTimestamp: new(ago(f, time.Hour)), Finalizers: []string{"kubernetes.io/pvc-protection"}}}}
			f.Pods[0].Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		}, of("PersistentVolumeClaim", "data"), "DeletionStays", "PersistentVolumeClaim/data", "Pod/p is there still"},
		"a budget of pods without a controller": {object("PodDisruptionBudget", map[string]any{"status": map[string]any{
			"expectedPods": int64(0), "currentHealthy": int64(1), "disruptionsAllowed": int64(0)}}),
			of("PodDisruptionBudget", "x"), "PodsUnmanaged", "PodDisruptionBudget/x", "expectedPods: 0"},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			f.Taken = time.Now()
			test.inject(f)
			a := test.ask(f)
			if a.Healthy || a.Waiting || a.Name() != test.cause || a.At != test.at ||
				!strings.Contains(strings.Join(a.Lines(), "\n"), test.line) || a.Means.Fix == "" {
				t.Errorf("got %s at %s (waiting %v), %q; want %s at %s, %q", a.Name(), a.At, a.Waiting, a.Lines(), test.cause, test.at, test.line)
			}
		})
	}
}

// TestAbsent: a missing object gives a Waiting answer while a controller may be creating it, and a fault later.
func TestAbsent(t *testing.T) {
	service := func(f *facts.Snapshot) {
		f.Workloads.Services = []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default",
			CreationTimestamp: metav1.NewTime(f.Taken)}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "s"}}}}
	}
	for name, test := range map[string]struct {
		inject func(*facts.Snapshot)
		ask    func(*facts.Snapshot) Answer
		cause  string
		// later is the time after which it is a fault.
		later time.Duration
	}{
		"a service comes before its pods": {service, func(f *facts.Snapshot) Answer { return asked(f, "Service", "s") },
			"SelectorMatchesNothing", justApplied},
		"a StatefulSet comes before its service": {func(f *facts.Snapshot) {
			f.Workloads.StatefulSets = []appsv1.StatefulSet{{ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "default", UID: "db",
				CreationTimestamp: metav1.NewTime(f.Taken)}, Spec: appsv1.StatefulSetSpec{ServiceName: "db", Replicas: new(int32(0))}}}
		}, func(f *facts.Snapshot) Answer { return asked(f, "StatefulSet", "db") }, "ServiceMissing", justApplied},
		"an Ingress comes before its service": {func(f *facts.Snapshot) {
			object("Ingress", map[string]any{"spec": map[string]any{"ingressClassName": "nginx"}})(f)
			f.Asked.SetCreationTimestamp(metav1.NewTime(f.Taken))
		}, func(f *facts.Snapshot) Answer { return asked(f, "Ingress", "x") }, "IngressClassMissing", justApplied},
		"a new template's reference, in an old cluster": {func(f *facts.Snapshot) {
			f.Cluster.CreationTimestamp = ago(f, time.Hour)
			f.Deployments = []clusterv1.MachineDeployment{{ObjectMeta: metav1.ObjectMeta{Name: "md", ManagedFields: []metav1.ManagedFieldsEntry{
				{Time: new(metav1.NewTime(f.Taken))}}}}}
			f.Dangling = []facts.Reference{{From: "MachineDeployment/md", Kind: "AzureMachineTemplate", Name: "t"}}
		}, Cluster, "TemplateMissing", justApplied},
		"a pod of a DaemonSet between two pods of its node": {all(serving("agent", ""), pinnedTo("n", "0/1 nodes are available: 1 node(s) "+
			"didn't have free ports for the requested pod ports.", 0)), Cluster, "Unschedulable", slowStatus},
		"a Deployment that no controller looks at": {func(f *facts.Snapshot) {
			f.Workloads.Deployments = []appsv1.Deployment{{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "d", Generation: 1,
				CreationTimestamp: metav1.NewTime(f.Taken)}}}
		}, Cluster, "NotObserved", slowStatus},
		"a pause that is over": {func(f *facts.Snapshot) {
			f.AzureMachines["am"].ManagedFields = []metav1.ManagedFieldsEntry{{Time: new(metav1.NewTime(f.Taken))}}
			readyBut(metav1.Condition{Type: "Paused", Status: metav1.ConditionTrue, Reason: "Paused",
				Message: "Cluster spec.paused is set to true"})(f)
		}, Cluster, "Paused", slowStatus},
		"an event of unknown meaning about a new pod": {func(f *facts.Snapshot) {
			f.Pods[0].Status.Phase, f.Pods[0].CreationTimestamp = corev1.PodPending, metav1.NewTime(f.Taken)
			f.Warnings = []corev1.Event{{InvolvedObject: corev1.ObjectReference{UID: "u"}, Reason: "FailedMount", Message: "object not registered"}}
		}, Cluster, "FailedMount", slowStatus},
		"a node that was not read": {func(f *facts.Snapshot) {
			delete(f.Nodes, "n")
			f.Machines[0].Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineNodeHealthyCondition, Status: metav1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(f.Taken)}}
		}, Cluster, "NodeDeleted", justApplied},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			f.Taken = time.Now()
			test.inject(f)
			if a := test.ask(f); a.Healthy || !a.Waiting {
				t.Errorf("at first: %+v", a)
			}
			f.Taken = f.Taken.Add(test.later + time.Second)
			if a := test.ask(f); a.Healthy || a.Waiting || a.Name() != test.cause {
				t.Errorf("later: %s (waiting %v), want %s: %+v", a.Name(), a.Waiting, test.cause, a)
			}
		})
	}
}

// TestAtWork: states that controllers pass through, however long, are no faults.
func TestAtWork(t *testing.T) {
	replicas := func(n int32) func(*facts.Snapshot) {
		return func(f *facts.Snapshot) {
			r := appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "default", UID: "rs"}}
			r.Spec.Replicas, r.Spec.Template.Labels = new(n), map[string]string{"app": "s"}
			r.Status.Replicas = n
			f.Workloads.ReplicaSets = []appsv1.ReplicaSet{r}
			f.Workloads.Services = []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default",
				CreationTimestamp: ago(f, time.Hour)}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "s"}}}}
		}
	}
	service := func(f *facts.Snapshot) Answer { return asked(f, "Service", "s") }
	for name, test := range map[string]struct {
		inject func(*facts.Snapshot)
		ask    func(*facts.Snapshot) Answer
	}{
		"a service whose Deployment is asked for none": {replicas(0), service},
		"a service whose pods are all replaced": {all(replicas(1), func(f *facts.Snapshot) {
			owned(&f.Pods[0], "ReplicaSet", "web-1", "rs")
			f.Pods[0].Labels = map[string]string{"app": "s"}
			f.Pods[0].DeletionTimestamp = new(metav1.NewTime(f.Taken))
		}), service},
		"a DaemonSet whose controller has not seen it": {func(f *facts.Snapshot) {
			f.Workloads.DaemonSets = []appsv1.DaemonSet{{ObjectMeta: metav1.ObjectMeta{Name: "new", Namespace: "default", Generation: 1,
				CreationTimestamp: metav1.NewTime(f.Taken)}}}
		}, func(f *facts.Snapshot) Answer { return asked(f, "DaemonSet", "new") }},
		"a failed Job of a CronJob that has run since": {func(f *facts.Snapshot) {
			for i, name := range []string{"tick-1", "tick-2"} {
				j := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name),
					CreationTimestamp: ago(f, time.Hour-time.Duration(i)*time.Minute)}}
				owned(&j, "CronJob", "tick", "cj")
				f.Workloads.Jobs = append(f.Workloads.Jobs, j)
			}
			f.Workloads.Jobs[0].Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue,
				Reason: "BackoffLimitExceeded"}}
			f.Workloads.Jobs[1].Status.CompletionTime, f.Workloads.Jobs[1].Status.Succeeded = new(ago(f, time.Minute)), 1
		}, Cluster},
		"a pod that ends within its hour of grace": {func(f *facts.Snapshot) {
			f.Pods[0].DeletionTimestamp = new(metav1.NewTime(f.Taken.Add(time.Hour)))
		}, Cluster},
		"an upgrade that somebody has put off": {func(f *facts.Snapshot) {
			f.Cluster.Spec.Topology.ClassRef.Name = "class"
			f.Cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1.ClusterTopologyReconciledCondition, Status: metav1.ConditionFalse,
				Reason: clusterv1.ClusterTopologyReconciledMachineDeploymentsUpgradeDeferredReason, LastTransitionTime: ago(f, time.Hour)}}
		}, Cluster},
		"a health check of machines that come": {func(f *facts.Snapshot) {
			comes(f)
			f.Asked = &unstructured.Unstructured{Object: map[string]any{"kind": "MachineHealthCheck", "metadata": map[string]any{"name": "h"}}}
			f.HealthChecks = []clusterv1.MachineHealthCheck{{ObjectMeta: metav1.ObjectMeta{Name: "h"}, Status: clusterv1.MachineHealthCheckStatus{
				CurrentHealthy: new(int32(1)), ExpectedMachines: new(int32(2))}}}
		}, func(f *facts.Snapshot) Answer { return asked(f, "MachineHealthCheck", "h") }},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			f.Taken = time.Now()
			test.inject(f)
			if a := test.ask(f); !a.Healthy && !a.Waiting {
				t.Errorf("an alarm: %s at %s: %+v", a.Name(), a.At, a)
			}
		})
	}
}

// TestSelectsNothing: an object whose selector matches nothing is no fault, and is not called healthy.
func TestSelectsNothing(t *testing.T) {
	f := healthy()
	f.Taken = time.Now()
	f.Asked = &unstructured.Unstructured{Object: map[string]any{"kind": "MachineHealthCheck", "metadata": map[string]any{"name": "h"}}}
	h := clusterv1.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Name: "h"}}
	h.Spec.Selector.MatchLabels = map[string]string{"pool": "typo"}
	f.HealthChecks = []clusterv1.MachineHealthCheck{h}
	if a := asked(f, "MachineHealthCheck", "h"); a.Healthy || !a.Waiting || a.Name() != "SelectsNothing" {
		t.Errorf("the health check: %+v", a)
	}
	object("ClusterResourceSet", map[string]any{"spec": map[string]any{"clusterSelector": map[string]any{
		"matchLabels": map[string]any{"cni": "typo"}}}})(f)
	if a := asked(f, "ClusterResourceSet", "x"); a.Healthy || !a.Waiting || a.Name() != "SelectsNothing" {
		t.Errorf("the resource set: %+v", a)
	}
}

// TestOnDelete: the answer for a MachineDeployment whose machines are replaced only when a user deletes them says so.
func TestOnDelete(t *testing.T) {
	f := healthy()
	f.Taken = time.Now()
	d := clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: "md"}}
	d.Spec.Rollout.Strategy.Type = clusterv1.OnDeleteMachineDeploymentStrategyType
	d.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineDeploymentMachinesUpToDateCondition, Status: metav1.ConditionFalse,
		Reason: "NotUpToDate", Message: "* Machine m: * AzureMachine is not up-to-date"}}
	f.Deployments = []clusterv1.MachineDeployment{d}
	if a := asked(f, "MachineDeployment", "md"); a.Healthy || !a.Waiting || a.Name() != "OldTemplateKept" {
		t.Errorf("got %+v", a)
	}
}

// TestBesides: an answer about a workload lists other faults of its pods.
func TestBesides(t *testing.T) {
	f := healthy()
	f.Taken = time.Now()
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "mix", Namespace: "default", UID: "d"}}
	r := appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "mix-1", Namespace: "default", UID: "rs"}}
	owned(&r, "Deployment", "mix", "d")
	r.Spec.Replicas, r.Status.Replicas = new(int32(2)), 1
	r.Status.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue,
		Reason: "FailedCreate", Message: `pods "mix-1-x" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=1, limited: pods=1`}}
	f.Workloads.Deployments, f.Workloads.ReplicaSets = []appsv1.Deployment{d}, []appsv1.ReplicaSet{r}
	owned(&f.Pods[0], "ReplicaSet", "mix-1", "rs")
	waiting("CreateContainerConfigError", `configmap "settings" not found`)(f)
	a := asked(f, "Deployment", "mix")
	if a.Name() != "ResourceQuotaExceeded" || len(a.Also) != 1 || a.Also[0].At != "Pod/p" || !strings.Contains(a.Also[0].Line, "settings") {
		t.Errorf("got %s at %s, and %+v", a.Name(), a.At, a.Also)
	}
}
