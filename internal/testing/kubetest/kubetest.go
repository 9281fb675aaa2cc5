// Package kubetest runs one real API server for all tests of a test binary. Only tests import it.
package kubetest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"casement.dev/casement/internal/kubeproc"
)

// Main runs the tests of a package with one plane for all of them, and returns the exit code for os.Exit. The plane has
// ended when it returns.
func Main(m *testing.M, use func(*kubeproc.Plane) error) int {
	dir, err := os.MkdirTemp("", "kubetest")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	plane, err := kubeproc.Start(ctx, kubeproc.Config{Dir: dir})
	if err != nil {
		return fail(err)
	}
	defer plane.Stop(ctx)
	if err := plane.StartControllerManager(ctx); err != nil {
		return fail(err)
	}
	if err := use(plane); err != nil {
		return fail(err)
	}
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "kubetest:", err)
	return 1
}

// Warnings collects the API server's warnings to a client. It has to be set as the WarningHandler of the client's
// configuration.
type Warnings struct {
	mu   sync.Mutex
	list []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *Warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

// Take returns the warnings since the last call.
func (w *Warnings) Take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.list = nil }()
	return w.list
}

// InstallCRDs installs kinds and waits until reads from the API server's caches show writes. A cache is created at the
// first request for a kind, and its watch may begin 100 ms late.
func InstallCRDs(ctx context.Context, cfg *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	if err := kubeproc.InstallCRDs(ctx, cfg, crds); err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return err
	}
	for _, crd := range crds {
		for _, v := range crd.Spec.Versions {
			if !v.Storage {
				continue
			}
			kind := schema.GroupVersionResource{Group: crd.Spec.Group, Version: v.Name, Resource: crd.Spec.Names.Plural}
			// A cache answers a consistent read only when it is up to date.
			if _, err := client.Resource(kind).List(ctx, metav1.ListOptions{}); err != nil {
				return fmt.Errorf("list %s: %w", crd.Name, err)
			}
		}
	}
	return nil
}
