package arm

import "strings"

// restsVM: nothing is asked for besides the VM, and it has no extensions.
func restsVM(t *tx, r *record, expand string) bool {
	if expand != "" || t.broken(r.ID) != "" {
		return false
	}
	for range t.scan(typeExt, r.key) {
		return false
	}
	return true
}

// broken says why the guest of a VM cannot run any more, or nothing.
func (t *tx) broken(id string) string {
	if b, knows := hostOf(t.s).(Breaker); knows {
		return b.Broken(id)
	}
	return ""
}

// viewVM adds the instance view where it is asked for. A VM whose guest is broken has
// failed, whatever it was before.
func viewVM(t *tx, d *doc, body object, expand string) {
	if t.broken(d.ID) != "" && d.state() == statusSucceeded {
		props(body)["provisioningState"] = statusFailed
	}
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
	if why := t.broken(d.ID); why != "" {
		return object{"disks": viewDisks(d), "hyperVGeneration": "V1", "statuses": []any{
			object{"code": "ProvisioningState/failed/OSProvisioningInternalError", "level": "Error", "displayStatus": "Provisioning failed", "message": why,
				"time": d.Changed.Format("2006-01-02T15:04:05Z")},
			object{"code": "PowerState/stopped", "level": "Info", "displayStatus": "VM stopped"},
		}}
	}
	if state != "creating" {
		power := str(d.Hidden, "power")
		statuses = append(statuses, object{"code": "PowerState/" + power, "level": "Info", "displayStatus": "VM " + power})
	}
	view := object{"statuses": statuses, "disks": viewDisks(d), "hyperVGeneration": "V1"}
	if m := hostOf(t.s); m != nil && m.View(d.ID).AgentReady {
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
