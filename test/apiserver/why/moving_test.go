package why

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/walk"
)

// justNow returns the time one minute before the facts are read.
func justNow() metav1.Time { return metav1.NewTime(time.Now().Add(old - time.Minute)) }

// lately returns a condition that has changed one minute before the facts are read.
func lately(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	c := is(kind, status, reason, message)
	c.LastTransitionTime = justNow()
	return c
}

// vmSays makes the worker's VM report a condition that is one minute old.
func vmSays(kind, reason, message string) func(*scene) {
	return func(s *scene) {
		s.vm.SetConditions([]metav1.Condition{lately(clusterv1.ReadyCondition, metav1.ConditionFalse, reason, message),
			lately(kind, metav1.ConditionFalse, reason, message)})
	}
}

// TestMoving checks that healthy states and states that are in progress raise no alarm.
func TestMoving(t *testing.T) {
	c := connect(t)
	prepare(t, c)
	for name, change := range map[string]func(*scene){
		"a VM that is created": vmSays(infrav1.VMRunningCondition, "Creating", "virtual machine md-0 is Creating"),
		"a VM that is updated": vmSays(infrav1.VMRunningCondition, "Updating", "1 of 2 Azure resources done"),
		"Azure that is busy": vmSays(infrav1.VMRunningCondition, "AnotherOperationInProgress",
			"Another operation on this or dependent resource is in progress"),
		"Azure that fails for a moment": vmSays(infrav1.NetworkInterfaceReadyCondition, "Transient", "cannot read the interface: 503"),
		"a network that is made": func(s *scene) {
			s.azure.SetConditions([]metav1.Condition{lately(infrav1.NetworkInfrastructureReadyCondition, metav1.ConditionFalse, "Creating",
				"3 of 9")})
		},
		"a cluster that is not available since a minute": func(s *scene) {
			s.cluster.Status.Conditions = []metav1.Condition{lately(clusterv1.ClusterAvailableCondition, metav1.ConditionFalse, "NotAvailable", "x")}
		},
		"etcd of which nothing is known since a minute": func(s *scene) {
			s.controlPlane.Status.Conditions = []metav1.Condition{lately(controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition,
				metav1.ConditionUnknown, "HealthUnknown", "* Machine cp-0: not yet reported")}
		},
		"a container that has just started": func(s *scene) {
			r := &s.pod.Status.ContainerStatuses[0]
			r.Ready, r.State.Running.StartedAt = false, metav1.NewTime(time.Now().Add(old-30*time.Second))
			s.events = []event{{s.pod, "Unhealthy", "Readiness probe failed: connection refused"}}
		},
		"a container that ended once": func(s *scene) {
			waits("CrashLoopBackOff", "back-off 10s restarting failed container=web")(s)
			s.pod.Status.Phase = corev1.PodRunning
			s.pod.Status.ContainerStatuses[0].RestartCount = 1
			s.pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error",
				FinishedAt: metav1.NewTime(time.Now().Add(old - 10*time.Second))}
		},
		"a pod of which an event once warned": func(s *scene) {
			s.events = []event{{s.pod, "FailedMount", `MountVolume.SetUp failed for volume "tls" : secret "x" not found`}}
		},
		"a claim that a warning of three hours ago was about": func(s *scene) {
			claims("ProvisioningFailed", `storageclass.storage.k8s.io "fast" not found`)(s)
			s.at = -old
			s.more = append(s.more, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "disk.csi.azure.com"})
		},
		"a quota that was used up an hour ago": func(s *scene) {
			s.at = -time.Hour
			d := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "db"}}
			d.Spec.Selector, d.Spec.Template = s.web.Spec.Selector, s.web.Spec.Template
			d.Spec.Replicas, d.Status.Replicas = new(int32(2)), 2
			s.more, s.events = append(s.more, d), []event{{d, "FailedCreate", "is forbidden: exceeded quota: small"}}
		},
		"a Job that is done": func(s *scene) {
			j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "done"}}
			j.Spec.Template.Spec = *s.web.Spec.Template.Spec.DeepCopy()
			j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
			j.Status.Succeeded, j.Status.StartTime, j.Status.CompletionTime = 1, new(past()), new(past())
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue,
				LastTransitionTime: past()},
				{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: past()}}
			s.more = append(s.more, j)
		},
		"a policy that denies all": func(s *scene) {
			p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "deny"}}
			p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
			s.more = append(s.more, p)
		},
		"a Deployment without replicas": func(s *scene) {
			s.web.Spec.Replicas, s.replicas.Spec.Replicas, s.replicas.Status.Replicas = new(int32(0)), new(int32(0)), 0
			s.gone = append(s.gone, s.pod)
		},
		"a node that is cordoned": func(s *scene) { s.node.Spec.Unschedulable = true },
		"a node that a detector finds well": func(s *scene) {
			s.node.Status.Conditions = append(s.node.Status.Conditions, corev1.NodeCondition{Type: "KernelDeadlock", Status: corev1.ConditionFalse,
				Reason: "KernelHasNoDeadlock", LastTransitionTime: past()})
		},
		"a MachineDeployment that scales since a minute": func(s *scene) {
			s.deployment.Status.Conditions = []metav1.Condition{lately(clusterv1.MachineDeploymentAvailableCondition, metav1.ConditionFalse,
				"NotAvailable", "0 available replicas, at least 1 required")}
			s.asked = "md/md"
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := well()
			s.kubeconfig = kubeconfigOf(t, server)
			change(s)
			s.store(t, c)
			f, object := s.read(t, c)
			if f.More != nil {
				if err := f.More(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			a, err := walk.Object(f, object)
			if err != nil || !a.Healthy && !a.Waiting || len(a.Also) > 0 {
				t.Errorf("an alarm: %+v, %v", a, err)
			}
		})
	}
}
