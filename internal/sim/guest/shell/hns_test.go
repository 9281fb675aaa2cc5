package shell_test

import (
	"bytes"
	"net/netip"
	"testing"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// twoPods is a node with one pod. The pod and a pod of another node are the backends of a Service.
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

func (twoPods) Ranges() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("192.168.1.0/26")}
}

// TestHNS checks that the networks are the CNI's, and that endpoints and policies belong to its pods and Services.
func TestHNS(t *testing.T) {
	for name, c := range map[string]struct {
		file, config string
		networks     string
		endpoints    string
		subnets      string
		endpoint     string // of the pod: prefix, gateway, name servers, search list and policies
	}{
		"none": {"", "", "\r\n", "0\r\n", "\r\n", ""},
		"Calico": {"10-calico.conflist", `{"plugins":[{"type":"calico","mode":"vxlan","vxlan_vni":4096,` +
			`"dns":{"Nameservers":["10.96.0.10"],"Search":["svc.cluster.local"]},"policies":[{"Name":"EndpointPolicy",` +
			`"Value":{"Type":"OutBoundNAT","ExceptionList":["10.96.0.0/12"]}}]}]}`, "Calico:Overlay,External:Overlay\r\n", "2\r\n",
			"192.168.1.0/26 192.168.1.1 4096,192.168.255.0/30 192.168.255.1 9999\r\n",
			"26 192.168.1.1 10.96.0.10 svc.cluster.local OutBoundNAT 10.96.0.0/12 50\r\n"},
		"Azure CNI": {"10-azure.conflist", `{"name":"azure","plugins":[{"type":"azure-vnet","mode":"bridge","AdditionalArgs":[` +
			`{"Name":"EndpointPolicy","Value":{"Type":"OutBoundNAT","ExceptionList":["10.1.0.0/16"]}}]}]}`, "azure:L2Bridge\r\n", "2\r\n",
			"10.1.0.0/16 10.1.0.1 \r\n", ""},
		"Flannel": {"10-flannel.conf", `{"type":"flannel","delegate":{"type":"win-overlay","policies":[` +
			`{"Name":"EndpointPolicy","Value":{"Type":"OutBoundNAT","ExceptionList":["10.96.0.0/12"]}}]}}`,
			"External:Overlay,flannel.4096:Overlay\r\n", "2\r\n",
			"192.168.255.0/30 192.168.255.1 9999,192.168.1.0/26 192.168.1.1 4096\r\n", "26 192.168.1.1   OutBoundNAT 10.96.0.0/12 50\r\n"},
		"win-bridge": {"10-flannel.conf", `{"type":"flannel","delegate":{"type":"win-bridge"}}`, "cbr0:L2Bridge\r\n", "2\r\n",
			"192.168.1.0/26 192.168.1.1 \r\n", "26 192.168.1.1     0\r\n"},
		"no CNI file": {"readme.txt", `{"type":"flannel"}`, "\r\n", "0\r\n", "\r\n", ""},
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
			run(`(Get-HnsNetwork | % Subnets | % { "$($_.AddressPrefix) $($_.GatewayAddress) $($_.Policies.VSID)" }) -join ','`, c.subnets)
			run(`@(Get-HnsEndpoint).Count`, c.endpoints)
			if c.endpoint != "" {
				run(`$e = @(Get-HnsEndpoint)[0]; "$($e.PrefixLength) $($e.GatewayAddress) $($e.DNSServerList) $($e.DNSSuffix) `+
					`$($e.Policies.Type) $($e.Policies.ExceptionList) $($e.EncapOverhead)"`, c.endpoint)
			}
			if c.endpoints == "2\r\n" {
				run(`(Get-HnsEndpoint | ? IsRemoteEndpoint -ne $true).IPAddress`, "192.168.1.4\r\n")
				run(`$p = Get-HnsPolicyList; "$($p.Policies.VIPs) $($p.Policies.ExternalPort) $($p.References.Count)"`, "10.96.0.7 80 2\r\n")
				run(`(Get-HnsPolicyList).References[0] -eq '/endpoints/' + (Get-HnsEndpoint)[0].ID`, "True\r\n")
			}
		})
	}
}

// TestAddresses checks that programs report the same range for the machine's network, with the adapter that HNS
// created.
func TestAddresses(t *testing.T) {
	m := newMachine(t, machine.Windows, machine.NSSM)
	m.IPs, m.Range = []netip.Addr{netip.MustParseAddr("192.168.1.70")}, netip.MustParsePrefix("192.168.1.64/26")
	m.Search, m.DNS = []string{"default.svc.cluster.local"}, []string{"10.96.0.10", "10.96.0.11"}
	if err := m.AddHNSNetwork(machine.HNSNetwork{Name: "Calico", Type: machine.Overlay}); err != nil {
		t.Fatal(err)
	}
	sh := shell.New(m, nil, nil)
	for script, want := range map[string]string{
		"ipconfig": "\r\nWindows IP Configuration\r\n\r\nEthernet adapter vEthernet (Ethernet):\r\n\r\n" +
			"   Connection-specific DNS Suffix  . : default.svc.cluster.local\r\n   IPv4 Address. . . . . . . . . . . : 192.168.1.70\r\n" +
			"   Subnet Mask . . . . . . . . . . . : 255.255.255.192\r\n   Default Gateway . . . . . . . . . : 192.168.1.65\r\n",
		"(ipconfig /all)[-2..-1]": "   DNS Servers . . . . . . . . . . . : 10.96.0.10\r\n                                       10.96.0.11\r\n",
		"$a = Get-NetIPAddress 192.168.1.70; $r = Get-NetRoute -DestinationPrefix 0.0.0.0/0; \"$($a.PrefixLength) $($r.NextHop)\"": "26 " +
			"192.168.1.65\r\n",
	} {
		var out bytes.Buffer
		if sh.PowerShell(t.Context(), script, shell.Session{Stdout: &out, Stderr: &out}); out.String() != want {
			t.Errorf("%s:\n%q, want\n%q", script, out.String(), want)
		}
	}
}

// TestNetplanMTU checks that eth0 has the MTU of the netplan file after netplan apply, and the MTU that ip sets.
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
