package arm

import (
	"encoding/base64"
	"fmt"
	"hash/fnv"
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

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// restsVM: nothing is asked for besides the VM, and it has no extensions.
func restsVM(t *tx, r *record, expand string) bool {
	if expand != "" {
		return false
	}
	for range t.scan(typeExt, r.key) {
		return false
	}
	return true
}

// viewVM adds the instance view where it is asked for.
func viewVM(t *tx, d *doc, body object, expand string) {
	var extensions []any
	for _, x := range t.all(typeExt, d.ID) {
		extensions = append(extensions, t.view(x, ""))
	}
	if len(extensions) > 0 {
		body["resources"] = extensions
	}
	if strings.Contains(lower(expand), "userdata") && str(d.Hidden, "userData") != "" {
		props(body)["userData"] = d.Hidden["userData"]
	}
	if strings.Contains(lower(expand), "instanceview") {
		props(body)["instanceView"] = t.instanceView(d)
	}
}

func (t *tx) instanceView(d *doc) object {
	state := lower(d.state())
	statuses := []any{provisioningStatus(d)}
	if state != "creating" {
		power := str(d.Hidden, "power")
		statuses = append(statuses, object{"code": "PowerState/" + power, "level": "Info", "displayStatus": "VM " + power})
	}
	view := object{"statuses": statuses, "disks": viewDisks(d), "hyperVGeneration": "V1"}
	if m := t.s.cfg.Machines; m != nil && m.View(d.ID).AgentReady {
		view["computerName"] = str(d.Body, "properties", "osProfile", "computerName")
		view["osName"], view["osVersion"] = systemOf(d)
		view["vmAgent"] = object{"vmAgentVersion": "casement", "statuses": []any{object{"code": "ProvisioningState/succeeded", "level": "Info", "displayStatus": "Ready", "message": "simulated guest agent"}}}
	}
	if extensions := t.extensionViews(d); len(extensions) > 0 {
		view["extensions"] = extensions
	}
	return view
}

// provisioningStatus is the first status of an instance view; a failure's code and
// text are in it.
func provisioningStatus(d *doc) object {
	state := lower(d.state())
	s := object{"code": "ProvisioningState/" + state, "level": "Info", "displayStatus": "Provisioning " + state, "time": d.Changed.Format("2006-01-02T15:04:05Z")}
	if failure := sub(d.Hidden, "failure"); failure != nil && d.state() == statusFailed {
		s["level"], s["code"], s["message"] = "Error", "ProvisioningState/failed/"+str(failure, "code"), str(failure, "message")
	}
	return s
}

// extensionViews are the extensions of a machine in its instance view.
func (t *tx) extensionViews(d *doc) []any {
	var extensions []*doc
	if d.Type == typeVM {
		extensions = t.all(typeExt, d.ID)
	} else if set := t.setOf(d); set != nil {
		for _, name := range extensionNames(set) {
			if x := t.find(d.ID + "/extensions/" + name); x != nil {
				extensions = append(extensions, x)
			}
		}
	}
	var out []any
	for _, x := range extensions {
		p := sub(x.Body, "properties")
		out = append(out, object{"name": x.id.name(), "type": str(p, "publisher") + "." + str(p, "type"), "typeHandlerVersion": str(p, "typeHandlerVersion"), "statuses": []any{provisioningStatus(x)}})
	}
	return out
}

// machine is a VM as its host gets it.
func (t *tx) machine(d *doc) VM {
	p := props(d.Body)
	size, _ := sizeNamed(orDefault(str(p, "hardwareProfile", "vmSize"), str(d.Body, "sku", "name")))
	vm := VM{
		ID: d.ID, Name: d.id.name(), ComputerName: str(p, "osProfile", "computerName"), ResourceGroup: d.id.Group, Location: d.location(),
		Size: size.name, Cores: size.cores, MemoryMiB: size.memoryMiB, OS: "Linux", AdminUsername: str(p, "osProfile", "adminUsername"),
		Image: imageOf(sub(p, "storageProfile", "imageReference")), Tags: map[string]string{},
	}
	vm.Image.Source = str(d.Hidden, "source")
	if isWindows(d.Body) {
		vm.OS = "Windows"
	}
	if zones := texts(d.Body, "zones"); len(zones) > 0 {
		vm.Zone = zones[0]
	}
	data := str(d.Hidden, "customData")
	if set := t.setOf(d); set != nil {
		vm.ScaleSet = set.id.name()
		if d.Type == typeInstance {
			vm.Name = instanceName(d)
			data = str(set.Hidden, "data", str(d.Hidden, "data"))
		}
	}
	vm.CustomData, _ = base64.StdEncoding.DecodeString(data) // checked on creation
	for _, k := range items(p, "osProfile", "linuxConfiguration", "ssh", "publicKeys") {
		vm.SSHPublicKeys = append(vm.SSHPublicKeys, str(k, "keyData"))
	}
	for _, n := range items(p, "networkProfile", "networkInterfaces") {
		vm.NICs = append(vm.NICs, t.nic(str(n, "id")))
	}
	vm.OSDiskGiB, _ = number(p, "storageProfile", "osDisk", "diskSizeGB")
	for _, disk := range items(p, "storageProfile", "dataDisks") {
		lun, _ := number(disk, "lun")
		gib, _ := number(disk, "diskSizeGB")
		vm.DataDisks = append(vm.DataDisks, DataDisk{Name: str(disk, "name"), LUN: lun, SizeGiB: gib})
	}
	assigned := sub(d.Body, "identity", "userAssignedIdentities")
	if set := t.setOf(d); set != nil && len(assigned) == 0 {
		assigned = sub(set.Body, "identity", "userAssignedIdentities")
	}
	vm.Identities = sortedKeys(assigned)
	for k := range sub(d.Body, "tags") {
		vm.Tags[k] = str(d.Body, "tags", k)
	}
	return vm
}

func (t *tx) nic(id string) NIC {
	d := t.find(id)
	if d == nil {
		return NIC{ID: id}
	}
	n := NIC{ID: d.ID}
	for _, c := range items(props(d.Body), "ipConfigurations") {
		if n.SubnetID == "" {
			n.SubnetID = str(props(c), "subnet", "id")
		}
		n.PrivateIPs = append(n.PrivateIPs, str(props(c), "privateIPAddress"))
		if ip := str(props(c), "publicIPAddress", "id"); ip != "" {
			n.PublicIPID = ip
		}
	}
	return n
}

func imageOf(ref object) Image {
	return Image{ID: str(ref, "id") + str(ref, "communityGalleryImageId"), Publisher: str(ref, "publisher"), Offer: str(ref, "offer"), SKU: str(ref, "sku"), Version: str(ref, "version"), ExactVersion: str(ref, "exactVersion")}
}

// mac is an address of Microsoft's range, made from the interface's ID.
func mac(seed string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(lower(seed))) // never fails (hash.Hash)
	n := h.Sum32()
	return fmt.Sprintf("00-0D-3A-%02X-%02X-%02X", byte(n>>16), byte(n>>8), byte(n))
}
