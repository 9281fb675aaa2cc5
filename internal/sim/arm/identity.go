package arm

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// typeFederated are the federated identity credentials of an identity.
const typeFederated = "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials"

// identity is a user-assigned identity as the token service sees it.
type identity struct {
	id, client, principal string
	federated             []Federated
}

// identity finds the user-assigned identity whose property has a value; the
// property "id" is its resource ID.
func (s *Server) identity(property, value string) (out identity, ok bool) {
	s.read(func(t *tx) {
		for _, d := range t.all(typeIdentity, "") {
			have := str(d.Body, "properties", property)
			if property == "id" {
				have = d.ID
			}
			if have == "" || !strings.EqualFold(have, value) {
				continue
			}
			ok = true
			out.id = d.ID
			out.client, out.principal = str(d.Body, "properties", "clientId"), str(d.Body, "properties", "principalId")
			for _, f := range t.all(typeFederated, d.ID) {
				p := props(cloneObject(f.Body))
				audience, _, _ := strings.Cut(strings.Join(texts(p, "audiences"), "\n"), "\n")
				out.federated = append(out.federated, Federated{Issuer: str(p, "issuer"), Subject: str(p, "subject"), Audience: audience})
			}
			return
		}
	})
	return out, ok
}

// maxFederated is how many credentials an identity may have (Microsoft Learn,
// "Important considerations and restrictions for federated identity credentials").
const maxFederated = 20

// prepareFederated checks a federated identity credential.
func prepareFederated(t *tx, d, old *doc) *Error {
	p := props(d.Body)
	for _, field := range []string{"issuer", "subject"} {
		if str(p, field) == "" {
			return badRequest("BadRequest", "The federated identity credential needs properties.%s.", field)
		}
	}
	if n := len(texts(p, "audiences")); n != 1 {
		return badRequest("BadRequest", "The federated identity credential needs one audience in properties.audiences, it has %d.", n)
	}
	parent, _ := d.id.parent()
	others := 0
	for _, o := range t.all(typeFederated, parent.String()) {
		if o.key() == d.key() {
			continue
		}
		others++
		if str(o.Body, "properties", "issuer") == str(p, "issuer") && str(o.Body, "properties", "subject") == str(p, "subject") {
			return conflict("Conflict", "Issuer and subject combination already exists for this Managed Identity.")
		}
	}
	if others >= maxFederated {
		return conflict("Conflict", "The identity %s has %d federated identity credentials, which is the most it may have.", parent.name(), maxFederated)
	}
	return nil
}

// serveManagedIdentity is the token endpoint of managed identities in the form that App
// Service has (IDENTITY_ENDPOINT): whoever knows the secret of DefaultClient, in the
// header X-IDENTITY-HEADER, is a machine that has the identities it names, or one
// assigned by the system. The other form, that of the metadata service, has no secret;
// this address answers every user of the machine, and so refuses it.
func (c *call) serveManagedIdentity() {
	if !sameSecret(c.s.Client().Secret, c.r.Header.Get("X-IDENTITY-HEADER")) {
		c.reply(http.StatusUnauthorized, object{"error": "invalid_request", "error_description": "The header X-IDENTITY-HEADER has not the secret of this local Azure; 'casement azure env' prints it."})
		return
	}
	c.anyIdentity()
}

// ServeAnyIdentity answers as the metadata service of a machine that has every
// identity. Callers have to know who asks.
func (s *Server) ServeAnyIdentity(w http.ResponseWriter, r *http.Request) {
	(&call{s: s, w: w, r: r, host: r.Host, query: r.URL.Query(), begun: s.clock.Now()}).anyIdentity()
}

func (c *call) anyIdentity() {
	c.identityToken(func(id string) bool { return true }, identity{client: systemClient, principal: systemClient})
}

// ServeIdentity is the token endpoint that a machine reaches at its metadata service:
// it gives out tokens for the identities that are assigned to it, by resource ID, and
// for no other. Without a choice in the request there has to be exactly one.
func (s *Server) ServeIdentity(w http.ResponseWriter, r *http.Request, assigned []string) {
	c := &call{s: s, w: w, r: r, host: r.Host, query: r.URL.Query(), begun: s.clock.Now()}
	has := func(id string) bool {
		return slices.ContainsFunc(assigned, func(a string) bool { return strings.EqualFold(a, id) })
	}
	var only identity
	if len(assigned) == 1 {
		only, _ = s.identity("id", assigned[0])
	}
	c.identityToken(has, only)
}

// identityToken answers a request for a token of an identity that may be had, or of
// the one that is meant when the request names none.
func (c *call) identityToken(may func(id string) bool, id identity) {
	bad := func(status int, kind, message string) {
		c.reply(status, object{"error": kind, "error_description": message})
	}
	service := c.r.Header.Get("X-IDENTITY-HEADER") != ""
	switch {
	case lower(c.r.URL.Path) != "/metadata/identity/oauth2/token":
		bad(http.StatusNotFound, "not_found", "The local Azure serves /metadata/identity/oauth2/token alone.")
		return
	case c.r.Method != http.MethodGet:
		bad(http.StatusMethodNotAllowed, "invalid_request", "The endpoint takes GET only.")
		return
	case !service && !strings.EqualFold(c.r.Header.Get("Metadata"), "true"):
		bad(http.StatusBadRequest, "invalid_request", "Required metadata header not specified")
		return
	case c.query.Get("api-version") == "":
		bad(http.StatusBadRequest, "invalid_request", "Required api-version parameter not specified")
		return
	case c.query.Get("resource") == "":
		bad(http.StatusBadRequest, "invalid_request", "Required audience parameter not specified")
		return
	}
	for parameter, property := range map[string]string{"client_id": "clientId", "object_id": "principalId", "principal_id": "principalId", "msi_res_id": "id", "mi_res_id": "id"} {
		value := c.query.Get(parameter)
		if value == "" {
			continue
		}
		found, ok := c.s.identity(property, value)
		if !ok || !may(found.id) {
			bad(http.StatusBadRequest, "invalid_request", "Identity not found")
			return
		}
		id = found
	}
	if id.client == "" {
		bad(http.StatusBadRequest, "invalid_request", "Multiple user assigned identities exist, please specify the clientId / resourceId of the identity in the token request")
		return
	}
	now := c.s.clock.Now()
	life, resource := int64(tokenLife.Seconds()), c.query.Get("resource")
	c.reply(http.StatusOK, object{
		"access_token": c.s.token(id.client, id.principal, resource), "client_id": id.client, "resource": resource, "token_type": "Bearer",
		"expires_in": strconv.FormatInt(life, 10), "ext_expires_in": strconv.FormatInt(life, 10),
		"expires_on": strconv.FormatInt(now.Unix()+life, 10), "not_before": strconv.FormatInt(now.Unix(), 10),
	})
}

// systemClient stands for the identity that a machine is assigned by the system.
const systemClient = "00000000-0000-0000-0000-0000000000c2"
