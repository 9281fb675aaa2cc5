package host

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"

	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/sim/fabric"
	"casement.dev/casement/internal/sim/guest"
	gm "casement.dev/casement/internal/sim/guest/machine"
)

// podNetwork returns a cluster with the pod 10.244.1.5, which answers HTTP on port 80, and the Service web.
func podNetwork(t *testing.T, windows bool) network {
	t.Helper()
	f, err := fabric.New(fabric.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	node := fabric.Origin{VNetID: "/vnets/v", IP: netip.MustParseAddr("10.1.0.4"), Cluster: "g/demo"}
	c, web := f.Cluster("g/demo"), netip.MustParseAddr("10.244.1.5")
	c.AddPod("default", "web-0", web, []int32{80}, func(_ int32, conn net.Conn) {
		defer conn.Close()
		_, _ = conn.Read(make([]byte, 1<<12))
		from, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello "+from+"\n")
	})
	service := netip.MustParseAddr("10.96.0.80")
	c.SetServices([]fabric.Service{{Namespace: "default", Name: "web", ClusterIPs: []netip.Addr{service},
		Ports: []fabric.ServicePort{{Port: 80, Endpoints: []fabric.Endpoint{{Addr: netip.AddrPortFrom(web, 80)}}}}}})
	c.SetResolver(func(name string) (fabric.Answer, bool) {
		a, ok := map[string]fabric.Answer{
			"web.default.svc.cluster.local":      {IPs: []netip.Addr{service}},
			"alias.default.svc.cluster.local":    {Alias: "web.default.svc.cluster.local"},
			"outside.default.svc.cluster.local":  {Alias: "example.com"},
			"circle.default.svc.cluster.local":   {Alias: "circle.default.svc.cluster.local"},
			"headless.default.svc.cluster.local": {IPs: []netip.Addr{web, netip.MustParseAddr("10.244.2.5")}},
		}[name]
		return a, ok
	})
	n := network{net: f, node: node, pod: netip.MustParseAddr("10.244.2.9"), inCluster: true, windows: windows, dots: 5,
		search: []string{"default.svc.cluster.local", "svc.cluster.local", "cluster.local"}}
	n.dial = func(ctx context.Context, kind, address string) (net.Conn, error) {
		return f.Dial(ctx, node, kind, address)
	}
	return n
}

func TestNamesInPods(t *testing.T) {
	for name, test := range map[string]struct {
		windows bool
		want    string
	}{
		"web":                            {false, "web.default.svc.cluster.local"},
		"web.default":                    {false, "web.default.svc.cluster.local"},
		"web.default.svc.cluster.local.": {false, "web.default.svc.cluster.local"},
		"web ":                           {false, ""},
		"alias":                          {false, "web.default.svc.cluster.local"},
		"outside":                        {false, ""},
		"circle":                         {false, ""},
		"example.com":                    {false, ""},
	} {
		for _, windows := range []bool{false, true} {
			want := test.want
			if windows && name == "web.default" {
				want = "" // Windows does not complete a name with a dot
			}
			found, err := podNetwork(t, windows).Lookup(name)
			if found.Name != want || (err == nil) != (want != "") {
				t.Errorf("%q, Windows %v: %v, %v", name, windows, found, err)
			}
		}
	}
}

// TestNamesOfOtherNames: a headless Service resolves to the addresses of its pods, and an
// ExternalName Service to another name.
func TestNamesOfOtherNames(t *testing.T) {
	n := podNetwork(t, true)
	if found, err := n.Lookup("headless"); err != nil || len(found.IPs) != 2 {
		t.Errorf("a headless Service has %v, %v", found, err)
	}
	_, err := n.Lookup("outside")
	lacks, ok := errors.AsType[*gm.LookupError](err)
	if !ok || lacks.Name != "outside" || !strings.Contains(lacks.Reason, "is another name of example.com") {
		t.Errorf("an ExternalName of elsewhere: %v", err)
	}
}

func TestExecReachesTheFabric(t *testing.T) {
	for name, test := range map[string]struct {
		os      string
		command []string
		code    int
		want    string
	}{
		"Service by name":    {guest.Linux, []string{"curl", "-s", "http://web"}, 0, "hello 10.244.2.9\n"},
		"Service by address": {guest.Linux, []string{"curl", "-s", "http://10.96.0.80"}, 0, "hello 10.244.2.9\n"},
		"pod":                {guest.Linux, []string{"wget", "-qO-", "http://10.244.1.5"}, 0, "hello 10.244.2.9\n"},
		"getent":             {guest.Linux, []string{"getent", "hosts", "web"}, 0, "10.96.0.80      web.default.svc.cluster.local\n"},
		"nslookup":           {guest.Linux, []string{"nslookup", "web"}, 0, "Address: 10.96.0.80"},
		"resolv.conf": {guest.Linux, []string{"cat", "/etc/resolv.conf"}, 0, "search default.svc.cluster.local " +
			"svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n"},
		"nc":                 {guest.Linux, []string{"nc", "-zv", "10.244.1.5", "81"}, 1, "no such port"},
		"ping a pod":         {guest.Linux, []string{"ping", "-c", "1", "10.244.1.5"}, 0, "1 received"},
		"ping a Service":     {guest.Linux, []string{"ping", "-c", "1", "web"}, 1, "0 received"},
		"outside":            {guest.Linux, []string{"curl", "-sS", "https://example.com"}, 6, "knows no name outside"},
		"outside by address": {guest.Linux, []string{"curl", "-sS", "http://20.1.2.3"}, 7, "no pod, Service or machine"},
		"curl.exe":           {guest.Windows, []string{"curl.exe", "-s", "http://web"}, 0, "hello 10.244.2.9\n"},
		"nslookup.exe":       {guest.Windows, []string{"nslookup", "web"}, 0, "Address:  10.96.0.80"},
		"Invoke-WebRequest": {guest.Windows, []string{"powershell",
			"(Invoke-WebRequest -UseBasicParsing http://web).Content"}, 0, "hello 10.244.2.9"},
		"Resolve-DnsName":    {guest.Windows, []string{"powershell", "(Resolve-DnsName web).IPAddress"}, 0, "10.96.0.80"},
		"Test-NetConnection": {guest.Windows, []string{"powershell", "(Test-NetConnection web -Port 80).TcpTestSucceeded"}, 0, "True"},
		"a closed port":      {guest.Windows, []string{"powershell", "Test-NetConnection web -Port 81 -InformationLevel Quiet"}, 0, "False"},
		"Windows outside":    {guest.Windows, []string{"powershell", "Invoke-WebRequest https://example.com"}, 1, "knows no name outside"},
	} {
		t.Run(name, func(t *testing.T) {
			way := podNetwork(t, test.os == guest.Windows)
			root, err := guestfs.At(t.TempDir()).Root(false)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			n := &node{net: way.net, origin: way.node, web: (&Host{azure: Azure{Network: way.net}}).web(way.node)}
			c, err := guest.NewContainer(guest.ContainerSpec{Folder: root.Folder("/c"), OS: test.os, Build: "10.0.20348.1", Image: "i",
				Hostname: "client", IPs: []netip.Addr{way.pod}, DNS: []string{"10.96.0.10"}, Search: way.search, Dots: 5,
				Network: way, Web: n.webOf(way)})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var out strings.Builder
			code, err := c.Exec(t.Context(), test.command, nil, &out, &out, false)
			if err != nil || code != test.code || !strings.Contains(out.String(), test.want) {
				t.Errorf("exit code %d, %v:\n%s", code, err, out.String())
			}
		})
	}
}

func TestNoNameServer(t *testing.T) {
	way := podNetwork(t, false)
	way.net.Cluster("g/demo").SetResolver(nil)
	_, err := way.Lookup("web")
	if err == nil || !strings.Contains(err.Error(), "no CoreDNS runs") {
		t.Errorf("lookup: %v", err)
	}
}
