package arm

const entraSpace = "Microsoft.Entra"

// entra is what the token service keeps for a server.
type entra struct{ clients []Client }

// entraProvider is the token service: logins, managed identities, discovery.
// clients are those that may log in; nil lets every one do so.
func entraProvider(clients []Client) Provider {
	p := Provider{Namespace: entraSpace, State: &entra{clients}, Front: func(c *call) bool { return c.serveLogin() }}
	for _, c := range Clouds() {
		p.Hosts = append(p.Hosts, c.Logins...)
	}
	return p
}

func clientsOf(s *Server) []Client { return stateOf[*entra](s, entraSpace).clients }
