package compute

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/azuresim/internal/defaults"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// Resource types of custom images.
const (
	typeGallery        = "Microsoft.Compute/galleries"
	typeGalleryImage   = typeGallery + "/images"
	typeGalleryVersion = typeGalleryImage + "/versions"
	typeImage          = "Microsoft.Compute/images"
)

// galleryTypes returns the resource types of galleries and images.
func galleryTypes() []engine.Type {
	return []engine.Type{
		{Name: typeGallery, Style: engine.StyleCompute, Takes: 20 * time.Second,
			Prepare: prepareGallery, Guard: guardChildren,
			Actions: []engine.Action{{Name: "share", Begin: beginShare, Work: engine.PutWork()}}},
		{Name: typeGalleryImage, Style: engine.StyleCompute, Takes: 10 * time.Second,
			Prepare: prepareDefinition, Guard: guardChildren},
		{Name: typeGalleryVersion, Style: engine.StyleCompute, Takes: 10 * time.Minute,
			Prepare: prepareVersion, View: viewVersion,
			Refs: []engine.Reference{{Path: "storageProfile.source", To: typeDisk, Anywhere: true},
				{Path: "storageProfile.osDiskImage.source", To: typeDisk, Anywhere: true}}},
		{Name: typeImage, Style: engine.StyleCompute, Takes: 60 * time.Second, Prepare: prepareManagedImage,
			Put: engine.Work{Silent: true}, Update: engine.Work{Silent: true}, Delete: engine.Work{Silent: true},
			Refs: []engine.Reference{{Path: "storageProfile.osDisk.managedDisk", To: typeDisk},
				{Path: "storageProfile.osDisk.snapshot", To: typeSnapshot},
				{Path: "storageProfile.dataDisks.managedDisk", To: typeDisk}}},
	}
}

var galleryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._]{0,78}[A-Za-z0-9]$|^[A-Za-z0-9]$`)

func prepareGallery(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	if !galleryName.MatchString(d.Parsed.Name()) {
		return errName("galleryName")
	}
	p := value.Props(d.Body)
	p["identifier"] = value.Object{"uniqueName": strings.ToUpper(d.Parsed.Subscription + "-" + d.Parsed.Name())}
	profile := value.Sub(p, "sharingProfile")
	if profile == nil {
		return nil
	}
	community := value.Sub(profile, "communityGalleryInfo")
	switch permissions := value.Str(profile, "permissions"); {
	case permissions != "" && permissions != "Private" && permissions != "Groups" && permissions != "Community":
		return invalid("sharingProfile.permissions",
			"The value '%s' of parameter 'sharingProfile.permissions' is not one of Private, Groups, Community.",
			permissions)
	case permissions == "Community" && len(value.Str(community, "publicNamePrefix")) < 5:
		return invalid("communityGalleryInfo.publicNamePrefix", "A community gallery needs "+
			"sharingProfile.communityGalleryInfo.publicNamePrefix of 5 to 16 letters and digits.")
	case permissions == "Community":
		// The public name never changes during the gallery's life.
		names := value.Anys([]string{value.Str(community, "publicNamePrefix") + "-" + uuid.NewString()})
		if old != nil {
			if kept := value.At(old.Body, "properties", "sharingProfile", "communityGalleryInfo", "publicNames"); kept != nil {
				names = kept.([]any)
			}
		}
		community["publicNames"] = names
		community["communityGalleryEnabled"] = old != nil &&
			value.Bool(old.Body, "properties", "sharingProfile", "communityGalleryInfo", "communityGalleryEnabled")
	}
	return nil
}

// guardChildren refuses to delete a resource that has children.
func guardChildren(t *engine.Tx, d *engine.Doc) *engine.Error {
	if below := t.Below(d.Key()); len(below) > 0 {
		return engine.Conflict("CannotDeleteResource", "Cannot delete resource while nested resources exist. "+
			"Some existing nested resource IDs include: '%s'. Please delete all nested resources before "+
			"deleting this resource.", below[0].ID)
	}
	return nil
}

// prepareDefinition validates an image definition and refuses changes of the properties of its
// images.
func prepareDefinition(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	for _, field := range [][]string{{"osType"}, {"osState"}, {"identifier", "publisher"}, {"identifier", "offer"}, {"identifier", "sku"}} {
		path := strings.Join(field, ".")
		if value.Str(p, field...) == "" {
			return invalid("galleryImage.properties."+path, "Required parameter 'galleryImage.properties.%s' is missing (null).", path)
		}
		if old != nil && value.Str(p, field...) != value.Str(old.Body, append([]string{"properties"}, field...)...) {
			return errImmutable("galleryImage.properties." + path)
		}
	}
	gallery, _ := d.Parsed.Parent()
	for _, other := range t.All(typeGalleryImage, gallery.String()) {
		same := func(field string) bool {
			return strings.EqualFold(value.Str(other.Body, "properties", "identifier", field), value.Str(p, "identifier", field))
		}
		if other.Key() != d.Key() && same("publisher") && same("offer") && same("sku") {
			return engine.Conflict("Conflict", "The publisher, offer and SKU of the image definition %s are "+
				"already those of %s in the same gallery.", d.Parsed.Name(), other.Parsed.Name())
		}
	}
	return nil
}

// isVersion reports whether a name is three numbers, each of which fits into a signed
// 32-bit integer.
func isVersion(name string) bool {
	parts := strings.Split(name, ".")
	return len(parts) == 3 && !slices.ContainsFunc(parts, func(part string) bool {
		n, err := strconv.ParseInt(part, 10, 32)
		return err != nil || n < 0 || part[0] == '+'
	})
}

// prepareVersion validates an image version and records what its disk contains.
func prepareVersion(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	if !isVersion(d.Parsed.Name()) {
		return invalid("galleryImageVersionName", "The image version name '%s' is not valid: it has the form "+
			"major.minor.patch, each a number of up to 32 bits.", d.Parsed.Name())
	}
	p := value.Props(d.Body)
	publishing := value.Ensure(p, "publishingProfile")
	defaults.Fill(typeGalleryVersion, d.Version, d.Body)
	value.SetDefault(publishing, "publishedDate", t.Now.Format(time.RFC3339))
	home := false
	for _, r := range value.Items(publishing, "targetRegions") {
		home = home || engine.Region(value.Str(r, "name")) == d.Location()
	}
	if !home {
		if value.At(publishing, "targetRegions") != nil {
			return invalid("publishingProfile.targetRegions",
				"The source region '%s' has to be one of the target regions of the image version %s.", d.Location(),
				d.Parsed.Name())
		}
		publishing["targetRegions"] = []any{value.Object{
			"name": d.Location(), "regionalReplicaCount": float64(1), "storageAccountType": "Standard_LRS",
		}}
	}
	if old != nil {
		p["storageProfile"] = value.Clone(value.Props(old.Body)["storageProfile"])
		publishing["publishedDate"] = value.At(old.Body, "properties", "publishingProfile", "publishedDate")
		return nil
	}
	if id := value.Str(p, "storageProfile", "source", "communityGalleryImageId"); id != "" {
		return findCommunity(t, d, id, strings.Split(strings.Trim(id, "/"), "/"), value.Object{})
	}
	id := value.OrDefault(value.Str(p, "storageProfile", "source", "virtualMachineId"), value.Str(p, "storageProfile", "source", "id"))
	if id == "" {
		id = value.Str(p, "storageProfile", "osDiskImage", "source", "id")
	}
	if id == "" {
		if value.Str(p, "storageProfile", "osDiskImage", "source", "uri") != "" {
			return nil // the source is a VHD with unknown contents
		}
		return invalid("storageProfile.source", "Required parameter 'storageProfile.source' is missing (null).")
	}
	if definition, _ := d.Parsed.Parent(); isSpecialized(t.Find(definition.Key())) {
		if t.Find(id) == nil {
			return errNoSource(id, d)
		}
		return nil // the machine itself is the source, and its disk is not copied here
	}
	return capture(t, d, id)
}

// isSpecialized reports whether the images of a definition are specialized: copies of machines,
// which are not provisioned again.
func isSpecialized(definition *engine.Doc) bool {
	return definition != nil && strings.EqualFold(value.Str(definition.Body, "properties", "osState"), "Specialized")
}

func errNoSource(id string, d *engine.Doc) *engine.Error {
	return engine.Refuse(http.StatusNotFound, "ResourceNotFound", "The source %s of the image %s was not found.", id, d.ID)
}

// capture records in an image's document the contents of its source resource: the published image
// that the source was created from ("" if it is not known) and the Host's description of a
// generalized machine.
func capture(t *engine.Tx, d *engine.Doc, id string) *engine.Error {
	from := t.Find(id)
	if from == nil {
		return errNoSource(id, d)
	}
	if from.Type == typeVM && !value.Bool(from.Hidden, "generalized") {
		return engine.Conflict("OperationNotAllowed",
			"The source virtual machine '%s' has to be generalized before an image is made of it.",
			from.Parsed.Name())
	}
	source := value.Str(from.Hidden, "source")
	switch from.Type {
	case typeVM:
		source = value.OrDefault(source, reference(imageOf(value.Sub(from.Body, "properties", "storageProfile", "imageReference"))))
	case typeGalleryVersion:
		source = value.OrDefault(source, from.ID)
	}
	bootsFrom(d, from, source)
	return nil
}

// bootsFrom copies into the document of a machine or image the properties that it inherits from an
// image.
func bootsFrom(d, image *engine.Doc, source string) {
	d.Hidden["source"] = source
	if holds := value.Str(image.Hidden, "holds"); holds != "" {
		d.Hidden["holds"] = holds
	}
	if gib := diskOf(image); gib > 0 {
		d.Hidden["diskGiB"] = float64(gib)
	}
}

// diskOf returns the size of the OS disk that a machine, an image, a disk or a snapshot has, in
// GiB; 0 if the size is not known.
func diskOf(d *engine.Doc) int {
	for _, at := range [][]string{{"storageProfile", "osDisk", "diskSizeGB"}, {"diskSizeGB"}} {
		if n, ok := value.Int(value.Sub(d.Body, "properties"), at...); ok {
			return n
		}
	}
	n, _ := value.Int(d.Hidden, "diskGiB")
	return n
}

// reference returns an image as one line of text.
func reference(i host.Image) string {
	if i.ID != "" {
		return i.ID
	}
	return strings.Join([]string{i.Publisher, i.Offer, i.SKU, i.Version}, ":")
}

func viewVersion(_ *engine.Tx, d *engine.Doc, body value.Object, expand string) {
	if !engine.Expands(expand, "ReplicationStatus") {
		return
	}
	summary := []any{}
	for _, r := range value.Items(body, "properties", "publishingProfile", "targetRegions") {
		state, progress := "Completed", 100
		if d.State() == "Creating" || d.State() == "Updating" {
			state, progress = "Replicating", 0
		}
		summary = append(summary, value.Object{"region": r["name"], "state": state, "progress": progress})
	}
	aggregated := "Completed"
	if d.State() != engine.StatusSucceeded {
		aggregated = "InProgress"
	}
	value.Props(body)["replicationStatus"] = value.Object{"aggregatedState": aggregated, "summary": summary}
}

// prepareManagedImage validates a managed image of a generalized VM or of a disk.
func prepareManagedImage(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	if old != nil {
		for _, field := range []string{"storageProfile", "sourceVirtualMachine"} {
			if delete(p, field); value.Props(old.Body)[field] != nil {
				p[field] = value.Clone(value.Props(old.Body)[field])
			}
		}
		return nil
	}
	defaults.Fill(typeImage+" new", d.Version, d.Body)
	vm := value.Str(p, "sourceVirtualMachine", "id")
	disk := value.OrDefault(value.Str(p, "storageProfile", "osDisk", "managedDisk", "id"),
		value.Str(p, "storageProfile", "osDisk", "snapshot", "id"))
	switch {
	case vm == "" && disk == "" && value.Str(p, "storageProfile", "osDisk", "blobUri") == "":
		return invalid("storageProfile.osDisk",
			"An image needs sourceVirtualMachine, or a disk, a snapshot or a blob in storageProfile.osDisk.")
	case vm == "" && disk == "":
		return nil
	}
	if e := capture(t, d, value.OrDefault(vm, disk)); e != nil {
		return e
	}
	if from := t.Find(vm); from != nil {
		if from.Location() != d.Location() {
			return engine.BadRequest("InvalidParameter",
				"The image %s and its source virtual machine are not in the same location.", d.Parsed.Name())
		}
		os := value.Sub(from.Body, "properties", "storageProfile", "osDisk")
		p["storageProfile"] = value.Object{"osDisk": value.Object{
			"osType": os["osType"], "osState": "Generalized", "diskSizeGB": os["diskSizeGB"],
			"managedDisk": value.Clone(os["managedDisk"]), "caching": "None",
		}, "dataDisks": []any{}, "zoneResilient": false}
	}
	return nil
}

// generalize marks a stopped VM as a source of images. It cannot start again.
func generalize(c *engine.Request, id engine.ID) *engine.Error {
	var holds string
	if imager, ok := hostOf(c.Server).(host.Imager); ok && isOff(c.Server, id) {
		var err error
		if holds, err = imager.Capture(id.String()); err != nil {
			return engine.Conflict("OperationNotAllowed", "The virtual machine '%s' cannot be generalized: %s", id.Name(), err)
		}
	}
	err := c.Server.Update(func(t *engine.Tx) error {
		d := t.Edit(id.Key())
		switch {
		case d == nil:
			return engine.ErrNotFound(id)
		case value.Str(d.Hidden, "power") == "running":
			return engine.Conflict("OperationNotAllowed",
				"The virtual machine '%s' has to be stopped before it is generalized.", d.Parsed.Name())
		}
		d.Hidden["generalized"] = true
		if holds != "" {
			d.Hidden["holds"] = holds
		}
		t.Put(d)
		return nil
	})
	if e := engine.AsError(err); e != nil {
		return e
	}
	c.Reply(http.StatusOK, nil)
	return nil
}

// isOff reports whether a VM exists and is stopped.
func isOff(s *engine.Server, id engine.ID) (off bool) {
	s.Read(func(t *engine.Tx) {
		d := t.Find(id.Key())
		off = d != nil && powerOf(d) != "running"
	})
	return off
}
