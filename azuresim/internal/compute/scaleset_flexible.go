package compute

import (
	"crypto/rand"
	"encoding/hex"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// makeFlexible creates a VM of a Flexible set with its interfaces and disks. Its name is
// the set's name and eight random hex digits.
func makeFlexible(t *engine.Tx, set *engine.Doc, zone string, pool *addressPool) (*engine.Doc, *engine.Error) {
	suffix := freeSuffix(t, set)
	id := set.Parsed.GroupID()
	id.Namespace, id.Types, id.Names = "Microsoft.Compute", []string{"virtualMachines"}, []string{set.Parsed.Name() + "_" + suffix}
	d := &engine.Doc{ID: id.String(), Type: typeVM, Parsed: id, Hidden: value.Object{"power": "running"},
		Body: value.Object{"location": set.Body["location"]}}
	d.Count(nil)
	for _, field := range []string{"tags", "identity", "plan"} {
		if v := set.Body[field]; v != nil {
			d.Body[field] = value.Clone(v)
		}
	}
	if zone != "" {
		d.Body["zones"] = []any{zone}
	}
	probe := probeOf(set)
	if e := checkImage(t, probe); e != nil {
		return nil, e
	}
	bootsFrom(d, probe, value.Str(probe.Hidden, "source"))
	profile, p := profileOf(set), value.Props(d.Body)
	for _, field := range []string{"diagnosticsProfile", "securityProfile", "licenseType", "priority", "evictionPolicy", "billingProfile"} {
		if v := profile[field]; v != nil {
			p[field] = value.Clone(v)
		}
	}
	p["hardwareProfile"] = value.Object{"vmSize": value.Str(set.Body, "sku", "name")}
	p["virtualMachineScaleSet"] = value.Object{"id": set.ID}
	p["vmId"], p["timeCreated"] = uuid.NewString(), t.Now.Format("2006-01-02T15:04:05.0000000+00:00")
	os := value.CloneObject(value.Sub(probe.Body, "properties", "osProfile"))
	delete(os, "computerNamePrefix")
	os["computerName"] = value.Str(profile, "osProfile", "computerNamePrefix") + randomBase36()
	p["osProfile"] = os
	storage := value.Sub(probe.Body, "properties", "storageProfile")
	p["storageProfile"] = storage
	for i, disk := range value.Items(storage, "dataDisks") {
		value.SetDefault(disk, "name", d.Parsed.Name()+"_disk"+strconv.Itoa(i+2)+"_"+strings.ReplaceAll(uuid.NewString(), "-", ""))
		value.SetDefault(disk, "deleteOption", "Delete")
	}
	value.SetDefault(value.Ensure(storage, "osDisk"), "deleteOption", "Delete")
	hide(d)
	if e := makeFlexibleNICs(t, set, d, suffix, pool); e != nil {
		return nil, e
	}
	if e := makeDisks(t, d); e != nil {
		return nil, e
	}
	t.Put(d)
	return assign(t, d, taskBoot), nil
}

// freeSuffix returns a suffix that no VM of the set has.
func freeSuffix(t *engine.Tx, set *engine.Doc) string {
	for {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails (crypto/rand)
		s := hex.EncodeToString(b[:])
		if t.Find(set.Parsed.GroupID().String()+"/providers/Microsoft.Compute/virtualMachines/"+set.Parsed.Name()+"_"+s) == nil {
			return s
		}
	}
}

// randomBase36 returns a suffix of a computer name in a Flexible set.
func randomBase36() string {
	n, err := rand.Int(rand.Reader, big.NewInt(36*36*36*36*36*36))
	if err != nil {
		return base36(0) // unreachable (crypto/rand)
	}
	return base36(int(n.Int64()))
}

func makeFlexibleNICs(t *engine.Tx, set, d *engine.Doc, suffix string, pool *addressPool) *engine.Error {
	refs := []any{}
	configs := value.Items(profileOf(set), "networkProfile", "networkInterfaceConfigurations")
	for _, c := range configs {
		id := set.Parsed.GroupID()
		id.Namespace, id.Types, id.Names = "Microsoft.Network", []string{"networkInterfaces"}, []string{value.Str(c, "name") + "-" + suffix}
		p, e := interfaceOf(set, c, pool.next)
		if e != nil {
			return e
		}
		primary := value.Bool(p, "primary") || len(configs) == 1
		delete(p, "primary")
		p["nicType"] = "Standard"
		t.Put(&engine.Doc{ID: id.String(), Type: foreignNIC, Parsed: id, Hidden: value.Object{},
			Body: value.Object{"location": set.Body["location"], "kind": "Regular", "properties": p}})
		refs = append(refs, value.Object{"id": id.String(), "properties": value.Object{"primary": primary, "deleteOption": "Delete"}})
	}
	value.Props(d.Body)["networkProfile"] = value.Object{"networkInterfaces": refs}
	return nil
}

// joinSet checks the set to which a new VM is attached and increases the set's capacity.
func joinSet(t *engine.Tx, d *engine.Doc) *engine.Error {
	id := value.Str(value.Props(d.Body), "virtualMachineScaleSet", "id")
	if id == "" {
		return nil
	}
	set := t.Edit(id)
	switch {
	case set == nil || set.Type != typeScale:
		return engine.ErrReference(id, d.ID)
	case !isFlexible(set):
		return engine.BadRequest("OperationNotAllowed", "The Virtual Machine Scale Set %s has the orchestration "+
			"mode Uniform. A VM can be attached only to one with the orchestration mode "+
			"Flexible.", set.Parsed.Name())
	case value.At(d.Body, "properties", "availabilitySet") != nil:
		return engine.BadRequest("InvalidParameter", "A VM is in an availability set or in a Virtual Machine Scale Set, not in both.")
	case set.Location() != d.Location():
		return engine.BadRequest("InvalidParameter",
			"The Virtual Machine Scale Set %s is not in the same location as the virtual machine %s.", set.ID, d.ID)
	case !containsAll(value.Texts(set.Body, "zones"), value.Texts(d.Body, "zones")):
		return engine.BadRequest("InvalidParameter",
			"The zone(s) '%s' of the virtual machine %s are none of its Virtual Machine Scale Set's.",
			strings.Join(value.Texts(d.Body, "zones"), ","), d.Parsed.Name())
	case isDeleting(set):
		return engine.Conflict("Conflict", "The Virtual Machine Scale Set %s is being deleted.", set.Parsed.Name())
	}
	if _, counted := value.Int(set.Body, "sku", "capacity"); counted {
		setCapacity(set, capacityOf(set)+1)
		t.Put(set)
	}
	return nil
}

// keepSet refuses to attach an existing VM to a set, or to detach it, which is not
// emulated.
func keepSet(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	was := value.Str(value.Props(old.Body), "virtualMachineScaleSet", "id")
	if _, said := value.Props(d.Body)["virtualMachineScaleSet"]; !said && was != "" {
		value.Props(d.Body)["virtualMachineScaleSet"] = value.Object{"id": was}
	}
	if now := value.Str(value.Props(d.Body), "virtualMachineScaleSet", "id"); !strings.EqualFold(now, was) {
		return engine.ErrUnsupported("attaching an existing VM to a scale set, or detaching it")
	}
	return nil
}

// leaveSet decreases the capacity of a VM's set when the VM is deleted by a request of its own.
func leaveSet(t *engine.Tx, d *engine.Doc) {
	owner := setOf(t, d)
	if owner == nil {
		return
	}
	if set := t.Edit(owner.ID); set != nil && value.At(set.Body, "sku", "capacity") != nil && value.Str(d.Hidden, "todo") != taskDelete {
		setCapacity(set, capacityOf(set)-1)
		t.Put(set)
	}
}

var scaleSetFilter = regexp.MustCompile(`(?i)^\s*'?virtualMachineScaleSet/id'?\s+eq\s+'([^']+)'\s*$`)

// filterMembers returns the VMs of one scale set if the $filter of a list requests that. Other
// filters are ignored.
func filterMembers(t *engine.Tx, found []*engine.Record, filter string) []*engine.Record {
	m := scaleSetFilter.FindStringSubmatch(filter)
	if m == nil {
		return found
	}
	of := t.Users(m[1], "")
	return slices.DeleteFunc(found, func(r *engine.Record) bool {
		return !slices.Contains(of, r) || !strings.EqualFold(value.Str(t.Doc(r).Body, "properties", "virtualMachineScaleSet", "id"), m[1])
	})
}
