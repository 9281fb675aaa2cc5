package arm

import (
	"context"
	"fmt"
)

const entraSpace = "Microsoft.Entra"

// entra is what the token service keeps for a server.
type entra struct {
	clients
	owner Client
	// issuer returns the keys of another token service; nil knows none.
	issuer func(ctx context.Context, issuer string) (keys string, err error)
}

// entraProvider is the token service: logins, managed identities, discovery.
// apps are those that may log in beside DefaultClient.
func entraProvider(apps []Client, issuer func(context.Context, string) (string, error)) Provider {
	e := &entra{issuer: issuer}
	p := Provider{Namespace: entraSpace, State: e, Front: func(c *call) bool { return c.serveLogin() }}
	p.Open = func(s *Server) (err error) {
		if e.owner, err = loadOwner(s.cfg.Dir); err != nil {
			return fmt.Errorf("the local Azure's application: %w", err)
		}
		for _, c := range apps {
			e.admit(c)
		}
		e.admit(e.owner)
		return nil
	}
	for _, c := range Clouds() {
		p.Hosts = append(p.Hosts, c.Logins...)
	}
	return p
}

func entraOf(s *Server) *entra { return stateOf[*entra](s, entraSpace) }
