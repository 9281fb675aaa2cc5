package arm

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// maxCustomData is Azure's limit of custom data, decoded.
const maxCustomData = 64 << 10

// prepareVM checks what Compute checks before it accepts a VM, and attaches its
// disks and interfaces.
func prepareVM(t *tx, d, old *doc) *Error {
	p := props(d.Body)
	if old != nil {
		return updateVM(t, d, old)
	}
	size, e := t.s.sizeFor(d.location(), str(p, "hardwareProfile", "vmSize"), texts(d.Body, "zones"))
	if e != nil {
		return e
	}
	if e := t.quota(d, size, 1, isSpot(p)); e != nil {
		return e
	}
	inferOS(p)
	if e := checkOSProfile(d); e != nil {
		return e
	}
	if e := t.checkImage(d); e != nil {
		return e
	}
	if e := t.attachInterfaces(d); e != nil {
		return e
	}
	if e := checkEphemeral(sub(p, "storageProfile", "osDisk"), size); e != nil {
		return e
	}
	if e := checkSpot(p, "properties"); e != nil {
		return e
	}
	if e := t.joinSet(d); e != nil {
		return e
	}
	for _, disk := range items(p, "storageProfile", "dataDisks") {
		if e := t.attachDisk(d, disk); e != nil {
			return e
		}
	}
	hide(d)
	defaultProfile(d)
	t.giveIdentity(d, nil)
	d.Hidden["power"] = "running"
	p["vmId"] = t.s.guid()
	p["timeCreated"] = t.now.Format("2006-01-02T15:04:05.0000000+00:00")
	return t.makeDisks(d)
}

// updateVM keeps what a write may not change and what it need not repeat.
func updateVM(t *tx, d, old *doc) *Error {
	p, was := props(d.Body), props(old.Body)
	for _, field := range []string{"vmId", "timeCreated"} {
		p[field] = was[field]
	}
	if profile := sub(p, "osProfile"); profile != nil {
		if profile["customData"] != nil && str(profile, "customData") != str(old.Hidden, "customData") {
			e := conflict("PropertyChangeNotAllowed", "Changing property 'osProfile.customData' is not allowed.")
			e.Target = "osProfile.customData"
			return e
		}
		if name := str(profile, "computerName"); name != "" && name != str(was, "osProfile", "computerName") {
			e := conflict("PropertyChangeNotAllowed", "Changing property 'osProfile.computerName' is not allowed.")
			e.Target = "osProfile.computerName"
			return e
		}
	}
	if e := t.keepSet(d, old); e != nil {
		return e
	}
	if p["networkProfile"] == nil {
		p["networkProfile"] = clone(was["networkProfile"])
	} else if e := t.attachInterfaces(d); e != nil {
		return e
	}
	if p["osProfile"] == nil {
		p["osProfile"] = clone(was["osProfile"])
	}
	if e := t.updateSize(d, old); e != nil {
		return e
	}
	hide(d)
	defaultProfile(d)
	t.giveIdentity(d, old)
	return t.updateDisks(d, old)
}

// hide moves what Azure never returns out of the body.
func hide(d *doc) {
	if v := props(d.Body)["userData"]; v != nil {
		d.Hidden["userData"] = v
		delete(props(d.Body), "userData")
	}
	profile := sub(props(d.Body), "osProfile")
	for _, secret := range []string{"customData", "adminPassword"} {
		if v, ok := profile[secret].(string); ok {
			d.Hidden[secret] = v
			delete(profile, secret)
		}
	}
}

func isWindows(body object) bool {
	return strings.EqualFold(str(body, "properties", "storageProfile", "osDisk", "osType"), "Windows") || value(body, "properties", "osProfile", "windowsConfiguration") != nil
}

func checkOSProfile(d *doc) *Error {
	p := props(d.Body)
	profile := sub(p, "osProfile")
	if profile == nil {
		return invalid("osProfile", "Required parameter 'osProfile' is missing (null).")
	}
	name, windows := str(profile, "computerName"), isWindows(d.Body)
	if name == "" {
		name = d.id.name()
		profile["computerName"] = name
	}
	switch {
	case !windows && len(name) > 64:
		return invalid("osProfile.computerName", "Linux host name cannot exceed 64 characters in length or contain the following characters: ` ~ ! @ # $ %% ^ & * ( ) = + _ [ ] { } \\ | ; : ' \" , < > / ?.")
	case windows && (len(name) > 15 || strings.Trim(name, "0123456789") == "" || strings.ContainsAny(name, "`~!@#$%^&*()=+_[]{}\\|;:.'\",<>/?")):
		return invalid("osProfile.computerName", "Windows computer name cannot be more than 15 characters long, be entirely numeric, or contain the following characters: ` ~ ! @ # $ %% ^ & * ( ) = + _ [ ] { } \\ | ; : . ' \" , < > / ?.")
	}
	if data, err := base64.StdEncoding.DecodeString(str(profile, "customData")); err != nil || len(data) > maxCustomData {
		return invalid("customData", "Custom data in OSProfile must be in Base64 encoding and with a maximum length of 87380 characters.")
	}
	linux := sub(profile, "linuxConfiguration")
	switch {
	case windows && linux != nil:
		return invalid("linuxConfiguration", "Parameter 'linuxConfiguration' is not allowed.")
	case windows:
		return checkPassword(str(profile, "adminPassword"))
	case boolean(linux, "disablePasswordAuthentication") && len(items(linux, "ssh", "publicKeys")) == 0:
		return invalid("linuxConfiguration.ssh.publicKeys", "Authentication using either SSH or by user name and password must be enabled in Linux profile. For more information, see aka.ms/linux-vm-auth.")
	}
	return nil
}

// checkPassword: 12 to 123 characters of three of four classes.
func checkPassword(p string) *Error {
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
		return invalid("adminPassword", "The supplied password must be between 12-123 characters long and must satisfy at least 3 of password complexity requirements from the following: 1) Contains an uppercase character 2) Contains a lowercase character 3) Contains a numeric digit 4) Contains a special character 5) Control characters are not allowed")
	}
	if classes < 3 {
		return invalid("adminPassword", "The supplied password must satisfy at least 3 of the password complexity requirements.")
	}
	return nil
}

func (t *tx) attachInterfaces(d *doc) *Error {
	nics := items(props(d.Body), "networkProfile", "networkInterfaces")
	if len(nics) == 0 {
		return invalid("networkProfile", "Virtual Machine must have at least one network interface.")
	}
	for _, n := range nics {
		nic := t.find(str(n, "id"))
		if nic == nil {
			return errReference(str(n, "id"), d.ID)
		}
		if nic.location() != d.location() {
			return badRequest("InvalidParameter", "The network interface %s is not in the same location as the virtual machine %s.", nic.ID, d.ID)
		}
		if users := t.users(nic.ID, typeVM); len(users) > 0 && users[0].key != d.key() {
			return badRequest("NicInUse", "Network Interface %s is used by existing resource %s.", nic.ID, users[0].ID)
		}
	}
	return nil
}

// makeDisks makes the managed disks of a new VM.
func (t *tx) makeDisks(d *doc) *Error {
	storage := ensure(props(d.Body), "storageProfile")
	os := ensure(storage, "osDisk")
	setDefault(os, "name", fmt.Sprintf("%s_OsDisk_1_%s", d.id.name(), strings.ReplaceAll(t.s.guid(), "-", "")))
	setDefault(os, "osType", "Linux")
	setDefault(os, "diskSizeGB", float64(127))
	setDefault(os, "deleteOption", "Detach")
	setDefault(storage, "dataDisks", []any{})
	for _, disk := range append(items(storage, "dataDisks"), os) {
		setDefault(disk, "deleteOption", "Detach")
		if str(disk, "diffDiskSettings", "option") == "Local" {
			continue
		}
		managed := ensure(disk, "managedDisk")
		if str(managed, "id") != "" {
			continue
		}
		id := d.id.group()
		id.Namespace, id.Types, id.Names = "Microsoft.Compute", []string{"disks"}, []string{str(disk, "name")}
		if t.find(id.key()) != nil {
			return conflict("ConflictingUserInput", "Disk %s already exists in resource group %s. Only CreateOption.Attach is supported.", id.name(), id.Group)
		}
		size, _ := number(disk, "diskSizeGB")
		t.put(&doc{ID: id.String(), Type: typeDisk, id: id, Hidden: object{}, Body: object{
			"location": d.Body["location"], "tags": clone(d.Body["tags"]), "zones": clone(d.Body["zones"]),
			"sku":        object{"name": orDefault(str(managed, "storageAccountType"), "Premium_LRS")},
			"properties": object{"provisioningState": statusSucceeded, "diskSizeGB": float64(size), "creationData": object{"createOption": orDefault(str(disk, "createOption"), "Empty")}, "uniqueId": t.s.guid()},
		}})
		managed["id"] = id.String()
	}
	return nil
}
