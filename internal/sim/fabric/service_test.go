package fabric

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
)

func endpoint(addr, node string) Endpoint {
	return Endpoint{Addr: netip.MustParseAddrPort(addr), Node: node}
}

func addPod(c *Cluster, name, addr string) {
	c.AddPod("default", name, ip(addr), []int32{80}, func(port int32, conn net.Conn) {
		io.WriteString(conn, name+" for "+conn.RemoteAddr().(*net.TCPAddr).IP.String())
	})
}

func TestPodsAndServices(t *testing.T) {
	f := open(t, t.TempDir())
	m, public := balanced(t, f, Probe{Protocol: "http", Port: healthzPort, Path: "/healthz"}, allow("web", 100, "80"))
	rule := &m.LoadBalancers[0].Rules[0]
	rule.FrontendPort, rule.BackendPort, rule.Floating = 80, 80, true
	f.Sync(m)
	c := f.Cluster("ns/c")
	addPod(c, "one", "10.244.1.2")
	addPod(c, "two", "10.244.2.2")
	c.SetServices([]Service{{
		Namespace: "default", Name: "web", ClusterIPs: []netip.Addr{ip("10.96.0.20")}, Ingress: []netip.Addr{ip(public)},
		Ports: []ServicePort{{Port: 80, NodePort: 31080,
			Endpoints: []Endpoint{endpoint("10.244.1.2:80", "a"), endpoint("10.244.2.2:80", "b")}}},
	}, {
		Namespace: "default", Name: "empty", ClusterIPs: []netip.Addr{ip("10.96.0.21")}, Ports: []ServicePort{{Port: 80}},
	}, {
		Namespace: "default", Name: "kubernetes", ClusterIPs: []netip.Addr{ip("10.96.0.1")},
		Ports: []ServicePort{{Port: 443, Endpoints: []Endpoint{endpoint("10.213.0.4:6443", "")}}},
	}})
	c.SetResolver(func(name string) (Answer, bool) {
		return Answer{IPs: []netip.Addr{ip("10.96.0.20")}}, name == "web.default.svc.cluster.local"
	})
	listen(t, f, "10.213.0.4", 6443, "api")
	inside := Origin{VNetID: vnetID, IP: ip("10.213.0.5"), Cluster: "ns/c"}
	outside := Origin{VNetID: vnetID, IP: ip("10.213.0.5")}
	for _, tt := range []struct {
		name string
		from Origin
		to   string
		want string
	}{
		{"pod", inside, "10.244.1.2:80", "one for 10.213.0.5"},
		{"pod, no such port", inside, "10.244.1.2:81", "pod default/one has no such port"},
		{"pod from another cluster", outside, "10.244.1.2:80", "no route"},
		{"service", inside, "10.96.0.20:80", " for 10.213.0.5"},
		{"service by name", inside, "web.default.svc.cluster.local:80", " for 10.213.0.5"},
		{"service without endpoints", inside, "10.96.0.21:80", "no ready endpoint"},
		{"service of machines", inside, "10.96.0.1:443", "api"},
		{"node port without a kube-proxy", inside, "10.213.0.4:31080", "refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := read(f.Dial(t.Context(), tt.from, "tcp", tt.to)); !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	machine, end := context.WithCancel(t.Context())
	p := c.StartProxy(machine, "a", Origin{VNetID: vnetID, IP: ip("10.213.0.4"), Cluster: "ns/c"})
	if got := read(f.Dial(t.Context(), inside, "tcp", "10.213.0.4:31080")); !strings.Contains(got, " for 10.213.0.4") {
		t.Errorf("node port = %q", got)
	}
	eventually(t, "the load balancer reaches the pods", func() bool {
		return strings.Contains(read(net.Dial("tcp", public+":80")), " for ")
	})
	p.Stop()
	for what, got := range map[string]string{
		"node port": read(f.Dial(t.Context(), inside, "tcp", "10.213.0.4:31080")), "load balancer": read(net.Dial("tcp", public+":80")),
	} {
		if !strings.Contains(got, " for ") {
			t.Errorf("%s while a DaemonSet replaces the kube-proxy = %q", what, got)
		}
	}
	if got := read(f.Dial(t.Context(), inside, "tcp", "10.213.0.4:10256")); !strings.Contains(got, "refused") {
		t.Errorf("health check of a kube-proxy that has ended = %q", got)
	}
	if next := c.StartProxy(machine, "a", Origin{VNetID: vnetID, IP: ip("10.213.0.4"), Cluster: "ns/c"}); next != p {
		t.Error("the next kube-proxy of a machine does not take over the rules")
	}
	end()
	eventually(t, "the rules end with the machine", func() bool {
		return strings.Contains(read(f.Dial(t.Context(), inside, "tcp", "10.213.0.4:31080")), "refused")
	})
	c.RemovePod("default", "two", ip("10.244.1.2")) // the address belongs to another pod
	if got := read(f.Dial(t.Context(), inside, "tcp", "10.244.1.2:80")); !strings.Contains(got, "one") {
		t.Errorf("the wrong pod took the address away: %q", got)
	}
}

// TestServiceMachineGone: a balancer sends connections of a service to a stopped machine until the
// machine's probe fails, and tries no other machine for them.
func TestServiceMachineGone(t *testing.T) {
	f := open(t, t.TempDir())
	m, public := balanced(t, f, Probe{Protocol: "http", Port: healthzPort, Path: "/healthz"}, allow("web", 100, "80"))
	rule := &m.LoadBalancers[0].Rules[0]
	rule.FrontendPort, rule.BackendPort, rule.Floating, rule.Probe = 80, 80, true, ""
	f.Sync(m)
	c := f.Cluster("ns/c")
	addPod(c, "one", "10.244.1.2")
	c.SetServices([]Service{{Namespace: "default", Name: "web", Ingress: []netip.Addr{ip(public)},
		Ports: []ServicePort{{Port: 80, Endpoints: []Endpoint{endpoint("10.244.1.2:80", "a")}}}}})
	c.StartProxy(t.Context(), "a", Origin{VNetID: vnetID, IP: ip("10.213.0.4"), Cluster: "ns/c"})
	answered := 0
	machines := len(m.Interfaces)
	for range 10 * machines {
		if strings.Contains(read(net.Dial("tcp", public+":80")), "one for ") {
			answered++
		}
	}
	if answered != 10 {
		t.Errorf("%d of %d connections were answered with one machine of %d, want 10", answered, 10*machines, machines)
	}
}

func TestAffinityAndLocalPolicy(t *testing.T) {
	f := open(t, t.TempDir())
	f.Sync(network())
	c := f.Cluster("c")
	addPod(c, "one", "10.244.1.2")
	addPod(c, "two", "10.244.2.2")
	endpoints := []Endpoint{endpoint("10.244.1.2:80", "a"), endpoint("10.244.2.2:80", "b")}
	c.SetServices([]Service{
		{Name: "sticky", ClusterIPs: []netip.Addr{ip("10.96.0.2")}, ClientIP: true, Ports: []ServicePort{{Port: 80, Endpoints: endpoints}}},
		{Name: "local", Local: true, HealthCheckNodePort: 32100,
			Ports: []ServicePort{{Port: 80, NodePort: 31000, Endpoints: endpoints[:1]}}},
	})
	from := Origin{VNetID: vnetID, IP: ip("10.213.0.5"), Cluster: "c"}
	first := read(f.Dial(t.Context(), from, "tcp", "10.96.0.2:80"))
	for range 5 {
		if got := read(f.Dial(t.Context(), from, "tcp", "10.96.0.2:80")); got != first {
			t.Errorf("affinity: %q after %q", got, first)
		}
	}
	leaving := endpoint("10.244.2.2:80", "b")
	leaving.Terminating = true
	t.Run("terminating endpoints are the last resort", func(t *testing.T) {
		c := f.Cluster("d")
		mixed := target{&Service{Local: true}, &ServicePort{Endpoints: []Endpoint{leaving, endpoints[0]}}}
		for range 4 {
			if e, ok := c.choose(mixed, ip("10.0.0.1"), ""); !ok || e.Terminating {
				t.Errorf("chose %v, %v", e, ok)
			}
		}
		if e, ok := c.choose(mixed, ip("10.0.0.1"), "b"); !ok || e != leaving {
			t.Errorf("on the node that has no other: %v, %v", e, ok)
		}
		if s := (&Service{Ports: []ServicePort{{Endpoints: []Endpoint{leaving}}}}); s.onNode("b") {
			t.Error("a node whose only endpoint is on its way out passes the health check")
		}
	})
	for _, n := range []struct {
		node, ip string
		status   int
	}{{"a", "10.213.0.4", 200}, {"b", "10.213.0.5", 503}} {
		defer c.StartProxy(t.Context(), n.node, Origin{VNetID: vnetID, IP: ip(n.ip), Cluster: "c"}).close()
		lo, _ := f.Loopback(vnetID, ip(n.ip))
		resp, err := http.Get("http://" + lo.String() + ":32100/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != n.status {
			t.Errorf("health check on node %s = %d, want %d", n.node, resp.StatusCode, n.status)
		}
		got := read(net.Dial("tcp", lo.String()+":31000"))
		if answered := strings.Contains(got, "one for 127."); answered != (n.status == 200) {
			t.Errorf("node port of a local service on %s = %q", n.node, got)
		}
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	f := open(t, t.TempDir())
	m, public := balanced(t, f, Probe{Protocol: "tcp", Port: 6443}, allow("api", 200, "6443"))
	f.Sync(m)
	l, err := f.Listen(vnetID, ip("10.213.0.4"), 6443, "silent")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 64)
	go func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	var c net.Conn
	eventually(t, "a connection is open", func() bool {
		c, err = net.Dial("tcp", public+":6443")
		return err == nil
	})
	defer c.Close()
	var at []string
	for _, l := range f.Listeners() {
		if l.Actual != "" {
			at = append(at, l.Actual)
		}
	}
	if !slices.Contains(at, public+":6443") {
		t.Fatalf("listeners: %v", at)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for s := range accepted {
		s.Close()
	}
	if _, err := io.ReadAll(c); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the connection did not end: %v", err)
	}
	for _, a := range at {
		if l, err := net.Listen("tcp", a); err != nil {
			t.Errorf("%s is still taken: %v", a, err)
		} else {
			l.Close()
		}
	}
	if _, err := f.Loopback(vnetID, ip("10.213.9.9")); err == nil {
		t.Error("a closed fabric gave an address out")
	}
}

// cloud contains documents by type and ID, and counts the requests for each.
type cloud struct {
	mu   sync.Mutex
	docs map[string]map[string]string
	gets int
}

func (c *cloud) List(resourceType string) (out []json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(c.docs[resourceType])) {
		out = append(out, json.RawMessage(c.docs[resourceType][id]))
	}
	return out
}

func (c *cloud) Get(id string) (json.RawMessage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gets++
	for _, docs := range c.docs {
		if d, ok := docs[id]; ok {
			return json.RawMessage(d), true
		}
	}
	return nil, false
}

func (c *cloud) set(resourceType, id, doc string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.docs[resourceType] == nil {
		c.docs[resourceType] = map[string]string{}
	}
	if delete(c.docs[resourceType], id); doc != "" {
		c.docs[resourceType][id] = doc
	}
}

func TestFollow(t *testing.T) {
	const nics, networks = "Microsoft.Network/networkInterfaces", "Microsoft.Network/virtualNetworks"
	f := open(t, t.TempDir())
	c := &cloud{docs: map[string]map[string]string{}}
	nic := func(i int) string {
		return fmt.Sprintf(`{"id":"/NIC%d","properties":{"ipConfigurations":[{"name":"c",
			"properties":{"privateIPAddress":"10.213.7.%d","subnet":{"id":"%s/subnets/s"}}}]}}`, i, i+4, vnetID)
	}
	c.set(nics, "/nic0", nic(0))
	changed := f.Follow(c)
	followed := func(what string, interfaces, vnets int) {
		t.Helper()
		eventually(t, what, func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return len(f.ix.Interfaces) == interfaces && len(f.ix.Networks) == vnets
		})
	}
	followed("what exists at first", 1, 0)
	for i := range 5 {
		c.set(nics, fmt.Sprint("/nic", i), nic(i))
		changed(nics, fmt.Sprint("/NIC", i))
	}
	followed("interfaces that were written", 5, 0)
	c.set(networks, "/vnet", `{"id":"/vnet"}`)
	changed(strings.ToUpper(networks), "/vnet")
	followed("a network", 5, 1)
	before := c.gets
	c.set(nics, "/nic0", "")
	changed("Microsoft.Compute/disks", "/disk")
	changed(nics, "/nic0")
	followed("an interface that was deleted", 4, 1)
	if read := c.gets - before; read != 1 {
		t.Errorf("the change of one interface read %d documents", read)
	}
	c.set(networks, "/vnet", "")
	changed(networks, "/vnet")
	followed("a network that was deleted", 4, 0)
	if _, ok := f.addr.lookup(vnetKey(vnetID, ip("10.213.7.4"))); ok {
		t.Error("the address of a machine that is gone is still held")
	}
}

// BenchmarkSyncThousandMachines measures following a thousand machines that appear one by one.
func BenchmarkSyncThousandMachines(b *testing.B) {
	f, err := New(Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	m := network()
	for i := range 1000 {
		m.Interfaces = append(m.Interfaces, vm(fmt.Sprint("m", i), fmt.Sprintf("10.214.%d.%d", i/250, 4+i%250)))
	}
	f.Sync(m)
	for b.Loop() {
		f.Sync(m)
	}
}
