package identity

import (
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// typeFederated is the type of the federated identity credentials of an identity.
const typeFederated = "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials"

// maxFederated is the largest number of credentials of an identity (Microsoft Learn, "Important
// considerations and restrictions for federated identity credentials").
const maxFederated = 20

// prepareFederated checks a federated identity credential.
func prepareFederated(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	for _, field := range []string{"issuer", "subject"} {
		if value.Str(p, field) == "" {
			return engine.BadRequest("BadRequest", "The federated identity credential needs properties.%s.", field)
		}
	}
	if n := len(value.Texts(p, "audiences")); n != 1 {
		return engine.BadRequest("BadRequest",
			"The federated identity credential needs one audience in properties.audiences, it has %d.", n)
	}
	parent, _ := d.Parsed.Parent()
	others := 0
	for _, o := range t.All(typeFederated, parent.String()) {
		if o.Key() == d.Key() {
			continue
		}
		others++
		if value.Str(o.Body, "properties", "issuer") == value.Str(p, "issuer") &&
			value.Str(o.Body, "properties", "subject") == value.Str(p, "subject") {
			return engine.Conflict("Conflict", "Issuer and subject combination already exists for this Managed Identity.")
		}
	}
	if others >= maxFederated {
		return engine.Conflict("Conflict",
			"The identity %s has %d federated identity credentials, which is the most it may have.", parent.Name(),
			maxFederated)
	}
	return nil
}
