package controlplane

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kubeadmapi "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
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

// TestConvert checks that the embedded kubeadm reads v1beta3 for releases whose own kubeadm does, and refuses it for
// newer releases.
func TestConvert(t *testing.T) {
	const old = `apiVersion: kubeadm.k8s.io/v1beta3
kind: ClusterConfiguration
kubernetesVersion: v1.37.2
apiServer:
  extraArgs: {v: "4", audit-log-path: /var/log/audit.log}
  timeoutForControlPlane: 20m
etcd: {local: {extraArgs: {quota-backend-bytes: "8589934592"}}}
featureGates: {PublicKeysECDSA: true, NodeLocalCRISocket: true}
---
apiVersion: kubeadm.k8s.io/v1beta3
kind: InitConfiguration
localAPIEndpoint: {bindPort: 6443}
nodeRegistration:
  kubeletExtraArgs: {cloud-provider: external}
`
	o := options{root: t.TempDir(), nodeName: "a", addresses: []string{"10.0.0.4", "2001:db8::4"}, loopback: "127.0.0.4", out: io.Discard}
	cfg, err := o.load("v1.30.14", []byte(old))
	if err != nil {
		t.Fatal(err)
	}
	want := []kubeadmapi.Arg{{Name: "audit-log-path", Value: "/var/log/audit.log"}, {Name: "v", Value: "4"}}
	if diff := cmp.Diff(want, cfg.APIServer.ExtraArgs); diff != "" {
		t.Errorf("extraArgs of the API server: -want +got\n%s", diff)
	}
	if got := cfg.Etcd.Local.ExtraArgs; len(got) != 1 || got[0].Value != "8589934592" {
		t.Errorf("extraArgs of etcd are %v", got)
	}
	if got := cfg.NodeRegistration.KubeletExtraArgs; len(got) != 1 || got[0].Name != "cloud-provider" {
		t.Errorf("extraArgs of the kubelet are %v", got)
	}
	if got := cfg.Timeouts.ControlPlaneComponentHealthCheck.Duration; got != 20*time.Minute {
		t.Errorf("the API server has %s to start", got)
	}
	if cfg.EncryptionAlgorithm != kubeadmapi.EncryptionAlgorithmECDSAP256 {
		t.Errorf("keys are %s", cfg.EncryptionAlgorithm)
	}
	for _, asked := range []string{"v1.37.2", "v1.38.0-alpha.1"} {
		if _, err := o.load(asked, []byte(old)); err == nil || !strings.Contains(err.Error(), "old API spec") {
			t.Errorf("for %s: %v", asked, err)
		}
	}
}

// TestAdvertiseAddress: missing and unspecified addresses become the machine's, and a given address is kept.
func TestAdvertiseAddress(t *testing.T) {
	for asked, want := range map[string]string{"": "10.0.0.4", "0.0.0.0": "10.0.0.4", "'::'": "2001:db8::4", "10.9.9.9": "10.9.9.9"} {
		o := options{root: t.TempDir(), nodeName: "a", addresses: []string{"10.0.0.4", "2001:db8::4"}, loopback: "127.0.0.4", out: io.Discard}
		cfg, err := o.load("v1.37.2", []byte("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n---\n"+
			"apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nlocalAPIEndpoint: {advertiseAddress: "+asked+"}\n"))
		if err != nil || cfg.LocalAPIEndpoint.AdvertiseAddress != want {
			t.Errorf("%s: %q, %v", asked, cfg.LocalAPIEndpoint.AdvertiseAddress, err)
		}
	}
}
