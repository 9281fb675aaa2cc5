package arm

func prepareDisk(t *tx, d, old *doc) *Error {
	if str(props(d.Body), "creationData", "createOption") == "" {
		return invalid("creationData", "Required parameter 'creationData.createOption' is missing (null).")
	}
	completeDisk(t, d, old)
	return nil
}

func guardDisk(t *tx, d *doc) *Error {
	if users := t.users(d.ID, typeVM); len(users) > 0 {
		return conflict("OperationNotAllowed", "Disk %s is attached to VM %s.", d.id.name(), users[0].ID)
	}
	return nil
}

func viewDisk(t *tx, d *doc, body object, _ string) {
	props(body)["diskState"] = "Unattached"
	if users := t.users(d.ID, typeVM); len(users) > 0 {
		props(body)["diskState"] = "Attached"
		body["managedBy"] = users[0].ID
	}
}
