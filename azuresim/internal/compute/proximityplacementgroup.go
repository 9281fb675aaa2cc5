package compute

import (
	"net/http"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const typeProximityGroup = "Microsoft.Compute/proximityPlacementGroups"

// proximityGroupType returns the resource type of proximity placement groups.
func proximityGroupType() engine.Type {
	return engine.Type{Name: typeProximityGroup, Sync: true, Stateless: true, Created: http.StatusCreated,
		Prepare: prepareProximityGroup, Guard: guardProximityGroup, View: viewProximityGroup}
}

// placed maps each resource type that can be in a group to the group's property that lists its
// members.
var placed = map[string]string{"virtualMachines": typeVM, "virtualMachineScaleSets": typeScale, "availabilitySets": typeSet}

func prepareProximityGroup(_ *engine.Tx, d, _ *engine.Doc) *engine.Error {
	if kind := value.Str(d.Body, "properties", "proximityPlacementGroupType"); kind != "" && kind != "Standard" && kind != "Ultra" {
		return invalid("proximityPlacementGroupType",
			"The value '%s' of parameter 'proximityPlacementGroupType' is not one of Standard, Ultra.", kind)
	}
	return nil
}

func guardProximityGroup(t *engine.Tx, d *engine.Doc) *engine.Error {
	for _, array := range value.SortedKeys(placed) {
		if users := t.Users(d.ID, placed[array]); len(users) > 0 {
			return engine.Conflict("CannotDeleteProximityPlacementGroup", "The proximity placement group '%s' "+
				"cannot be deleted. Please ensure that it has no resources in it: "+
				"%s.", d.Parsed.Name(), users[0].ID)
		}
	}
	return nil
}

func viewProximityGroup(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	for array, typ := range placed {
		if users := t.Users(d.ID, typ); len(users) > 0 {
			value.Props(body)[array] = value.IDs(engine.IdsOf(users))
		}
	}
}
