package compute

import (
	"cmp"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/compute/catalogue"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// updateDisks applies the storage profile of a write: data disks can be added and removed;
// other properties keep their values.
func updateDisks(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p, was := value.Props(d.Body), value.Sub(old.Body, "properties")
	storage := value.Sub(p, "storageProfile")
	if storage == nil {
		p["storageProfile"] = value.Clone(was["storageProfile"])
		return nil
	}
	if ref := value.Sub(was, "storageProfile", "imageReference"); ref != nil {
		storage["imageReference"] = value.Clone(ref)
	}
	os, before := value.Ensure(storage, "osDisk"), value.Sub(was, "storageProfile", "osDisk")
	for k, v := range before {
		if k != "caching" && k != "deleteOption" && k != "diskSizeGB" || os[k] == nil {
			os[k] = value.Clone(v)
		}
	}
	if storage["dataDisks"] == nil {
		storage["dataDisks"] = value.Clone(value.Sub(was, "storageProfile")["dataDisks"])
	}
	luns := map[int]bool{}
	for _, disk := range value.Items(storage, "dataDisks") {
		lun, ok := value.Int(disk, "lun")
		if !ok || lun < 0 || luns[lun] {
			return invalid("dataDisk.lun", "A data disk with the LUN %d cannot be attached: it is taken, negative or missing.", lun)
		}
		luns[lun] = true
		if e := attachDisk(t, d, disk); e != nil {
			return e
		}
	}
	if size, ok := catalogue.SizeNamed(value.Str(p, "hardwareProfile", "vmSize")); ok && len(luns) > size.DataDisks {
		return engine.Conflict("OperationNotAllowed",
			"The maximum number of data disks allowed to be attached to a VM of this size is %d.", size.DataDisks)
	}
	return makeDisks(t, d)
}

// attachDisk checks an existing disk that a write attaches and fills in its name and size.
func attachDisk(t *engine.Tx, d *engine.Doc, disk value.Object) *engine.Error {
	id := value.Str(disk, "managedDisk", "id")
	if id == "" && strings.EqualFold(value.Str(disk, "createOption"), "Attach") && disk["vhd"] == nil {
		return invalid("dataDisk.managedDisk.id", "Required parameter 'dataDisk.managedDisk.id' is missing (null).")
	}
	if id == "" {
		return nil
	}
	other := t.Find(id)
	if other == nil {
		return engine.Refuse(404, "ResourceNotFound", "The managed disk '%s' was not found.", id)
	}
	if u := holder(t, id); u != nil && u.Key != d.Key() {
		return engine.Conflict("AttachDiskWhileBeingDetached", "Disk %s is attached to VM %s.", other.Parsed.Name(), u.ID)
	}
	value.SetDefault(disk, "name", other.Parsed.Name())
	if n, ok := value.Int(other.Body, "properties", "diskSizeGB"); ok {
		value.SetDefault(disk, "diskSizeGB", float64(n))
	}
	return nil
}

// updateSize checks a change of the size: the new size must exist and have room for the
// disks.
func updateSize(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	now, was := value.Str(d.Body, "properties", "hardwareProfile", "vmSize"), value.Str(old.Body, "properties", "hardwareProfile", "vmSize")
	if now == "" {
		value.Props(d.Body)["hardwareProfile"] = value.Clone(value.Sub(old.Body, "properties")["hardwareProfile"])
		return nil
	}
	if strings.EqualFold(now, was) {
		return nil
	}
	size, e := sizeFor(t, d.Location(), now, value.Texts(d.Body, "zones"))
	if e != nil {
		return e
	}
	if e := checkFit(demandOf(t, d), size); e != nil {
		return e
	}
	return quota(t, d, size, 1, isSpot(value.Props(d.Body)))
}

// imageName returns the name of an image: the SKU of a marketplace image, the definition of
// a gallery image, or the name of a managed image.
func imageName(ref value.Object) string {
	if sku := value.Str(ref, "sku"); sku != "" {
		return value.Lower(sku)
	}
	id := value.Lower(cmp.Or(value.Str(ref, "communityGalleryImageId"), value.Str(ref, "sharedGalleryImageId"), value.Str(ref, "id")))
	_, name, _ := strings.Cut(id, "/images/")
	name, _, _ = strings.Cut(name, "/")
	return name
}

// systemOf returns the name and version of the operating system that a guest agent would report, as
// far as it follows from the image.
func systemOf(d *engine.Doc) (name, version string) {
	sku := imageName(value.Sub(d.Body, "properties", "storageProfile", "imageReference"))
	if isWindows(d.Body) {
		for _, part := range strings.FieldsFunc(sku, func(r rune) bool { return r == '-' || r == '_' }) {
			if i := slices.IndexFunc(servers, func(r server) bool { return r.key == part }); i >= 0 {
				return servers[i].name, servers[i].build
			}
		}
		return "Windows Server 2019 Datacenter", "10.0.17763"
	}
	if strings.Contains(sku, "azurelinux") {
		return "azurelinux", "3.0"
	}
	for _, r := range [][2]string{{"24", "24.04"}, {"20", "20.04"}, {"18", "18.04"}} {
		if strings.Contains(sku, r[0]+"04") || strings.Contains(sku, r[0]+"_04") {
			return "ubuntu", r[1]
		}
	}
	return "ubuntu", "22.04"
}

// viewDisks returns the disks of a machine for its instance view.
func viewDisks(d *engine.Doc) []any {
	out := []any{}
	storage := value.Sub(d.Body, "properties", "storageProfile")
	for _, disk := range append([]value.Object{value.Sub(storage, "osDisk")}, value.Items(storage, "dataDisks")...) {
		if disk != nil {
			out = append(out, value.Object{"name": value.Str(disk, "name"), "statuses": []any{value.Object{
				"code": "ProvisioningState/succeeded", "level": "Info", "displayStatus": "Provisioning succeeded",
				"time": d.Changed.Format(engine.TimeForm),
			}}})
		}
	}
	return out
}

// inferOS sets the operating system of the OS disk from the image, if the client left it out, and
// changes createOption to Compute's spelling. p is the properties of a machine or the model of a
// scale set, which may be nil.
func inferOS(p value.Object) {
	storage := value.Sub(p, "storageProfile")
	if storage == nil {
		return
	}
	disk := value.Ensure(storage, "osDisk")
	if strings.EqualFold(value.Str(disk, "createOption"), "FromImage") {
		disk["createOption"] = "FromImage"
	}
	if value.Str(disk, "osType") != "" {
		return
	}
	image := imageOf(value.Sub(storage, "imageReference"))
	if found, _, ok := catalogue.FindImage(image.Publisher, image.Offer, image.SKU, image.Version); ok {
		disk["osType"] = found.OS
	}
	if image.ID != "" && strings.Contains(value.Lower(image.ID), "-win") {
		disk["osType"] = "Windows"
	}
}
