package compute

import (
	"strings"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// restsVM reports whether the stored form of a VM is the answer: the request expands nothing and
// the VM has no extensions.
func restsVM(t *engine.Tx, r *engine.Record, expand string) bool {
	if expand != "" || !t.Since(versionETag) || broken(t, r.ID) != "" {
		return false
	}
	for range t.Scan(typeExt, r.Key) {
		return false
	}
	return true
}

// broken returns why the guest of a VM cannot run any more, or "".
func broken(t *engine.Tx, id string) string {
	if b, knows := hostOf(t.Server).(host.Breaker); knows {
		return b.Broken(id)
	}
	return ""
}

// viewVM adds the instance view if the request expands it. A VM whose guest is broken has
// the state Failed.
func viewVM(t *engine.Tx, d *engine.Doc, body value.Object, expand string) {
	if broken(t, d.ID) != "" && d.State() == engine.StatusSucceeded {
		value.Props(body)["provisioningState"] = engine.StatusFailed
	}
	var extensions []any
	for _, x := range t.All(typeExt, d.ID) {
		extensions = append(extensions, t.View(x, ""))
	}
	if len(extensions) > 0 {
		body["resources"] = extensions
	}
	removeNewer(t, value.Props(body))
	oldETag(t, body)
	if d.MadeBy(t) {
		viewBegun(d, body)
	}
	if engine.Expands(expand, "userData") && value.Str(d.Hidden, "userData") != "" {
		value.Props(body)["userData"] = d.Hidden["userData"]
	}
	if engine.Expands(expand, "instanceView") {
		value.Props(body)["instanceView"] = instanceView(t, d)
	}
}

// The API versions that added fields of machines.
const (
	versionTimeCreated = "2021-11-01"
	versionETag        = "2024-03-01"
)

// oldETag removes the ETag, which older versions do not have.
// Source: https://github.com/Azure/azure-rest-api-specs/issues/27527 (described for 2023-09-01, not answered yet).
func oldETag(t *engine.Tx, body value.Object) {
	if !t.Since(versionETag) {
		delete(body, "etag")
	}
}

// removeNewer removes computed properties of a machine that the request's API version does not have.
func removeNewer(t *engine.Tx, p value.Object) {
	if !t.Since(versionTimeCreated) {
		delete(p, "timeCreated")
	}
}

// viewBegun removes the IDs of the disks, and a generated disk name, from the view of a machine
// whose creation has begun: the disks do not exist yet.
func viewBegun(d *engine.Doc, body value.Object) {
	storage := value.Sub(body, "properties", "storageProfile")
	os := value.Sub(storage, "osDisk")
	if strings.HasPrefix(value.Str(os, "name"), generatedDisk(d)) {
		delete(os, "name")
	}
	for _, disk := range append(value.Items(storage, "dataDisks"), os) {
		if managed := value.Sub(disk, "managedDisk"); managed != nil && !strings.EqualFold(value.Str(disk, "createOption"), "Attach") {
			delete(managed, "id")
		}
	}
}

// generatedDisk returns the prefix of the OS disk's name if Azure chooses the name.
func generatedDisk(d *engine.Doc) string { return d.Parsed.Name() + "_OsDisk_1_" }

func instanceView(t *engine.Tx, d *engine.Doc) value.Object {
	state := value.Lower(d.State())
	statuses := []any{provisioningStatus(d)}
	generation, _ := traits(t, value.Sub(d.Body, "properties", "storageProfile", "imageReference"))
	generation = value.OrDefault(generation, "V1")
	if why := broken(t, d.ID); why != "" {
		return value.Object{"disks": viewDisks(d), "hyperVGeneration": generation, "statuses": []any{
			value.Object{"code": "ProvisioningState/failed/OSProvisioningInternalError", "level": "Error",
				"displayStatus": "Provisioning failed", "message": why,
				"time": d.Changed.Format("2006-01-02T15:04:05Z")},
			value.Object{"code": "PowerState/stopped", "level": "Info", "displayStatus": "VM stopped"},
		}}
	}
	if state != "creating" {
		power := value.Str(d.Hidden, "power")
		statuses = append(statuses, value.Object{"code": "PowerState/" + power, "level": "Info", "displayStatus": "VM " + power})
	}
	view := value.Object{"statuses": statuses, "disks": viewDisks(d), "hyperVGeneration": generation}
	if m := hostOf(t.Server); m != nil && m.View(d.ID).AgentReady {
		view["computerName"] = value.Str(d.Body, "properties", "osProfile", "computerName")
		view["osName"], view["osVersion"] = systemOf(d)
		view["vmAgent"] = value.Object{"vmAgentVersion": "casement", "statuses": []any{value.Object{
			"code": "ProvisioningState/succeeded", "level": "Info", "displayStatus": "Ready",
			"message": "simulated guest agent",
		}}}
	}
	if extensions := extensionViews(t, d); len(extensions) > 0 {
		view["extensions"] = extensions
	}
	return view
}

// provisioningStatus returns the first status of an instance view; after a failure it has
// the error's code and message.
func provisioningStatus(d *engine.Doc) value.Object {
	state := value.Lower(d.State())
	s := value.Object{"code": "ProvisioningState/" + state, "level": "Info",
		"displayStatus": "Provisioning " + state, "time": d.Changed.Format("2006-01-02T15:04:05Z")}
	if failure := value.Sub(d.Hidden, "failure"); failure != nil && d.State() == engine.StatusFailed {
		s["level"], s["code"], s["message"] = "Error", "ProvisioningState/failed/"+value.Str(failure, "code"), value.Str(failure, "message")
	}
	return s
}
