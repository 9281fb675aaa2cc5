package compute

import (
	"net/http"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const typeSnapshot = "Microsoft.Compute/snapshots"

// snapshotType returns the resource type of snapshots of disks.
func snapshotType() engine.Type {
	put := engine.Work{Name: "snapshot.put", Finish: finishManaged(fillManaged)}
	return engine.Type{Name: typeSnapshot, Style: engine.StyleCompute,
		Takes: 3 * time.Second, Created: http.StatusAccepted, Retry: engine.Retry{Write: 2}, Polled: true,
		Put: put, Update: put, Delete: goneDelete(), Prepare: prepareManaged,
		View: func(t *engine.Tx, d *engine.Doc, body value.Object, _ string) { viewManaged(t, d, body) }}
}
