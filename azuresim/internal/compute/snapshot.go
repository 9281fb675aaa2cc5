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
		Put: put, Update: put, Delete: goneDelete(), Prepare: prepareSnapshot,
		View: func(t *engine.Tx, d *engine.Doc, body value.Object, _ string) { viewManaged(t, d, body) }}
}

// prepareSnapshot validates a snapshot. A snapshot of a disk has the disk's size and
// operating system.
func prepareSnapshot(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	if e := checkManaged(t, d); e != nil {
		return e
	}
	p := value.Props(d.Body)
	if source := value.Str(p, "creationData", "sourceResourceId"); source != "" && old == nil {
		from := t.Find(source)
		if from == nil {
			return engine.Refuse(http.StatusNotFound, "ResourceNotFound",
				"The source '%s' of snapshot %s was not found.", source, d.Parsed.Name())
		}
		if of := from.Hidden["source"]; of != nil {
			d.Hidden["source"] = of // the image that it came from
		}
		for _, field := range []string{"diskSizeGB", "osType", "hyperVGeneration"} {
			if v := value.At(from.Body, "properties", field); v != nil {
				value.SetDefault(p, field, v)
			}
		}
	}
	keepManaged(t, d, old)
	return nil
}
