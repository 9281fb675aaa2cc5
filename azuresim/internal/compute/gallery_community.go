package compute

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// findCommunity looks up the image with an ID
// /CommunityGalleries/NAME/Images/IMAGE/Versions/VERSION: one of the reference images, or
// one in a gallery that is shared to the community.
func findCommunity(t *engine.Tx, d *engine.Doc, id string, parts []string, ref value.Object) *engine.Error {
	if len(parts) != 6 || !strings.EqualFold(parts[2], "Images") || !strings.EqualFold(parts[4], "Versions") {
		return invalid("imageReference.communityGalleryImageId",
			"The value '%s' has not the form /CommunityGalleries/{name}/Images/{image}/Versions/{version}.", id)
	}
	if gallery := shared(t, parts[1]); gallery != nil {
		return findVersion(t, d, t.Find(gallery.ID+"/images/"+parts[3]), id, value.Lower(parts[5]), ref)
	}
	version := parts[5]
	if strings.EqualFold(version, "latest") {
		version = latestIn(parts[1])
	}
	if !inPublic(parts[1], parts[3], version) {
		return errImage(id)
	}
	ref["exactVersion"] = version
	d.Hidden["source"] = "/" + strings.Join(append(slices.Clone(parts[:5]), version), "/")
	return nil
}

// shared returns the gallery with a public name, if it is shared to the community.
func shared(t *engine.Tx, name string) *engine.Doc {
	for _, g := range t.All(typeGallery, "") {
		info := value.Sub(g.Body, "properties", "sharingProfile", "communityGalleryInfo")
		if value.Bool(info, "communityGalleryEnabled") && slices.ContainsFunc(value.Texts(info, "publicNames"),
			func(n string) bool { return strings.EqualFold(n, name) }) {
			return g
		}
	}
	return nil
}

// referenceVersions returns the versions of the reference images, newest first.
func referenceVersions() []string {
	var out []string
	for minor, newest := range galleryPatches {
		for patch := range newest + 1 {
			out = append(out, fmt.Sprintf("1.%d.%d", minor, patch))
		}
	}
	slices.SortFunc(out, func(a, b string) int { return compareVersions(b, a) })
	return out
}

// communityImage is an image definition in a community gallery with its versions.
type communityImage struct {
	name, os string
	versions []string
	// definition is the body of a shared definition; nil for the reference images.
	definition value.Object
}

// communityImages returns the definitions of a community gallery in a location; ok is false
// if no gallery has the public name.
func communityImages(t *engine.Tx, name, location string) (out []communityImage, ok bool) {
	if strings.EqualFold(name, CommunityGallery) {
		for _, image := range galleryImages() {
			os := "Linux"
			if strings.Contains(image, "-win-") {
				os = "Windows"
			}
			out = append(out, communityImage{name: image, os: os, versions: referenceVersions()})
		}
		return out, true
	}
	if strings.EqualFold(name, flatcarGallery) {
		for _, v := range referenceVersions() {
			out = append(out, communityImage{name: "flatcar-stable-amd64-capi-v" + v, os: "Linux", versions: []string{flatcarLatest}})
		}
		return out, true
	}
	gallery := shared(t, name)
	if gallery == nil {
		return nil, false
	}
	for _, d := range t.All(typeGalleryImage, gallery.ID) {
		image := communityImage{name: d.Parsed.Name(), os: value.Str(d.Body, "properties", "osType"), definition: value.Props(d.Body)}
		for _, v := range t.All(typeGalleryVersion, d.ID) {
			if v.State() == engine.StatusSucceeded && replicated(v, location) {
				image.versions = append(image.versions, v.Parsed.Name())
			}
		}
		out = append(out, image)
	}
	return out, true
}

// serveCommunityGallery answers community galleries, their images and versions,
// singly and as lists.
func serveCommunityGallery(c *engine.Request) *engine.Error {
	n, types := c.ID.Names, len(c.ID.Types) // location, gallery, image, version
	if len(n) < 2 {
		return engine.ErrUnsupported("the list of community galleries")
	}
	location := engine.Region(n[0])
	var images []communityImage
	known := false
	c.Server.Read(func(t *engine.Tx) { images, known = communityImages(t, n[1], location) })
	missing := engine.Refuse(http.StatusNotFound, "GalleryImageNotFound",
		"The community gallery, image or version %s was not found.", c.HTTP.URL.Path)
	if !known {
		return missing
	}
	var image communityImage
	if len(n) > 2 {
		i := slices.IndexFunc(images, func(i communityImage) bool { return strings.EqualFold(i.name, n[2]) })
		if i < 0 {
			return missing
		}
		image = images[i]
	}
	base := "/CommunityGalleries/" + n[1]
	entry := func(name, typ, unique string, p value.Object) value.Object {
		return value.Object{
			"name": name, "location": location, "type": "Microsoft.Compute/locations/communityGalleries" + typ,
			"identifier": value.Object{"uniqueId": unique}, "properties": p,
		}
	}
	definition := func(i communityImage) value.Object {
		p := value.Object{"osType": i.os, "osState": "Generalized", "hyperVGeneration": "V1", "architecture": "x64",
			"identifier": value.Object{"publisher": "capi", "offer": "capi", "sku": i.name}}
		for field := range p {
			if v := i.definition[field]; v != nil {
				p[field] = value.Clone(v)
			}
		}
		return entry(i.name, "/images", base+"/Images/"+i.name, p)
	}
	version := func(v string) value.Object {
		return entry(v, "/images/versions", base+"/Images/"+image.name+"/Versions/"+v,
			value.Object{"publishedDate": "2026-01-01T00:00:00Z", "excludeFromLatest": false})
	}
	out := []any{}
	switch {
	case types == 2 && len(n) == 2:
		c.Reply(http.StatusOK, entry(n[1], "", base, value.Object{}))
		return nil
	case types == 3 && len(n) == 2:
		for _, i := range images {
			out = append(out, definition(i))
		}
	case types == 3:
		c.Reply(http.StatusOK, definition(image))
		return nil
	case types == 4 && len(n) == 3:
		for _, v := range image.versions {
			out = append(out, version(v))
		}
	case types == 4 && (slices.Contains(image.versions, n[3]) || inPublic(n[1], n[2], n[3])):
		c.Reply(http.StatusOK, version(n[3]))
		return nil
	default:
		return missing
	}
	c.Reply(http.StatusOK, value.Object{"value": out})
	return nil
}

// beginShare shares a gallery to the community or ends the sharing.
func beginShare(t *engine.Tx, d *engine.Doc, args value.Object) *engine.Error {
	what := value.Str(args, "operationType")
	if what != "EnableCommunity" && what != "Reset" {
		return engine.ErrUnsupported("sharing a gallery with the operation " + what)
	}
	info := value.Sub(d.Body, "properties", "sharingProfile", "communityGalleryInfo")
	if info == nil {
		return engine.BadRequest("OperationNotAllowed",
			"The gallery %s has no communityGalleryInfo in its sharing profile: it cannot be shown to the community.",
			d.Parsed.Name())
	}
	info["communityGalleryEnabled"] = what == "EnableCommunity"
	return beginAction(t, d, args)
}
