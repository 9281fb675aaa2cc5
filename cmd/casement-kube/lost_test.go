package main

import (
	"slices"
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	kubeapiserver "k8s.io/kubernetes/pkg/kubeapiserver/options"

	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/sim/staticpod"
)

// TestEmbedded checks that the simulator has the release of the programs that are linked.
func TestEmbedded(t *testing.T) {
	if staticpod.Embedded != kuberelease.Minor() {
		t.Errorf("staticpod.Embedded is %s and go.mod has %s", staticpod.Embedded, kuberelease.Default)
	}
}

// TestLost: the embedded programs do not know the flags, feature gates and admission plugins that are dropped for older releases.
func TestLost(t *testing.T) {
	for program, command := range commands() {
		for _, name := range staticpod.LostFlags(program) {
			if command.Flags().Lookup(name) != nil {
				t.Errorf("%s has --%s: it is not lost", program, name)
			}
		}
	}
	etcd := etcdFlags()
	for _, name := range staticpod.LostFlags("etcd") {
		if etcd.Lookup(name) != nil {
			t.Errorf("etcd has --%s: it is not lost", name)
		}
	}
	gates := utilfeature.DefaultMutableFeatureGate.GetAllVersioned()
	for _, name := range staticpod.LostFeatureGates() {
		if _, known := gates[featuregate.Feature(name)]; known {
			t.Errorf("the programs know the feature gate %s: it is not lost", name)
		}
	}
	for _, name := range staticpod.LostAdmissionPlugins() {
		if slices.Contains(kubeapiserver.AllOrderedPlugins, name) {
			t.Errorf("the API server has the admission plugin %s: it is not lost", name)
		}
	}
}
