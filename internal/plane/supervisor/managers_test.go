package supervisor

import (
	"testing"

	"casement.dev/casement/config"
	"casement.dev/casement/internal/capi"
)

// TestClusterctlLabel: every CRD of the plane's providers has the label by which clusterctl finds it.
func TestClusterctlLabel(t *testing.T) {
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	providers, err := capi.Manifests("127.0.0.1", capi.Ports{}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range providers {
		crds = append(crds, p.CRDs...)
	}
	labelForClusterctl(crds)
	for _, crd := range crds {
		if _, ok := crd.Labels[clusterctlLabel]; !ok {
			t.Errorf("%s has no label %s: clusterctl does not find it", crd.Name, clusterctlLabel)
		}
	}
}
