package compute

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const (
	typeReservationGroup = "Microsoft.Compute/capacityReservationGroups"
	typeReservation      = typeReservationGroup + "/capacityReservations"
)

// reservationTypes returns the resource types of capacity reservations. The local Azure's
// capacity is unlimited: a reservation is stored and reserves nothing.
func reservationTypes() []engine.Type {
	silent := engine.Work{Silent: true}
	return []engine.Type{
		{Name: typeReservationGroup, Style: engine.StyleCompute, Takes: 3 * time.Second, Put: silent,
			Update: silent, Delete: silent, Guard: guardReservationGroup, View: viewReservationGroup},
		{Name: typeReservation, Style: engine.StyleCompute, Takes: 3 * time.Second, Put: silent, Update: silent,
			Delete: silent, Prepare: prepareReservation},
	}
}

// guardReservationGroup refuses to delete a group that has reservations or machines.
func guardReservationGroup(t *engine.Tx, d *engine.Doc) *engine.Error {
	for _, typ := range []string{typeVM, typeScale} {
		if users := t.Users(d.ID, typ); len(users) > 0 {
			return engine.Conflict("OperationNotAllowed",
				"Capacity Reservation Group '%s' cannot be deleted because it is in use by %s.", d.Parsed.Name(),
				users[0].ID)
		}
	}
	return guardChildren(t, d)
}

func viewReservationGroup(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	reservations, machines := t.All(typeReservation, d.ID), t.Users(d.ID, typeVM)
	if len(reservations) > 0 {
		var ids []any
		for _, r := range reservations {
			ids = append(ids, value.Object{"id": r.ID})
		}
		value.Props(body)["capacityReservations"] = ids
	}
	if len(machines) > 0 {
		value.Props(body)["virtualMachinesAssociated"] = value.IDs(engine.IdsOf(machines))
	}
}

func prepareReservation(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	if _, e := sizeFor(t, d.Location(), value.Str(d.Body, "sku", "name"), value.Texts(d.Body, "zones")); e != nil {
		return e
	}
	if n, ok := value.Int(d.Body, "sku", "capacity"); !ok || n < 0 {
		return engine.Refuse(http.StatusBadRequest, "InvalidParameter", "Required parameter 'sku.capacity' is missing (null).")
	}
	p := value.Props(d.Body)
	p["reservationId"], p["provisioningTime"] = uuid.NewString(), t.Now.Format(engine.TimeForm)
	if old != nil {
		p["reservationId"], p["provisioningTime"] = value.Props(old.Body)["reservationId"], value.Props(old.Body)["provisioningTime"]
	}
	return nil
}
