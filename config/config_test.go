package config

import (
	"slices"
	"strings"
	"testing"
)

func TestCRDs(t *testing.T) {
	crds, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, crd := range crds {
		kinds = append(kinds, crd.Spec.Names.Kind)
		// Cluster API looks for the newest contract among these labels.
		for _, contract := range []string{"v1beta1", "v1beta2"} {
			if got := crd.Labels["cluster.x-k8s.io/"+contract]; got != "v1beta1" {
				t.Errorf("%s: contract %s is served by %q, want v1beta1", crd.Name, contract, got)
			}
		}
		if !slices.Contains(crd.Spec.Names.Categories, "cluster-api") {
			t.Errorf("%s is not in the category cluster-api", crd.Name)
		}
	}
	for _, want := range []string{"AzureCluster", "AzureClusterIdentity", "AzureClusterTemplate", "AzureMachine", "AzureMachineTemplate"} {
		if !slices.Contains(kinds, want) {
			t.Errorf("no CRD of %s among %v", want, kinds)
		}
	}
}

// TestWebhooks: every kind is validated, at the path where controller-runtime serves it.
func TestWebhooks(t *testing.T) {
	mutating, validating, err := Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	crds, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{}
	for _, w := range mutating.Webhooks {
		paths[*w.ClientConfig.Service.Path] = true
	}
	for _, w := range validating.Webhooks {
		paths[*w.ClientConfig.Service.Path] = true
	}
	for _, crd := range crds {
		path := "-infrastructure-cluster-x-k8s-io-v1beta1-" + strings.ToLower(crd.Spec.Names.Kind)
		if !paths["/validate"+path] {
			t.Errorf("%s is not validated", crd.Spec.Names.Kind)
		}
		if !slices.Contains([]string{"AzureClusterIdentity", "AzureMachinePoolMachine", "AzureMachinePoolTemplate"},
			crd.Spec.Names.Kind) && !paths["/mutate"+path] {
			t.Errorf("%s is not defaulted", crd.Spec.Names.Kind)
		}
	}
}
