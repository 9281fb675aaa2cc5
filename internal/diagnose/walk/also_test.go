package walk

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"

	"casement.dev/casement/internal/diagnose/facts"
)

// TestAlso: other faults are listed after the first one, each cause once, and only those that belong to the object.
func TestAlso(t *testing.T) {
	f := healthy()
	vm("VMRunning", "QuotaExceeded", "the quota is used up")(f)
	for _, name := range []string{"a", "b"} {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
		p.Status.Phase = corev1.PodPending
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: `configmap "settings" not found`}}}}
		f.Pods = append(f.Pods, p)
	}
	f.ControlPlane = &controlplanev1.KubeadmControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "kcp", Generation: 3}}
	f.ControlPlane.Status.ObservedGeneration = 2
	a := Cluster(f)
	if a.Means.Cause != "QuotaExceeded" || len(a.Also) != 2 {
		t.Fatalf("got %+v", a)
	}
	if pods := a.Also[0]; pods.At != "Pod/a" || !strings.Contains(pods.Line, "(and so 1 more)") || pods.Reason == "" ||
		!strings.Contains(pods.Show, "--kubeconfig") {
		t.Errorf("got %+v", pods)
	}
	if old := a.Also[1]; old.Reason != "OldGeneration" {
		t.Errorf("got %+v", old)
	}
	own, err := Object(f, facts.Object{Kind: "Machine", Name: "m"})
	if err != nil || len(own.Also) != 0 {
		t.Errorf("of the machine alone: %+v, %v", own.Also, err)
	}
	if well := Cluster(healthy()); well.Also != nil {
		t.Errorf("of a cluster that is well: %+v", well.Also)
	}
}
