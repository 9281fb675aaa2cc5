package arm

import (
	"context"
	"net/http"
	"strings"
)

func runStartVM(_ context.Context, s *Server, op *operation) (any, *Error) {
	if vm, ok := s.machine(op.Target); ok && hostOf(s) != nil {
		hostOf(s).Start(vm)
	}
	return nil, nil
}

func runRestartVM(ctx context.Context, s *Server, op *operation) (any, *Error) {
	if _, e := runStopVM(ctx, s, op); e != nil {
		return nil, e
	}
	return runStartVM(ctx, s, op)
}

func runStopVM(_ context.Context, s *Server, op *operation) (any, *Error) {
	if hostOf(s) != nil {
		hostOf(s).Stop(op.Target)
	}
	return nil, nil
}

func finishPower(state string) func(t *tx, op *operation, result any, err *Error) {
	return func(t *tx, op *operation, _ any, err *Error) {
		d := t.edit(op.Target)
		if d == nil {
			return
		}
		if err == nil {
			d.Hidden["power"] = state
		}
		props(d.Body)["provisioningState"] = statusSucceeded
		t.put(d)
	}
}

// runScript is Run Command: the result is in the form az shows.
func runScript(ctx context.Context, s *Server, op *operation) (any, *Error) {
	if hostOf(s) == nil {
		return nil, errUnsupported("Run Command without guests")
	}
	_, out, errOut, err := hostOf(s).Run(ctx, op.Target, strings.Join(texts(op.Args, "script"), "\n"))
	if err != nil {
		return nil, conflict("VMAgentStatusCommunicationError", "VM '%s' has not reported status for VM agent or extensions: %s", op.Target, err)
	}
	status := func(stream, text string) object {
		return object{"code": "ComponentStatus/" + stream + "/succeeded", "level": "Info", "displayStatus": "Provisioning succeeded", "message": text}
	}
	return object{"value": []any{status("StdOut", out), status("StdErr", errOut)}}, nil
}

// beginAction notes that something is done to a machine.
func beginAction(t *tx, d *doc, _ object) *Error {
	props(d.Body)["provisioningState"] = "Updating"
	t.put(d)
	return nil
}

// beginStart refuses to start a machine that is generalized.
func beginStart(action string) func(t *tx, d *doc, args object) *Error {
	return func(t *tx, d *doc, args object) *Error {
		if boolean(d.Hidden, "generalized") {
			return conflict("OperationNotAllowed", "Cannot perform operation '%s' because VM '%s' is generalized.", action, d.id.name())
		}
		return beginAction(t, d, args)
	}
}

// beginScript refuses a script that the machine cannot run.
func beginScript(_ *tx, d *doc, args object) *Error {
	if powerOf(d) != "running" {
		return conflict("OperationNotAllowed", "The operation requires the VM to be running (or set to run).")
	}
	return checkRunCommand(d, args)
}

// getInstanceView answers the instance view of a machine.
func getInstanceView(c *call, id resourceID) *Error {
	var view object
	c.s.read(func(t *tx) {
		if d := t.find(id.key()); d != nil {
			view = t.instanceView(d)
		}
	})
	if view == nil {
		return errNotFound(id)
	}
	c.reply(http.StatusOK, view)
	return nil
}
