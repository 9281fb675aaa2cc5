package arm

func guardTable(t *tx, d *doc) *Error {
	if users := t.subnetsUsing(d.ID); len(users) > 0 {
		return badRequest("InUseRouteTableCannotBeDeleted", "Route table %s is in use and cannot be deleted.", d.id.name())
	}
	return nil
}
