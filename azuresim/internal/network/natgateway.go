package network

import (
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

func prepareGateway(_ *engine.Tx, d, _ *engine.Doc) *engine.Error {
	if value.Str(d.Body, "sku", "name") == "" {
		return engine.BadRequest("InvalidRequestFormat", "The NAT gateway %s needs sku.name.", d.ID)
	}
	value.SetDefault(value.Ensure(d.Body, "sku"), "tier", "Regional")
	value.SetDefault(value.Props(d.Body), "idleTimeoutInMinutes", float64(4))
	return nil
}

func guardGateway(t *engine.Tx, d *engine.Doc) *engine.Error {
	if n := len(subnetsUsing(t, d.ID)); n > 0 {
		return engine.BadRequest("CannotDeleteNatGatewayAssociatedToSubnet", "NAT Gateway %s is still configured on %d subnets. Remove NAT Gateway from all referenced subnets and then delete NAT Gateway.", d.Parsed.Name(), n)
	}
	return nil
}
