package manager

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// TestMissingKinds: the error names the kinds that are not served, also if a whole group is
// missing.
func TestMissingKinds(t *testing.T) {
	want, err := needed()
	if err != nil {
		t.Fatal(err)
	}
	ours := &metav1.APIResourceList{GroupVersion: infrav1.GroupVersion.String()}
	for _, kind := range want[infrav1.GroupVersion] {
		if kind != "AzureMachine" {
			ours.APIResources = append(ours.APIResources, metav1.APIResource{Kind: kind})
		}
	}
	missing, err := missingKinds(func(version string) (*metav1.APIResourceList, error) {
		if version != ours.GroupVersion {
			return nil, apierrors.NewNotFound(schema.GroupResource{}, version)
		}
		return ours, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"AzureMachine.infrastructure.cluster.x-k8s.io", "Cluster.cluster.x-k8s.io", "Machine.cluster.x-k8s.io",
	}, missing); diff != "" {
		t.Error(diff)
	}
}
