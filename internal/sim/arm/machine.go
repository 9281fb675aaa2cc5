package arm

import "encoding/base64"

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

func (s *Server) machine(id string) (vm VM, ok bool) {
	s.read(func(t *tx) {
		if d := t.find(id); d != nil {
			vm, ok = t.machine(d), true
		}
	})
	return vm, ok
}

// poweredOn lists the machines that run, but for those that an open operation
// is about to start.
func (t *tx) poweredOn() []VM {
	var out []VM
	for _, d := range t.all(typeVM, "") {
		if powerOf(d) == "running" && d.state() != "Creating" && str(d.Hidden, "todo") == "" {
			out = append(out, t.machine(d))
		}
	}
	for _, d := range t.all(typeInstance, "") {
		if powerOf(d) == "running" && str(d.Hidden, "todo") == "" {
			out = append(out, t.machine(d))
		}
	}
	return out
}

// powerOf is the power state of a machine.
func powerOf(d *doc) string { return str(d.Hidden, "power") }
