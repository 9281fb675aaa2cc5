package compute

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// checkImageID returns an error if the image that an ID names does not exist; otherwise it records
// in d the image's exact version and its contents.
func checkImageID(t *engine.Tx, d *engine.Doc, id string, ref value.Object) *engine.Error {
	parts := strings.Split(strings.Trim(id, "/"), "/")
	if strings.EqualFold(parts[0], "CommunityGalleries") {
		return findCommunity(t, d, id, parts, ref)
	}
	if value.Str(ref, "sharedGalleryImageId") != "" || strings.EqualFold(parts[0], "SharedGalleries") {
		return engine.ErrUnsupported("VMs from directly shared galleries")
	}
	r, err := engine.ParseID(id)
	switch {
	case err != nil:
		return invalid("imageReference.id", "The value '%s' of parameter 'imageReference.id' is no resource ID.", id)
	case strings.EqualFold(r.FullType(), typeImage):
		return findManaged(t, d, r, ref)
	case strings.EqualFold(r.FullType(), typeGalleryImage):
		return findVersion(t, d, t.Find(r.Key()), id, "latest", ref)
	case strings.EqualFold(r.FullType(), typeGalleryVersion):
		definition, _ := r.Parent()
		return findVersion(t, d, t.Find(definition.Key()), id, r.Name(), ref)
	}
	return invalid("imageReference.id",
		"The value '%s' of parameter 'imageReference.id' names neither a gallery image nor a managed image.", id)
}

// definitionOf returns the definition of the gallery image that a machine is created from; nil for
// other images.
func definitionOf(t *engine.Tx, d *engine.Doc) *engine.Doc {
	id, err := engine.ParseID(value.Str(value.Props(d.Body), "storageProfile", "imageReference", "id"))
	if err == nil && strings.EqualFold(id.FullType(), typeGalleryVersion) {
		id, _ = id.Parent()
	}
	if err != nil || !strings.EqualFold(id.FullType(), typeGalleryImage) {
		return nil
	}
	return t.Find(id.Key())
}

func errImage(id string) *engine.Error {
	e := engine.Refuse(http.StatusNotFound, "GalleryImageNotFound", "The gallery image %s is not available in "+
		"the region. Please contact image owner to replicate to this region, or change your requested "+
		"region.", id)
	e.Target = "imageReference"
	return e
}

func findManaged(t *engine.Tx, d *engine.Doc, r engine.ID, ref value.Object) *engine.Error {
	image := t.Find(r.Key())
	if image == nil || image.State() != engine.StatusSucceeded || image.Location() != d.Location() {
		return engine.BadRequest("ImageNotFound", "The Image '%s' cannot be found in '%s' region.", r, d.Location())
	}
	if e := sameOS(d, value.Str(image.Body, "properties", "storageProfile", "osDisk", "osType")); e != nil {
		return e
	}
	ref["id"] = image.ID
	bootsFrom(d, image, value.Str(image.Hidden, "source"))
	return nil
}

// findVersion looks up a version of a definition in the region of d; "latest" is the highest
// version that is not excluded from latest.
func findVersion(t *engine.Tx, d, definition *engine.Doc, id, version string, ref value.Object) *engine.Error {
	if definition == nil {
		return errImage(id)
	}
	var here []*engine.Doc
	for _, v := range t.All(typeGalleryVersion, definition.ID) {
		if v.State() != engine.StatusSucceeded || !replicated(v, d.Location()) {
			continue
		}
		if v.Parsed.Name() == version ||
			version == "latest" && !value.Bool(v.Body, "properties", "publishingProfile", "excludeFromLatest") {
			here = append(here, v)
		}
	}
	if len(here) == 0 {
		return errImage(id)
	}
	v := slices.MaxFunc(here, func(a, b *engine.Doc) int { return compareVersions(a.Parsed.Name(), b.Parsed.Name()) })
	os := value.Str(definition.Body, "properties", "osType")
	if e := sameOS(d, os); e != nil {
		return e
	}
	value.SetDefault(value.Ensure(value.Ensure(value.Props(d.Body), "storageProfile"), "osDisk"), "osType", os)
	if e := checkLaunch(d, definition); e != nil {
		return e
	}
	ref["exactVersion"] = v.Parsed.Name()
	bootsFrom(d, v, value.OrDefault(value.Str(v.Hidden, "source"), v.ID))
	return nil
}

func replicated(version *engine.Doc, location string) bool {
	return slices.ContainsFunc(value.Items(version.Body, "properties", "publishingProfile", "targetRegions"),
		func(r value.Object) bool { return engine.Region(value.Str(r, "name")) == location })
}

// sameOS returns an error if the operating system of an OS disk differs from its image's.
func sameOS(d *engine.Doc, os string) *engine.Error {
	if asked := value.Str(d.Body, "properties", "storageProfile", "osDisk", "osType"); asked != "" && os != "" &&
		!strings.EqualFold(asked, os) {
		return invalid("osDisk.osType", "The value '%s' of parameter 'osDisk.osType' is not that of the image, '%s'.", asked, os)
	}
	return nil
}

// compareVersions orders versions of the form major.minor.patch.
func compareVersions(a, b string) int {
	var x, y [3]int
	_, _ = fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2]) // the version's form is checked when it is written
	_, _ = fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2])
	return cmp.Or(x[0]-y[0], x[1]-y[1], x[2]-y[2])
}

// checkLaunch returns an error if the image definition does not allow a machine's security type:
// images captured from machines with trusted launch require trusted launch, and a first-generation
// image allows none. Source:
// https://learn.microsoft.com/azure/virtual-machines/trusted-launch-portal#trusted-launch-vm-images.
func checkLaunch(d, definition *engine.Doc) *engine.Error {
	const trusted, confidential = "TrustedLaunch", "ConfidentialVM"
	asked := value.OrDefault(value.Str(value.Props(d.Body), "securityProfile", "securityType"), "Standard")
	allowed := ""
	for _, f := range value.Items(definition.Body, "properties", "features") {
		if strings.EqualFold(value.Str(f, "name"), "SecurityType") {
			allowed = value.Str(f, "value")
		}
	}
	switch {
	case (strings.EqualFold(allowed, trusted) || strings.EqualFold(allowed, confidential)) && !strings.EqualFold(asked, allowed):
		return engine.BadRequest("BadRequest", "The provided gallery image only supports creation of VMs and VM Scale Sets with "+
			"'%s' security type.", allowed)
	case strings.EqualFold(asked, trusted) && !strings.EqualFold(value.Str(definition.Body, "properties", "hyperVGeneration"), "V2"):
		return engine.BadRequest("BadRequest", "Use of TrustedLaunch setting is not supported for the provided image. Please select "+
			"Trusted Launch Supported Gen2 OS Image. For more information, see https://aka.ms/TrustedLaunch-FAQ.")
	}
	return nil
}
