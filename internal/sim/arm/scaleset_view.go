package arm

import (
	"slices"
	"strings"
)

// viewInstance names an instance as Azure does and compares it with the model.
func viewInstance(t *tx, d *doc, body object, expand string) {
	parent, _ := d.id.parent()
	body["name"] = instanceName(d)
	if set := t.find(parent.key()); set != nil {
		props(body)["latestModelApplied"] = d.Hidden["model"] == set.Hidden["model"]
	}
	if lower(expand) == "instanceview" {
		props(body)["instanceView"] = t.instanceView(d)
	}
	if lower(expand) == "userdata" && str(d.Hidden, "userData") != "" {
		props(body)["userData"] = d.Hidden["userData"]
	}
}

// instanceName is what Azure calls a member: set and number, or the VM's name.
func instanceName(d *doc) string {
	if parent, ok := d.id.parent(); ok && d.Type == typeInstance {
		return parent.name() + "_" + d.id.name()
	}
	return d.id.name()
}

func viewScaleNIC(_ *tx, d *doc, body object, _ string) {
	parent, _ := d.id.parent()
	props(body)["virtualMachine"] = object{"id": parent.String()}
	props(body)["macAddress"] = mac(d.key())
	// Azure shows no location on the interfaces of instances.
	delete(body, "location")
}

// scaleSetView counts the states of a set's instances.
func (t *tx) scaleSetView(set *doc) object {
	states := map[string]int{}
	for _, d := range t.members(set) {
		states["ProvisioningState/"+lower(d.state())]++
		if power := str(d.Hidden, "power"); d.state() != "Creating" && power != "" {
			states["PowerState/"+power]++
		}
	}
	summary := []any{}
	for _, code := range sortedKeys(states) {
		summary = append(summary, object{"code": code, "count": float64(states[code])})
	}
	if isFlexible(set) {
		// Flexible sets have no view of their VMs.
		// Source: https://github.com/Azure/azure-sdk-for-go/issues/19707.
		return object{"statuses": []any{provisioningStatus(set)}}
	}
	return object{
		"virtualMachine":        object{"statusesSummary": summary},
		"statuses":              []any{provisioningStatus(set)},
		"extensions":            t.extensionSummary(set),
		"orchestrationServices": []any{},
	}
}

// extensionSummary counts how the model's extensions stand on the instances.
func (t *tx) extensionSummary(set *doc) []any {
	out := []any{}
	for _, name := range extensionNames(set) {
		states := map[string]int{}
		for _, d := range t.instances(set) {
			if e := t.find(d.ID + "/extensions/" + name); e != nil {
				states["ProvisioningState/"+lower(e.state())]++
			}
		}
		summary := []any{}
		for _, code := range sortedKeys(states) {
			summary = append(summary, object{"code": code, "count": float64(states[code])})
		}
		out = append(out, object{"name": name, "statusesSummary": summary})
	}
	return out
}

func extensionNames(set *doc) []string {
	var out []string
	for _, e := range items(profileOf(set), "extensionProfile", "extensions") {
		out = append(out, str(e, "name"))
	}
	slices.Sort(out)
	return out
}

// members are the instances of a set of either mode.
func (t *tx) members(set *doc) []*doc {
	if !isFlexible(set) {
		return t.instances(set)
	}
	var out []*doc
	for _, vm := range t.sources(set.ID, typeVM) {
		if strings.EqualFold(str(props(vm.Body), "virtualMachineScaleSet", "id"), set.ID) {
			out = append(out, vm)
		}
	}
	return out
}
