package compute

import (
	"fmt"
	"net/http"
	"regexp"
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

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// withParameters returns a script with the values of its parameters for a machine. Parameters with
// a name are parameters of a PowerShell script, or environment variables of another script.
// Parameters without a name, or all of them if positional is set, are arguments. Sources:
// https://github.com/Azure/run-command-handler-linux, internal/exec/exec.go; positional as az sends
// them: https://learn.microsoft.com/azure/virtual-machines/linux/run-command.
func withParameters(machine *engine.Doc, script string, parameters []value.Object, positional bool) string {
	windows := machine != nil && isWindows(machine.Body)
	var variables, arguments strings.Builder
	for _, p := range parameters {
		name, text := value.Str(p, "name"), value.Str(p, "value")
		switch {
		case text == "":
		case windows && variable.MatchString(name):
			fmt.Fprintf(&arguments, " -%s '%s'", name, strings.ReplaceAll(text, "'", "''"))
		case windows:
			fmt.Fprintf(&arguments, " '%s'", strings.ReplaceAll(text, "'", "''"))
		default:
			quoted := "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
			if variable.MatchString(name) {
				fmt.Fprintf(&variables, "export %s=%s\n", name, quoted)
			}
			if positional || name == "" {
				arguments.WriteString(" " + quoted)
			}
		}
	}
	switch {
	case windows && arguments.Len() > 0:
		return "& {\n" + script + "\n}" + arguments.String()
	case windows || arguments.Len() == 0:
		return variables.String() + script
	}
	return variables.String() + "set --" + arguments.String() + "\n" + script
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
