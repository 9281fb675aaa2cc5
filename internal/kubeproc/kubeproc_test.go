package kubeproc_test

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"casement.dev/casement/config"
	"casement.dev/casement/internal/kubeproc"
)

// TestPlane starts a plane, uses it, and takes its data up again on the same
// directory.
func TestPlane(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	start := func() (*kubeproc.Plane, kubernetes.Interface) {
		t.Helper()
		plane, err := kubeproc.Start(ctx, kubeproc.Config{Dir: dir, ControllerManager: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { plane.Stop(context.Background()) })
		client, err := kubernetes.NewForConfig(plane.Config())
		if err != nil {
			t.Fatal(err)
		}
		return plane, client
	}
	plane, client := start()
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	if err := kubeproc.InstallCRDs(ctx, plane.Config(), crds); err != nil {
		t.Fatal(err)
	}
	// Garbage collection and namespace deletion need the controller manager.
	namespaces := client.CoreV1().Namespaces()
	if _, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gone"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := namespaces.Delete(ctx, "gone", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := namespaces.Get(ctx, "gone", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	if err != nil {
		t.Errorf("the namespace was not deleted: %v", err)
	}
	if _, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	before, processes := plane.Server(), plane.Processes()
	plane.Stop(ctx)
	for _, p := range processes {
		if _, err := os.Stat("/proc/" + strconv.Itoa(p.PID)); err == nil {
			t.Errorf("process %d is left", p.PID)
		}
	}

	plane, client = start()
	if plane.Server() != before {
		t.Errorf("the server moved from %s to %s", before, plane.Server())
	}
	if _, err := client.CoreV1().Namespaces().Get(ctx, "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("the data was not resumed again: %v", err)
	}
}
