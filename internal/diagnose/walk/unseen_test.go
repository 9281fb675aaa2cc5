package walk

import (
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/facts"
)

// object returns a snapshot in which a user names an object of another kind.
func object(kind string, content map[string]any) func(*facts.Snapshot) {
	return func(f *facts.Snapshot) {
		o := &unstructured.Unstructured{Object: content}
		o.SetKind(kind)
		o.SetName("x")
		o.SetUID("asked")
		f.Asked = o
	}
}

// says returns the status of an object with one condition.
func says(kind, status, reason, message string) map[string]any {
	return map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2020-01-01T00:00:00Z"}}}}
}

// readyBut adds a condition to the VM, which is Ready.
func readyBut(c metav1.Condition) func(*facts.Snapshot) {
	return func(f *facts.Snapshot) {
		f.AzureMachines["am"].SetConditions([]metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready"}, c})
	}
}

// unbound adds a claim that has been waiting for an hour.
func unbound(change func(*corev1.PersistentVolumeClaim)) func(*facts.Snapshot) {
	return func(f *facts.Snapshot) {
		c := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default",
			CreationTimestamp: metav1.NewTime(f.Taken.Add(-time.Hour))},
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}}
		change(&c)
		f.Workloads.Claims = []corev1.PersistentVolumeClaim{c}
	}
}

// custom adds an object of another project that no user names.
func custom(kind string, content map[string]any) func(*facts.Snapshot) {
	return func(f *facts.Snapshot) {
		object(kind, content)(f)
		f.Asked.SetCreationTimestamp(metav1.NewTime(f.Taken.Add(-time.Hour)))
		f.Custom, f.Asked = []unstructured.Unstructured{*f.Asked}, nil
	}
}

// waitsCompleted lets the machine's drain wait for a pod because of one of two rules.
func waitsCompleted(f *facts.Snapshot, since time.Duration) {
	at := metav1.NewTime(f.Taken.Add(-since))
	f.Machines[0].DeletionTimestamp = &at
	f.Machines[0].Status.Conditions = append(f.Machines[0].Status.Conditions, metav1.Condition{
		Type: clusterv1.MachineDeletingCondition, Status: metav1.ConditionTrue, Reason: clusterv1.MachineDeletingDrainingNodeReason,
		Message: "Drain not completed yet (started at x):\n* Pod default/p: waiting for completion"})
	f.Pods[0].Labels = map[string]string{"batch": "yes"}
	for name, value := range map[string]string{"batch-last": "yes", "others": "no"} {
		r := clusterv1.MachineDrainRule{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
		r.Spec.Drain.Behavior = clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted
		r.Spec.Pods = []clusterv1.MachineDrainRulePodSelector{{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"batch": value}}}}
		f.DrainRules = append(f.DrainRules, r)
	}
}

// local adds a service whose pod is on one of two nodes, and whose traffic stays on its node.
func local(f *facts.Snapshot) {
	other := f.Nodes["n"].DeepCopy()
	other.Name = "other"
	f.Nodes["other"] = other
	f.Pods[0].Labels = map[string]string{"app": "s"}
	f.Workloads.Services = []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default"}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "s"}, InternalTrafficPolicy: new(corev1.ServiceInternalTrafficPolicyLocal)}}}
}

// looping adds a health check that has replaced a number of machines within the last minutes, and one machine that is starting.
func looping(f *facts.Snapshot, times int) {
	h := clusterv1.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Name: "h", Namespace: "default"}}
	h.Spec.Checks.NodeStartupTimeoutSeconds, h.Status.Targets = new(int32(30)), []string{"new"}
	starts := *f.Machines[0].DeepCopy()
	starts.Name, starts.Status.NodeRef.Name, starts.CreationTimestamp = "new", "", metav1.NewTime(f.Taken)
	starts.Spec.InfrastructureRef.Name = "new"
	f.AzureMachines["new"] = f.AzureMachines["am"].DeepCopy()
	f.AzureMachines["new"].Name = "new"
	f.AzureMachines["new"].SetConditions([]metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Creating",
		LastTransitionTime: metav1.NewTime(f.Taken)}})
	f.HealthChecks, f.Machines = []clusterv1.MachineHealthCheck{h}, append(f.Machines, starts)
	for i := range times {
		name := "old-" + strconv.Itoa(i)
		f.Remediations = append(f.Remediations, corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Machine", Name: name},
			Message:       "Machine default/" + name + " has been marked as unhealthy by default/h",
			LastTimestamp: metav1.NewTime(f.Taken.Add(-time.Duration(i) * time.Minute))})
	}
}

// TestUnseen: failures without an entry in a table are identified, or shown verbatim with the cause unknown; never as
// nothing wrong.
func TestUnseen(t *testing.T) {
	past := func(f *facts.Snapshot) metav1.Time { return metav1.NewTime(f.Taken.Add(-time.Hour)) }
	for name, test := range map[string]struct {
		inject func(*facts.Snapshot)
		// cause is the known cause, "" if it is unknown; line is then shown completely.
		cause, at, line string
	}{
		"a failed extension of a VM that is Ready": {readyBut(metav1.Condition{Type: "ExtensionsReady", Status: metav1.ConditionFalse,
			Reason: "VMExtensionProvisioningError", Message: "extension CustomScript: exit 5"}), "ExtensionFailed", "AzureMachine/am", "exit 5"},
		"a PATCH that a policy refuses": {readyBut(metav1.Condition{Type: "Synced", Status: metav1.ConditionFalse,
			Reason: "RequestDisallowedByPolicy", Message: "tags: cost centre is missing"}), "PolicyDenied", "AzureMachine/am", "cost centre"},
		"a condition that no table knows": {readyBut(metav1.Condition{Type: "Blessed", Status: metav1.ConditionFalse,
			Reason: "Cursed", Message: "the moon is wrong"}), "", "AzureMachine/am", "the moon is wrong"},
		"a paused VM that is Ready": {readyBut(metav1.Condition{Type: "Paused", Status: metav1.ConditionTrue, Reason: "Paused",
			Message: "AzureMachine has the annotation"}), "Paused", "AzureMachine/am", "annotation"},
		"a paused machine": {func(f *facts.Snapshot) {
			f.Machines[0].Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		}, "Paused", "Machine/m", clusterv1.PausedAnnotation},
		"a paused machine that is being deleted": {func(f *facts.Snapshot) {
			f.Machines[0].Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
			f.Machines[0].DeletionTimestamp = new(past(f))
		}, "Paused", "Machine/m", clusterv1.PausedAnnotation},
		"a paused VM that is being deleted": {func(f *facts.Snapshot) {
			f.Machines[0].DeletionTimestamp = new(past(f))
			f.AzureMachines["am"].DeletionTimestamp = new(past(f))
			f.AzureMachines["am"].Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		}, "Paused", "AzureMachine/am", clusterv1.PausedAnnotation},
		"a foreign finalizer of a VM": {func(f *facts.Snapshot) {
			f.Machines[0].DeletionTimestamp = new(past(f))
			f.AzureMachines["am"].DeletionTimestamp = new(past(f))
			f.AzureMachines["am"].Finalizers = []string{"backup.example.com/keep"}
		}, "FinalizerStays", "AzureMachine/am", "backup.example.com/keep"},
		"a paused control plane": {func(f *facts.Snapshot) {
			f.ControlPlane = &controlplanev1.KubeadmControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "kcp",
				Annotations: map[string]string{clusterv1.PausedAnnotation: ""}}}
		}, "Paused", "KubeadmControlPlane/kcp", clusterv1.PausedAnnotation},
		"certificates that expire": {func(f *facts.Snapshot) {
			f.Machines[0].Status.CertificatesExpiryDate = metav1.NewTime(f.Taken.Add(time.Hour))
		}, "CertificatesExpire", "Machine/m", "certificatesExpiryDate"},
		"a problem that a detector reports": {func(f *facts.Snapshot) {
			f.Nodes["n"].Status.Conditions = append(f.Nodes["n"].Status.Conditions, corev1.NodeCondition{Type: "ReadonlyFilesystem",
				Status: corev1.ConditionTrue, Reason: "FilesystemIsReadOnly", Message: "Remounting filesystem read-only"})
		}, "", "Node/n", "Remounting filesystem read-only"},
		"broken JSON of a CNI": {ready("KubeletNotReady", "container runtime network not ready: NetworkReady=false cni config load failed: "+
			"failed to load CNI config list file: error parsing configuration list"), "CNIConfigInvalid", "Node/n", "error parsing"},
		"no driver for a claim": {func(f *facts.Snapshot) {
			p := &f.Pods[0]
			p.CreationTimestamp, p.Spec.NodeName, p.Status.Phase = past(f), "", corev1.PodPending
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
			f.Workloads.Claims = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default",
				Annotations: map[string]string{"volume.kubernetes.io/storage-provisioner": "disk.csi.azure.com"}},
				Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}}}
		}, "VolumeNotMade", "PersistentVolumeClaim/data", "disk.csi.azure.com"},
		"a scheduler that is not there": {func(f *facts.Snapshot) {
			p := &f.Pods[0]
			p.CreationTimestamp, p.Spec.NodeName, p.Status.Phase, p.Spec.SchedulerName = past(f), "", corev1.PodPending, "my-scheduler"
		}, "SchedulerSilent", "Pod/p", "my-scheduler"},
		"a claim of a device that does not exist": {func(f *facts.Snapshot) {
			p := &f.Pods[0]
			p.UID, p.CreationTimestamp, p.Spec.NodeName, p.Status.Phase = "p", past(f), "", corev1.PodPending
			f.Warnings = []corev1.Event{{InvolvedObject: corev1.ObjectReference{UID: "p"}, Reason: "FailedResourceClaimCreation",
				Message: "PodResourceClaim gpu: resource claim template \"gpu\" not found"}}
		}, "", "Pod/p", "resource claim template"},
		"a scheduler that passes over one pod": {func(f *facts.Snapshot) {
			placed := *f.Pods[0].DeepCopy()
			placed.Name, placed.Spec.SchedulerName = "placed", "default-scheduler"
			placed.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(f.Taken)}}
			p := &f.Pods[0]
			p.CreationTimestamp, p.Spec.NodeName, p.Status.Phase = past(f), "", corev1.PodPending
			p.Spec.SchedulerName = placed.Spec.SchedulerName
			f.Pods = append(f.Pods, placed)
		}, "", "Pod/p", "default-scheduler"},
		"a suspended Job": {func(f *facts.Snapshot) {
			f.Workloads.Jobs = []batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Name: "j", Namespace: "default"}}}
			f.Workloads.Jobs[0].Spec.Suspend = new(true)
		}, "Suspended", "Job/j", "spec.suspend: true"},
		"a readiness gate": {func(f *facts.Snapshot) {
			f.Pods[0].CreationTimestamp = past(f)
			f.Pods[0].Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/lb"}}
		}, "ReadinessGate", "Pod/p", "example.com/lb"},
		"restarts of a container that runs": {func(f *facts.Snapshot) {
			f.Pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", Ready: true, RestartCount: 9,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error",
					FinishedAt: metav1.NewTime(f.Taken.Add(-time.Minute))}}}}
		}, "RestartsOften", "Pod/p", "exit code 3"},
		"a user's command and a refused connection": {console("curl: (7) Failed to connect to files.example: connection refused"),
			"NotRegistered", "Machine/m", "nodeRef"},
		"the kubelet's cgroup v1": {console(`E1127 06:00:00.000000 1 run.go:72] "command failed" err="kubelet is configured ` +
			`to not run on a host using cgroup v1"`),
			"CgroupV1Refused", "guest of Machine/m", "cgroup v1"},
		"a wrapper that hands on the code": {console("error execution phase preflight: the moon is wrong\nguest: " +
			"casement-apply.sh: line 13 failed with code 1: exit $code"),
			"CommandFailed", "guest of Machine/m", "the moon is wrong"},
		"a deny assignment": {vm("VMRunning", "DenyAssignmentAuthorizationFailed", strings.Repeat("the client has the permission; ", 20)+
			"however, the access is denied because of the deny assignment of the managed app "+
			"shop"), "DeniedByAssignment", "AzureMachine/am", "managed app shop"},
		"a code that no table knows": {vm("VMRunning", "FrobnicationFailed", "the frobnicator said "+
			"no"), "", "AzureMachine/am", "the frobnicator said no"},
		"an identity that is not allowed": {network("NetworkInfrastructureReady", "NamespaceNotAllowedByIdentity",
			"namespace x is not in allowedNamespaces"),
			"NamespaceNotAllowed", "AzureCluster/ac", "allowedNamespaces"},
		"an API server that is not reached": {func(f *facts.Snapshot) { f.Unreachable = "dial tcp 10.0.0.100:6443: i/o timeout" },
			"NoRouteToAPI", "Cluster/c", "i/o timeout"},
		"an HPA without metrics": {object("HorizontalPodAutoscaler", says("ScalingActive", "False", "FailedGetResourceMetric",
			"missing request for cpu")),
			"MetricsMissing", "HorizontalPodAutoscaler/x", "missing request for cpu"},
		"an HPA without a target": {object("HorizontalPodAutoscaler", says("AbleToScale", "False", "FailedGetScale",
			"deployments.apps \"web\" not found")),
			"ScaleTargetMissing", "HorizontalPodAutoscaler/x", "not found"},
		"an Ingress without its class": {object("Ingress", map[string]any{"spec": map[string]any{"ingressClassName": "nginx"}}),
			"IngressClassMissing", "Ingress/x", "nginx"},
		"an Ingress without any class": {object("Ingress", map[string]any{"spec": map[string]any{}}), "IngressClassMissing",
			"Ingress/x", "0 classes"},
		"an Ingress without its service": {func(f *facts.Snapshot) {
			object("Ingress", map[string]any{"spec": map[string]any{"ingressClassName": "nginx", "defaultBackend": map[string]any{
				"service": map[string]any{"name": "shop"}}}})(f)
			class := unstructured.Unstructured{Object: map[string]any{}}
			class.SetName("nginx")
			f.Others = map[string][]unstructured.Unstructured{"IngressClass": {class}}
		}, "BackendMissing", "Ingress/x", "shop"},
		"autoscalers of the same pods": {object("HorizontalPodAutoscaler", map[string]any{"status": map[string]any{"conditions": []any{
			map[string]any{"type": "ScalingActive", "status": "False", "reason": "AmbiguousSelector", "message": "controlled by more than one " +
				"HPA (e.g. [w/a w/b])", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}}}}),
			"AmbiguousSelector", "HorizontalPodAutoscaler/x", "[w/a w/b]"},
		"a CronJob whose Job is suspended": {func(f *facts.Snapshot) {
			object("CronJob", map[string]any{"spec": map[string]any{"concurrencyPolicy": "Forbid"}})(f)
			f.Workloads.Jobs = []batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Name: "x-1", Namespace: "default", CreationTimestamp: past(f),
				OwnerReferences: []metav1.OwnerReference{{UID: "asked", Controller: new(true)}}}, Spec: batchv1.JobSpec{Suspend: new(true)}}}
		}, "Suspended", "Job/x-1", "concurrencyPolicy of CronJob/x: Forbid"},
		"an error that a status has as an object": {object("Attachment", map[string]any{"status": map[string]any{"attached": false,
			"attachError": map[string]any{"message": "instance not found", "time": "2020-01-01T00:00:00Z"}}}), "", "Attachment/x",
			"status.attachError.message: instance not found"},
		"an error and a name that leads nowhere": {func(f *facts.Snapshot) {
			object("VolumeAttachment", map[string]any{"status": map[string]any{"attachError": map[string]any{"message": "instance not found"}}})(f)
			f.Dangling = []facts.Reference{{From: "VolumeAttachment/x", Field: "spec.nodeName", Kind: "Node", Name: "gone"}}
		}, "NodeMissing", "VolumeAttachment/x", "instance not found"},
		"a service that stays on its node": {func(f *facts.Snapshot) {
			local(f)
		}, "TrafficStaysLocal", "Service/s", "no pod of it on 1 nodes: other"},
		"a bound claim whose volume is deleted": {func(f *facts.Snapshot) {
			unbound(func(c *corev1.PersistentVolumeClaim) {
				c.Status.Phase, c.Spec.VolumeName = corev1.ClaimBound, "pv"
			})(f)
			v := unstructured.Unstructured{Object: map[string]any{}}
			v.SetName("pv")
			v.SetDeletionTimestamp(new(past(f)))
			v.SetFinalizers([]string{"kubernetes.io/pv-protection"})
			f.Others = map[string][]unstructured.Unstructured{"PersistentVolume": {v}}
		}, "VolumeDeleting", "PersistentVolume/pv", "pv-protection"},
		"a health check that replaces machine after machine": {func(f *facts.Snapshot) { looping(f, 3) }, "RemediationLoops",
			"MachineHealthCheck/h", "nodeStartupTimeoutSeconds: 30"},
		"a suspended CronJob": {object("CronJob", map[string]any{"spec": map[string]any{"suspend": true}}), "Suspended",
			"CronJob/x", "suspend"},
		"a policy that denies all": {object("NetworkPolicy", map[string]any{"spec": map[string]any{"policyTypes": []any{"Ingress"}}}),
			"PolicyDeniesAll", "NetworkPolicy/x", "policyTypes"},
		"an API service without backend": {object("APIService", says("Available", "False", "MissingEndpoints", "endpoints "+
			"for service/metrics have no addresses")),
			"", "APIService/x", "no addresses"},
		"a volume that is kept": {object("PersistentVolume", map[string]any{"spec": map[string]any{"claimRef": map[string]any{
			"namespace": "shop", "name": "data"}}, "status": map[string]any{"phase": "Released"}}), "VolumeReleased",
			"PersistentVolume/x", "shop/data"},
		"a volume that failed": {object("PersistentVolume", map[string]any{"status": map[string]any{"phase": "Failed",
			"message": "disk is in use"}}),
			"", "PersistentVolume/x", "disk is in use"},
		"a namespace that does not end": {func(f *facts.Snapshot) {
			object("Namespace", says("NamespaceDeletionDiscoveryFailure", "True", "DiscoveryFailed", "metrics.k8s.io/v1beta1: stale"))(f)
			f.Asked.SetDeletionTimestamp(new(past(f)))
		}, "DeletionStays", "Namespace/x", "metrics.k8s.io"},
		"a ClusterResourceSet that is not applied": {object("ClusterResourceSet", says("ResourcesApplied", "False",
			"ApplyFailed", "secrets \"y\" not found")),
			"", "ClusterResourceSet/x", "secrets"},
		"a ClusterClass with a bad variable": {object("ClusterClass", says("VariablesReady", "False", "VariableDiscoveryFailed", "schema: x")),
			"", "ClusterClass/x", "schema: x"},
		"a template that is stalled": {object("Application", says("Stalled", "True", "RetriesExceeded", "no more "+
			"tries")), "", "Application/x", "no more tries"},
		"an object of an old generation": {object("Widget", map[string]any{"metadata": map[string]any{"generation": int64(3)},
			"status": map[string]any{"observedGeneration": int64(2)}}), "", "Widget/x", "observedGeneration: 2"},
		"a paused object": {object("Widget", map[string]any{"spec": map[string]any{"paused": true}}), "Paused", "Widget/x", "spec.paused"},
		"an object of which an event warns": {func(f *facts.Snapshot) {
			object("Widget", map[string]any{})(f)
			f.Warnings = []corev1.Event{{InvolvedObject: corev1.ObjectReference{UID: "asked"}, Reason: "Odd", Message: "it is odd"}}
		}, "", "Widget/x", "it is odd"},
		"a finalizer of any object": {func(f *facts.Snapshot) {
			object("Widget", map[string]any{})(f)
			f.Asked.SetDeletionTimestamp(new(past(f)))
			f.Asked.SetFinalizers([]string{"gone.example.com/x"})
		}, "DeletionStays", "Widget/x", "gone.example.com/x"},
		"a DaemonSet that no node fits": {func(f *facts.Snapshot) {
			f.Workloads.DaemonSets = []appsv1.DaemonSet{{ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "default"}}}
			f.Workloads.DaemonSets[0].Spec.Template.Spec.NodeSelector = map[string]string{"disk": "fast"}
		}, "NoNodeFits", "DaemonSet/d", "disk:fast"},
		"a port that no container declares": {func(f *facts.Snapshot) {
			f.Pods[0].Labels = map[string]string{"app": "web"}
			f.Pods[0].Spec.Containers = []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{{ContainerPort: 8080}}}}
			s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default"}}
			s.Spec.Selector, s.Spec.Ports = f.Pods[0].Labels, []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(80)}}
			f.Workloads.Services = []corev1.Service{s}
		}, "TargetPortUndeclared", "Service/s", "[8080]"},
		"no DNS": {func(f *facts.Snapshot) {
			s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "kube-dns", Namespace: "kube-system", CreationTimestamp: past(f)}}
			s.Spec.Selector = map[string]string{"k8s-app": "kube-dns"}
			f.Workloads.Services = []corev1.Service{s}
		}, "ClusterDNSGone", "Service/kube-dns", "kube-dns"},
		"a label that no node has": {func(f *facts.Snapshot) {
			f.Pods[0].Status.Phase, f.Pods[0].Spec.NodeName = corev1.PodPending, ""
			f.Pods[0].Spec.NodeSelector = map[string]string{"disk": "fast"}
			f.Pods[0].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
				Message: "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."}}
		}, "Unschedulable", "Pod/p", "disk=fast"},
		"a claim whose driver makes nothing": {unbound(func(c *corev1.PersistentVolumeClaim) {
			c.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "example.com/odd"}
		}), "VolumeNotMade", "PersistentVolumeClaim/data", "example.com/odd"},
		"a claim of a volume that is not there": {unbound(func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "gone" }),
			"VolumeNotBound", "PersistentVolumeClaim/data", "spec.volumeName: gone"},
		"a claim without a class, and its pod": {func(f *facts.Snapshot) {
			unbound(func(*corev1.PersistentVolumeClaim) {})(f)
			p := &f.Pods[0]
			p.CreationTimestamp, p.Spec.NodeName, p.Status.Phase = past(f), "", corev1.PodPending
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
				Message: "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"}}
		}, "NoStorageClass", "PersistentVolumeClaim/data", "spec.storageClassName"},
		"a node that does not exist": {func(f *facts.Snapshot) {
			p := &f.Pods[0]
			p.CreationTimestamp, p.Spec.NodeName, p.Status.Phase = past(f), "ghost", corev1.PodPending
		}, "NodeUnknown", "Pod/p", "spec.nodeName: ghost"},
		"a device class, and a machine on its way": {func(f *facts.Snapshot) {
			coming := *f.Machines[0].DeepCopy()
			coming.Name, coming.Status.NodeRef.Name, coming.CreationTimestamp = "coming", "", metav1.NewTime(f.Taken)
			f.Machines = append(f.Machines, coming)
			f.Pods[0].Status.Phase, f.Pods[0].Spec.NodeName = corev1.PodPending, ""
			f.Pods[0].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
				Reason: "Unschedulable", Message: "0/1 nodes are available: request g: device class gpu.example.com does not exist.",
				LastTransitionTime: metav1.NewTime(f.Taken)}}
		}, "Unschedulable", "Pod/p", "gpu.example.com"},
		"an Ingress to a port that its service has not": {func(f *facts.Snapshot) {
			object("Ingress", map[string]any{"spec": map[string]any{"ingressClassName": "nginx", "defaultBackend": map[string]any{
				"service": map[string]any{"name": "shop", "port": map[string]any{"number": int64(8443)}}}}})(f)
			f.Asked.SetNamespace("default")
			class := unstructured.Unstructured{Object: map[string]any{}}
			class.SetName("nginx")
			f.Others = map[string][]unstructured.Unstructured{"IngressClass": {class}}
			f.Workloads.Services = []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "default"},
				Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}}
		}, "BackendPortUnknown", "Ingress/x", "port 8443; the service has 80"},
		"a snapshot that is not there": {func(f *facts.Snapshot) {
			unbound(func(c *corev1.PersistentVolumeClaim) {
				c.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "example.com/odd"}
			})(f)
			f.Dangling = []facts.Reference{
				{From: "PersistentVolumeClaim/data2", Field: "spec.dataSourceRef", Kind: "VolumeSnapshot", Namespace: "default", Name: "x"},
				{From: "PersistentVolumeClaim/data", Field: "spec.dataSourceRef", Kind: "VolumeSnapshot", Namespace: "default", Name: "monday",
					Why: "the API server has no kind VolumeSnapshot.snapshot.storage.k8s.io"}}
		}, "VolumeSnapshotMissing", "PersistentVolumeClaim/data", "VolumeSnapshot default/monday"},
		"a StatefulSet without its Service": {func(f *facts.Snapshot) {
			s := appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default"}}
			s.Spec.ServiceName, s.Status.Replicas = "peers", 1
			s.Spec.Replicas = new(int32(1))
			f.Workloads.StatefulSets = []appsv1.StatefulSet{s}
		}, "ServiceMissing", "StatefulSet/s", "spec.serviceName: peers"},
		"a failed object of another project": {func(f *facts.Snapshot) {
			custom("Certificate", says("Ready", "False", "IssuerNotFound", "no issuer"))(f)
		}, "", "Certificate/x", "no issuer"},
		"a health check that may repair nothing": {func(f *facts.Snapshot) {
			h := clusterv1.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Name: "h", Namespace: "default"}}
			h.Status.Targets = []string{"m"}
			h.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineHealthCheckRemediationAllowedCondition,
				Status: metav1.ConditionFalse, Reason: clusterv1.MachineHealthCheckTooManyUnhealthyReason, Message: "total: 3, unhealthy: 2"}}
			h.Spec.Remediation.TriggerIf.UnhealthyInRange = "[0-1]"
			f.HealthChecks = []clusterv1.MachineHealthCheck{h}
			f.Machines[0].Status.Conditions = append(f.Machines[0].Status.Conditions, metav1.Condition{
				Type: clusterv1.MachineHealthCheckSucceededCondition, Status: metav1.ConditionFalse, Reason: "UnhealthyNode",
				Message: "Ready is False"})
		}, "RemediationBlocked", "MachineHealthCheck/h", "spec.remediation.triggerIf.unhealthyInRange: [0-1]"},
		"a drain that a rule keeps for an hour": {func(f *facts.Snapshot) { waitsCompleted(f, time.Hour) }, "DrainRuleWaits", "Machine/m",
			"MachineDrainRule/batch-last: spec.drain.behavior: WaitCompleted; it selects Pod/p"},
		"a name that leads nowhere": {func(f *facts.Snapshot) {
			object("RoleBinding", map[string]any{})(f)
			f.Dangling = []facts.Reference{{From: "RoleBinding/x", Field: "roleRef", Kind: "ClusterRole", Name: "gone"}}
		}, "ClusterRoleMissing", "RoleBinding/x", "roleRef: ClusterRole /gone"},
		"a boot that is over and left no node": {func(f *facts.Snapshot) {
			console("Error: the moon is wrong\ncloud-init finished")(f)
			f.Machines[0].CreationTimestamp = metav1.NewTime(f.Taken.Add(-slowStatus - time.Second))
		}, "", "Machine/m", "the moon is wrong"},
		"a stuck machine and a pod that fits nowhere": {func(f *facts.Snapshot) {
			stuck := *f.Machines[0].DeepCopy()
			stuck.Name, stuck.Status.NodeRef.Name, stuck.CreationTimestamp = "stuck", "", past(f)
			f.Machines = append(f.Machines, stuck)
			f.Pods[0].Status.Phase, f.Pods[0].Spec.NodeName = corev1.PodPending, ""
			f.Pods[0].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
				Reason: "Unschedulable", Message: "0/1 nodes are available: 1 Insufficient cpu.", LastTransitionTime: metav1.NewTime(f.Taken)}}
		}, "Unschedulable", "Pod/p", "Insufficient cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			f.Taken = time.Now()
			test.inject(f)
			a := Cluster(f)
			kind, of, _ := strings.Cut(test.at, "/")
			if f.Asked != nil || kind == "DaemonSet" || kind == "StatefulSet" || kind == "Job" || kind == "Pod" || of == "s" {
				var err error
				if a, err = Object(f, facts.Object{Kind: kind, Name: of, Namespace: "default"}); err != nil {
					t.Fatal(err)
				}
			}
			if a.Healthy || a.Waiting || a.At != test.at || a.Means.Cause != test.cause || a.Means.Known != (test.cause != "") {
				t.Errorf("got %+v", a)
			}
			if !strings.Contains(strings.Join(a.Lines(), "\n"), test.line) {
				t.Errorf("%q was not seen: %q", test.line, a.Lines())
			}
			if a.Next() == "" || a.Means.Fix == "" {
				t.Errorf("no next command or no fix: %+v", a)
			}
			runs(t, a)
		})
	}
}

// TestQuiet: states of healthy objects, and of objects in transition, raise no alarm.
func TestQuiet(t *testing.T) {
	now := time.Now()
	recent := metav1.NewTime(now.Add(-time.Second))
	for name, inject := range map[string]func(*facts.Snapshot){
		"an HPA of a target without replicas": object("HorizontalPodAutoscaler", says("ScalingActive", "False",
			"ScalingDisabled", "replica count is zero")),
		"an HPA at its limit": object("HorizontalPodAutoscaler", says("ScalingLimited", "True",
			"TooManyReplicas", "the desired count is more")),
		"a pod that was read before the scheduler wrote its condition": func(f *facts.Snapshot) {
			p := &f.Pods[0]
			p.UID, p.CreationTimestamp, p.Spec.NodeName, p.Status.Phase = "p", recent, "", corev1.PodPending
			f.Warnings = []corev1.Event{{InvolvedObject: corev1.ObjectReference{UID: "p"}, Reason: "FailedScheduling",
				Message: "0/1 nodes are available: 1 node(s) had untolerated taint(s). preemption: 0/1 nodes are available: " +
					"1 Preemption is not helpful for scheduling."}}
		},
		"an object without a status":    object("Widget", map[string]any{}),
		"an object that is Ready":       object("Widget", says("Ready", "True", "Ready", "")),
		"an object that does not fail":  object("Widget", says("ReplicaFailure", "False", "", "")),
		"an object that does not scale": object("Widget", says("ScalingUp", "False", "NotScalingUp", "")),
		"an object that is not deleted": object("Widget", says("Deleting", "False", "NotDeleting", "")),
		"an object that is not paused":  object("Widget", says("Paused", "False", "NotPaused", "")),
		"a claim that waits for its first consumer": unbound(func(c *corev1.PersistentVolumeClaim) {
			c.Spec.StorageClassName = new("late")
		}),
		"an API server that answers in part": func(f *facts.Snapshot) {
			f.Unreachable, f.Slow = "context deadline exceeded", true
		},
		"a drain that a rule keeps":                      func(f *facts.Snapshot) { waitsCompleted(f, time.Minute) },
		"an object of another project without a verdict": custom("Widget", says("Active", "False", "Idle", "")),
		"an object of another project that ended long ago": custom("Run",
			map[string]any{"status": map[string]any{"phase": "Failed", "finishedAt": "x"}}),
		"an object of another project that is new": custom("Database", map[string]any{"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "status": "False", "reason": "Creating", "lastTransitionTime": now.UTC().Format(time.RFC3339)}}}}),
		"a health check that is restricted while nothing is unhealthy": func(f *facts.Snapshot) {
			h := clusterv1.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Name: "h", Namespace: "default"}}
			h.Status.Targets = []string{f.Machines[0].Name}
			h.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineHealthCheckRemediationAllowedCondition,
				Status: metav1.ConditionFalse, Reason: clusterv1.MachineHealthCheckTooManyUnhealthyReason}}
			f.HealthChecks = []clusterv1.MachineHealthCheck{h}
		},
		"a claim whose class was made after it": func(f *facts.Snapshot) {
			unbound(func(c *corev1.PersistentVolumeClaim) { c.UID, c.Spec.StorageClassName = "claim", new("disk") })(f)
			f.Workloads.Classes = []storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "disk", CreationTimestamp: recent}}}
			f.Warnings = []corev1.Event{{InvolvedObject: corev1.ObjectReference{UID: "claim"}, Reason: "ProvisioningFailed",
				Message: `storageclass.storage.k8s.io "disk" not found`, LastTimestamp: recent}}
		},
		"a claim that was made just now":               unbound(func(c *corev1.PersistentVolumeClaim) { c.CreationTimestamp = recent }),
		"a device that no pod uses":                    object("ResourceClaim", map[string]any{}),
		"a volume that is bound":                       object("PersistentVolume", map[string]any{"status": map[string]any{"phase": "Bound"}}),
		"a health check that has replaced one machine": func(f *facts.Snapshot) { looping(f, 1) },
		"a CronJob whose Job runs": func(f *facts.Snapshot) {
			object("CronJob", map[string]any{"spec": map[string]any{"concurrencyPolicy": "Forbid"}})(f)
			f.Workloads.Jobs = []batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Name: "x-1", Namespace: "default", CreationTimestamp: recent,
				OwnerReferences: []metav1.OwnerReference{{UID: "asked", Controller: new(true)}}}, Status: batchv1.JobStatus{Active: 1}}}
		},
		"a pod that fits nowhere, of a cluster that is being deleted": func(f *facts.Snapshot) {
			f.Cluster.DeletionTimestamp = &recent
			waiting("CrashLoopBackOff", "back-off 10s restarting failed container")(f)
		},
		"a control plane whose former node is gone": func(f *facts.Snapshot) {
			f.ControlPlane = &controlplanev1.KubeadmControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "kcp"}}
			f.ControlPlane.Status.Conditions = []metav1.Condition{{Type: "ControlPlaneComponentsHealthy", Status: metav1.ConditionFalse,
				Reason: "NotHealthy", Message: "* Control plane Node former does not have a corresponding Machine",
				LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}}
		},
		"a cluster that is paused while nothing waits": func(f *facts.Snapshot) { f.Cluster.Spec.Paused = new(true) },
		"an API server that answers nothing in time, and did a moment ago": func(f *facts.Snapshot) {
			f.Unreachable = "Get \"https://x:6443/api/v1/pods\": context deadline exceeded"
			f.Cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1.ClusterRemoteConnectionProbeCondition, Status: metav1.ConditionTrue}}
		},
		"a service that stays on its node, and that no user asked for": local,
		"a CronJob that waits": object("CronJob", map[string]any{"spec": map[string]any{"schedule": "0 0 * * *"}}),
		"an object whose deletion begins": func(f *facts.Snapshot) {
			object("Widget", map[string]any{})(f)
			f.Asked.SetDeletionTimestamp(&recent)
		},
		"a pod that was created just now": func(f *facts.Snapshot) {
			f.Pods[0].CreationTimestamp, f.Pods[0].Spec.NodeName, f.Pods[0].Status.Phase = recent, "", corev1.PodPending
		},
		"a readiness gate that is new": func(f *facts.Snapshot) {
			f.Pods[0].CreationTimestamp = recent
			f.Pods[0].Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/lb"}}
		},
		"restarts of long ago": func(f *facts.Snapshot) {
			f.Pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{{Ready: true, RestartCount: 9,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3,
					FinishedAt: metav1.NewTime(now.Add(-24 * time.Hour))}}}}
		},
		"a container that ended once, a moment ago": func(f *facts.Snapshot) {
			waiting("CrashLoopBackOff", "back-off 10s restarting failed container")(f)
			f.Pods[0].Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
				ExitCode: 1, Reason: "Error", FinishedAt: recent}
		},
		"certificates of a year": func(f *facts.Snapshot) {
			f.Machines[0].Status.CertificatesExpiryDate = metav1.NewTime(now.AddDate(1, 0, 0))
		},
		"a VM of which a part is updating": readyBut(metav1.Condition{Type: "Synced", Status: metav1.ConditionFalse, Reason: "Updating"}),
		"a node that a detector finds well": func(f *facts.Snapshot) {
			f.Nodes["n"].Status.Conditions = append(f.Nodes["n"].Status.Conditions, corev1.NodeCondition{Type: "KernelDeadlock",
				Status: corev1.ConditionFalse})
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			f.Taken = now
			inject(f)
			a := Cluster(f)
			if f.Asked != nil {
				var err error
				if a, err = Object(f, facts.Object{Kind: f.Asked.GetKind(), Name: "x"}); err != nil {
					t.Fatal(err)
				}
			}
			if !a.Healthy && !a.Waiting {
				t.Errorf("%+v", a)
			}
		})
	}
}

// TestCommandsRun: a command about an object of the workload cluster names its kubeconfig, and placeholders are replaced.
func TestCommandsRun(t *testing.T) {
	f := healthy()
	waiting("CreateContainerConfigError", `configmap "settings" not found`)(f)
	a := Cluster(f)
	want := "casement get kubeconfig c --file c.kubeconfig && kubectl --kubeconfig c.kubeconfig describe pod p -n default"
	if a.Next() != want {
		t.Errorf("got %q, want %q", a.Next(), want)
	}
	f = healthy()
	f.AzureCluster.Spec.Location = "westeurope"
	vm("VMRunning", "SkuNotAvailable", "x")(f)
	if a := Cluster(f); !strings.Contains(a.Means.Fix, "--location westeurope") {
		t.Errorf("got %q", a.Means.Fix)
	}
}

// TestNoReplicas: the answer for a workload that requests no pods says so if a user names it, and is no fault.
func TestNoReplicas(t *testing.T) {
	f := healthy()
	f.Taken = time.Now()
	meta := metav1.ObjectMeta{Name: "x", Namespace: "default"}
	f.Workloads.Deployments = []appsv1.Deployment{{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: new(int32(0))}}}
	f.Workloads.StatefulSets = []appsv1.StatefulSet{{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(0))}}}
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		a, err := Object(f, facts.Object{Kind: kind, Name: "x", Namespace: "default"})
		if err != nil || !a.Waiting || !strings.Contains(a.Means.Says, "spec.replicas is 0") {
			t.Errorf("%s: %+v, %v", kind, a, err)
		}
	}
	if a := Cluster(f); !a.Healthy {
		t.Errorf("the cluster: %+v", a)
	}
}

// TestNearestNodeFirst: the fix begins with the reason that keeps the pod from the node that passed the most filters,
// and does not suggest machines if only a device plugin helps.
func TestNearestNodeFirst(t *testing.T) {
	for message, want := range map[string]string{
		"0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't match pod anti-affinity rules, " +
			"1 node(s) had untolerated taint(s).": "add nodes, or relax the pod's anti-affinity",
		"0/2 nodes are available: 1 Insufficient microsoft.com/directx, 1 node(s) had untolerated taint(s).": "run the device plugin",
		"0/2 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint(s).":                "lower the pod's requests",
		"0/2 nodes are available: 2 node(s) didn't match pod topology spread constraints (missing required label).": "label the " +
			"nodes with the topologyKey",
	} {
		f := healthy()
		a := walker{f}.misfit(&finding{Cause: "Unschedulable"}, &f.Pods[0], message)
		if !strings.HasPrefix(a.Fix, want) || strings.Contains(a.Fix, "domain") {
			t.Errorf("%s\ngot %q, want %q first", message, a.Fix, want)
		}
	}
}
