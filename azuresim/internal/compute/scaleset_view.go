package compute

import (
	"maps"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// viewInstance adds the instance's name in Azure's form and whether the instance is up to date with
// the model.
func viewInstance(t *engine.Tx, d *engine.Doc, body value.Object, expand string) {
	parent, _ := d.Parsed.Parent()
	body["name"] = instanceName(d)
	oldETag(t, body)
	if set := t.Find(parent.Key()); set != nil {
		value.Props(body)["latestModelApplied"] = d.Hidden["model"] == set.Hidden["model"]
	}
	if engine.Expands(expand, "instanceView") {
		value.Props(body)["instanceView"] = instanceView(t, d)
	}
	if engine.Expands(expand, "userData") && value.Str(d.Hidden, "userData") != "" {
		value.Props(body)["userData"] = d.Hidden["userData"]
	}
}

// instanceName returns Azure's name of a member: set and number, or the VM's name.
func instanceName(d *engine.Doc) string {
	if parent, ok := d.Parsed.Parent(); ok && d.Type == typeInstance {
		return parent.Name() + "_" + d.Parsed.Name()
	}
	return d.Parsed.Name()
}

func viewScaleNIC(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	parent, _ := d.Parsed.Parent()
	value.Props(body)["virtualMachine"] = value.Object{"id": parent.String()}
	value.Props(body)["macAddress"] = engine.Mac(d.Key())
	// Azure shows no location on the interfaces of instances.
	delete(body, "location")
	if !t.Since("2019-01-01") {
		maps.DeleteFunc(value.Props(body), func(name string, _ any) bool { return !slices.Contains(firstInterface, name) })
	}
}

// firstInterface lists the properties of an interface in API version 2018-10-01, which clients
// request for the interfaces of instances. Source:
// https://learn.microsoft.com/azure/templates/microsoft.network/2018-10-01/networkinterfaces.
var firstInterface = []string{"virtualMachine", "networkSecurityGroup", "interfaceEndpoint", "ipConfigurations", "tapConfigurations",
	"dnsSettings", "macAddress", "primary", "enableAcceleratedNetworking", "enableIPForwarding", "hostedWorkloads", "resourceGuid",
	"provisioningState"}

// scaleSetView returns the instance view of a set, which counts the states of its
// instances.
func scaleSetView(t *engine.Tx, set *engine.Doc) value.Object {
	states := map[string]int{}
	for _, d := range members(t, set) {
		states["ProvisioningState/"+value.Lower(d.State())]++
		if power := value.Str(d.Hidden, "power"); d.State() != "Creating" && power != "" {
			states["PowerState/"+power]++
		}
	}
	summary := []any{}
	for _, code := range value.SortedKeys(states) {
		summary = append(summary, value.Object{"code": code, "count": float64(states[code])})
	}
	if isFlexible(set) {
		// Flexible sets have no view of their VMs.
		// Source: https://github.com/Azure/azure-sdk-for-go/issues/19707.
		return value.Object{"statuses": []any{provisioningStatus(set)}}
	}
	return value.Object{
		"virtualMachine":        value.Object{"statusesSummary": summary},
		"statuses":              []any{provisioningStatus(set)},
		"extensions":            extensionSummary(t, set),
		"orchestrationServices": []any{},
	}
}

// extensionSummary returns, for each extension of the model, the number of instances in each state.
func extensionSummary(t *engine.Tx, set *engine.Doc) []any {
	out := []any{}
	for _, name := range extensionNames(set) {
		states := map[string]int{}
		for _, d := range instances(t, set) {
			if e := t.Find(d.ID + "/extensions/" + name); e != nil {
				states["ProvisioningState/"+value.Lower(e.State())]++
			}
		}
		summary := []any{}
		for _, code := range value.SortedKeys(states) {
			summary = append(summary, value.Object{"code": code, "count": float64(states[code])})
		}
		out = append(out, value.Object{"name": name, "statusesSummary": summary})
	}
	return out
}

func extensionNames(set *engine.Doc) []string {
	var out []string
	for _, e := range value.Items(profileOf(set), "extensionProfile", "extensions") {
		out = append(out, value.Str(e, "name"))
	}
	slices.Sort(out)
	return out
}

// members returns the instances of a set of either mode.
func members(t *engine.Tx, set *engine.Doc) []*engine.Doc {
	if !isFlexible(set) {
		return instances(t, set)
	}
	var out []*engine.Doc
	for _, vm := range t.Sources(set.ID, typeVM) {
		if strings.EqualFold(value.Str(value.Props(vm.Body), "virtualMachineScaleSet", "id"), set.ID) {
			out = append(out, vm)
		}
	}
	return out
}
