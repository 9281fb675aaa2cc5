package fabric

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
)

// balanced returns a model of network behind a load balancer with a public frontend, and the
// frontend's address.
func balanced(t *testing.T, f *Fabric, probe Probe, rules ...SecurityRule) (Model, string) {
	t.Helper()
	m := network(rules...)
	public, err := f.PublicIP(pipID)
	if err != nil {
		t.Fatal(err)
	}
	m.PublicIPs = []PublicIP{{ID: pipID, IP: ip(public), FQDN: "c.westeurope.cloudapp.azure.com"}}
	probe.ID, probe.Threshold = lbID+"/probes/p", max(1, probe.Threshold)
	m.LoadBalancers = []LoadBalancer{{
		ID: lbID, Frontends: []Frontend{{ID: frontID, PublicIP: pipID}}, Pools: []Pool{{ID: poolID}}, Probes: []Probe{probe},
		Rules: []LoadBalancingRule{{
			ID: lbID + "/loadbalancingrules/r", Frontend: frontID, Probe: probe.ID, Pools: []string{poolID},
			Protocol: "tcp", FrontendPort: 6443, BackendPort: 6443,
		}},
		NATRules: []NATRule{{ID: lbID + "/inboundnatrules/a", Frontend: frontID, Protocol: "tcp", FrontendPort: 2201, BackendPort: 22}},
	}}
	for i := range m.Interfaces {
		m.Interfaces[i].Configs[0].Pools = []string{poolID}
	}
	m.Interfaces[0].Configs[0].NATRules = []string{lbID + "/inboundnatrules/a"}
	return m, public
}

func TestLoadBalancerFollowsHealth(t *testing.T) {
	f := open(t, t.TempDir())
	m, public := balanced(t, f, Probe{Protocol: "tcp", Port: 6443}, allow("api", 200, "6443"), allow("ssh", 201, "22"))
	f.Sync(m)
	front := public + ":6443"
	if c, err := net.Dial("tcp", front); err == nil {
		c.Close()
		t.Fatal("the frontend answers without a healthy backend")
	}
	a := listen(t, f, "10.213.0.4", 6443, "a")
	eventually(t, "the frontend opens", func() bool { return read(net.Dial("tcp", front)) == "a" })
	listen(t, f, "10.213.0.5", 6443, "b")
	seen := map[string]bool{}
	eventually(t, "both answer", func() bool { seen[read(net.Dial("tcp", front))] = true; return seen["a"] && seen["b"] })
	a.Close()
	eventually(t, "only b is left", func() bool { return healthy(f, front) == 1 })
	for range 4 {
		if got := read(net.Dial("tcp", front)); got != "b" {
			t.Errorf("got %q from the frontend, want b", got)
		}
	}
	for name, from := range map[string]Origin{"machine": {VNetID: vnetID, IP: ip("10.213.0.4")}, "host": {}} {
		for _, to := range []string{front, "c.westeurope.cloudapp.azure.com:6443"} {
			if got := read(f.Dial(t.Context(), from, "tcp", to)); got != "b" {
				t.Errorf("%s from a %s = %q", to, name, got)
			}
		}
	}
	listen(t, f, "10.213.0.4", 22, "ssh on a")
	if got := read(net.Dial("tcp", public+":2201")); got != "ssh on a" {
		t.Errorf("inbound NAT rule = %q", got)
	}
	m.LoadBalancers = nil
	f.Sync(m)
	if c, err := net.Dial("tcp", front); err == nil {
		c.Close()
		t.Error("the frontend outlives its load balancer")
	}
}

func healthy(f *Fabric, address string) int {
	for _, l := range f.Listeners() {
		if l.Address == address {
			return l.Healthy
		}
	}
	return -1
}

func TestFrontendIsClosedByRules(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rules  []SecurityRule
		reason string
	}{
		{"no rule", nil, "refused by rule DenyAllInBound of network security group g"},
		{"another source", []SecurityRule{{
			Name: "office", Priority: 100, Inbound: true, Allow: true, Protocol: "*", Sources: []string{"203.0.113.0/24"},
			Destinations: []string{"*"}, SourcePorts: []string{"*"}, DestinationPorts: []string{"6443"},
		}}, "refused by rule DenyAllInBound"},
		{"probe denied", []SecurityRule{allow("api", 200, "6443"), {
			Name: "no-probe", Priority: 100, Inbound: true, Protocol: "*", Sources: []string{"AzureLoadBalancer"},
			Destinations: []string{"*"}, SourcePorts: []string{"*"}, DestinationPorts: []string{"*"},
		}}, "the probe is refused by rule no-probe"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, t.TempDir())
			m, public := balanced(t, f, Probe{Protocol: "tcp", Port: 6443}, tt.rules...)
			f.Sync(m)
			listen(t, f, "10.213.0.4", 6443, "a")
			eventually(t, "the reason is "+tt.reason, func() bool {
				for _, l := range f.Listeners() {
					if l.Address == public+":6443" && strings.Contains(l.Reason, tt.reason) {
						return l.Actual == ""
					}
				}
				return false
			})
		})
	}
}

func TestHTTPSProbe(t *testing.T) {
	f := open(t, t.TempDir())
	m, public := balanced(t, f, Probe{Protocol: "https", Port: 6443, Path: "/readyz", Threshold: 2}, allow("api", 200, "6443"))
	f.Sync(m)
	var ready atomic.Bool
	l, err := f.Listen(vnetID, ip("10.213.0.5"), 6443, "api")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" && !ready.Load() {
			http.Error(w, "not yet", http.StatusInternalServerError)
		}
	}))
	s.Listener.Close()
	s.Listener = l
	s.StartTLS()
	defer s.Close()
	eventually(t, "the answer is seen", func() bool {
		for _, l := range f.Listeners() {
			if strings.Contains(l.Reason, "500 Internal Server Error") {
				return l.Actual == ""
			}
		}
		return false
	})
	ready.Store(true)
	eventually(t, "the frontend opens", func() bool {
		c, err := tls.Dial("tcp", public+":6443", &tls.Config{InsecureSkipVerify: true})
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	ready.Store(false)
	eventually(t, "the frontend closes", func() bool {
		c, err := net.Dial("tcp", public+":6443")
		if err == nil {
			c.Close()
		}
		return err != nil
	})
}

func TestInternalFrontend(t *testing.T) {
	f := open(t, t.TempDir())
	m := network()
	m.LoadBalancers = []LoadBalancer{{
		ID: lbID, Frontends: []Frontend{{ID: frontID, VNet: vnetID, IP: ip("10.213.0.100")}},
		Pools: []Pool{{ID: poolID, Members: []Member{{VNet: vnetID, IP: ip("10.213.0.5")}}}},
		Rules: []LoadBalancingRule{
			{ID: lbID + "/r", Frontend: frontID, Pools: []string{poolID}, Protocol: "tcp", FrontendPort: 443, BackendPort: 6443},
			{ID: lbID + "/u", Frontend: frontID, Pools: []string{poolID}, Protocol: "udp", FrontendPort: 53, BackendPort: 53},
		},
	}}
	f.Sync(m)
	listen(t, f, "10.213.0.5", 6443, "api")
	from := Origin{VNetID: vnetID, IP: ip("10.213.0.4")}
	if got := read(f.Dial(t.Context(), from, "tcp", "10.213.0.100:443")); got != "api" {
		t.Errorf("from a machine: %q", got)
	}
	if got := read(f.Dial(t.Context(), from, "tcp", "10.213.0.100:80")); !strings.Contains(got, "no rule for the port") {
		t.Errorf("another port: %q", got)
	}
	at, _ := f.Loopback(vnetID, ip("10.213.0.100"))
	if got := read(net.Dial("tcp", netip.AddrPortFrom(at, 443).String())); got != "api" {
		t.Errorf("from the host: %q", got)
	}
	udp := false
	for _, l := range f.Listeners() {
		udp = udp || strings.Contains(l.Reason, "udp port 53 is not carried")
	}
	if !udp {
		t.Error("the UDP rule is not reported")
	}
}

func TestMachineWithPublicAddress(t *testing.T) {
	for _, tt := range []struct {
		name  string
		group bool
		basic bool
		open  bool
	}{
		{"standard without a group", false, false, false},
		{"basic without a group", false, true, true},
		{"standard with a rule", true, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, t.TempDir())
			m := network(allow("ssh", 100, "22"))
			if !tt.group {
				m.Networks[0].Subnets[0].SecurityGroup = ""
			}
			public, err := f.PublicIP(pipID)
			if err != nil {
				t.Fatal(err)
			}
			m.PublicIPs = []PublicIP{{ID: pipID, IP: ip(public), Basic: tt.basic}}
			m.Interfaces[0].Configs[0].PublicIP = pipID
			f.Sync(m)
			listen(t, f, "10.213.0.4", 22, "ssh")
			c, err := net.Dial("tcp", public+":22")
			if (err == nil) != tt.open {
				t.Fatalf("dial = %v, want open %t", err, tt.open)
			}
			if err == nil && read(c, nil) != "ssh" {
				t.Error("another answer")
			}
			if got := read(f.Dial(t.Context(), Origin{}, "tcp", public+":22")); (got == "ssh") != tt.open {
				t.Errorf("Dial = %q", got)
			}
		})
	}
}
