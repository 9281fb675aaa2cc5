package compute

import (
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

func guardSet(t *engine.Tx, d *engine.Doc) *engine.Error {
	if users := t.Users(d.ID, typeVM); len(users) > 0 {
		return engine.Conflict("OperationNotAllowed", "Availability Set '%s' cannot be deleted because it contains VMs.", d.Parsed.Name())
	}
	return nil
}

// viewSet lists the machines of an availability set.
func viewSet(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	if users := t.Users(d.ID, typeVM); len(users) > 0 {
		value.Props(body)["virtualMachines"] = value.IDs(engine.IdsOf(users))
	}
}
