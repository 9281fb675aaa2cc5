package compute

import (
	"net/http"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/compute/catalogue"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const typeDisk = "Microsoft.Compute/disks"

// diskType returns the resource type of managed disks.
func diskType() engine.Type {
	return engine.Type{Name: typeDisk, Style: engine.StyleCompute, Takes: 3 * time.Second,
		Created: http.StatusAccepted, Retry: engine.Retry{Write: 2}, Polled: true,
		Put: diskPut(), Update: diskPut(), Delete: goneDelete(), Prepare: prepareManaged, Guard: guardDisk, View: viewDisk}
}

func diskPut() engine.Work { return engine.Work{Name: "disk.put", Finish: finishManaged(fillDisk)} }

// fillDisk sets the properties that Azure computes from a disk's size and kind.
func fillDisk(d *engine.Doc) {
	fillManaged(d)
	p := value.Props(d.Body)
	kind, _, _ := strings.Cut(value.Str(d.Body, "sku", "name"), "_")
	gib, _ := value.Int(p, "diskSizeGB")
	tier, ok := catalogue.DiskTier(kind, gib)
	if !ok { // the client chooses the figures of the other kinds
		value.SetDefault(p, "diskIOPSReadWrite", float64(3000))
		value.SetDefault(p, "diskMBpsReadWrite", float64(125))
		return
	}
	p["diskIOPSReadWrite"], p["diskMBpsReadWrite"] = float64(tier.IOPS), float64(tier.MBps)
	if kind == "Premium" {
		p["tier"] = tier.Name
	}
}

// holder returns the machine that a disk is attached to: a VM or an instance of a Uniform scale
// set; nil if the disk is not attached.
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
	holder := holder(t, d.ID)
	if holder != nil {
		body["managedBy"] = holder.ID
	}
	if viewManaged(t, d, body) && holder != nil {
		value.Props(body)["diskState"] = "Attached"
	}
}
