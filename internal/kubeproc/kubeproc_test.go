package kubeproc_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// TestPlane starts a plane, uses it, and starts it again with the data in the same directory.
func TestPlane(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	start := func() (*kubeproc.Plane, kubernetes.Interface) {
		t.Helper()
		plane, err := kubeproc.Start(ctx, kubeproc.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { plane.Stop(context.Background()) })
		if err := plane.StartControllerManager(ctx); err != nil {
			t.Fatal(err)
		}
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
	servesIdle(t, client)
	// Garbage collection and namespace deletion need the controller manager.
	namespaces := client.CoreV1().Namespaces()
	if _, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gone"}},
		metav1.CreateOptions{}); err != nil {
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
	if _, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kept"}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	before := plane.Server()
	var pids []int
	for _, p := range plane.Processes() {
		pids = append(pids, p.State().PID)
	}
	plane.Stop(ctx)
	for _, pid := range pids {
		if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err == nil {
			t.Errorf("process %d is left", pid)
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

// servesIdle fails the test if a resource without a watch cache does not belong to Kubernetes or casement. The kinds of
// Cluster API and of addons are not installed here.
func servesIdle(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	_, lists, err := client.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]bool{}
	for _, list := range lists {
		group, _, versioned := strings.Cut(list.GroupVersion, "/")
		for _, r := range list.APIResources {
			if name := r.Name + "." + group; versioned {
				served[name] = true
			} else {
				served[r.Name] = true
			}
		}
	}
	flags := kubeproc.IdleFlags()
	_, sizes, _ := strings.Cut(flags[len(flags)-1], "=")
	for name := range strings.SplitSeq(sizes, ",") {
		name = strings.TrimSuffix(name, "#0")
		_, group, _ := strings.Cut(name, ".")
		ours := group == "infrastructure.cluster.x-k8s.io" || !strings.HasSuffix(group, ".x-k8s.io") && group != "crd.projectcalico.org"
		if ours && !served[name] {
			t.Errorf("idle.go names %s, which is not served", name)
		}
	}
}

// TestDamagedEtcd: a start that cannot succeed ends with its reason, and a slow start continues.
func TestDamagedEtcd(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "etcd", "member", "snap", "db")
	if err := os.MkdirAll(filepath.Dir(db), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(db, bytes.Repeat([]byte("no database "), 1<<12), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := kubeproc.Start(t.Context(), kubeproc.Config{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "its data in "+filepath.Join(dir, "etcd")+" may be damaged") {
		t.Errorf("a plane over a damaged database: %v", err)
	}
}

func TestDamagedPort(t *testing.T) {
	file := filepath.Join(t.TempDir(), "port")
	if err := os.WriteFile(file, []byte("54x"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(file)
	plane, err := kubeproc.Start(t.Context(), kubeproc.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	plane.Stop(t.Context())
	if data, err := os.ReadFile(file + ".damaged"); string(data) != "54x" {
		t.Errorf("the damaged file was not put aside: %q, %v", data, err)
	}
}
