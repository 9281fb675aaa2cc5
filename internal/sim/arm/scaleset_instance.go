package arm

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// makeInstance files an instance of a Uniform set with its disks and interfaces.
func (t *tx) makeInstance(set *doc, number int, zone string, pool *addressPool) (*doc, *Error) {
	id := set.id.child("virtualMachines", strconv.Itoa(number))
	d := &doc{ID: id.String(), Type: typeInstance, id: id, Hidden: object{"power": "running"}, Body: object{
		"location": set.Body["location"], "instanceId": id.name(), "properties": object{"modelDefinitionApplied": "VirtualMachineScaleSet"},
	}}
	if zone != "" {
		d.Body["zones"] = []any{zone}
	}
	p := props(d.Body)
	p["vmId"], p["timeCreated"] = t.s.guid(), t.now.Format("2006-01-02T15:04:05.0000000+00:00")
	if e := t.applyModel(set, d); e != nil {
		return nil, e
	}
	if e := t.makeInstanceNICs(set, d, pool); e != nil {
		return nil, e
	}
	t.put(d)
	return t.assign(d, taskBoot), nil
}

// applyModel writes the set's present model into an instance. Disks that are
// there are kept; the rest is as new.
func (t *tx) applyModel(set, d *doc) *Error {
	profile, p := profileOf(set), props(d.Body)
	for _, field := range []string{"tags", "identity", "plan"} {
		delete(d.Body, field)
		if v := set.Body[field]; v != nil {
			d.Body[field] = clone(v)
		}
	}
	d.Body["sku"] = object{"name": str(set.Body, "sku", "name"), "tier": orDefault(str(set.Body, "sku", "tier"), "Standard")}
	p["hardwareProfile"] = object{}
	for _, field := range []string{"diagnosticsProfile", "securityProfile", "licenseType"} {
		delete(p, field)
		if v := profile[field]; v != nil {
			p[field] = clone(v)
		}
	}
	os := cloneObject(sub(profile, "osProfile"))
	delete(os, "computerNamePrefix")
	os["computerName"] = str(profile, "osProfile", "computerNamePrefix") + base36(instanceNumber(d))
	setDefault(os, "secrets", []any{})
	setDefault(os, "allowExtensionOperations", true)
	setDefault(os, "requireGuestProvisionSignal", true)
	p["osProfile"] = os
	p["networkProfileConfiguration"] = cloneObject(sub(profile, "networkProfile"))
	probe := probeOf(set)
	if e := t.checkImage(probe); e != nil {
		return e
	}
	t.makeInstanceDisks(set, d, sub(probe.Body, "properties", "storageProfile"))
	d.Hidden["source"] = str(probe.Hidden, "source")
	d.Hidden["model"], d.Hidden["data"] = set.Hidden["model"], dataKey(set)
	d.Hidden["priority"] = orDefault(str(profile, "priority"), "Regular")
	d.Hidden["evictionPolicy"] = str(profile, "evictionPolicy")
	return nil
}

// makeInstanceDisks gives an instance the disks of the model. A disk that it has
// under the same LUN, and its OS disk, stay what they are.
func (t *tx) makeInstanceDisks(set, d *doc, model object) {
	had := sub(props(d.Body), "storageProfile")
	storage := cloneObject(model)
	setDefault(storage, "dataDisks", []any{})
	os := ensure(storage, "osDisk")
	setDefault(os, "osType", "Linux")
	setDefault(os, "diskSizeGB", float64(defaultOSDisk(os)))
	base := fmt.Sprintf("%s_%s_%s", set.id.name(), set.id.name(), d.id.name())
	t.instanceDisk(d, os, sub(had, "osDisk"), base+"_OsDisk_1_", "FromImage")
	for i, disk := range items(storage, "dataDisks") {
		var before object
		for _, o := range items(had, "dataDisks") {
			if value(o, "lun") == value(disk, "lun") {
				before = o
			}
		}
		t.instanceDisk(d, disk, before, fmt.Sprintf("%s_disk%d_", base, i+2), "Empty")
	}
	props(d.Body)["storageProfile"] = storage
}

func (t *tx) instanceDisk(d *doc, disk, before object, prefix, createOption string) {
	if str(disk, "diffDiskSettings", "option") == "Local" {
		disk["name"] = orDefault(str(before, "name"), prefix+strings.ReplaceAll(t.s.guid(), "-", ""))
		return
	}
	managed := ensure(disk, "managedDisk")
	if id := str(before, "managedDisk", "id"); id != "" {
		disk["name"], managed["id"] = before["name"], id
		return
	}
	disk["name"] = prefix + strings.ReplaceAll(t.s.guid(), "-", "")
	id := d.id.group()
	id.Namespace, id.Types, id.Names = "Microsoft.Compute", []string{"disks"}, []string{str(disk, "name")}
	gib, _ := number(disk, "diskSizeGB")
	setDefault(managed, "storageAccountType", "Premium_LRS")
	t.put(&doc{ID: id.String(), Type: typeDisk, id: id, Hidden: object{}, Body: object{
		"location": d.Body["location"], "tags": clone(d.Body["tags"]), "zones": clone(d.Body["zones"]), "sku": object{"name": managed["storageAccountType"]},
		"properties": object{"provisioningState": statusSucceeded, "diskSizeGB": float64(gib), "uniqueId": t.s.guid(),
			"creationData": object{"createOption": orDefault(str(disk, "createOption"), createOption)}},
	}})
	managed["id"] = id.String()
}

// makeInstanceNICs gives an instance the interfaces of the model, each with an
// address of its subnet.
func (t *tx) makeInstanceNICs(set, d *doc, pool *addressPool) *Error {
	refs := []any{}
	configs := items(profileOf(set), "networkProfile", "networkInterfaceConfigurations")
	for _, c := range configs {
		id := d.id.child("networkInterfaces", str(c, "name"))
		p, e := interfaceOf(set, c, pool.next)
		if e != nil {
			return e
		}
		if len(configs) == 1 {
			p["primary"] = true
		}
		t.put(&doc{ID: id.String(), Type: typeScaleNIC, id: id, Hidden: object{}, Body: object{"location": set.Body["location"], "properties": p}})
		refs = append(refs, object{"id": id.String(), "properties": object{"primary": p["primary"]}})
	}
	props(d.Body)["networkProfile"] = object{"networkInterfaces": refs}
	return nil
}

// addressSource gives an address of a subnet and a family to an owner.
type addressSource func(subnet string, v6 bool, owner string) (string, *Error)

// remakeNICs writes the model into the interfaces that an instance has, which
// keep their addresses in subnets that stay. A model with other interfaces is for
// instances to come.
func (t *tx) remakeNICs(set, d *doc) *Error {
	pool := newAddressPool(t)
	for _, c := range items(profileOf(set), "networkProfile", "networkInterfaceConfigurations") {
		nic := t.edit(d.id.child("networkInterfaces", str(c, "name")).key())
		if nic == nil {
			continue
		}
		var had []object
		for _, ip := range items(nic.Body, "properties", "ipConfigurations") {
			had = append(had, props(ip))
		}
		p, e := interfaceOf(set, c, func(subnet string, v6 bool, owner string) (string, *Error) {
			for i, cp := range had {
				if strings.EqualFold(str(cp, "subnet", "id"), subnet) && (str(cp, "privateIPAddressVersion") == "IPv6") == v6 {
					had = append(had[:i:i], had[i+1:]...)
					return str(cp, "privateIPAddress"), nil
				}
			}
			return pool.next(subnet, v6, owner)
		})
		if e != nil {
			return e
		}
		p["primary"] = props(nic.Body)["primary"]
		nic.Body["properties"] = p
		t.put(nic)
	}
	return nil
}

// interfaceOf are the properties of an interface made from the model's, with
// addresses of its subnets.
func interfaceOf(set *doc, config object, address addressSource) (object, *Error) {
	p := cloneObject(sub(config, "properties"))
	for i, ip := range items(p, "ipConfigurations") {
		cp := props(ip)
		address, e := address(str(cp, "subnet", "id"), str(cp, "privateIPAddressVersion") == "IPv6", set.ID)
		if e != nil {
			return nil, e
		}
		cp["privateIPAddress"], cp["privateIPAllocationMethod"], cp["provisioningState"] = address, "Dynamic", statusSucceeded
		setDefault(cp, "primary", i == 0)
		setDefault(cp, "privateIPAddressVersion", "IPv4")
	}
	for _, f := range []string{"enableAcceleratedNetworking", "enableIPForwarding"} {
		setDefault(p, f, false)
	}
	p["provisioningState"], p["dnsSettings"] = statusSucceeded, object{"dnsServers": []any{}, "internalDomainNameSuffix": "internal.cloudapp.net"}
	return p, nil
}

// dropInstance removes an instance, its interfaces and its disks.
func (t *tx) dropInstance(d *doc) {
	storage := sub(props(d.Body), "storageProfile")
	for _, disk := range append(items(storage, "dataDisks"), sub(storage, "osDisk")) {
		if id := str(disk, "managedDisk", "id"); id != "" {
			t.dropOne(lower(id))
		}
	}
	for _, n := range items(props(d.Body), "networkProfile", "networkInterfaces") {
		t.dropOne(lower(str(n, "id")))
	}
	for _, e := range t.all(typeInstanceExt, d.ID) {
		t.dropOne(e.key())
	}
	t.dropOne(d.key())
}

// addressPool gives out the free addresses of subnets to the interfaces of one
// write, which are not in the store yet.
type addressPool struct {
	t     *tx
	given map[string]map[netip.Addr]bool
}

func newAddressPool(t *tx) *addressPool {
	return &addressPool{t: t, given: map[string]map[netip.Addr]bool{}}
}

// next is the lowest free address of a subnet.
func (p *addressPool) next(subnet string, v6 bool, owner string) (string, *Error) {
	_, s := p.t.part(subnet)
	if s == nil {
		return "", errReference(subnet, owner)
	}
	key := lower(subnet)
	if p.given[key] == nil {
		p.given[key] = map[netip.Addr]bool{}
	}
	ip := p.t.free(subnet, v6, p.given[key])
	if ip == "" {
		return "", badRequest("SubnetIsFull", "Subnet %s with address prefix %s does not have enough capacity for 1 IP addresses.", subnet, prefixes(sub(s, "properties")))
	}
	p.given[key][netip.MustParseAddr(ip)] = true
	return ip, nil
}
