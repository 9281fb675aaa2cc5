package network

import (
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

func prepareTable(_ *engine.Tx, d, _ *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	fill(p, value.Object{"routes": []any{}, "disableBgpRoutePropagation": false})
	for _, r := range value.Items(p, "routes") {
		fill(value.Props(r), value.Object{"hasBgpOverride": false})
	}
	return nil
}

func guardTable(t *engine.Tx, d *engine.Doc) *engine.Error {
	if users := subnetsUsing(t, d.ID); len(users) > 0 {
		return engine.BadRequest("InUseRouteTableCannotBeDeleted", "Route table %s is in use and cannot be deleted.", d.Parsed.Name())
	}
	return nil
}
