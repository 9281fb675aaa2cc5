package compute

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/compute/catalogue"
	"casement.dev/casement/azuresim/internal/defaults"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// maxCustomData is Azure's limit for decoded custom data.
const maxCustomData = 64 << 10

// prepareVM checks a VM as Compute does before it accepts the VM, and attaches the VM's disks and
// interfaces.
func prepareVM(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	dropCapabilities(p)
	if old != nil {
		return updateVM(t, d, old)
	}
	size, e := sizeFor(t, d.Location(), value.Str(p, "hardwareProfile", "vmSize"), value.Texts(d.Body, "zones"))
	if e != nil {
		return e
	}
	if e := checkBlobs(t, p); e != nil {
		return e
	}
	if e := quota(t, d, size, 1, isSpot(p)); e != nil {
		return e
	}
	inferOS(p)
	if e := checkOSProfile(t, d); e != nil {
		return e
	}
	if e := checkImage(t, d); e != nil {
		return e
	}
	if e := attachInterfaces(t, d); e != nil {
		return e
	}
	if e := checkFit(demandOf(t, d), size); e != nil {
		return e
	}
	if e := checkSpot(p, "properties"); e != nil {
		return e
	}
	if e := checkUserIdentities(t, d); e != nil {
		return e
	}
	if e := joinSet(t, d); e != nil {
		return e
	}
	for _, disk := range value.Items(p, "storageProfile", "dataDisks") {
		if e := attachDisk(t, d, disk); e != nil {
			return e
		}
	}
	hide(d)
	giveIdentity(t, d, nil)
	defaults.Fill(typeVM+" new", d.Version, d.Body)
	d.Hidden["power"] = "running"
	p["vmId"] = uuid.NewString()
	p["timeCreated"] = t.Now.Format("2006-01-02T15:04:05.0000000+00:00")
	return makeDisks(t, d)
}

// unmanagedEnd is the day since which Azure accepts no disks that are blobs of a storage account.
const unmanagedEnd = "2026-03-31"

// checkBlobs refuses disks that are blobs of a storage account, since unmanagedEnd. Source:
// https://github.com/ansible-collections/azure/pull/2288,
// https://github.com/cloudfoundry/bosh-deployment/pull/529.
func checkBlobs(t *engine.Tx, p value.Object) *engine.Error {
	storage := value.Sub(p, "storageProfile")
	for _, disk := range append([]value.Object{value.Sub(storage, "osDisk")}, value.Items(storage, "dataDisks")...) {
		if disk["vhd"] != nil && engine.Retired(t.Now, unmanagedEnd) {
			return engine.BadRequest("BadRequest", "Unmanaged disks have been retired. Please migrate to Managed Disks. More details "+
				"available here: https://learn.microsoft.com/en-us/azure/virtual-machines/unmanaged-disks-deprecation")
		}
	}
	return nil
}

// updateVM copies from the old document the properties that a write cannot change or need not
// repeat.
func updateVM(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p, was := value.Props(d.Body), value.Props(old.Body)
	for _, field := range []string{"vmId", "timeCreated"} {
		p[field] = was[field]
	}
	if profile := value.Sub(p, "osProfile"); profile != nil {
		if profile["customData"] != nil && value.Str(profile, "customData") != value.Str(old.Hidden, "customData") {
			e := engine.Conflict("PropertyChangeNotAllowed", "Changing property 'osProfile.customData' is not allowed.")
			e.Target = "osProfile.customData"
			return e
		}
		if name := value.Str(profile, "computerName"); name != "" && name != value.Str(was, "osProfile", "computerName") {
			e := engine.Conflict("PropertyChangeNotAllowed", "Changing property 'osProfile.computerName' is not allowed.")
			e.Target = "osProfile.computerName"
			return e
		}
	}
	if e := keepSet(t, d, old); e != nil {
		return e
	}
	if p["networkProfile"] == nil {
		p["networkProfile"] = value.Clone(was["networkProfile"])
	} else if e := attachInterfaces(t, d); e != nil {
		return e
	}
	if p["osProfile"] == nil && was["osProfile"] != nil {
		p["osProfile"] = value.Clone(was["osProfile"])
	}
	if e := updateSize(t, d, old); e != nil {
		return e
	}
	if e := checkUserIdentities(t, d); e != nil {
		return e
	}
	hide(d)
	giveIdentity(t, d, old)
	return updateDisks(t, d, old)
}

// hide moves properties that Azure never returns out of the body.
func hide(d *engine.Doc) {
	if v := value.Props(d.Body)["userData"]; v != nil {
		d.Hidden["userData"] = v
		delete(value.Props(d.Body), "userData")
	}
	profile := value.Sub(value.Props(d.Body), "osProfile")
	for _, secret := range []string{"customData", "adminPassword"} {
		if v, ok := profile[secret].(string); ok {
			d.Hidden[secret] = v
			delete(profile, secret)
		}
	}
}

func isWindows(body value.Object) bool {
	return strings.EqualFold(value.Str(body, "properties", "storageProfile", "osDisk", "osType"), "Windows") ||
		value.At(body, "properties", "osProfile", "windowsConfiguration") != nil
}

func checkOSProfile(t *engine.Tx, d *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	profile := value.Sub(p, "osProfile")
	switch specialized := isSpecialized(definitionOf(t, d)); {
	case specialized && profile != nil:
		return invalid("osProfile", "Parameter 'osProfile' is not allowed.")
	case specialized:
		return nil
	case profile == nil:
		return invalid("osProfile", "Required parameter 'osProfile' is missing (null).")
	}
	name, windows := value.Str(profile, "computerName"), isWindows(d.Body)
	if name == "" {
		name = d.Parsed.Name()
		profile["computerName"] = name
	}
	switch {
	case !windows && len(name) > 64:
		return invalid("osProfile.computerName", "Linux host name cannot exceed 64 characters in length or "+
			"contain the following characters: ` ~ ! @ # $ %% ^ & * ( ) = + _ [ ] { } \\ | ; : ' \" , < > / "+
			"?.")
	case windows && (len(name) > 15 || strings.Trim(name, "0123456789") == "" ||
		strings.ContainsAny(name, "`~!@#$%^&*()=+_[]{}\\|;:.'\",<>/?")):
		return invalid("osProfile.computerName", "Windows computer name cannot be more than 15 characters long, "+
			"be entirely numeric, or contain the following characters: ` ~ ! @ # $ %% ^ & * ( ) = + _ [ ] { } "+
			"\\ | ; : . ' \" , < > / ?.")
	}
	if e := checkAdministrator(profile); e != nil {
		return e
	}
	if data, err := base64.StdEncoding.DecodeString(value.Str(profile, "customData")); err != nil || len(data) > maxCustomData {
		return invalid("customData", "Custom data in OSProfile must be in Base64 encoding and with a maximum length of 87380 characters.")
	}
	linux := value.Sub(profile, "linuxConfiguration")
	switch {
	case windows && linux != nil:
		return invalid("linuxConfiguration", "Parameter 'linuxConfiguration' is not allowed.")
	case windows:
		return checkPassword(value.Str(profile, "adminPassword"))
	case value.Bool(linux, "disablePasswordAuthentication") && len(value.Items(linux, "ssh", "publicKeys")) == 0:
		return invalid("linuxConfiguration.ssh.publicKeys", "Authentication using either SSH or by user name "+
			"and password must be enabled in Linux profile. For more information, see aka.ms/linux-vm-auth.")
	}
	return nil
}

// reservedUsers are the names that an administrator cannot have. Source:
// https://learn.microsoft.com/azure/virtual-machines/windows/faq#what-are-the-username-requirements-when-creating-a-vm-.
var reservedUsers = strings.Fields("1 123 a actuser adm admin admin1 admin2 administrator aspnet backup console david guest john owner " +
	"root server sql support support_388945a0 sys test test1 test2 test3 user user1 user2 user3 user4 user5")

// checkAdministrator checks the name of a machine's administrator. A machine of a specialized image
// has none.
func checkAdministrator(profile value.Object) *engine.Error {
	switch name := value.Str(profile, "adminUsername"); {
	case name == "" && (profile["adminPassword"] != nil || profile["linuxConfiguration"] != nil || profile["windowsConfiguration"] != nil):
		return invalid("adminUsername", "Required parameter 'adminUsername' is missing (null).")
	case slices.Contains(reservedUsers, value.Lower(name)):
		return invalid("adminUsername", "The Admin Username specified is not allowed.")
	}
	return nil
}

// checkPassword requires 12 to 123 characters from at least three of four character classes.
func checkPassword(p string) *engine.Error {
	classes := 0
	for _, set := range []string{"abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"} {
		if strings.ContainsAny(p, set) {
			classes++
		}
	}
	if strings.Trim(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
		classes++
	}
	if len(p) < 12 || len(p) > 123 {
		return invalid("adminPassword", "The supplied password must be between 12-123 characters long and must "+
			"satisfy at least 3 of password complexity requirements from the following: 1) Contains an "+
			"uppercase character 2) Contains a lowercase character 3) Contains a numeric digit 4) Contains a "+
			"special character 5) Control characters are not allowed")
	}
	if classes < 3 {
		return invalid("adminPassword", "The supplied password must satisfy at least 3 of the password complexity requirements.")
	}
	return nil
}

func attachInterfaces(t *engine.Tx, d *engine.Doc) *engine.Error {
	nics := value.Items(value.Props(d.Body), "networkProfile", "networkInterfaces")
	if len(nics) == 0 {
		return invalid("networkProfile", "Virtual Machine must have at least one network interface.")
	}
	for _, n := range nics {
		nic := t.Find(value.Str(n, "id"))
		if nic == nil {
			return engine.ErrReference(value.Str(n, "id"), d.ID)
		}
		if users := t.Users(nic.ID, typeVM); len(users) > 0 && users[0].Key != d.Key() {
			return engine.BadRequest("NicInUse", "Network Interface %s is used by existing resource %s.", nic.ID, users[0].ID)
		}
	}
	return nil
}

// makeDisks creates the managed disks of a new VM.
func makeDisks(t *engine.Tx, d *engine.Doc) *engine.Error {
	storage := value.Ensure(value.Props(d.Body), "storageProfile")
	os := value.Ensure(storage, "osDisk")
	value.SetDefault(os, "name", generatedDisk(d)+strings.ReplaceAll(uuid.NewString(), "-", ""))
	defaultOS(d, os, value.Sub(storage, "imageReference"), "ReadWrite")
	defaults.Fill(typeVM+" disks", d.Version, d.Body)
	kind := diskKind(value.Str(value.Props(d.Body), "hardwareProfile", "vmSize"))
	for _, disk := range append(value.Items(storage, "dataDisks"), os) {
		if lun, is := value.Int(disk, "lun"); is {
			value.SetDefault(disk, "name", fmt.Sprintf("%s_disk%d_%s", d.Parsed.Name(), lun+2, strings.ReplaceAll(uuid.NewString(), "-", "")))
		}
		if disk["vhd"] != nil {
			continue // a blob of a storage account is no resource
		}
		if value.Str(disk, "diffDiskSettings", "option") == "Local" {
			continue
		}
		managed := value.Ensure(disk, "managedDisk")
		if value.Str(managed, "id") != "" {
			continue
		}
		id := d.Parsed.GroupID()
		id.Namespace, id.Types, id.Names = "Microsoft.Compute", []string{"disks"}, []string{value.Str(disk, "name")}
		if t.Find(id.Key()) != nil {
			return engine.Conflict("ConflictingUserInput",
				"Disk %s already exists in resource group %s. Only CreateOption.Attach is supported.", id.Name(),
				id.Group)
		}
		value.SetDefault(managed, "storageAccountType", kind)
		t.Put(newDisk(t, d, id, disk))
		managed["id"] = id.String()
	}
	return nil
}

// newDisk returns the managed disk that the write of a machine creates.
func newDisk(t *engine.Tx, vm *engine.Doc, id engine.ID, disk value.Object) *engine.Doc {
	size, _ := value.Int(disk, "diskSizeGB")
	d := &engine.Doc{ID: id.String(), Type: typeDisk, Parsed: id, Hidden: value.Object{}, Body: value.Object{
		"location": vm.Body["location"], "tags": value.Clone(vm.Body["tags"]), "zones": value.Clone(vm.Body["zones"]),
		"sku": value.Object{"name": value.Str(disk, "managedDisk", "storageAccountType")},
		"properties": value.Object{"provisioningState": engine.StatusSucceeded, "diskSizeGB": float64(size),
			"creationData": value.Object{"createOption": value.OrDefault(value.Str(disk, "createOption"), "Empty")}},
	}}
	keepManaged(t, d, nil)
	fillDisk(d)
	return d
}

// diskKind returns the default storage type of the disks of a machine.
func diskKind(size string) string {
	if sz, ok := catalogue.SizeNamed(size); ok && !sz.Premium() {
		return "Standard_LRS"
	}
	return "Premium_LRS"
}

// defaultOS sets the properties of an OS disk that follow from its image. d is the machine or scale
// set; its check has recorded the size of the image if an ID names the image.
func defaultOS(d *engine.Doc, os, image value.Object, caching string) {
	ref := imageOf(image)
	gib := 127
	if found, _, ok := catalogue.FindImage(ref.Publisher, ref.Offer, ref.SKU, ref.Version); ok {
		value.SetDefault(os, "osType", found.OS)
		gib = found.DiskGiB
	}
	if n, ok := value.Int(d.Hidden, "diskGiB"); ok && ref.ID != "" {
		gib = n
	}
	if image != nil {
		value.SetDefault(os, "createOption", "FromImage")
	}
	value.SetDefault(os, "osType", "Linux")
	value.SetDefault(os, "diskSizeGB", float64(gib))
	if os["diffDiskSettings"] != nil {
		caching = "ReadOnly"
	}
	value.SetDefault(os, "caching", caching)
}
