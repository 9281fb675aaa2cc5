package compute

import (
	"encoding/base64"
	"strings"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/azuresim/internal/compute/catalogue"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// machineOf returns the description of a VM for its Host.
func machineOf(t *engine.Tx, d *engine.Doc) host.VM {
	p := value.Props(d.Body)
	size, _ := catalogue.SizeNamed(value.OrDefault(value.Str(p, "hardwareProfile", "vmSize"), value.Str(d.Body, "sku", "name")))
	vm := host.VM{
		ID: d.ID, Name: d.Parsed.Name(), ComputerName: value.Str(p, "osProfile", "computerName"),
		ResourceGroup: d.Parsed.Group, Location: d.Location(),
		Size: size.Name, Cores: size.Available(), MemoryMiB: size.MemoryMiB, DataDiskLimit: size.DataDisks, OS: "Linux",
		AdminUsername: value.Str(p, "osProfile", "adminUsername"),
		Image:         imageOf(value.Sub(p, "storageProfile", "imageReference")), Tags: map[string]string{},
	}
	vm.Image.Source, vm.Image.Holds = value.Str(d.Hidden, "source"), value.Str(d.Hidden, "holds")
	if isWindows(d.Body) {
		vm.OS = "Windows"
	}
	if zones := value.Texts(d.Body, "zones"); len(zones) > 0 {
		vm.Zone = zones[0]
	}
	data := value.Str(d.Hidden, "customData")
	if set := setOf(t, d); set != nil {
		vm.ScaleSet = set.Parsed.Name()
		if d.Type == typeInstance {
			vm.Name = instanceName(d)
			data = value.Str(set.Hidden, "data", value.Str(d.Hidden, "data"))
		}
	}
	vm.CustomData, _ = base64.StdEncoding.DecodeString(data) // checked on creation
	for _, k := range value.Items(p, "osProfile", "linuxConfiguration", "ssh", "publicKeys") {
		vm.SSHPublicKeys = append(vm.SSHPublicKeys, value.Str(k, "keyData"))
	}
	for _, n := range value.Items(p, "networkProfile", "networkInterfaces") {
		vm.NICs = append(vm.NICs, nic(t, value.Str(n, "id")))
	}
	vm.OSDiskGiB, _ = value.Int(p, "storageProfile", "osDisk", "diskSizeGB")
	for _, disk := range value.Items(p, "storageProfile", "dataDisks") {
		lun, _ := value.Int(disk, "lun")
		gib, _ := value.Int(disk, "diskSizeGB")
		vm.DataDisks = append(vm.DataDisks, host.DataDisk{Name: value.Str(disk, "name"), LUN: lun, SizeGiB: gib})
	}
	assigned := value.Sub(d.Body, "identity", "userAssignedIdentities")
	if set := setOf(t, d); set != nil && len(assigned) == 0 {
		assigned = value.Sub(set.Body, "identity", "userAssignedIdentities")
	}
	vm.Identities = value.SortedKeys(assigned)
	for k := range value.Sub(d.Body, "tags") {
		vm.Tags[k] = value.Str(d.Body, "tags", k)
	}
	return vm
}

func nic(t *engine.Tx, id string) host.NIC {
	d := t.Find(id)
	if d == nil {
		return host.NIC{ID: id}
	}
	n := host.NIC{ID: d.ID, DNSServers: value.Texts(d.Body, "properties", "dnsSettings", "dnsServers")}
	for _, c := range value.Items(value.Props(d.Body), "ipConfigurations") {
		if n.SubnetID == "" {
			n.SubnetID = value.Str(value.Props(c), "subnet", "id")
		}
		n.PrivateIPs = append(n.PrivateIPs, value.Str(value.Props(c), "privateIPAddress"))
		if ip := value.Str(value.Props(c), "publicIPAddress", "id"); ip != "" {
			n.PublicIPID = ip
		}
	}
	if vnet, _, _ := strings.Cut(n.SubnetID, "/subnets/"); len(n.DNSServers) == 0 {
		if v := t.Find(vnet); v != nil {
			n.DNSServers = value.Texts(v.Body, "properties", "dhcpOptions", "dnsServers")
		}
	}
	return n
}

func imageOf(ref value.Object) host.Image {
	return host.Image{ID: value.Str(ref, "id") + value.Str(ref, "communityGalleryImageId"),
		Publisher: value.Str(ref, "publisher"), Offer: value.Str(ref, "offer"), SKU: value.Str(ref, "sku"),
		Version: value.Str(ref, "version"), ExactVersion: value.Str(ref, "exactVersion")}
}

func machineNamed(s *engine.Server, id string) (vm host.VM, ok bool) {
	s.Read(func(t *engine.Tx) {
		if d := t.Find(id); d != nil {
			vm, ok = machineOf(t, d), true
		}
	})
	return vm, ok
}

// poweredOn returns the running machines, except those that an operation in progress is
// about to start.
func poweredOn(t *engine.Tx) []host.VM {
	var out []host.VM
	for _, d := range t.All(typeVM, "") {
		if powerOf(d) == "running" && d.State() != "Creating" && value.Str(d.Hidden, "todo") == "" {
			out = append(out, machineOf(t, d))
		}
	}
	for _, d := range t.All(typeInstance, "") {
		if powerOf(d) == "running" && value.Str(d.Hidden, "todo") == "" {
			out = append(out, machineOf(t, d))
		}
	}
	return out
}

// powerOf returns the power state of a machine.
func powerOf(d *engine.Doc) string { return value.Str(d.Hidden, "power") }
