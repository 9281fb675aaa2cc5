package kubeproc_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	clientset "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"casement.dev/casement/config"
	"casement.dev/casement/internal/kubeproc"
)

// TestCRDs starts a plane with kinds and compares them with those that the API server creates from the same manifests.
// It then starts the plane again with a changed kind and an additional one.
func TestCRDs(t *testing.T) {
	all, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	dir, ctx := t.TempDir(), t.Context()
	start := func(crds []*apiextensionsv1.CustomResourceDefinition) (*kubeproc.Plane, clientset.Interface) {
		t.Helper()
		plane, err := kubeproc.Start(ctx, kubeproc.Config{Dir: dir, CRDs: func(ca []byte) ([]*apiextensionsv1.CustomResourceDefinition, error) {
			if len(ca) == 0 {
				t.Error("no CA")
			}
			return crds, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { plane.Stop(context.Background()) })
		client, err := clientset.NewForConfig(plane.Config())
		if err != nil {
			t.Fatal(err)
		}
		return plane, client
	}
	plane, client := start(all[1:])
	api := client.ApiextensionsV1().CustomResourceDefinitions()
	get := func(name string) *apiextensionsv1.CustomResourceDefinition {
		t.Helper()
		crd, err := api.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return crd
	}
	name := all[1].Name
	given := get(name)
	if err := kubeproc.InstallCRDs(ctx, plane.Config(), all[1:]); err != nil {
		t.Fatal(err)
	}
	if again := get(name); again.ResourceVersion != given.ResourceVersion {
		t.Errorf("an installation of the same kind changed it: %s", cmp.Diff(given, again))
	}
	// Kubernetes 1.37 never finishes the deletion of a CRD whose objects it cannot list at first, if its next status
	// update meets a conflict.
	objects := []string{"/apis", given.Spec.Group, given.Spec.Versions[0].Name, given.Spec.Names.Plural}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 4*time.Minute, true, func(ctx context.Context) (bool, error) {
		return client.ApiextensionsV1().RESTClient().Get().AbsPath(objects...).Do(ctx).Error() == nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := api.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	var left *apiextensionsv1.CustomResourceDefinition
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 4*time.Minute, true, func(ctx context.Context) (bool, error) {
		crd, err := api.Get(ctx, name, metav1.GetOptions{})
		left = crd
		return apierrors.IsNotFound(err), nil
	})
	if err != nil {
		t.Fatalf("%v: the deleted CRD is still there, with %+v", err, left.Status.Conditions)
	}
	if err := kubeproc.InstallCRDs(ctx, plane.Config(), all[1:2]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(anyTime(get(name)), anyTime(given)); diff != "" {
		t.Errorf("the API server makes another CRD than the plane began with (-API server +plane): %s", diff)
	}
	plane.Stop(ctx)

	changed := all[1].DeepCopy()
	changed.Spec.Names.ShortNames = []string{"casetest"}
	_, client = start(append([]*apiextensionsv1.CustomResourceDefinition{all[0], changed}, all[2:]...))
	api = client.ApiextensionsV1().CustomResourceDefinitions()
	if got := get(name); got.Generation != given.Generation+1 || len(got.Spec.Names.ShortNames) != 1 {
		t.Errorf("the kind is of generation %d with the short names %v", got.Generation, got.Spec.Names.ShortNames)
	}
	if got := get(all[2].Name); got.Generation != 1 {
		t.Errorf("%s did not change and is of generation %d", got.Name, got.Generation)
	}
	get(all[0].Name)
}

// anyTime returns a CRD without the fields that differ between two CRDs of the same manifest.
func anyTime(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	crd = crd.DeepCopy()
	crd.UID, crd.ResourceVersion, crd.CreationTimestamp, crd.ManagedFields = "", "", metav1.Time{}, nil
	for i := range crd.Status.Conditions {
		crd.Status.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	return crd
}
