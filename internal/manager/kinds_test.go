package manager

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// TestMissingKinds: what is not served is named, a whole group included.
func TestMissingKinds(t *testing.T) {
	client := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}}
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
	client.Resources = []*metav1.APIResourceList{ours}
	missing, err := missingKinds(client)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"AzureMachine.infrastructure.cluster.x-k8s.io", "Cluster.cluster.x-k8s.io", "Machine.cluster.x-k8s.io"}, missing); diff != "" {
		t.Error(diff)
	}
}
