package arm

import "strings"

// updateDisks takes over the storage profile of a write: what cannot change
// stays, data disks may come and go.
func (t *tx) updateDisks(d, old *doc) *Error {
	p, was := props(d.Body), sub(old.Body, "properties")
	storage := sub(p, "storageProfile")
	if storage == nil {
		p["storageProfile"] = clone(was["storageProfile"])
		return nil
	}
	if ref := sub(was, "storageProfile", "imageReference"); ref != nil {
		storage["imageReference"] = clone(ref)
	}
	os, before := ensure(storage, "osDisk"), sub(was, "storageProfile", "osDisk")
	for k, v := range before {
		if k != "caching" && k != "deleteOption" && k != "diskSizeGB" || os[k] == nil {
			os[k] = clone(v)
		}
	}
	if storage["dataDisks"] == nil {
		storage["dataDisks"] = clone(sub(was, "storageProfile")["dataDisks"])
	}
	luns := map[int]bool{}
	for _, disk := range items(storage, "dataDisks") {
		lun, ok := number(disk, "lun")
		if !ok || lun < 0 || luns[lun] {
			return invalid("dataDisk.lun", "A data disk with the LUN %d cannot be attached: it is taken, negative or missing.", lun)
		}
		luns[lun] = true
		if e := t.attachDisk(d, disk); e != nil {
			return e
		}
	}
	if size, ok := sizeNamed(str(p, "hardwareProfile", "vmSize")); ok && len(luns) > 2*size.cores {
		return conflict("OperationNotAllowed", "The maximum number of data disks allowed to be attached to a VM of this size is %d.", 2*size.cores)
	}
	return t.makeDisks(d)
}

// attachDisk checks an existing disk that is to be attached.
func (t *tx) attachDisk(d *doc, disk object) *Error {
	id := str(disk, "managedDisk", "id")
	if id == "" {
		return nil
	}
	other := t.find(id)
	if other == nil {
		return refuse(404, "ResourceNotFound", "The managed disk '%s' was not found.", id)
	}
	if u := t.holder(id); u != nil && u.key != d.key() {
		return conflict("AttachDiskWhileBeingDetached", "Disk %s is attached to VM %s.", other.id.name(), u.ID)
	}
	setDefault(disk, "name", other.id.name())
	if n, ok := number(other.Body, "properties", "diskSizeGB"); ok {
		setDefault(disk, "diskSizeGB", float64(n))
	}
	return nil
}

// updateSize checks a change of the size: one that is known, and has room.
func (t *tx) updateSize(d, old *doc) *Error {
	now, was := str(d.Body, "properties", "hardwareProfile", "vmSize"), str(old.Body, "properties", "hardwareProfile", "vmSize")
	if now == "" {
		props(d.Body)["hardwareProfile"] = clone(sub(old.Body, "properties")["hardwareProfile"])
		return nil
	}
	if strings.EqualFold(now, was) {
		return nil
	}
	size, e := t.s.sizeFor(d.location(), now, texts(d.Body, "zones"))
	if e != nil {
		return e
	}
	return t.quota(d, size, 1, isSpot(props(d.Body)))
}

// defaultProfile completes an OS profile as Compute does.
func defaultProfile(d *doc) {
	profile := sub(d.Body, "properties", "osProfile")
	if profile == nil {
		return
	}
	setDefault(profile, "secrets", []any{})
	setDefault(profile, "allowExtensionOperations", true)
	setDefault(profile, "requireGuestProvisionSignal", true)
	if isWindows(d.Body) {
		w := ensure(profile, "windowsConfiguration")
		setDefault(w, "provisionVMAgent", true)
		setDefault(w, "enableAutomaticUpdates", true)
		setDefault(ensure(w, "patchSettings"), "patchMode", "AutomaticByOS")
		setDefault(sub(w, "patchSettings"), "assessmentMode", "ImageDefault")
		return
	}
	l := ensure(profile, "linuxConfiguration")
	setDefault(l, "provisionVMAgent", true)
	setDefault(l, "disablePasswordAuthentication", false)
}

// systemOf says what a guest agent would report of the system: its name and
// version, as far as the image tells.
func systemOf(d *doc) (name, version string) {
	ref := sub(d.Body, "properties", "storageProfile", "imageReference")
	sku := lower(str(ref, "sku") + str(ref, "id") + str(ref, "communityGalleryImageId"))
	if isWindows(d.Body) {
		for _, r := range [][3]string{{"2025", "Windows Server 2025 Datacenter", "10.0.26100"}, {"2022", "Windows Server 2022 Datacenter", "10.0.20348"}, {"23h2", "Windows Server Datacenter", "10.0.25398"}} {
			if strings.Contains(sku, r[0]) {
				return r[1], r[2]
			}
		}
		return "Windows Server 2019 Datacenter", "10.0.17763"
	}
	for _, r := range [][2]string{{"24", "24.04"}, {"20", "20.04"}, {"18", "18.04"}} {
		if strings.Contains(sku, r[0]+"04") || strings.Contains(sku, r[0]+"_04") {
			return "ubuntu", r[1]
		}
	}
	return "ubuntu", "22.04"
}

// viewDisks are the disks of a machine in its instance view.
func viewDisks(d *doc) []any {
	out := []any{}
	storage := sub(d.Body, "properties", "storageProfile")
	for _, disk := range append([]object{sub(storage, "osDisk")}, items(storage, "dataDisks")...) {
		if disk != nil {
			out = append(out, object{"name": str(disk, "name"), "statuses": []any{object{"code": "ProvisioningState/succeeded", "level": "Info", "displayStatus": "Provisioning succeeded", "time": d.Changed.Format(timeForm)}}})
		}
	}
	return out
}

// completeDisk gives a disk what Compute adds to every one.
func completeDisk(t *tx, d, old *doc) {
	p, sku := props(d.Body), ensure(d.Body, "sku")
	setDefault(sku, "name", "Standard_LRS")
	tier, _, _ := strings.Cut(str(sku, "name"), "_")
	sku["tier"] = strings.TrimSuffix(tier, "V2")
	p["uniqueId"], p["timeCreated"] = t.s.guid(), t.now.Format(timeForm)
	if old != nil {
		for _, field := range []string{"uniqueId", "timeCreated", "creationData"} {
			p[field] = clone(sub(old.Body, "properties")[field])
		}
	}
	if n, ok := number(p, "diskSizeGB"); ok {
		p["diskSizeBytes"] = float64(n) * (1 << 30)
	}
	setDefault(p, "networkAccessPolicy", "AllowAll")
	setDefault(p, "publicNetworkAccess", "Enabled")
	setDefault(ensure(p, "encryption"), "type", "EncryptionAtRestWithPlatformKey")
}

// inferOS notes the system of a machine's image on its system disk, where a
// client left it out, and writes the way of its creation as Compute does.
func inferOS(p object) {
	storage := sub(p, "storageProfile")
	if storage == nil {
		return
	}
	disk := ensure(storage, "osDisk")
	if strings.EqualFold(str(disk, "createOption"), "FromImage") {
		disk["createOption"] = "FromImage"
	}
	if str(disk, "osType") != "" {
		return
	}
	image := imageOf(sub(storage, "imageReference"))
	for _, o := range catalogue() {
		if strings.EqualFold(o.publisher, image.Publisher) && strings.EqualFold(o.name, image.Offer) {
			disk["osType"] = o.os
		}
	}
	if image.ID != "" && strings.Contains(lower(image.ID), "-win") {
		disk["osType"] = "Windows"
	}
}
