package arm

const typeIdentity = "Microsoft.ManagedIdentity/userAssignedIdentities"

// identityProvider is Microsoft.ManagedIdentity.
func identityProvider() Provider {
	return Provider{
		Namespace: "Microsoft.ManagedIdentity",
		Versions:  []string{"2024-11-30", "2023-01-31", "2018-11-30"},
		Types: []Type{
			{Name: typeIdentity, Sync: true, Prepare: prepareIdentity, Principal: principalOf},
			{Name: typeFederated, Sync: true, Global: true, Prepare: prepareFederated},
		},
	}
}

func prepareIdentity(t *tx, d, old *doc) *Error {
	p := props(d.Body)
	if old != nil {
		d.Body["properties"] = clone(old.Body["properties"])
		return nil
	}
	p["clientId"], p["principalId"], p["tenantId"] = t.s.guid(), t.s.guid(), t.s.cfg.TenantID
	return nil
}
