package compute

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/defaults"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// makeInstance creates an instance of a Uniform set with its disks and interfaces.
func makeInstance(t *engine.Tx, set *engine.Doc, number int, zone string, pool *addressPool) (*engine.Doc, *engine.Error) {
	id := set.Parsed.Child("virtualMachines", strconv.Itoa(number))
	d := &engine.Doc{ID: id.String(), Type: typeInstance, Parsed: id, Hidden: value.Object{"power": "running"}, Body: value.Object{
		"location": set.Body["location"], "instanceId": id.Name(),
		"properties": value.Object{"modelDefinitionApplied": "VirtualMachineScaleSet"},
	}}
	d.Count(nil)
	if zone != "" {
		d.Body["zones"] = []any{zone}
	}
	p := value.Props(d.Body)
	p["vmId"], p["timeCreated"] = uuid.NewString(), t.Now.Format("2006-01-02T15:04:05.0000000+00:00")
	if e := applyModel(t, set, d); e != nil {
		return nil, e
	}
	if e := makeInstanceNICs(t, set, d, pool); e != nil {
		return nil, e
	}
	t.Put(d)
	return assign(t, d, taskBoot), nil
}

// applyModel writes the set's current model into an instance. Existing disks are kept;
// everything else is as in a new instance.
func applyModel(t *engine.Tx, set, d *engine.Doc) *engine.Error {
	profile, p := profileOf(set), value.Props(d.Body)
	for _, field := range []string{"tags", "identity", "plan"} {
		delete(d.Body, field)
		if v := set.Body[field]; v != nil {
			d.Body[field] = value.Clone(v)
		}
	}
	d.Body["sku"] = value.Object{"name": value.Str(set.Body, "sku", "name"),
		"tier": value.OrDefault(value.Str(set.Body, "sku", "tier"), "Standard")}
	p["hardwareProfile"] = value.Object{}
	for _, field := range []string{"diagnosticsProfile", "securityProfile", "licenseType"} {
		delete(p, field)
		if v := profile[field]; v != nil {
			p[field] = value.Clone(v)
		}
	}
	os := value.CloneObject(value.Sub(profile, "osProfile"))
	delete(os, "computerNamePrefix")
	os["computerName"] = value.Str(profile, "osProfile", "computerNamePrefix") + base36(instanceNumber(d))
	p["osProfile"] = os
	defaults.Fill(typeInstance, "", d.Body)
	p["networkProfileConfiguration"] = value.CloneObject(value.Sub(profile, "networkProfile"))
	probe := probeOf(set)
	if e := checkImage(t, probe); e != nil {
		return e
	}
	makeInstanceDisks(t, set, d, value.Sub(probe.Body, "properties", "storageProfile"))
	bootsFrom(d, probe, value.Str(probe.Hidden, "source"))
	d.Hidden["model"], d.Hidden["data"] = set.Hidden["model"], dataKey(set)
	d.Hidden["priority"] = value.OrDefault(value.Str(profile, "priority"), "Regular")
	d.Hidden["evictionPolicy"] = value.Str(profile, "evictionPolicy")
	return nil
}

// makeInstanceDisks creates the disks of the model for an instance. The OS disk and
// existing disks with the same LUN stay unchanged.
func makeInstanceDisks(t *engine.Tx, set, d *engine.Doc, model value.Object) {
	had := value.Sub(value.Props(d.Body), "storageProfile")
	storage := value.CloneObject(model)
	value.SetDefault(storage, "dataDisks", []any{})
	os := value.Ensure(storage, "osDisk")
	value.SetDefault(os, "osType", "Linux")
	value.SetDefault(os, "diskSizeGB", float64(defaultOSDisk(os)))
	base := fmt.Sprintf("%s_%s_%s", set.Parsed.Name(), set.Parsed.Name(), d.Parsed.Name())
	instanceDisk(t, d, os, value.Sub(had, "osDisk"), base+"_OsDisk_1_", "FromImage")
	for i, disk := range value.Items(storage, "dataDisks") {
		var before value.Object
		for _, o := range value.Items(had, "dataDisks") {
			if value.At(o, "lun") == value.At(disk, "lun") {
				before = o
			}
		}
		instanceDisk(t, d, disk, before, fmt.Sprintf("%s_disk%d_", base, i+2), "Empty")
	}
	value.Props(d.Body)["storageProfile"] = storage
}

func instanceDisk(t *engine.Tx, d *engine.Doc, disk, before value.Object, prefix, createOption string) {
	if value.Str(disk, "diffDiskSettings", "option") == "Local" {
		disk["name"] = value.OrDefault(value.Str(before, "name"), prefix+strings.ReplaceAll(uuid.NewString(), "-", ""))
		return
	}
	managed := value.Ensure(disk, "managedDisk")
	if id := value.Str(before, "managedDisk", "id"); id != "" {
		disk["name"], managed["id"] = before["name"], id
		return
	}
	disk["name"] = prefix + strings.ReplaceAll(uuid.NewString(), "-", "")
	id := d.Parsed.GroupID()
	id.Namespace, id.Types, id.Names = "Microsoft.Compute", []string{"disks"}, []string{value.Str(disk, "name")}
	value.SetDefault(disk, "createOption", createOption)
	value.SetDefault(managed, "storageAccountType", "Premium_LRS")
	t.Put(newDisk(t, d, id, disk))
	managed["id"] = id.String()
}

// makeInstanceNICs creates the interfaces of the model for an instance, each with an
// address of its subnet.
func makeInstanceNICs(t *engine.Tx, set, d *engine.Doc, pool *addressPool) *engine.Error {
	refs := []any{}
	configs := value.Items(profileOf(set), "networkProfile", "networkInterfaceConfigurations")
	for _, c := range configs {
		id := d.Parsed.Child("networkInterfaces", value.Str(c, "name"))
		p, e := interfaceOf(set, c, pool.next)
		if e != nil {
			return e
		}
		if len(configs) == 1 {
			p["primary"] = true
		}
		t.Put(&engine.Doc{ID: id.String(), Type: typeScaleNIC, Parsed: id, Hidden: value.Object{},
			Body: value.Object{"location": set.Body["location"], "properties": p}})
		refs = append(refs, value.Object{"id": id.String(), "properties": value.Object{"primary": p["primary"]}})
	}
	value.Props(d.Body)["networkProfile"] = value.Object{"networkInterfaces": refs}
	return nil
}

// addressSource returns a free address of a subnet and family for an owner.
type addressSource func(subnet string, v6 bool, owner string) (string, *engine.Error)

// remakeNICs writes the model into the existing interfaces of an instance, which keep their
// addresses in unchanged subnets. A model with other interfaces applies only to new
// instances.
func remakeNICs(t *engine.Tx, set, d *engine.Doc) *engine.Error {
	pool := newAddressPool(t)
	for _, c := range value.Items(profileOf(set), "networkProfile", "networkInterfaceConfigurations") {
		nic := t.Edit(d.Parsed.Child("networkInterfaces", value.Str(c, "name")).Key())
		if nic == nil {
			continue
		}
		var had []value.Object
		for _, ip := range value.Items(nic.Body, "properties", "ipConfigurations") {
			had = append(had, value.Props(ip))
		}
		p, e := interfaceOf(set, c, func(subnet string, v6 bool, owner string) (string, *engine.Error) {
			for i, cp := range had {
				if strings.EqualFold(value.Str(cp, "subnet", "id"), subnet) && (value.Str(cp, "privateIPAddressVersion") == "IPv6") == v6 {
					had = append(had[:i:i], had[i+1:]...)
					return value.Str(cp, "privateIPAddress"), nil
				}
			}
			return pool.next(subnet, v6, owner)
		})
		if e != nil {
			return e
		}
		p["primary"] = value.Props(nic.Body)["primary"]
		nic.Body["properties"] = p
		t.Put(nic)
	}
	return nil
}

// interfaceOf returns the properties of an interface that is created from the model's
// configuration, with addresses of its subnets.
func interfaceOf(set *engine.Doc, config value.Object, address addressSource) (value.Object, *engine.Error) {
	p := value.CloneObject(value.Sub(config, "properties"))
	for i, ip := range value.Items(p, "ipConfigurations") {
		cp := value.Props(ip)
		address, e := address(value.Str(cp, "subnet", "id"), value.Str(cp, "privateIPAddressVersion") == "IPv6", set.ID)
		if e != nil {
			return nil, e
		}
		cp["privateIPAddress"], cp["privateIPAllocationMethod"], cp["provisioningState"] = address, "Dynamic", engine.StatusSucceeded
		value.SetDefault(cp, "primary", i == 0)
		value.SetDefault(cp, "privateIPAddressVersion", "IPv4")
	}
	for _, f := range []string{"enableAcceleratedNetworking", "enableIPForwarding"} {
		value.SetDefault(p, f, false)
	}
	p["provisioningState"], p["dnsSettings"] = engine.StatusSucceeded,
		value.Object{"dnsServers": []any{}, "internalDomainNameSuffix": "internal.cloudapp.net"}
	return p, nil
}

// dropInstance removes an instance, its interfaces and its disks.
func dropInstance(t *engine.Tx, d *engine.Doc) {
	storage := value.Sub(value.Props(d.Body), "storageProfile")
	for _, disk := range append(value.Items(storage, "dataDisks"), value.Sub(storage, "osDisk")) {
		if id := value.Str(disk, "managedDisk", "id"); id != "" {
			t.DropOne(value.Lower(id))
		}
	}
	for _, n := range value.Items(value.Props(d.Body), "networkProfile", "networkInterfaces") {
		t.DropOne(value.Lower(value.Str(n, "id")))
	}
	for _, e := range t.All(typeInstanceExt, d.ID) {
		t.DropOne(e.Key())
	}
	t.DropOne(d.Key())
}

// addressPool allocates free addresses of subnets to the interfaces of one write. It also counts
// the interfaces of that write, which are not in the store yet.
type addressPool struct {
	t     *engine.Tx
	given map[string]map[netip.Addr]bool
}

func newAddressPool(t *engine.Tx) *addressPool {
	return &addressPool{t: t, given: map[string]map[netip.Addr]bool{}}
}

// next returns the lowest free address of a subnet.
func (p *addressPool) next(subnet string, v6 bool, owner string) (string, *engine.Error) {
	_, s := p.t.Part(subnet)
	if s == nil {
		return "", engine.ErrReference(subnet, owner)
	}
	key := value.Lower(subnet)
	if p.given[key] == nil {
		p.given[key] = map[netip.Addr]bool{}
	}
	ip := p.t.FreeAddress(subnet, v6, p.given[key])
	if ip == "" {
		return "", engine.BadRequest("SubnetIsFull",
			"Subnet %s with address prefix %s does not have enough capacity for 1 IP addresses.", subnet,
			engine.Prefixes(value.Sub(s, "properties")))
	}
	p.given[key][netip.MustParseAddr(ip)] = true
	return ip, nil
}
