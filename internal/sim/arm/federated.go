package arm

import "strings"

// typeFederated are the federated identity credentials of an identity.
const typeFederated = "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials"

// principalOf is the identity that a user-assigned identity is.
func principalOf(t *tx, d *doc) Principal {
	out := Principal{ID: d.ID, Client: str(d.Body, "properties", "clientId"), Object: str(d.Body, "properties", "principalId")}
	for _, f := range t.all(typeFederated, d.ID) {
		p := props(cloneObject(f.Body))
		audience, _, _ := strings.Cut(strings.Join(texts(p, "audiences"), "\n"), "\n")
		out.Federated = append(out.Federated, Federated{Issuer: str(p, "issuer"), Subject: str(p, "subject"), Audience: audience})
	}
	return out
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
