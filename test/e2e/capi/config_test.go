//go:build e2e

package capi

import (
	"os"
	"testing"

	"github.com/onsi/gomega"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	clusterctlconfig "sigs.k8s.io/cluster-api/cmd/clusterctl/client/config"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/repository"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
)

// TestConfig checks that the framework accepts azure.yaml with the files of `make provider`.
func TestConfig(t *testing.T) {
	gomega.RegisterTestingT(t)
	c := clusterctl.LoadE2EConfig(t.Context(), clusterctl.LoadE2EConfigInput{ConfigPath: "azure.yaml"})
	if got := c.InfrastructureProviders(); len(got) != 1 || got[0] != "azure" {
		t.Errorf("infrastructure providers %q", got)
	}
}

// TestProviderNames checks that clusterctl accepts the components under the name azure, which users
// of CAPZ have in their commands, and under casement's own name with a provider list, and that it
// labels every object with the name.
func TestProviderNames(t *testing.T) {
	raw, err := os.ReadFile("../../../bin/provider/infrastructure-components.yaml")
	if err != nil {
		t.Fatalf("%v: make provider writes it", err)
	}
	client, err := clusterctlconfig.New(t.Context(), "", clusterctlconfig.InjectReader(clusterctlconfig.NewMemoryReader()))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"azure", "casement-azure"} {
		components, err := repository.NewComponents(repository.ComponentsInput{
			Provider: clusterctlconfig.NewProvider(name, "https://example.com/casement/releases/latest/infrastructure-components.yaml",
				clusterctlv1.InfrastructureProviderType),
			ConfigClient: client, Processor: yamlprocessor.NewSimpleProcessor(), RawYaml: raw,
			Options: repository.ComponentsOptions{Version: "v0.1.0"},
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := components.TargetNamespace(); got != "casement-system" || len(components.Objs()) < 20 {
			t.Errorf("%s: %d objects in namespace %q", name, len(components.Objs()), got)
		}
		for _, o := range components.Objs() {
			if got := o.GetLabels()["cluster.x-k8s.io/provider"]; got != "infrastructure-"+name {
				t.Errorf("%s: %s %s is labelled %q", name, o.GetKind(), o.GetName(), got)
			}
		}
	}
}
