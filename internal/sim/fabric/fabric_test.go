package fabric

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	sub     = "/subscriptions/00000000-0000-0000-0000-000000000001/resourcegroups/rg/providers/microsoft.network"
	vnetID  = sub + "/virtualnetworks/v"
	peerID  = sub + "/virtualnetworks/peer"
	nsgID   = sub + "/networksecuritygroups/g"
	pipID   = sub + "/publicipaddresses/pip"
	lbID    = sub + "/loadbalancers/lb"
	poolID  = lbID + "/backendaddresspools/p"
	frontID = lbID + "/frontendipconfigurations/f"
)

func ip(s string) netip.Addr         { return netip.MustParseAddr(s) }
func prefix(s string) netip.Prefix   { return netip.MustParsePrefix(s) }
func vm(name, addr string) Interface { return vmIn(vnetID, name, addr) }

func vmIn(vnet, name, addr string) Interface {
	id := sub + "/networkinterfaces/" + name + "-nic"
	return Interface{
		ID: id, Machine: "/x/virtualmachines/" + name,
		Configs: []IPConfig{{ID: id + "/ipconfigurations/c", VNet: vnet, Subnet: vnet + "/subnets/s", IP: ip(addr)}},
	}
}

func open(t *testing.T, dir string) *Fabric {
	t.Helper()
	f, err := New(Config{Dir: dir, Probe: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// network returns a model with two machines without a load balancer, one network and a security
// group that opens SSH and the API server.
func network(group ...SecurityRule) Model {
	return Model{
		Interfaces:     []Interface{vm("a", "10.213.0.4"), vm("b", "10.213.0.5")},
		SecurityGroups: []SecurityGroup{{ID: nsgID, Rules: group}},
		Networks: []Network{{
			ID: vnetID, Prefixes: []netip.Prefix{prefix("10.0.0.0/8")},
			Subnets: []Subnet{{ID: vnetID + "/subnets/s", SecurityGroup: nsgID}},
		}},
	}
}

func allow(name string, priority int, port string) SecurityRule {
	return SecurityRule{
		Name: name, Priority: priority, Inbound: true, Allow: true, Protocol: "tcp",
		Sources: []string{"*"}, Destinations: []string{"*"}, SourcePorts: []string{"*"}, DestinationPorts: []string{port},
	}
}

// serve answers each connection with a text and closes it.
func serve(t *testing.T, l net.Listener, text string) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, text)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
}

func listen(t *testing.T, f *Fabric, addr string, port uint16, text string) net.Listener {
	t.Helper()
	l, err := f.Listen(vnetID, ip(addr), port, "test "+text)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, l, text)
	return l
}

func read(c net.Conn, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	data, err := io.ReadAll(c)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(data)
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("not within a minute: %s", what)
		case <-tick.C:
		}
	}
}

func TestAddressesKeepTheirDigitsAndPersist(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	first, err := f.Loopback(vnetID, ip("10.213.1.4"))
	if err != nil || !first.IsLoopback() || !strings.HasSuffix(first.String(), ".1.4") {
		t.Fatalf("Loopback = %s, %v", first, err)
	}
	other, err := f.Loopback(peerID, ip("10.213.1.4"))
	if err != nil || other == first || !strings.HasSuffix(other.String(), ".1.4") {
		t.Fatalf("the same address in another network = %s, %v", other, err)
	}
	public, err := f.PublicIP(pipID)
	if err != nil || !strings.HasPrefix(public, "127.20.") {
		t.Fatalf("PublicIP = %s, %v", public, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = open(t, dir)
	if again, err := f.Loopback(strings.ToUpper(peerID), ip("10.213.1.4")); err != nil || again != other {
		t.Errorf("after a restart = %s, %v, want %s", again, err, other)
	}
	if again, err := f.PublicIP(pipID); err != nil || again != public {
		t.Errorf("public address after a restart = %s, %v, want %s", again, err, public)
	}
	if err := f.Release(peerID, ip("10.213.1.4")); err != nil {
		t.Fatal(err)
	}
	if l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", blockOf(other), claimPort)); err != nil {
		t.Errorf("the claim outlives Release: %v", err)
	} else {
		l.Close()
	}
}

func TestReservedAndOddAddresses(t *testing.T) {
	f := open(t, t.TempDir())
	for _, tt := range []struct{ in, never string }{
		{"10.0.0.1", "127.0.0.1"}, {"10.0.0.53", "127.0.0.53"}, {"10.20.3.4", "127.20.3.4"}, {"10.255.255.255", "127.255.255.255"},
	} {
		got, err := f.Loopback(vnetID, ip(tt.in))
		if err != nil || got == ip(tt.never) || !got.IsLoopback() {
			t.Errorf("Loopback(%s) = %s, %v", tt.in, got, err)
		}
	}
	if _, err := f.Loopback(vnetID, ip("fd00::1")); err == nil {
		t.Error("an IPv6 address was mapped")
	}
}

func TestTwoFabricsNeverShare(t *testing.T) {
	a, b := open(t, t.TempDir()), open(t, t.TempDir())
	seen := map[netip.Addr]bool{}
	for _, f := range []*Fabric{a, b} {
		at, err := f.Loopback(vnetID, ip("10.213.2.9"))
		if err != nil || seen[at] {
			t.Errorf("%s, %v is given twice", at, err)
		}
		seen[at] = true
		p, err := f.PublicIP(pipID)
		if err != nil || seen[ip(p)] {
			t.Errorf("%s, %v is given twice", p, err)
		}
		seen[ip(p)] = true
	}
}

func TestAddressTakenWhileDown(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	was, err := f.Loopback(vnetID, ip("10.213.3.3"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := f.Loopback(vnetID, ip("10.213.4.4"))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", blockOf(was), claimPort))
	if err != nil {
		t.Fatal(err)
	}
	if f, err := New(Config{Dir: dir}); err == nil {
		f.Close()
		t.Error("the fabric came up without the address of a machine")
	} else if !strings.Contains(err.Error(), was.String()) || !strings.Contains(err.Error(), "take that one down") {
		t.Errorf("error %q does not name %s and what to do", err, was)
	}
	l.Close()
	f = open(t, dir)
	for at, was := range map[string]netip.Addr{"10.213.3.3": was, "10.213.4.4": other} {
		if now, err := f.Loopback(vnetID, ip(at)); err != nil || now != was {
			t.Errorf("Loopback(%s) = %s, %v, want %s as before", at, now, err, was)
		}
	}
}

// TestPlanesInTurn: two planes that never run at the same time have no address in common.
func TestPlanesInTurn(t *testing.T) {
	seen := map[string]string{}
	for _, dir := range []string{"one", "two", "three"} {
		a, err := openAddresses(dir)
		if err != nil {
			t.Fatal(err)
		}
		a.file = filepath.Join(t.TempDir(), "addresses.json")
		private, err1 := a.vnet(vnetID, ip("10.213.3.3"))
		public, err2 := a.public(pipID)
		if err := errors.Join(err1, err2, a.close()); err != nil {
			t.Fatal(err)
		}
		for _, at := range []netip.Addr{private, public} {
			if other := seen[at.String()]; other != "" {
				t.Errorf("%s and %s both have %s", other, dir, at)
			}
			seen[at.String()] = dir
		}
	}
}

func TestSyncReleasesWhatIsGone(t *testing.T) {
	f := open(t, t.TempDir())
	f.Sync(network())
	at, _ := f.Loopback(vnetID, ip("10.213.0.5"))
	m := network()
	m.Interfaces = m.Interfaces[:1]
	f.Sync(m)
	if got, ok := f.addr.lookup(vnetKey(vnetID, ip("10.213.0.5"))); ok {
		t.Errorf("%s is still given out", got)
	}
	if used := f.addr.blocks[blockOf(at)].used; len(used) != 1 {
		t.Errorf("%d addresses of the block are used, want the other machine's", len(used))
	}
	if _, ok := f.addr.lookup(vnetKey(vnetID, ip("10.213.0.4"))); !ok {
		t.Error("the other machine lost its address")
	}
}

func TestDialBetweenMachines(t *testing.T) {
	f := open(t, t.TempDir())
	deny := SecurityRule{
		Name: "no-5000", Priority: 100, Inbound: true, Protocol: "tcp", Sources: []string{"10.213.0.4/32"}, Destinations: []string{"*"},
		SourcePorts: []string{"*"}, DestinationPorts: []string{"5000-5001"},
	}
	m := network(deny)
	m.Networks[0].Peers = []string{peerID}
	m.Networks = append(m.Networks, Network{ID: peerID, Prefixes: []netip.Prefix{prefix("172.16.0.0/16")}, Peers: []string{vnetID}})
	m.Interfaces = append(m.Interfaces, vmIn(peerID, "p", "172.16.0.4"), vmIn(sub+"/virtualnetworks/alone", "q", "172.17.0.4"))
	m.Records = []Record{{Name: "apiserver.c.capz.io", IPs: []netip.Addr{ip("10.213.0.5")}, Networks: []string{vnetID}}}
	f.Sync(m)
	listen(t, f, "10.213.0.5", 22, "ssh on b")
	listen(t, f, "10.213.0.5", 5000, "secret")
	l, err := f.Listen(peerID, ip("172.16.0.4"), 6443, "peer")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, l, "peer")
	a := Origin{VNetID: vnetID, IP: ip("10.213.0.4")}
	b := Origin{VNetID: vnetID, IP: ip("10.213.0.5")}
	alone := Origin{VNetID: sub + "/virtualnetworks/alone", IP: ip("172.17.0.4")}
	for _, tt := range []struct {
		name string
		from Origin
		to   string
		want string // of the answer, or of the error
	}{
		{"by address", a, "10.213.0.5:22", "ssh on b"},
		{"by machine name", a, "b:22", "ssh on b"},
		{"by private zone", a, "apiserver.c.capz.io:22", "ssh on b"},
		{"itself", b, "127.0.0.1:5000", "secret"},
		{"itself by address", b, "10.213.0.5:5000", "secret"},
		{"dropped by a rule", a, "10.213.0.5:5000", "timed out (dropped by rule no-5000 of network security group g)"},
		{"peered network", a, "172.16.0.4:6443", "peer"},
		{"back over the peering", Origin{VNetID: peerID, IP: ip("172.16.0.4")}, "10.213.0.5:22", "ssh on b"},
		{"not peered", alone, "10.213.0.5:22", "no route"},
		{"name of another network", alone, "b:22", "no route"},
		{"real network", a, "192.0.2.1:443", "no route"},
		{"real name", a, "example.com:443", "no route"},
		{"host into the network", Origin{}, "10.213.0.5:22", "no route"},
		{"nothing listens", a, "10.213.0.5:81", "connection refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := read(f.Dial(t.Context(), tt.from, "tcp", tt.to)); !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	var timeout net.Error
	if _, err := f.Dial(t.Context(), a, "tcp", "10.213.0.5:5000"); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("a dropped flow is %v, want a timeout", err)
	}
}

func TestExternal(t *testing.T) {
	dir := t.TempDir()
	f, err := New(Config{Dir: dir, External: func(_ context.Context, from Origin, _, address string) (net.Conn, error) {
		return nil, fmt.Errorf("external %s from %s", address, from.IP)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, to := range []string{"169.254.169.254:80", "management.azure.com:443"} {
		if _, err := f.Dial(t.Context(), Origin{VNetID: vnetID, IP: ip("10.213.0.4")}, "tcp", to); err == nil ||
			err.Error() != "external "+to+" from 10.213.0.4" {
			t.Errorf("%s: %v", to, err)
		}
	}
}

// TestPortsWithoutSockets checks that a port beyond the limit of sockets can be reached only
// through the fabric, and that a released socket is used for another port.
func TestPortsWithoutSockets(t *testing.T) {
	f, err := New(Config{Dir: t.TempDir(), Sockets: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.Sync(network())
	machine, other := ip("10.213.0.5"), Origin{VNetID: vnetID, IP: ip("10.213.0.4")}
	first, err := f.Listen(vnetID, machine, 22, "ssh")
	if err != nil {
		t.Fatal(err)
	}
	second, err := f.Listen(vnetID, machine, 10250, "kubelet")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Listen(vnetID, machine, 10250, "another"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a port was opened twice: %v", err)
	}
	at := second.Addr().String()
	if c, err := net.Dial("tcp", at); err == nil {
		c.Close()
		t.Error("the host reaches a port without a socket")
	}
	var got []string
	for _, l := range f.Listeners() {
		got = append(got, fmt.Sprintf("%s %v %v", l.What, l.Actual != "", l.Reason != ""))
	}
	if want := []string{"kubelet false true", "ssh true false"}; !slices.Equal(got, want) {
		t.Errorf("Listeners: %q, want %q", got, want)
	}
	go func() {
		c, err := second.Accept()
		if err == nil {
			fmt.Fprintf(c, "%s from %s", c.LocalAddr(), c.RemoteAddr().(*net.TCPAddr).IP)
			c.Close()
		}
	}()
	caller, err := f.Loopback(vnetID, other.IP)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := read(f.Dial(t.Context(), other, "tcp", "10.213.0.5:10250")), at+" from "+caller.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Dial(ctx, other, "tcp", "10.213.0.5:10250"); !errors.Is(err, context.Canceled) {
		t.Errorf("a connection that is not accepted: %v", err)
	}
	second.Close()
	if _, err := f.Dial(t.Context(), other, "tcp", "10.213.0.5:10250"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a closed port: %v", err)
	}
	first.Close()
	first.Close() // a second Close has no effect
	third, err := f.Listen(vnetID, machine, 10250, "kubelet")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, third, "a socket again")
	if _, err := f.Listen(vnetID, machine, 22, "ssh"); err != nil {
		t.Fatal(err)
	}
	if got := f.Listeners(); len(got) != 2 || got[0].Actual == "" || got[1].Actual != "" {
		t.Errorf("Listeners with one socket again: %+v", got)
	}
	if got := read(net.Dial("tcp", third.Addr().String())); got != "a socket again" {
		t.Errorf("%q", got)
	}
}

func TestPrivilegedPortFallsBack(t *testing.T) {
	f, err := New(Config{Dir: t.TempDir(), Listen: func(address string) (net.Listener, error) {
		if ap := netip.MustParseAddrPort(address); ap.Port() < 1024 {
			return nil, errors.New("permission denied")
		}
		return net.Listen("tcp4", address)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.Sync(network())
	l, err := f.Listen(vnetID, ip("10.213.0.5"), 22, "ssh")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, l, "fallback")
	if got := f.Listeners(); len(got) != 1 || !strings.HasSuffix(got[0].Actual, ":2222") || !strings.HasSuffix(got[0].Address, ":22") {
		t.Errorf("Listeners = %+v", got)
	}
	if got := read(f.Dial(t.Context(), Origin{VNetID: vnetID, IP: ip("10.213.0.4")}, "tcp", "10.213.0.5:22")); got != "fallback" {
		t.Errorf("Dial through the fallback: %s", got)
	}
	if fallbackPort(80) != 8080 || fallbackPort(443) != 8443 {
		t.Error("fallbackPort is not as documented")
	}
}

func TestEgress(t *testing.T) {
	f := open(t, t.TempDir())
	f.Sync(network())
	listen(t, f, "10.213.0.5", 10250, "kubelet")
	socket := filepath.Join(t.TempDir(), "egress.sock")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- f.ServeEgress(ctx, socket, Origin{VNetID: vnetID, IP: ip("10.213.0.4")})
	}()
	connect := func(to string) (int, string) {
		var c net.Conn
		eventually(t, "the socket is there", func() bool {
			var err error
			c, err = net.Dial("unix", socket)
			return err == nil
		})
		defer c.Close()
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to)
		r := bufio.NewReader(c)
		resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
		if err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(r)
		return resp.StatusCode, string(rest)
	}
	if status, body := connect("10.213.0.5:10250"); status != 200 || body != "kubelet" {
		t.Errorf("CONNECT = %d %q", status, body)
	}
	if status, body := connect("192.0.2.1:443"); status != 502 || !strings.Contains(body, "no route") {
		t.Errorf("CONNECT to the real network = %d %q", status, body)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !strings.Contains(string(EgressConfig(socket, true)), socket) {
		t.Error("the configuration does not name the socket")
	}
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	if err := f.ServeEgress(t.Context(), long, Origin{}); err == nil || !strings.Contains(err.Error(), "longer") {
		t.Errorf("a socket path that is too long: %v", err)
	}
}
