package supervisor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/sim/domain"
	"casement.dev/casement/internal/sim/fabric"
	"casement.dev/casement/internal/sim/host"
	"casement.dev/casement/internal/sim/stub"
)

// azure is the local Azure with the network and the machines behind it.
type azure struct {
	server   *azuresim.Azure
	fabric   *fabric.Fabric
	machines *host.Host
	domains  *domain.Directory
	endpoint string
	proxy    string // URL of the proxy
	gateway  string // URL of the gateway
	sshKey   string
}

// probeSettle is the time that replaces the load balancers' probe intervals.
const probeSettle = 500 * time.Millisecond

// tunnel returns the dialer with which Bastion hosts connect to machines through the fabric.
func tunnel(f *fabric.Fabric) azuresim.Tunnel {
	return func(ctx context.Context, vnet string, from netip.Addr, to netip.AddrPort) (net.Conn, error) {
		return f.Dial(ctx, fabric.Origin{VNetID: vnet, IP: from}, "tcp", to.String())
	}
}

// startAzure loads the state, resumes its guests and serves the local Azure.
func (s *supervisor) startAzure(ctx context.Context, failed chan<- error) (func(context.Context), error) {
	domains, err := domain.Open(s.opts.Dir.Path("domains.json"))
	if err != nil {
		return nil, err
	}
	guests := host.New(host.Config{
		Dir: string(s.opts.Dir), Images: s.opts.Images, Route: s.route,
		Directory: domains, Records: s.opts.Dir.Records(), OnPanic: s.panicked, Log: s.log.WithName("guest"),
	})
	network, err := fabric.New(fabric.Config{
		Dir: s.opts.Dir.Path("fabric"), Log: slog.New(logr.ToSlogHandler(s.log.WithName("fabric"))),
		External: guests.External, Settle: probeSettle, Sockets: limit.Sockets(),
	})
	if err != nil {
		return nil, err
	}
	a := &azure{fabric: network, machines: guests, domains: domains}
	end := func(context.Context) { a.close(s.log) }
	l, meets, err := s.openAzure(ctx, a)
	if err != nil {
		return end, err
	}
	a.follow()
	a.machines.Open(meets, a.server.GuestChanged)
	go func() {
		if err := a.server.Serve(ctx, l); err != nil && ctx.Err() == nil {
			failed <- err
		}
	}()
	if err := s.serveProxy(ctx, a, failed); err != nil {
		return end, err
	}
	s.mu.Lock()
	s.azure = a
	s.mu.Unlock()
	return end, nil
}

// openAzure opens the server; it returns the listener on which to serve it, and the parts of it to which machines connect.
func (s *supervisor) openAzure(ctx context.Context, a *azure) (net.Listener, host.Azure, error) {
	var meets host.Azure
	dir := s.opts.Dir
	if err := os.MkdirAll(dir.Path("egress"), 0o700); err != nil {
		return nil, meets, err
	}
	l, err := s.listenAzure()
	if err != nil {
		return nil, meets, err
	}
	a.endpoint = "https://" + l.Addr().String()
	if a.sshKey, err = dir.SSHPublicKey(); err != nil {
		return nil, meets, err
	}
	faults, err := fault.New(s.opts.Faults)
	if err != nil {
		return nil, meets, err
	}
	ca := x509.NewCertPool()
	cloud := stub.Azure{Endpoint: a.endpoint, Authority: a.endpoint,
		HTTP: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca}}}}
	a.server, err = azuresim.New(azuresim.Config{
		Faults: faults, Clients: s.opts.Clients,
		Dir: dir.Path("azure"), Log: s.log.WithName("azure"), Host: a.machines, PublicIP: a.fabric.PublicIP,
		Latency: azuresim.Latency(s.opts.Latency), Throttle: azuresim.Throttle(s.opts.Throttle),
		// Nothing on this machine resolves cloudapp.azure.com, so the name of a public IP is its address; clients of
		// the proxy and guests can resolve the actual name.
		FQDN:   func(_, _, ip string) string { return ip },
		Tunnel: tunnel(a.fabric),
	})
	if err != nil {
		return nil, meets, err
	}
	if a.gateway, err = s.openGateway(ctx, a.fabric, a.server.Client().Secret); err != nil {
		return nil, meets, err
	}
	ca.AppendCertsFromPEM(a.server.CAPEM())
	meets = host.Azure{Network: a.fabric, Faults: faults, Cloud: cloud, Identity: a.server.ServeIdentity, Roots: ca,
		Resource: a.server.Get, TakesKey: a.server.TakesKey}
	return l, meets, nil
}

// follow updates the network at every change of the resources from now on.
func (a *azure) follow() {
	changed := a.fabric.Follow(a.server)
	a.server.Subscribe(func(change azuresim.Change) {
		changed(change.Type, change.ID)
		if change.Deleted {
			a.machines.Discard(change.ID)
		}
	})
}

// close ends the guests, the server and the network, if they were started.
func (a *azure) close(log logr.Logger) {
	a.machines.Close()
	if a.server != nil {
		if err := a.server.Close(); err != nil {
			log.Error(err, "close the local Azure")
		}
	}
	if err := a.fabric.Close(); err != nil {
		log.Error(err, "close the local network")
	}
}

func (s *supervisor) listenAzure() (net.Listener, error) {
	if s.opts.Listen == "" {
		return listenKept(s.opts.Dir.Path("azure.port"))
	}
	l, err := net.Listen("tcp", s.opts.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for the local Azure: %w", err)
	}
	return l, nil
}

// listenKept listens on 127.0.0.1, on the port in file or, without one, on a free port, which it writes to file.
func listenKept(file string) (net.Listener, error) {
	port, err := keptPort(file)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(planeHost, fmt.Sprint(port)))
	if err != nil {
		return nil, fmt.Errorf("listen on the port in %s: %w; delete the file to get another one", filepath.Base(file), err)
	}
	return l, nil
}

func (a *azure) describe(s *plane.Status) {
	s.Azure = plane.Azure{Endpoint: a.endpoint, CAFile: a.server.CAFile(), Proxy: a.proxy,
		TenantID: azuresim.DefaultTenant, SubscriptionID: azuresim.DefaultSubscription,
		ClientID: a.server.Client().ID, SecretFile: a.server.SecretFile(), SSHPublicKey: a.sshKey}
	s.Gateway = a.gateway
	s.Notices = append(s.Notices, a.machines.Notices()...)
	for _, g := range a.machines.List() {
		s.Guests = append(s.Guests, plane.Guest(g))
	}
	for _, l := range a.fabric.Listeners() {
		s.Listeners = append(s.Listeners, describeListener(l))
	}
}

func (a *azure) calls() json.RawMessage {
	data, err := json.Marshal(a.server.CallLog())
	if err != nil {
		return json.RawMessage("{}") // a struct of strings and numbers can always be encoded
	}
	return data
}

func describeListener(l fabric.Listener) plane.Listener {
	d := plane.Listener{Owner: l.What, Address: l.Address, Backends: l.Backends, Healthy: l.Healthy}
	if l.Actual != "" && l.Actual != l.Address {
		d.Address, d.Instead = l.Actual, l.Address
	}
	if l.Actual == "" && l.Backends == 0 {
		d.Note = l.Reason
	}
	return d
}
