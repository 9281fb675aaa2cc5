package shell_test

import (
	"bytes"
	"net/netip"
	"testing"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// twoPods is a node with one pod, which is a backend of a Service beside one of another node.
type twoPods struct{}

func (twoPods) Endpoints() []machine.HNSEndpoint {
	return []machine.HNSEndpoint{{Name: "default/iis", IP: netip.MustParseAddr("192.168.1.4")},
		{IP: netip.MustParseAddr("192.168.2.4"), Remote: true}}
}

func (twoPods) Balancers() []machine.HNSBalancer {
	return []machine.HNSBalancer{{VIPs: []netip.Addr{netip.MustParseAddr("10.96.0.7")}, Port: 80, Target: 8080,
		Endpoints: []netip.Addr{netip.MustParseAddr("192.168.1.4"), netip.MustParseAddr("192.168.2.4")}}}
}

func (twoPods) Processes() []machine.PodProcess { return nil }

// TestHNS: the networks are those of the CNI, and endpoints and policies those of its pods and Services.
func TestHNS(t *testing.T) {
	for name, c := range map[string]struct {
		file, config string
		networks     string
		endpoints    string
	}{
		"none":      {"", "", "\r\n", "0\r\n"},
		"Calico":    {"10-calico.conflist", `{"plugins":[{"type":"calico","mode":"vxlan"}]}`, "Calico:Overlay,External:Overlay\r\n", "2\r\n"},
		"Azure CNI": {"10-azure.conflist", `{"name":"azure","plugins":[{"type":"azure-vnet","mode":"bridge"}]}`, "azure:L2Bridge\r\n", "2\r\n"},
		"Flannel": {"10-flannel.conf", `{"type":"flannel","delegate":{"type":"win-overlay"}}`,
			"External:Overlay,flannel.4096:Overlay\r\n", "2\r\n"},
		"win-bridge":  {"10-flannel.conf", `{"type":"flannel","delegate":{"type":"win-bridge"}}`, "cbr0:L2Bridge\r\n", "2\r\n"},
		"no CNI file": {"readme.txt", `{"type":"flannel"}`, "\r\n", "0\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, machine.Windows, machine.NSSM)
			m.Pods = twoPods{}
			if c.file != "" {
				if err := m.Root.MkdirAll(`C:\etc\cni\net.d`); err != nil {
					t.Fatal(err)
				}
				if err := m.Root.WriteFile(`C:\etc\cni\net.d\`+c.file, []byte(c.config), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			m.Services.StartAutomatic()
			sh := shell.New(m, nil, nil)
			run := func(script, want string) {
				t.Helper()
				var out bytes.Buffer
				if sh.PowerShell(t.Context(), script, shell.Session{Stdout: &out, Stderr: &out}); out.String() != want {
					t.Errorf("%s: %q, want %q", script, out.String(), want)
				}
			}
			run(`(Get-HnsNetwork | % { $_.Name + ':' + $_.Type }) -join ','`, c.networks)
			run(`@(Get-HnsEndpoint).Count`, c.endpoints)
			if c.endpoints == "2\r\n" {
				run(`(Get-HnsEndpoint | ? IsRemoteEndpoint -ne $true).IPAddress`, "192.168.1.4\r\n")
				run(`$p = Get-HnsPolicyList; "$($p.Policies.VIPs) $($p.Policies.ExternalPort) $($p.References.Count)"`, "10.96.0.7 80 2\r\n")
				run(`(Get-HnsPolicyList).References[0] -eq '/endpoints/' + (Get-HnsEndpoint)[0].ID`, "True\r\n")
			}
		})
	}
}

// TestNetplanMTU: eth0 has the MTU of the netplan file from netplan apply on, and the one that ip sets.
func TestNetplanMTU(t *testing.T) {
	m := newMachine(t, machine.Linux, "")
	const netplan = "network:\n  version: 2\n  ethernets:\n    eth0:\n      mtu: 1400\n"
	if err := m.Root.WriteFile("/etc/netplan/60-eth0.yaml", []byte(netplan), 0o600); err != nil {
		t.Fatal(err)
	}
	sh := shell.New(m, nil, nil)
	for _, c := range []struct{ script, want string }{
		{"ip -o link show eth0 | cut -d' ' -f4-5", "mtu 1500\n"},
		{"netplan apply; ip -o link show eth0 | cut -d' ' -f4-5", "mtu 1400\n"},
		{"ip link set dev eth0 mtu 1350; ip -o link show eth0 | cut -d' ' -f4-5", "mtu 1350\n"},
		{"ip link set eth0 mtu 7; echo $?", "Error: mtu 7 is out of the device's range.\n2\n"},
	} {
		var out bytes.Buffer
		if sh.Run(t.Context(), c.script, shell.Session{Stdout: &out, Stderr: &out}); out.String() != c.want {
			t.Errorf("%s: %q, want %q", c.script, out.String(), c.want)
		}
	}
}
