// Package entra is the token service of the local Azure: logins of applications, managed
// identities, discovery. The engine signs the tokens. It imports no other provider; only package
// azuresim imports it.
package entra

import (
	"context"
	"fmt"

	"casement.dev/casement/azuresim/internal/engine"
)

const entraSpace = "Microsoft.Entra"

// Config is the configuration of the token service.
type Config struct {
	// Clients are applications that may log in, in addition to DefaultClient.
	Clients []Client
	// Issuer returns another token service's public keys in PEM; nil means that no other token
	// service is known.
	Issuer func(ctx context.Context, issuer string) (keys string, err error)
}

// state is the token service's own state in one server.
type state struct {
	Config
	owner   Client
	clients clients
}

// New returns the token service: logins, managed identities, discovery.
func New(cfg Config) engine.Provider {
	p := engine.Provider{Namespace: entraSpace, State: &state{Config: cfg}, Open: openEntra, Front: serveLogin}
	for _, c := range engine.Clouds() {
		p.Hosts = append(p.Hosts, c.Logins...)
	}
	return p
}

func entraOf(s *engine.Server) *state { return engine.StateOf[*state](s, entraSpace) }

// openEntra reads DefaultClient's secret, or generates it.
func openEntra(s *engine.Server) error {
	e := entraOf(s)
	var err error
	if e.owner, err = loadOwner(s.Options.Dir); err != nil {
		return fmt.Errorf("the local Azure's application: %w", err)
	}
	for _, c := range append(e.Clients, e.owner) {
		Admit(s, c)
	}
	return nil
}
