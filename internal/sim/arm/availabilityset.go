package arm

func guardSet(t *tx, d *doc) *Error {
	if users := t.users(d.ID, typeVM); len(users) > 0 {
		return conflict("OperationNotAllowed", "Availability Set '%s' cannot be deleted because it contains VMs.", d.id.name())
	}
	return nil
}

// viewSet lists the machines of an availability set.
func viewSet(t *tx, d *doc, body object, _ string) {
	if users := t.users(d.ID, typeVM); len(users) > 0 {
		props(body)["virtualMachines"] = ids(idsOf(users))
	}
}
