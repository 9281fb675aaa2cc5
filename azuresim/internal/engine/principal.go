package engine

import "time"

// Principal is an identity that a resource represents. The token service and the access checks
// look it up.
type Principal struct {
	// ID is the ID of the resource that represents the identity, "" for an application.
	ID string
	// Client is the application (client) ID; Object is the object ID in the directory.
	Client, Object string
	Federated      []Federated
	// Since is the time of the identity's creation.
	Since time.Time
}

// Federated is a federated identity credential: a token with this issuer, subject and audience
// authenticates the client.
type Federated struct {
	Issuer   string `json:"issuer"`
	Subject  string `json:"subject"`
	Audience string `json:"audience"`
	// Keys has the issuer's public keys in PEM; if it is empty, the token service downloads the
	// keys from the issuer.
	Keys string `json:"keys,omitempty"`
}

// Principal returns the first identity for which wanted returns true; wanted gets the identity
// without its federated credentials.
func (s *Server) Principal(wanted func(Principal) bool) (out Principal, ok bool) {
	s.Read(func(t *Tx) { out, ok = FindPrincipal(t, wanted) })
	return out, ok
}

// FindPrincipal is Principal inside a transaction.
func FindPrincipal(t *Tx, wanted func(Principal) bool) (out Principal, ok bool) {
	for _, p := range t.Server.Registry.providers {
		for _, k := range p.Types {
			if k.Principal == nil {
				continue
			}
			for r := range t.Scan(k.Name, "") {
				if r.principal == nil || !wanted(*r.principal) {
					continue
				}
				out = *r.principal
				if k.Federated != nil {
					out.Federated = k.Federated(t, out)
				}
				return out, true
			}
		}
	}
	return Principal{}, false
}

// Roles returns the names of the role definitions that are assigned to a principal at a resource.
func (t *Tx) Roles(principal string, id ID) []string {
	var out []string
	for _, p := range t.Server.Registry.providers {
		if p.Roles != nil {
			out = append(out, p.Roles(t, principal, id)...)
		}
	}
	return out
}
