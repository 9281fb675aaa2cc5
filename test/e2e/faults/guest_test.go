package faults

import (
	"bytes"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/checks"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
	"casement.dev/casement/internal/sim/guest"
)

// TestProbesInGuests runs the probes of why and doctor for Windows nodes in a guest with each fault
// that a probe in the guest can find, and then runs the remedy, if there is one.
func TestProbesInGuests(t *testing.T) {
	for _, test := range []struct{ fault, cause, check string }{
		{"", "", ""},
		{"kubelet-stopped", "ServiceStopped", "D31"},
		{"runtime-down", "ServiceStopped", "D33"},
		{"kubelet-manual", "ServiceNotAutomatic", "D02"},
		{"source-vip", "SourceVIPMissing", "D24"},
		{"hns-leak", "HNSLeak", "D25"},
		{"hns-stopped", "HNSStopped", "D25"},
		{"mtu", "MTUTooSmall", "D26"},
		{"port-exhaustion", "PortsExhausted", "D35"},
		{"metadata-blocked", "MetadataBlocked", "D32"},
		{"no-management-ip", "ManagementIPMissing", "D08"},
		{"own-node-port", "OwnNodePort", "D05"},
		{"service-from-node", "ServiceFromNode", "D10"},
		{"cni-exceptions", "ExceptionListTooWide", "D04"},
		{"cni-dns", "ClusterDNSMissing", "D13"},
		{"source-vip-stale", "SourceVIPStale", "D07"},
	} {
		t.Run("has "+test.fault, func(t *testing.T) {
			g := windowsGuest(t)
			a, known := guest.FindFault(test.fault)
			if known != (test.fault != "") {
				t.Fatalf("guest fault %q: known %v", test.fault, known)
			}
			if err := g.Inject(a); err != nil {
				t.Fatal(err)
			}
			answers, failed := examine(t, g)
			if test.cause == "" {
				if len(answers) > 0 || len(failed) > 0 {
					t.Errorf("of a healthy guest: %+v, %v", answers, failed)
				}
				return
			}
			if len(answers) != 1 || answers[0].Means.Cause != test.cause || !slices.Contains(failed, test.check) {
				t.Fatalf("got %+v, %v; want %s, %s", answers, failed, test.cause, test.check)
			}
			if remedy := answers[0].Means.Remedy; remedy != "" {
				g.Exec(t.Context(), remedy, nil, nil, nil)
				if answers, _ := examine(t, g); len(answers) > 0 {
					t.Errorf("%s does not repair it: %+v", remedy, answers)
				}
			}
			if err := g.Inject(a); err != nil {
				t.Fatal(err)
			}
			if err := g.Heal(a); err != nil {
				t.Fatal(err)
			}
			if answers, _ := examine(t, g); len(answers) > 0 {
				t.Errorf("it is not healed: %+v", answers)
			}
		})
	}
}

func windowsGuest(t *testing.T) *guest.Guest {
	t.Helper()
	g, err := guest.New(guest.Config{Machine: guest.Machine{ID: "/vm", Dir: t.TempDir(), OS: guest.Windows, ComputerName: "win-1",
		Image: guest.Image{Name: "Windows Server 2022 Datacenter", Release: "2022", Build: "10.0.20348.2700",
			KubernetesVersion: "v1.34.2", Runtime: "containerd", RuntimeVersion: "2.1.4"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	g.Services().StartAutomatic()
	if err := g.Machine().Root.WriteFile(`C:\etc\cni\net.d\10-calico.conflist`, []byte(calico), 0o644); err != nil {
		t.Fatal(err)
	}
	return g
}

// calico is a valid CNI configuration.
const calico = `{"name": "Calico", "cniVersion": "0.3.1", "plugins": [{"type": "calico",
"dns": {"Nameservers": ["10.96.0.10"], "Search": ["svc.cluster.local"]},
"policies": [{"name": "EndpointPolicy", "value": {"Type": "OutBoundNAT", "ExceptionList": ["10.96.0.0/12", "168.63.129.16/32"]}}]}]}`

// examine runs the probes and returns the answers of why and the failed checks of doctor.
func examine(t *testing.T, g *guest.Guest) (answers []walk.Answer, failed []string) {
	t.Helper()
	var out bytes.Buffer
	g.Exec(t.Context(), walk.Script(), nil, &out, nil)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "win-1"}}
	n.Spec.ProviderID, n.Status.NodeInfo.OperatingSystem = "azure:///vm", "windows"
	cluster := &clusterv1.Cluster{}
	cluster.Spec.ClusterNetwork.Pods.CIDRBlocks, cluster.Spec.ClusterNetwork.Services.CIDRBlocks = []string{
		"192.168.0.0/16",
	}, []string{"10.96.0.0/12"}
	f := &facts.Snapshot{Cluster: cluster, Nodes: map[string]*corev1.Node{"win-1": n},
		Inside: map[string]facts.Inside{"win-1": walk.ParseInside(out.String())}}
	for _, r := range checks.Examine(f, nil) {
		if r.Verdict == checks.Failed {
			failed = append(failed, r.ID)
		}
	}
	return walk.All(f), failed
}

// TestCorrupt checks that exactly the guest faults of the first boot change the custom data.
func TestCorrupt(t *testing.T) {
	const data = `## template: jinja
#cloud-config
write_files:
- path: /run/kubeadm/kubeadm-join-config.yaml
  content: |
    discovery:
      bootstrapToken:
        caCertHashes:
        - sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
        token: abcdef.0123456789abcdef
    nodeRegistration:
      criSocket: npipe:////./pipe/containerd-containerd
      kubeletExtraArgs:
      - name: cloud-provider
        value: external
      name: '{{ ds.meta_data["local_hostname"] }}'
`
	for _, a := range guest.Faults() {
		if got := string(a.Corrupt([]byte(data))); (got != data) != a.Boot() {
			t.Errorf("%s of the first boot: %v; custom data:\n%s", a.Name, a.Boot(), got)
		}
	}
}
