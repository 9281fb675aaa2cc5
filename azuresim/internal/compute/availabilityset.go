package compute

import (
	"net/http"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const typeSet = "Microsoft.Compute/availabilitySets"

// availabilitySetType returns the resource type of availability sets.
func availabilitySetType() engine.Type {
	return engine.Type{Name: typeSet, Sync: true, Stateless: true, Created: http.StatusOK,
		Actions: []engine.Action{{Name: "vmsizes", Method: http.MethodGet,
			Serve: func(c *engine.Request, _ engine.ID) *engine.Error { return listSizes(c) }}},
		Guard: guardSet, View: viewSet,
		Refs: []engine.Reference{{Path: "proximityPlacementGroup", To: typeProximityGroup}}}
}

func guardSet(t *engine.Tx, d *engine.Doc) *engine.Error {
	if users := t.Users(d.ID, typeVM); len(users) > 0 {
		return engine.Conflict("OperationNotAllowed", "Availability Set '%s' cannot be deleted because it contains VMs.", d.Parsed.Name())
	}
	return nil
}

// viewSet adds the machines of an availability set. The answer to a write does not contain them.
func viewSet(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	if !d.WrittenBy(t) {
		value.Props(body)["virtualMachines"] = value.IDs(engine.IdsOf(t.Users(d.ID, typeVM)))
	}
}
