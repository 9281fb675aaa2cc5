package arm

func prepareGateway(_ *tx, d, _ *doc) *Error {
	if str(d.Body, "sku", "name") == "" {
		return badRequest("InvalidRequestFormat", "The NAT gateway %s needs sku.name.", d.ID)
	}
	setDefault(ensure(d.Body, "sku"), "tier", "Regional")
	setDefault(props(d.Body), "idleTimeoutInMinutes", float64(4))
	return nil
}

func guardGateway(t *tx, d *doc) *Error {
	if n := len(t.subnetsUsing(d.ID)); n > 0 {
		return badRequest("CannotDeleteNatGatewayAssociatedToSubnet", "NAT Gateway %s is still configured on %d subnets. Remove NAT Gateway from all referenced subnets and then delete NAT Gateway.", d.id.name(), n)
	}
	return nil
}
