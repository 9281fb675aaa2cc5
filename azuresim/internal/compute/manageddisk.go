package compute

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/defaults"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// Disks and snapshots share a file because one service of Azure implements both. The service
// answers a write with the values of the request and adds the computed values when the operation
// ends.

// prepareManaged checks a write of a disk or snapshot and sets the values that it inherits from its
// old document or from its source.
func prepareManaged(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	if e := checkManaged(t, d); e != nil {
		return e
	}
	if old == nil {
		if e := takeSource(t, d); e != nil {
			return e
		}
	}
	keepManaged(t, d, old)
	return nil
}

// creationNeeds lists, for each createOption, the properties of which a write must contain at least
// one; the size is the disk's. Source:
// https://learn.microsoft.com/rest/api/compute/disks/create-or-update, CreationData and
// DiskProperties.
var creationNeeds = map[string][]string{
	"empty":     {"diskSizeGB"},
	"copy":      {"creationData.sourceResourceId", "creationData.sourceUri"},
	"copystart": {"creationData.sourceResourceId", "creationData.sourceUri"},
	"restore":   {"creationData.sourceResourceId", "creationData.sourceUri"},
	"import":    {"creationData.sourceUri"},
	"fromimage": {"creationData.imageReference", "creationData.galleryImageReference"},
}

// takeSource checks the source of a new disk or snapshot. A copy gets the size and the operating
// system of its source.
func takeSource(t *engine.Tx, d *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	ways := creationNeeds[value.Lower(value.Str(p, "creationData", "createOption"))]
	if ways != nil && !slices.ContainsFunc(ways, func(path string) bool { return value.At(p, strings.Split(path, ".")...) != nil }) {
		return invalid(ways[0], "Required parameter '%s' is missing (null).", ways[0])
	}
	source := value.Str(p, "creationData", "sourceResourceId")
	if uri := value.Str(p, "creationData", "sourceUri"); source == "" && strings.HasPrefix(uri, "/") {
		source = uri // a resource ID, which the azurerm provider of Terraform sends in this property
	}
	if source == "" {
		return nil
	}
	from := t.Find(source)
	if from == nil {
		return engine.Refuse(http.StatusNotFound, "ResourceNotFound", "The source '%s' of %s was not found.", source, d.Parsed.Name())
	}
	if of := from.Hidden["source"]; of != nil {
		d.Hidden["source"] = of // the image that the source was created from
	}
	for _, field := range []string{"diskSizeGB", "osType", "hyperVGeneration"} {
		if v := value.At(from.Body, "properties", field); v != nil {
			value.SetDefault(p, field, v)
		}
	}
	return nil
}

// checkManaged returns an error if a disk or snapshot cannot be written.
func checkManaged(t *engine.Tx, d *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	if value.Str(p, "creationData", "createOption") == "" {
		return invalid("creationData", "Required parameter 'creationData.createOption' is missing (null).")
	}
	if value.Str(p, "networkAccessPolicy") == "AllowPrivate" && value.Str(p, "diskAccessId") == "" {
		return invalid("diskAccessId", "Required parameter 'diskAccessId' is missing (null): the network access policy is AllowPrivate.")
	}
	if id := value.Str(p, "encryption", "diskEncryptionSetId"); id != "" && !t.Exists(id) {
		return engine.Refuse(http.StatusNotFound, "NotFound", "DiskEncryptionSet '%s' was not found.", id)
	}
	id := value.Str(p, "diskAccessId")
	switch access := t.Find(id); {
	case id == "":
		return nil
	case access == nil:
		return engine.Refuse(http.StatusNotFound, "NotFound", "DiskAccess object %s not found.", id)
	case access.State() != engine.StatusSucceeded:
		return engine.BadRequest("Conflict", "DiskAccess resource '%s' is in failed state. Please try "+
			"recreating the DiskAccess resource and retry the operation.", access.ID)
	}
	return nil
}

// findByText returns a resource of a type whose properties contain an ID at a path as plain text, where
// the ID is not a reference; nil if there is none.
func findByText(t *engine.Tx, typ, id string, path ...string) *engine.Doc {
	for _, d := range t.All(typ, "") {
		if strings.EqualFold(value.Str(value.Sub(d.Body, "properties"), path...), id) {
			return d
		}
	}
	return nil
}

// keepManaged copies properties that a write need not repeat or cannot change from the old
// document.
func keepManaged(t *engine.Tx, d, old *engine.Doc) {
	if old == nil {
		d.Hidden["uniqueId"], d.Hidden["timeCreated"] = uuid.NewString(), t.Now.Format(engine.TimeForm)
		return
	}
	p, was := value.Props(d.Body), value.Props(value.CloneObject(old.Body))
	value.SetDefault(d.Body, "sku", value.Clone(old.Body["sku"]))
	p["creationData"] = was["creationData"]
	for _, field := range []string{"diskSizeGB", "tier", "osType", "hyperVGeneration"} {
		if was[field] != nil {
			value.SetDefault(p, field, was[field])
		}
	}
	// The document of a disk that an earlier release of the local Azure wrote has the fields only
	// in its body.
	for _, field := range []string{"uniqueId", "timeCreated"} {
		if d.Hidden[field] == nil {
			d.Hidden[field] = was[field]
		}
	}
}

// finishManaged ends a write of a managed disk, snapshot or image: fill adds the computed
// properties.
func finishManaged(fill func(*engine.Doc)) func(*engine.Tx, *engine.Operation, any, *engine.Error) {
	return func(t *engine.Tx, op *engine.Operation, result any, err *engine.Error) {
		if d := t.Edit(op.Target); d != nil && err == nil {
			fill(d)
			t.Put(d)
		}
		engine.FinishPut(t, op, result, err)
	}
}

// fillManaged completes a disk or snapshot.
func fillManaged(d *engine.Doc) {
	defaults.Fill(d.Type+" done", "", d.Body)
	p, sku := value.Props(d.Body), value.Ensure(d.Body, "sku")
	tier, _, _ := strings.Cut(value.Str(sku, "name"), "_")
	sku["tier"] = strings.TrimSuffix(tier, "V2")
	p["uniqueId"], p["timeCreated"] = d.Hidden["uniqueId"], d.Hidden["timeCreated"]
	if n, ok := value.Int(p, "diskSizeGB"); ok {
		p["diskSizeBytes"] = float64(n) * (1 << 30)
	}
}

// viewManaged sets the diskState in the view of a disk or snapshot whose creation has ended, and
// reports whether it has ended. The service has no provisioning state Creating and shows Updating.
func viewManaged(t *engine.Tx, d *engine.Doc, body value.Object) bool {
	p := value.Props(body)
	if d.State() == "Creating" {
		p["provisioningState"] = "Updating"
	}
	done := d.State() == engine.StatusSucceeded
	if done {
		p["diskState"] = "Unattached"
	}
	return done
}

// goneFor is the time for which the service itself answers 404 for a deleted resource; later the
// resource manager answers. Azure's figure is not known.
const goneFor = time.Hour

// goneDelete returns the work that deletes a resource for which the service itself answers 404
// afterwards (see goneFor).
func goneDelete() engine.Work {
	return engine.Work{Name: "compute.delete", Silent: true,
		Finish: func(t *engine.Tx, op *engine.Operation, result any, err *engine.Error) {
			if err != nil {
				engine.FinishPut(t, op, result, err)
				return
			}
			computeOf(t.Server).remember(op.Target, t.Now)
			t.Drop(op.Target)
		}}
}

// remember records the deletion of a disk and removes the records that are older than goneFor.
func (s *state) remember(id string, now time.Time) {
	s.gone.Range(func(key, at any) bool {
		if now.Sub(at.(time.Time)) > goneFor {
			s.gone.Delete(key)
		}
		return true
	})
	s.gone.Store(value.Lower(id), now)
}

// notFound returns the 404 of the service for a resource that was deleted recently. It returns nil
// if the resource manager answers: for all other resources, and for all after a restart.
func (s *state) notFound(id engine.ID) *engine.Error {
	if _, ok := s.gone.Load(id.Key()); !ok {
		return nil
	}
	form := map[string]string{
		"disks": "Disk %s is not found.", "snapshots": "Snapshot %s is not found.",
		"diskaccesses": "DiskAccess object %s not found.", "diskencryptionsets": "DiskEncryptionSet '%s' was not found.",
	}[value.Lower(id.ChildType())]
	message := "The entity was not found in this Azure location."
	if form != "" {
		message = fmt.Sprintf(form, id.Name())
	}
	return engine.Refuse(http.StatusNotFound, "NotFound", "%s", message)
}
