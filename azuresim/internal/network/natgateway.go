package network

import (
	"fmt"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

func prepareGateway(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	if value.Str(d.Body, "sku", "name") == "" {
		return engine.BadRequest("InvalidRequestFormat", "The NAT gateway %s needs sku.name.", d.ID)
	}
	for _, ip := range value.Items(value.Props(d.Body), "publicIpAddresses") {
		id := value.Str(ip, "id")
		if e := missing(t, id); e != nil {
			return e
		}
		if r := t.Record(id); r != nil && r.State == updating && old == nil {
			return errNotReady(id, d.ID)
		}
	}
	return nil
}

// errNotReady returns the error for a write that refers to a public IP that is still being written.
func errNotReady(id, from string) *engine.Error {
	e := engine.Refuse(429, "RetryableError", "A retryable error occurred.")
	e.Details = []*engine.Error{{Code: "ReferencedResourceNotProvisioned", Message: fmt.Sprintf(
		"Cannot proceed with operation because resource %s used by resource %s is not in Succeeded state. "+
			"Resource is in Updating state and the last operation that updated/is updating the resource is PutPublicIpAddressOperation.",
		id, from)}}
	return e
}

func viewGateway(t *engine.Tx, d *engine.Doc, body value.Object, expand string) {
	viewUsers("subnets")(t, d, body, expand)
	if t.Since("2024-01-01") {
		value.Props(body)["type"] = "Public"
	}
}

func guardGateway(t *engine.Tx, d *engine.Doc) *engine.Error {
	if n := len(subnetsUsing(t, d.ID)); n > 0 {
		return engine.BadRequest("CannotDeleteNatGatewayAssociatedToSubnet", "NAT Gateway %s is still "+
			"configured on %d subnets. Remove NAT Gateway from all referenced subnets and then delete NAT "+
			"Gateway.", d.Parsed.Name(), n)
	}
	return nil
}
