package capi

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestServedVersions(t *testing.T) {
	providers, err := Manifests("127.0.0.1", Ports{}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, p := range providers {
		for _, crd := range p.CRDs {
			kinds[crd.Spec.Names.Kind] = crd
		}
	}
	for kind, want := range map[string]map[string]bool{
		"Cluster":                   {"v1beta1": true, "v1beta2": true},
		"MachineDeployment":         {"v1beta1": true, "v1beta2": true},
		"KubeadmConfig":             {"v1beta1": true, "v1beta2": true},
		"Machine":                   {"v1beta2": true},
		"MachineSet":                {"v1beta2": true},
		"ClusterResourceSetBinding": {"v1beta2": true},
	} {
		if kinds[kind] == nil {
			t.Errorf("there is no kind %s", kind)
			continue
		}
		for _, v := range kinds[kind].Spec.Versions {
			if v.Served != want[v.Name] {
				t.Errorf("%s in %s: served is %v, want %v", kind, v.Name, v.Served, want[v.Name])
			}
		}
	}
}
