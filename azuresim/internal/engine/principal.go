package engine

import "time"

// Principal is an identity that a resource represents. The token service finds it,
// and what checks rights.
type Principal struct {
	// ID is the resource.
	ID string
	// Client and Object are the application's ID and the object's in the directory.
	Client, Object string
	Federated      []Federated
	// Since is when it was made.
	Since time.Time
}

// Federated is a federated identity credential: a token of this issuer, subject
// and audience identifies the client.
type Federated struct {
	Issuer   string `json:"issuer"`
	Subject  string `json:"subject"`
	Audience string `json:"audience"`
	// Keys, in PEM, are the public keys that the issuer signs with; the token
	// service asks for them when there are none.
	Keys string `json:"keys,omitempty"`
}

// Principal finds the identity that is wanted.
func (s *Server) Principal(wanted func(Principal) bool) (out Principal, ok bool) {
	s.Read(func(t *Tx) { out, ok = FindPrincipal(t, wanted) })
	return out, ok
}

// FindPrincipal is Principal within a transaction.
func FindPrincipal(t *Tx, wanted func(Principal) bool) (out Principal, ok bool) {
	for _, p := range t.Server.Registry.providers {
		for _, k := range p.Types {
			if k.Principal == nil {
				continue
			}
			for r := range t.Scan(k.Name, "") {
				if one := k.Principal(t, t.Doc(r)); wanted(one) {
					return one, true
				}
			}
		}
	}
	return Principal{}, false
}

// Roles are those that a principal has at a resource, by the names of their
// definitions.
func (t *Tx) Roles(principal string, id ID) []string {
	var out []string
	for _, p := range t.Server.Registry.providers {
		if p.Roles != nil {
			out = append(out, p.Roles(t, principal, id)...)
		}
	}
	return out
}
