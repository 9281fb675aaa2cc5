package compute

import (
	"context"
	"net/http"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

func runStartVM(_ context.Context, s *engine.Server, op *engine.Operation) (any, *engine.Error) {
	if vm, ok := machineNamed(s, op.Target); ok && hostOf(s) != nil {
		hostOf(s).Start(vm)
	}
	return nil, nil
}

func runRestartVM(ctx context.Context, s *engine.Server, op *engine.Operation) (any, *engine.Error) {
	if _, e := runStopVM(ctx, s, op); e != nil {
		return nil, e
	}
	return runStartVM(ctx, s, op)
}

func runStopVM(_ context.Context, s *engine.Server, op *engine.Operation) (any, *engine.Error) {
	if hostOf(s) != nil {
		hostOf(s).Stop(op.Target)
	}
	return nil, nil
}

func finishPower(state string) func(t *engine.Tx, op *engine.Operation, result any, err *engine.Error) {
	return func(t *engine.Tx, op *engine.Operation, _ any, err *engine.Error) {
		d := t.Edit(op.Target)
		if d == nil {
			return
		}
		if err == nil {
			d.Hidden["power"] = state
		}
		value.Props(d.Body)["provisioningState"] = engine.StatusSucceeded
		t.Put(d)
	}
}

// runScript executes Run Command; its result has the form that az expects.
func runScript(ctx context.Context, s *engine.Server, op *engine.Operation) (any, *engine.Error) {
	if hostOf(s) == nil {
		return nil, engine.ErrUnsupported("Run Command without guests")
	}
	script := strings.Join(value.Texts(op.Args, "script"), "\n")
	s.Read(func(t *engine.Tx) {
		script = withParameters(t.Find(op.Target), script, value.Items(op.Args, "parameters"), true)
	})
	_, out, errOut, err := hostOf(s).Run(ctx, op.Target, script)
	if err != nil {
		return nil, engine.Conflict("VMAgentStatusCommunicationError",
			"VM '%s' has not reported status for VM agent or extensions: %s", op.Target, err)
	}
	status := func(stream, text string) value.Object {
		return value.Object{"code": "ComponentStatus/" + stream + "/succeeded", "level": "Info",
			"displayStatus": "Provisioning succeeded", "message": text}
	}
	return value.Object{"value": []any{status("StdOut", out), status("StdErr", errOut)}}, nil
}

// beginAction marks a machine as busy with an action.
func beginAction(t *engine.Tx, d *engine.Doc, _ value.Object) *engine.Error {
	value.Props(d.Body)["provisioningState"] = "Updating"
	t.Put(d)
	return nil
}

// beginStart returns a check that refuses to start a generalized machine.
func beginStart(action string) func(t *engine.Tx, d *engine.Doc, args value.Object) *engine.Error {
	return func(t *engine.Tx, d *engine.Doc, args value.Object) *engine.Error {
		if value.Bool(d.Hidden, "generalized") {
			return engine.Conflict("OperationNotAllowed",
				"Cannot perform operation '%s' because VM '%s' is generalized.", action, d.Parsed.Name())
		}
		return beginAction(t, d, args)
	}
}

// beginScript refuses a script that cannot run on the machine.
func beginScript(_ *engine.Tx, d *engine.Doc, args value.Object) *engine.Error {
	if powerOf(d) != "running" {
		return engine.Conflict("OperationNotAllowed", "The operation requires the VM to be running (or set to run).")
	}
	return checkRunCommand(d, args)
}

// getInstanceView answers the instance view of a machine.
func getInstanceView(c *engine.Request, id engine.ID) *engine.Error {
	var view value.Object
	c.Server.Read(func(t *engine.Tx) {
		if d := t.Find(id.Key()); d != nil {
			view = instanceView(t, d)
		}
	})
	if view == nil {
		return engine.ErrNotFound(id)
	}
	c.Reply(http.StatusOK, view)
	return nil
}
