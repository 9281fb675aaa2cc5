package arm

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// checkImageID refuses an image that is named by an ID and is not there, and notes
// which version it is and what it holds.
func (t *tx) checkImageID(d *doc, id string, ref object) *Error {
	parts := strings.Split(strings.Trim(id, "/"), "/")
	if strings.EqualFold(parts[0], "CommunityGalleries") {
		return t.findCommunity(d, id, parts, ref)
	}
	if str(ref, "sharedGalleryImageId") != "" || strings.EqualFold(parts[0], "SharedGalleries") {
		return errUnsupported("VMs from directly shared galleries")
	}
	r, err := parseID(id)
	switch {
	case err != nil:
		return invalid("imageReference.id", "The value '%s' of parameter 'imageReference.id' is no resource ID.", id)
	case strings.EqualFold(r.fullType(), typeImage):
		return t.findManaged(d, r, ref)
	case strings.EqualFold(r.fullType(), typeGalleryImage):
		return t.findVersion(d, t.find(r.key()), id, "latest", ref)
	case strings.EqualFold(r.fullType(), typeGalleryVersion):
		definition, _ := r.parent()
		return t.findVersion(d, t.find(definition.key()), id, r.name(), ref)
	}
	return invalid("imageReference.id", "The value '%s' of parameter 'imageReference.id' names neither a gallery image nor a managed image.", id)
}

func errImage(id string) *Error {
	e := refuse(http.StatusNotFound, "GalleryImageNotFound", "The gallery image %s is not available in the region. Please contact image owner to replicate to this region, or change your requested region.", id)
	e.Target = "imageReference"
	return e
}

func (t *tx) findManaged(d *doc, r resourceID, ref object) *Error {
	image := t.find(r.key())
	if image == nil || image.state() != statusSucceeded || image.location() != d.location() {
		return badRequest("ImageNotFound", "The Image '%s' cannot be found in '%s' region.", r, d.location())
	}
	if e := sameOS(d, str(image.Body, "properties", "storageProfile", "osDisk", "osType")); e != nil {
		return e
	}
	ref["id"] = image.ID
	d.Hidden["source"] = str(image.Hidden, "source")
	return nil
}

// findVersion finds a version of a definition in the region of d; "latest" is the
// highest that is not excluded from it.
func (t *tx) findVersion(d, definition *doc, id, version string, ref object) *Error {
	if definition == nil {
		return errImage(id)
	}
	var here []*doc
	for _, v := range t.all(typeGalleryVersion, definition.ID) {
		if v.state() != statusSucceeded || !replicated(v, d.location()) {
			continue
		}
		if v.id.name() == version || version == "latest" && !boolean(v.Body, "properties", "publishingProfile", "excludeFromLatest") {
			here = append(here, v)
		}
	}
	if len(here) == 0 {
		return errImage(id)
	}
	v := slices.MaxFunc(here, func(a, b *doc) int { return compareVersions(a.id.name(), b.id.name()) })
	if e := sameOS(d, str(definition.Body, "properties", "osType")); e != nil {
		return e
	}
	ref["exactVersion"] = v.id.name()
	d.Hidden["source"] = orDefault(str(v.Hidden, "source"), v.ID)
	return nil
}

func replicated(version *doc, location string) bool {
	return slices.ContainsFunc(items(version.Body, "properties", "publishingProfile", "targetRegions"), func(r object) bool { return region(str(r, "name")) == location })
}

// sameOS holds an OS disk to the operating system of its image.
func sameOS(d *doc, os string) *Error {
	if asked := str(d.Body, "properties", "storageProfile", "osDisk", "osType"); asked != "" && os != "" && !strings.EqualFold(asked, os) {
		return invalid("osDisk.osType", "The value '%s' of parameter 'osDisk.osType' is not that of the image, '%s'.", asked, os)
	}
	return nil
}

// compareVersions orders versions of the form major.minor.patch.
func compareVersions(a, b string) int {
	var x, y [3]int
	_, _ = fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2]) // the form was checked on writing
	_, _ = fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2])
	return cmp.Or(x[0]-y[0], x[1]-y[1], x[2]-y[2])
}
