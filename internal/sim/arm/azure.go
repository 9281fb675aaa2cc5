package arm

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"casement.dev/casement/internal/sim/fault"
)

// Config says how the local Azure behaves.
type Config struct {
	// Dir keeps the state; empty keeps it in memory.
	Dir string
	Log logr.Logger
	// Clock is the real one when nil.
	Clock clock.WithTicker
	// Latency scales the durations of operations.
	Latency Latency
	// Throttle limits requests.
	Throttle Throttle
	// TenantID and Subscriptions are the defaults above when empty.
	TenantID      string
	Subscriptions []string
	// Machines runs the VMs; nil lets each succeed and never boot.
	Machines Machines
	// PublicIP allocates the address of a public IP; nil takes 203.0.113.0/24
	// (RFC 5737) in turn.
	PublicIP func(id string) (string, error)
	// Faults are the rules in force at first; nil is none.
	Faults *fault.Set
	// Clients are applications that may log in beside DefaultClient.
	Clients []Client
	// Issuer returns the public keys, in PEM, that another token service signs with;
	// nil knows none. The local Azure fetches nothing itself.
	Issuer func(ctx context.Context, issuer string) (keys string, err error)
	// FQDN is the name of a public IP that has a DNS label; nil is Azure's form.
	FQDN func(label, location, ip string) string
	// Tunnel carries what goes through Bastion hosts; nil refuses it.
	Tunnel Tunnel
}

// providers are those of the local Azure.
func providers(cfg Config) []Provider {
	return []Provider{
		entraProvider(Entra{Clients: cfg.Clients, Issuer: cfg.Issuer}),
		resourcesProvider(),
		networkProvider(Network{PublicIP: cfg.PublicIP, FQDN: cfg.FQDN, Tunnel: cfg.Tunnel}),
		computeProvider(cfg.Machines),
		identityProvider(),
		authorizationProvider(),
		keyvaultProvider(),
	}
}

// New opens the state and takes up what was under way.
func New(cfg Config) (*Server, error) {
	return Open(Options{
		Dir: cfg.Dir, Log: cfg.Log, Clock: cfg.Clock, Latency: cfg.Latency, Throttle: cfg.Throttle, TenantID: cfg.TenantID, Subscriptions: cfg.Subscriptions, Faults: cfg.Faults,
	}, providers(cfg)...)
}

// Intercepts tells whether the local Azure can stand for a public host.
func Intercepts(host string) bool {
	return Stands(host, providers(Config{})...)
}
