package arm

func prepareDisk(t *tx, d, old *doc) *Error {
	if str(props(d.Body), "creationData", "createOption") == "" {
		return invalid("creationData", "Required parameter 'creationData.createOption' is missing (null).")
	}
	completeDisk(t, d, old)
	return nil
}

// holder is the machine that a disk is attached to, a VM or an instance of a Uniform
// scale set; nil for a free disk.
func (t *tx) holder(disk string) *record {
	for _, typ := range []string{typeVM, typeInstance} {
		if users := t.users(disk, typ); len(users) > 0 {
			return users[0]
		}
	}
	return nil
}

func guardDisk(t *tx, d *doc) *Error {
	if holder := t.holder(d.ID); holder != nil {
		return conflict("OperationNotAllowed", "Disk %s is attached to VM %s.", d.id.name(), holder.ID)
	}
	return nil
}

func viewDisk(t *tx, d *doc, body object, _ string) {
	props(body)["diskState"] = "Unattached"
	if holder := t.holder(d.ID); holder != nil {
		props(body)["diskState"] = "Attached"
		body["managedBy"] = holder.ID
	}
}
