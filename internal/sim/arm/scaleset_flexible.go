package arm

import (
	"crypto/rand"
	"encoding/hex"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// makeFlexible files a VM of a Flexible set, named after the set and eight random
// hex digits, with interfaces and disks that go with it.
func (t *tx) makeFlexible(set *doc, zone string, pool *addressPool) (*doc, *Error) {
	suffix := t.freeSuffix(set)
	id := set.id.group()
	id.Namespace, id.Types, id.Names = "Microsoft.Compute", []string{"virtualMachines"}, []string{set.id.name() + "_" + suffix}
	d := &doc{ID: id.String(), Type: typeVM, id: id, Hidden: object{"power": "running"}, Body: object{"location": set.Body["location"]}}
	for _, field := range []string{"tags", "identity", "plan"} {
		if v := set.Body[field]; v != nil {
			d.Body[field] = clone(v)
		}
	}
	if zone != "" {
		d.Body["zones"] = []any{zone}
	}
	probe := probeOf(set)
	if e := t.checkImage(probe); e != nil {
		return nil, e
	}
	d.Hidden["source"] = str(probe.Hidden, "source")
	profile, p := profileOf(set), props(d.Body)
	for _, field := range []string{"diagnosticsProfile", "securityProfile", "licenseType", "priority", "evictionPolicy", "billingProfile"} {
		if v := profile[field]; v != nil {
			p[field] = clone(v)
		}
	}
	p["hardwareProfile"] = object{"vmSize": str(set.Body, "sku", "name")}
	p["virtualMachineScaleSet"] = object{"id": set.ID}
	p["vmId"], p["timeCreated"] = t.s.guid(), t.now.Format("2006-01-02T15:04:05.0000000+00:00")
	os := cloneObject(sub(probe.Body, "properties", "osProfile"))
	delete(os, "computerNamePrefix")
	os["computerName"] = str(profile, "osProfile", "computerNamePrefix") + randomBase36()
	p["osProfile"] = os
	storage := sub(probe.Body, "properties", "storageProfile")
	p["storageProfile"] = storage
	for i, disk := range items(storage, "dataDisks") {
		setDefault(disk, "name", d.id.name()+"_disk"+strconv.Itoa(i+2)+"_"+strings.ReplaceAll(t.s.guid(), "-", ""))
		setDefault(disk, "deleteOption", "Delete")
	}
	setDefault(ensure(storage, "osDisk"), "deleteOption", "Delete")
	hide(d)
	if e := t.makeFlexibleNICs(set, d, suffix, pool); e != nil {
		return nil, e
	}
	if e := t.makeDisks(d); e != nil {
		return nil, e
	}
	t.put(d)
	return t.assign(d, taskBoot), nil
}

// freeSuffix is one that no VM of the set has.
func (t *tx) freeSuffix(set *doc) string {
	for {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails (crypto/rand)
		s := hex.EncodeToString(b[:])
		if t.find(set.id.group().String()+"/providers/Microsoft.Compute/virtualMachines/"+set.id.name()+"_"+s) == nil {
			return s
		}
	}
}

// randomBase36 is the suffix of a computer name in a Flexible set.
func randomBase36() string {
	n, err := rand.Int(rand.Reader, big.NewInt(36*36*36*36*36*36))
	if err != nil {
		return base36(0) // never (crypto/rand)
	}
	return base36(int(n.Int64()))
}

func (t *tx) makeFlexibleNICs(set, d *doc, suffix string, pool *addressPool) *Error {
	refs := []any{}
	configs := items(profileOf(set), "networkProfile", "networkInterfaceConfigurations")
	for _, c := range configs {
		id := set.id.group()
		id.Namespace, id.Types, id.Names = "Microsoft.Network", []string{"networkInterfaces"}, []string{str(c, "name") + "-" + suffix}
		p, e := interfaceOf(set, c, pool.next)
		if e != nil {
			return e
		}
		primary := boolean(p, "primary") || len(configs) == 1
		delete(p, "primary")
		p["nicType"] = "Standard"
		t.put(&doc{ID: id.String(), Type: foreignNIC, id: id, Hidden: object{}, Body: object{"location": set.Body["location"], "kind": "Regular", "properties": p}})
		refs = append(refs, object{"id": id.String(), "properties": object{"primary": primary, "deleteOption": "Delete"}})
	}
	props(d.Body)["networkProfile"] = object{"networkInterfaces": refs}
	return nil
}

// joinSet checks the set that a new VM is attached to and counts it there.
func (t *tx) joinSet(d *doc) *Error {
	id := str(props(d.Body), "virtualMachineScaleSet", "id")
	if id == "" {
		return nil
	}
	set := t.edit(id)
	switch {
	case set == nil || set.Type != typeScale:
		return errReference(id, d.ID)
	case !isFlexible(set):
		return badRequest("OperationNotAllowed", "The Virtual Machine Scale Set %s has the orchestration mode Uniform. A VM can be attached only to one with the orchestration mode Flexible.", set.id.name())
	case value(d.Body, "properties", "availabilitySet") != nil:
		return badRequest("InvalidParameter", "A VM is in an availability set or in a Virtual Machine Scale Set, not in both.")
	case set.location() != d.location():
		return badRequest("InvalidParameter", "The Virtual Machine Scale Set %s is not in the same location as the virtual machine %s.", set.ID, d.ID)
	case !containsAll(texts(set.Body, "zones"), texts(d.Body, "zones")):
		return badRequest("InvalidParameter", "The zone(s) '%s' of the virtual machine %s are none of its Virtual Machine Scale Set's.", strings.Join(texts(d.Body, "zones"), ","), d.id.name())
	case isDeleting(set):
		return conflict("Conflict", "The Virtual Machine Scale Set %s is being deleted.", set.id.name())
	}
	if _, counted := number(set.Body, "sku", "capacity"); counted {
		setCapacity(set, capacityOf(set)+1)
		t.put(set)
	}
	return nil
}

// keepSet lets a VM stay in its set. Joining one later, or leaving it, is more
// than is modelled.
func (t *tx) keepSet(d, old *doc) *Error {
	was := str(props(old.Body), "virtualMachineScaleSet", "id")
	if _, said := props(d.Body)["virtualMachineScaleSet"]; !said && was != "" {
		props(d.Body)["virtualMachineScaleSet"] = object{"id": was}
	}
	if now := str(props(d.Body), "virtualMachineScaleSet", "id"); !strings.EqualFold(now, was) {
		return errUnsupported("attaching an existing VM to a scale set, or detaching it")
	}
	return nil
}

// leaveSet counts a VM out that is deleted on its own.
func (t *tx) leaveSet(d *doc) {
	owner := t.setOf(d)
	if owner == nil {
		return
	}
	if set := t.edit(owner.ID); set != nil && value(set.Body, "sku", "capacity") != nil && str(d.Hidden, "todo") != taskDelete {
		setCapacity(set, capacityOf(set)-1)
		t.put(set)
	}
}

var scaleSetFilter = regexp.MustCompile(`(?i)^\s*'?virtualMachineScaleSet/id'?\s+eq\s+'([^']+)'\s*$`)

// filterMembers keeps the VMs of one scale set, if that is what a list asks for. Other
// filters are not understood and leave all.
func filterMembers(t *tx, found []*record, filter string) []*record {
	m := scaleSetFilter.FindStringSubmatch(filter)
	if m == nil {
		return found
	}
	of := t.users(m[1], "")
	return slices.DeleteFunc(found, func(r *record) bool {
		return !slices.Contains(of, r) || !strings.EqualFold(str(t.doc(r).Body, "properties", "virtualMachineScaleSet", "id"), m[1])
	})
}
