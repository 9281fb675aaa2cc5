package azuresim

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/azuresim/internal/authorization"
	"casement.dev/casement/azuresim/internal/compute"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/entra"
	"casement.dev/casement/azuresim/internal/identity"
	"casement.dev/casement/azuresim/internal/insights"
	"casement.dev/casement/azuresim/internal/keyvault"
	"casement.dev/casement/azuresim/internal/network"
	"casement.dev/casement/azuresim/internal/resources"
	"casement.dev/casement/azuresim/internal/storage"
)

// DefaultTenant, DefaultSubscription and DefaultClient exist from the start: a tenant, a
// subscription, and the application of the owner of this Azure, whose secret is random.
const (
	DefaultTenant       = engine.DefaultTenant
	DefaultSubscription = engine.DefaultSubscription
	DefaultClient       = entra.DefaultClient
)

// Instant and RealTime are the paces of operations: with Instant an operation lasts a few
// milliseconds, with RealTime as long as in Azure. Other numbers are factors of Azure's durations.
const (
	Instant  Latency = engine.Instant
	RealTime Latency = engine.Azure
)

// VaultDomain is the domain of the names of the local key vaults.
const VaultDomain = engine.VaultDomain

// CommunityGallery is the public gallery of Cluster API's reference images.
const CommunityGallery = compute.CommunityGallery

type (
	// Host runs the machines; package host describes the interface.
	Host = host.Host
	// Latency scales the durations of operations.
	Latency = engine.Latency
	// Throttle says how strictly requests are limited: 0 means no limit, 1 Azure's limits, any
	// other number a factor of Azure's limits.
	Throttle = engine.Throttle
	// Client is an application that can log in; Federated is a federated credential: the
	// application logs in with a token of another issuer in place of a secret.
	Client    = entra.Client
	Federated = engine.Federated
	// Tunnel connects Bastion sessions to machines.
	Tunnel = network.Tunnel
	// Change reports that a resource was written or deleted.
	Change = engine.Change
	// Resource is one line of the inventory.
	Resource = engine.Resource
	// Call is one answered request, Counter counts equal requests, and CallLog summarizes all
	// requests.
	Call    = engine.Call
	Counter = engine.Counter
	CallLog = engine.CallLog
)

// Config configures the local Azure. The zero value keeps the state in memory and runs no
// machines.
type Config struct {
	// Dir keeps the state; empty keeps it in memory.
	Dir string
	Log logr.Logger
	// Clock is the clock of operations; nil means the real clock.
	Clock clock.WithTicker
	// Latency scales the durations of operations.
	Latency Latency
	// Throttle limits requests.
	Throttle Throttle
	// TenantID and Subscriptions are the defaults above when empty.
	TenantID      string
	Subscriptions []string
	// Host runs the VMs. With nil, each creation of a VM succeeds and nothing boots.
	Host Host
	// PublicIP allocates the address of a public IP; nil allocates the addresses of 203.0.113.0/24
	// (RFC 5737) in turn.
	PublicIP func(id string) (string, error)
	// Faults are the rules that are active from the start; nil means none.
	Faults *fault.Set
	// Clients are applications that may log in, in addition to DefaultClient.
	Clients []Client
	// Issuer returns the public keys, in PEM, with which another token service signs; nil means
	// that no other token service is known. The local Azure fetches nothing itself.
	Issuer func(ctx context.Context, issuer string) (keys string, err error)
	// FQDN returns the name of a public IP that has a DNS label, for clients that address the local
	// Azure by its own host name. All other clients, and all clients if FQDN is nil, get the name
	// in Azure's form.
	FQDN func(label, location, ip string) string
	// Linked returns the template or the parameters at the address that a deployment contains. With
	// nil, such deployments are refused. The local Azure fetches nothing itself.
	Linked func(uri string) ([]byte, error)
	// Tunnel connects Bastion sessions to machines. With nil, sessions are refused.
	Tunnel Tunnel
}

// Azure is a running local Azure. Its methods may be called at the same time.
type Azure struct {
	server *engine.Server
	// endpoint is the URL on which Start listens.
	endpoint string
	stop     context.CancelFunc
	stopped  chan error
}

// New opens the state and resumes operations in progress. It does not listen: Do answers
// requests in process, Serve answers on a listener.
func New(cfg Config) (*Azure, error) {
	server, err := open(cfg)
	if err != nil {
		return nil, err
	}
	return &Azure{server: server, endpoint: "https://azure.localhost"}, nil
}

// Start calls New and serves on a free port of 127.0.0.1 until Close.
func Start(cfg Config) (*Azure, error) {
	a, err := New(cfg)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		_ = a.server.Close() // the first error is the one to report
		return nil, fmt.Errorf("listen for the local Azure: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	a.endpoint, a.stop, a.stopped = "https://"+l.Addr().String(), stop, make(chan error, 1)
	go func() { a.stopped <- a.Serve(ctx, l) }()
	return a, nil
}

// Close stops the server. Operations in progress resume after the next Start with the same
// directory.
func (a *Azure) Close() error {
	var served error
	if a.stop != nil {
		a.stop()
		served = <-a.stopped
	}
	if err := a.server.Close(); err != nil {
		return err
	}
	return served
}

// open starts the engine with the providers.
func open(cfg Config) (*engine.Server, error) {
	return engine.Open(engine.Options{
		Dir: cfg.Dir, Log: cfg.Log, Clock: cfg.Clock, Latency: cfg.Latency, Throttle: cfg.Throttle,
		TenantID: cfg.TenantID, Subscriptions: cfg.Subscriptions, Faults: cfg.Faults,
	}, providers(cfg)...)
}

// providers returns the resource providers of the local Azure. Lists of providers show
// their types in this order.
func providers(cfg Config) []engine.Provider {
	return []engine.Provider{
		entra.New(entra.Config{Clients: cfg.Clients, Issuer: cfg.Issuer}),
		resources.New(cfg.Linked), resources.Management(),
		network.New(network.Config{PublicIP: cfg.PublicIP, FQDN: cfg.FQDN, Tunnel: cfg.Tunnel}),
		compute.New(cfg.Host),
		identity.New(),
		authorization.New(),
		keyvault.New(),
		storage.New(),
		insights.New(),
	}
}

// Intercepts reports whether the local Azure can answer for a public host name, for an intercepting
// proxy or a hosts file that redirects the name.
func Intercepts(name string) bool { return engine.AnswersFor(name, providers(Config{})...) }

// Serve answers on a listener over TLS until ctx ends.
func (a *Azure) Serve(ctx context.Context, l net.Listener) error { return a.server.Serve(ctx, l) }

// ServeHTTP implements http.Handler.
func (a *Azure) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.server.ServeHTTP(w, r) }

// Do answers a request in process, like the transport of an HTTP client.
func (a *Azure) Do(r *http.Request) (*http.Response, error) { return a.server.Do(r) }

// TLS returns a configuration with a certificate for the names that Intercepts accepts.
func (a *Azure) TLS() *tls.Config { return a.server.TLS() }

// CAPEM returns the certificate that clients have to trust.
func (a *Azure) CAPEM() []byte { return a.server.CAPEM() }

// CAFile returns the path of the CA certificate, or "" for a server in memory.
func (a *Azure) CAFile() string { return a.server.CAFile() }

// List returns the documents of a resource type as clients see them.
func (a *Azure) List(resourceType string) []json.RawMessage { return a.server.List(resourceType) }

// Get returns one document in the form that clients see.
func (a *Azure) Get(id string) (json.RawMessage, bool) { return a.server.Get(id) }

// TakesKey reports whether the storage account with this resource ID accepts a key, as the
// account's data plane would.
func (a *Azure) TakesKey(account, key string) bool { return storage.TakesKey(a.server, account, key) }

// Resources returns the IDs of all resources, sorted.
func (a *Azure) Resources() []string { return a.server.Resources() }

// Inventory returns all resources with their states, sorted by ID.
func (a *Azure) Inventory() []Resource { return a.server.Inventory() }

// Subscribe calls fn after each change from now on, in order. A slow fn delays other subscribers
// but no answer.
func (a *Azure) Subscribe(fn func(Change)) { a.server.Subscribe(fn) }

// GuestChanged reports that the Host's View of a machine has changed.
func (a *Azure) GuestChanged(string) { a.server.Broadcast() }

// Faults returns the fault rules, which can be changed while the server runs.
func (a *Azure) Faults() *fault.Set { return a.server.Faults() }

// CallLog returns the summary of all calls so far.
func (a *Azure) CallLog() CallLog { return a.server.CallLog() }

// CallsAfter returns the remembered calls with a higher number than after.
func (a *Azure) CallsAfter(after uint64) []Call { return a.server.CallsAfter(after) }

// Snapshot writes the state as JSON. The state contains custom data, passwords and secrets: protect
// the snapshot as you would protect them.
func (a *Azure) Snapshot(w io.Writer) error { return a.server.Snapshot(w) }

// Restore replaces the state by a snapshot. Guests of VMs that were running boot again from their
// custom data; operations in progress continue.
func (a *Azure) Restore(r io.Reader) error { return a.server.Restore(r) }

// Reset forgets all resources and operations, and ends all guests.
func (a *Azure) Reset() error { return a.server.Reset() }
