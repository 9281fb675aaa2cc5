package arm

import (
	"net/http"
	"strings"
)

// runCommand is an entry of Run Command's catalogue.
type runCommand struct{ id, os, label, description string }

// runCommands are those of the catalogue that the local Azure carries out.
var runCommands = []runCommand{
	{"RunPowerShellScript", "Windows", "Executes a PowerShell script", "Custom multiline PowerShell script should be defined in script property. Optional parameters can be set in parameters property."},
	{"RunShellScript", "Linux", "Executes a Linux shell script", "Custom multiline shell script should be defined in script property. Optional parameters can be set in parameters property."},
}

func (r runCommand) view() object {
	return object{"$schema": "http://schema.management.azure.com/schemas/2016-11-17/runcommands.json", "id": r.id, "osType": r.os, "label": r.label, "description": r.description}
}

// serveRunCommands answers the catalogue of a location, and one entry of it.
func serveRunCommands(c *call) *Error {
	if len(c.id.Names) == 1 {
		out := []any{}
		for _, r := range runCommands {
			out = append(out, r.view())
		}
		c.reply(http.StatusOK, object{"value": out})
		return nil
	}
	for _, r := range runCommands {
		if strings.EqualFold(r.id, c.id.name()) {
			v := r.view()
			v["script"] = []any{}
			v["parameters"] = []any{object{"name": "arg1", "type": "string"}}
			c.reply(http.StatusOK, v)
			return nil
		}
	}
	return refuse(http.StatusNotFound, "NotFound", "The Run Command '%s' was not found.", c.id.name())
}

// checkRunCommand refuses a command that is not for the machine's system.
func checkRunCommand(d *doc, args object) *Error {
	id := str(args, "commandId")
	for _, r := range runCommands {
		if !strings.EqualFold(r.id, id) {
			continue
		}
		if windows := isWindows(d.Body); (r.os == "Windows") != windows {
			os := map[bool]string{true: "Windows", false: "Linux"}[windows]
			return badRequest("InvalidParameter", "The Run Command '%s' is for %s and cannot run on a %s VM.", id, r.os, os)
		}
		return nil
	}
	if id == "" {
		return invalid("commandId", "Required parameter 'commandId' is missing (null).")
	}
	return errUnsupported("the Run Command " + id)
}
