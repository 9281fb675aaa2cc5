package identity

import (
	"strings"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const typeIdentity = "Microsoft.ManagedIdentity/userAssignedIdentities"

// prepareIdentity completes a user-assigned identity. A client can set only its location, its tags
// and its isolation scope.
func prepareIdentity(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	scope := value.Str(value.Props(d.Body), "isolationScope")
	if scope != "" && scope != "None" && scope != "Regional" {
		return engine.BadRequest("BadRequest", "The isolation scope '%s' is not valid. Valid scopes are None, Regional.", scope)
	}
	properties := value.Object{"clientId": uuid.NewString(), "principalId": uuid.NewString(), "tenantId": t.Server.Options.TenantID}
	if old != nil {
		properties = value.CloneObject(value.Sub(old.Body, "properties"))
	}
	if scope != "" {
		properties["isolationScope"] = scope
	}
	d.Body["properties"] = properties
	value.Ensure(d.Body, "tags")
	return nil
}

// principalOf returns the principal of a user-assigned identity.
func principalOf(d *engine.Doc) engine.Principal {
	return engine.Principal{ID: d.ID, Client: value.Str(d.Body, "properties", "clientId"),
		Object: value.Str(d.Body, "properties", "principalId"), Since: d.Created}
}

// federatedOf returns the federated credentials of an identity.
func federatedOf(t *engine.Tx, identity engine.Principal) (out []engine.Federated) {
	for _, f := range t.All(typeFederated, identity.ID) {
		p := value.Sub(f.Body, "properties")
		audience, _, _ := strings.Cut(strings.Join(value.Texts(p, "audiences"), "\n"), "\n")
		out = append(out, engine.Federated{Issuer: value.Str(p, "issuer"), Subject: value.Str(p, "subject"), Audience: audience})
	}
	return out
}
