package compute

import (
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

func prepareDisk(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	if value.Str(value.Props(d.Body), "creationData", "createOption") == "" {
		return invalid("creationData", "Required parameter 'creationData.createOption' is missing (null).")
	}
	completeDisk(t, d, old)
	return nil
}

// holder is the machine that a disk is attached to, a VM or an instance of a Uniform
// scale set; nil for a free disk.
func holder(t *engine.Tx, disk string) *engine.Record {
	for _, typ := range []string{typeVM, typeInstance} {
		if users := t.Users(disk, typ); len(users) > 0 {
			return users[0]
		}
	}
	return nil
}

func guardDisk(t *engine.Tx, d *engine.Doc) *engine.Error {
	if holder := holder(t, d.ID); holder != nil {
		return engine.Conflict("OperationNotAllowed", "Disk %s is attached to VM %s.", d.Parsed.Name(), holder.ID)
	}
	return nil
}

func viewDisk(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	value.Props(body)["diskState"] = "Unattached"
	if holder := holder(t, d.ID); holder != nil {
		value.Props(body)["diskState"] = "Attached"
		body["managedBy"] = holder.ID
	}
}
