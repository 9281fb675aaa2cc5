package compute

import (
	"net/http"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// runCommand is one entry in the list of Run Command's built-in commands.
type runCommand struct{ id, os, label, description string }

// runCommands are the built-in commands that the local Azure can run.
var runCommands = []runCommand{
	{"RunPowerShellScript", "Windows", "Executes a PowerShell script", "Custom multiline PowerShell script " +
		"should be defined in script property. Optional parameters can be set in parameters property."},
	{"RunShellScript", "Linux", "Executes a Linux shell script", "Custom multiline shell script should be " +
		"defined in script property. Optional parameters can be set in parameters property."},
}

func (r runCommand) view() value.Object {
	return value.Object{"$schema": "http://schema.management.azure.com/schemas/2016-11-17/runcommands.json",
		"id": r.id, "osType": r.os, "label": r.label, "description": r.description}
}

// serveRunCommands answers the list of built-in commands in a location, and single
// commands.
func serveRunCommands(c *engine.Request) *engine.Error {
	if len(c.ID.Names) == 1 {
		out := []any{}
		for _, r := range runCommands {
			out = append(out, r.view())
		}
		c.Reply(http.StatusOK, value.Object{"value": out})
		return nil
	}
	for _, r := range runCommands {
		if strings.EqualFold(r.id, c.ID.Name()) {
			v := r.view()
			v["script"] = []any{}
			v["parameters"] = []any{value.Object{"name": "arg1", "type": "string"}}
			c.Reply(http.StatusOK, v)
			return nil
		}
	}
	return engine.Refuse(http.StatusNotFound, "NotFound", "The Run Command '%s' was not found.", c.ID.Name())
}

// checkRunCommand returns an error for a command that does not run on the machine's
// operating system.
func checkRunCommand(d *engine.Doc, args value.Object) *engine.Error {
	id := value.Str(args, "commandId")
	for _, r := range runCommands {
		if !strings.EqualFold(r.id, id) {
			continue
		}
		if windows := isWindows(d.Body); (r.os == "Windows") != windows {
			os := map[bool]string{true: "Windows", false: "Linux"}[windows]
			return engine.BadRequest("InvalidParameter", "The Run Command '%s' is for %s and cannot run on a %s VM.", id, r.os, os)
		}
		return nil
	}
	if id == "" {
		return invalid("commandId", "Required parameter 'commandId' is missing (null).")
	}
	return engine.ErrUnsupported("the Run Command " + id)
}
