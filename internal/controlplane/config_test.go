package controlplane

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/kubernetes/cmd/kubeadm/app/features"
)

func TestDropLostGates(t *testing.T) {
	in := "kind: ClusterConfiguration\nfeatureGates:\n  ControlPlaneKubeletLocalMode: true\n  Other: true\n---\nkind: InitConfiguration\n"
	out, dropped, err := dropLostGates([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(dropped, []string{"ControlPlaneKubeletLocalMode"}) ||
		strings.Contains(string(out), "LocalMode") || !strings.Contains(string(out), "Other: true") ||
		!strings.Contains(string(out), "InitConfiguration") {
		t.Errorf("dropped %v of\n%s", dropped, out)
	}
	for _, gate := range lostGates {
		if _, known := features.InitFeatureGates[gate]; known {
			t.Errorf("kubeadm knows %s: it is not lost", gate)
		}
	}
}

func TestInitConfigurationOfJoin(t *testing.T) {
	out, err := initConfiguration([]byte("apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n" +
		"discovery: {bootstrapToken: {token: secret}}\ncontrolPlane: {localAPIEndpoint: {bindPort: 6443}}\n" +
		"nodeRegistration: {name: node-1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kind: InitConfiguration", "bindPort: 6443", "name: node-1"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(string(out), "secret") {
		t.Error("the token is carried over")
	}
	if _, err := initConfiguration([]byte("kind: Other\n")); err == nil {
		t.Error("a file without a JoinConfiguration is taken")
	}
}
