package arm

import (
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Types of images of one's own.
const (
	typeGallery        = "Microsoft.Compute/galleries"
	typeGalleryImage   = typeGallery + "/images"
	typeGalleryVersion = typeGalleryImage + "/versions"
	typeImage          = "Microsoft.Compute/images"
)

// galleryTypes are the rows of galleries and images.
func galleryTypes() []Type {
	return []Type{
		{Name: typeGallery, Style: styleCompute, Takes: 20 * time.Second, Prepare: prepareGallery, Guard: guardChildren,
			Actions: []Action{{Name: "share", Begin: beginShare, Work: putWork()}}},
		{Name: typeGalleryImage, Style: styleCompute, Takes: 10 * time.Second, Prepare: prepareDefinition, Guard: guardChildren},
		{Name: typeGalleryVersion, Style: styleCompute, Takes: 10 * time.Minute, Prepare: prepareVersion, View: viewVersion,
			Refs: []Reference{{Path: "storageProfile.source", To: typeDisk}, {Path: "storageProfile.osDiskImage.source", To: typeDisk}}},
		{Name: typeImage, Style: styleCompute, Takes: 60 * time.Second, Prepare: prepareManagedImage,
			Refs: []Reference{{Path: "storageProfile.osDisk.managedDisk", To: typeDisk}, {Path: "storageProfile.dataDisks.managedDisk", To: typeDisk}}},
	}
}

var galleryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._]{0,78}[A-Za-z0-9]$|^[A-Za-z0-9]$`)

func prepareGallery(t *tx, d, old *doc) *Error {
	if !galleryName.MatchString(d.id.name()) {
		return errName("galleryName")
	}
	p := props(d.Body)
	p["identifier"] = object{"uniqueName": strings.ToUpper(d.id.Subscription + "-" + d.id.name())}
	profile := sub(p, "sharingProfile")
	if profile == nil {
		return nil
	}
	community := sub(profile, "communityGalleryInfo")
	switch permissions := str(profile, "permissions"); {
	case permissions != "" && permissions != "Private" && permissions != "Groups" && permissions != "Community":
		return invalid("sharingProfile.permissions", "The value '%s' of parameter 'sharingProfile.permissions' is not one of Private, Groups, Community.", permissions)
	case permissions == "Community" && len(str(community, "publicNamePrefix")) < 5:
		return invalid("communityGalleryInfo.publicNamePrefix", "A community gallery needs sharingProfile.communityGalleryInfo.publicNamePrefix of 5 to 16 letters and digits.")
	case permissions == "Community":
		// The public name stays for the gallery's life.
		names := anys([]string{str(community, "publicNamePrefix") + "-" + t.s.guid()})
		if old != nil {
			if kept := value(old.Body, "properties", "sharingProfile", "communityGalleryInfo", "publicNames"); kept != nil {
				names = kept.([]any)
			}
		}
		community["publicNames"] = names
		community["communityGalleryEnabled"] = old != nil && boolean(old.Body, "properties", "sharingProfile", "communityGalleryInfo", "communityGalleryEnabled")
	}
	return nil
}

// guardChildren keeps what has children.
func guardChildren(t *tx, d *doc) *Error {
	if below := t.below(d.key()); len(below) > 0 {
		return conflict("CannotDeleteResource", "Cannot delete resource while nested resources exist. Some existing nested resource IDs include: '%s'. Please delete all nested resources before deleting this resource.", below[0].ID)
	}
	return nil
}

// prepareDefinition checks an image definition. What an image is does not change.
func prepareDefinition(t *tx, d, old *doc) *Error {
	p := props(d.Body)
	for _, field := range [][]string{{"osType"}, {"osState"}, {"identifier", "publisher"}, {"identifier", "offer"}, {"identifier", "sku"}} {
		path := strings.Join(field, ".")
		if str(p, field...) == "" {
			return invalid("galleryImage.properties."+path, "Required parameter 'galleryImage.properties.%s' is missing (null).", path)
		}
		if old != nil && str(p, field...) != str(old.Body, append([]string{"properties"}, field...)...) {
			return errImmutable("galleryImage.properties." + path)
		}
	}
	if str(p, "osState") == "Specialized" {
		return errUnsupported("image definitions with the OS state Specialized")
	}
	setDefault(p, "hyperVGeneration", "V1")
	setDefault(p, "architecture", "x64")
	gallery, _ := d.id.parent()
	for _, other := range t.all(typeGalleryImage, gallery.String()) {
		same := func(field string) bool {
			return strings.EqualFold(str(other.Body, "properties", "identifier", field), str(p, "identifier", field))
		}
		if other.key() != d.key() && same("publisher") && same("offer") && same("sku") {
			return conflict("Conflict", "The publisher, offer and SKU of the image definition %s are already those of %s in the same gallery.", d.id.name(), other.id.name())
		}
	}
	return nil
}

var versionName = regexp.MustCompile(`^\d{1,9}\.\d{1,9}\.\d{1,9}$`)

// prepareVersion checks an image version and finds out what it holds.
func prepareVersion(t *tx, d, old *doc) *Error {
	if !versionName.MatchString(d.id.name()) {
		return invalid("galleryImageVersionName", "The image version name '%s' is not valid: it has the form major.minor.patch, each a number of up to 32 bits.", d.id.name())
	}
	p := props(d.Body)
	publishing := ensure(p, "publishingProfile")
	setDefault(publishing, "replicaCount", float64(1))
	setDefault(publishing, "excludeFromLatest", false)
	setDefault(publishing, "storageAccountType", "Standard_LRS")
	setDefault(publishing, "publishedDate", t.now.Format(time.RFC3339))
	home := false
	for _, r := range items(publishing, "targetRegions") {
		home = home || region(str(r, "name")) == d.location()
	}
	if !home {
		if value(publishing, "targetRegions") != nil {
			return invalid("publishingProfile.targetRegions", "The source region '%s' has to be one of the target regions of the image version %s.", d.location(), d.id.name())
		}
		publishing["targetRegions"] = []any{object{"name": d.location(), "regionalReplicaCount": float64(1), "storageAccountType": "Standard_LRS"}}
	}
	if old != nil {
		p["storageProfile"] = clone(props(old.Body)["storageProfile"])
		publishing["publishedDate"] = value(old.Body, "properties", "publishingProfile", "publishedDate")
		return nil
	}
	id := orDefault(str(p, "storageProfile", "source", "virtualMachineId"), str(p, "storageProfile", "source", "id"))
	if id == "" {
		id = str(p, "storageProfile", "osDiskImage", "source", "id")
	}
	if id == "" {
		if str(p, "storageProfile", "osDiskImage", "source", "uri") != "" {
			return nil // a VHD: what it holds is not known here
		}
		return invalid("storageProfile.source", "Required parameter 'storageProfile.source' is missing (null).")
	}
	source, e := t.captured(d, id)
	d.Hidden["source"] = source
	return e
}

// captured is what an image holds that is made from a resource: the published
// image that the resource goes back to, "" if it is not known.
func (t *tx) captured(d *doc, id string) (string, *Error) {
	from := t.find(id)
	switch {
	case from == nil:
		return "", refuse(http.StatusNotFound, "ResourceNotFound", "The source %s of the image %s was not found.", id, d.ID)
	case from.Type == typeVM && !boolean(from.Hidden, "generalized"):
		return "", conflict("OperationNotAllowed", "The source virtual machine '%s' has to be generalized before an image is made of it.", from.id.name())
	case from.Type == typeVM:
		return orDefault(str(from.Hidden, "source"), reference(imageOf(sub(from.Body, "properties", "storageProfile", "imageReference")))), nil
	case from.Type == typeGalleryVersion:
		return orDefault(str(from.Hidden, "source"), from.ID), nil
	}
	return str(from.Hidden, "source"), nil
}

// reference is an image in one line.
func reference(i Image) string {
	if i.ID != "" {
		return i.ID
	}
	return strings.Join([]string{i.Publisher, i.Offer, i.SKU, i.Version}, ":")
}

func viewVersion(_ *tx, d *doc, body object, expand string) {
	if !strings.EqualFold(expand, "ReplicationStatus") {
		return
	}
	summary := []any{}
	for _, r := range items(body, "properties", "publishingProfile", "targetRegions") {
		state, progress := "Completed", 100
		if d.state() == "Creating" || d.state() == "Updating" {
			state, progress = "Replicating", 0
		}
		summary = append(summary, object{"region": r["name"], "state": state, "progress": progress})
	}
	aggregated := "Completed"
	if d.state() != statusSucceeded {
		aggregated = "InProgress"
	}
	props(body)["replicationStatus"] = object{"aggregatedState": aggregated, "summary": summary}
}

// prepareManagedImage checks a managed image of a generalized VM or of a disk.
func prepareManagedImage(t *tx, d, old *doc) *Error {
	p := props(d.Body)
	if old != nil {
		p["storageProfile"], p["sourceVirtualMachine"] = clone(props(old.Body)["storageProfile"]), clone(props(old.Body)["sourceVirtualMachine"])
		return nil
	}
	setDefault(p, "hyperVGeneration", "V1")
	vm := str(p, "sourceVirtualMachine", "id")
	disk := orDefault(str(p, "storageProfile", "osDisk", "managedDisk", "id"), str(p, "storageProfile", "osDisk", "snapshot", "id"))
	switch {
	case vm == "" && disk == "" && str(p, "storageProfile", "osDisk", "blobUri") == "":
		return invalid("storageProfile.osDisk", "An image needs sourceVirtualMachine, or a disk, a snapshot or a blob in storageProfile.osDisk.")
	case vm == "" && disk == "":
		return nil
	}
	source, e := t.captured(d, orDefault(vm, disk))
	if e != nil {
		return e
	}
	d.Hidden["source"] = source
	if from := t.find(vm); from != nil {
		if from.location() != d.location() {
			return badRequest("InvalidParameter", "The image %s and its source virtual machine are not in the same location.", d.id.name())
		}
		os := sub(from.Body, "properties", "storageProfile", "osDisk")
		p["storageProfile"] = object{"osDisk": object{"osType": os["osType"], "osState": "Generalized", "diskSizeGB": os["diskSizeGB"], "managedDisk": clone(os["managedDisk"]), "caching": "None"}, "dataDisks": []any{}, "zoneResilient": false}
	}
	return nil
}

// generalize marks a VM that is off as the source of images. It never starts
// again.
func generalize(c *call, id resourceID) *Error {
	err := c.s.update(func(t *tx) error {
		d := t.edit(id.key())
		switch {
		case d == nil:
			return errNotFound(id)
		case str(d.Hidden, "power") == "running":
			return conflict("OperationNotAllowed", "The virtual machine '%s' has to be stopped before it is generalized.", d.id.name())
		}
		d.Hidden["generalized"] = true
		t.put(d)
		return nil
	})
	if e := asError(err); e != nil {
		return e
	}
	c.reply(http.StatusOK, nil)
	return nil
}
