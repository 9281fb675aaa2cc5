package arm

import (
	"context"
	"fmt"
)

const entraSpace = "Microsoft.Entra"

// Entra is the configuration of the token service.
type Entra struct {
	// Clients are applications that may log in beside DefaultClient.
	Clients []Client
	// Issuer returns the public keys, in PEM, that another token service signs with;
	// nil knows none.
	Issuer func(ctx context.Context, issuer string) (keys string, err error)
}

// entra is what the token service keeps for a server.
type entra struct {
	Entra
	owner   Client
	clients clients
}

// entraProvider is the token service: logins, managed identities, discovery.
func entraProvider(cfg Entra) Provider {
	p := Provider{Namespace: entraSpace, State: &entra{Entra: cfg}, Open: openEntra, Front: serveLogin}
	for _, c := range Clouds() {
		p.Hosts = append(p.Hosts, c.Logins...)
	}
	return p
}

func entraOf(s *Server) *entra { return stateOf[*entra](s, entraSpace) }

// openEntra reads the secret of the server's own application, or draws it.
func openEntra(s *Server) error {
	e := entraOf(s)
	var err error
	if e.owner, err = loadOwner(s.cfg.Dir); err != nil {
		return fmt.Errorf("the local Azure's application: %w", err)
	}
	for _, c := range append(e.Clients, e.owner) {
		s.Admit(c)
	}
	return nil
}
