package network

import "casement.dev/casement/azuresim/internal/engine"

func guardTable(t *engine.Tx, d *engine.Doc) *engine.Error {
	if users := subnetsUsing(t, d.ID); len(users) > 0 {
		return engine.BadRequest("InUseRouteTableCannotBeDeleted", "Route table %s is in use and cannot be deleted.", d.Parsed.Name())
	}
	return nil
}
