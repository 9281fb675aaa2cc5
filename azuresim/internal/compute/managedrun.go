package compute

import (
	"context"
	"errors"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// A managed Run Command is a script that is a resource. Its write ends when the script ends, and
// succeeds whatever the script's exit code is; the instance view has the exit code. Source:
// https://learn.microsoft.com/azure/virtual-machines/windows/run-command-managed.

// maxRunSeconds is the default time limit of a script: 90 minutes.
const maxRunSeconds = 90 * 60

// maxRunOutput is the number of bytes at the end of each output stream that Azure keeps.
const maxRunOutput = 4096

// prepareManagedRun validates a managed Run Command.
func prepareManagedRun(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	if old != nil && value.Sub(p, "source") == nil {
		p["source"] = value.Clone(value.Sub(old.Body, "properties")["source"])
	}
	for _, unsupported := range []string{"runAsUser", "outputBlobUri", "errorBlobUri"} {
		if value.Str(p, unsupported) != "" {
			return engine.ErrUnsupported(unsupported + " of a managed Run Command")
		}
	}
	d.Hidden["protectedParameters"] = p["protectedParameters"]
	delete(p, "protectedParameters")
	if value.Str(p, "source", "script") == "" {
		if value.Str(p, "source", "scriptUri") != "" || value.Str(p, "source", "commandId") != "" {
			return engine.ErrUnsupported("managed Run Commands of a scriptUri or a commandId")
		}
		return invalid("source.script", "Required parameter 'source.script' is missing (null).")
	}
	if value.Bool(p, "asyncExecution") {
		return engine.ErrUnsupported("managed Run Commands with asyncExecution")
	}
	parent, _ := d.Parsed.Parent()
	if vm := t.Find(parent.Key()); vm != nil && powerOf(vm) != "running" {
		return engine.Conflict("OperationNotAllowed", "The operation requires the VM to be running (or set to run).")
	}
	d.Hidden["run"] = value.Object{"executionState": "Running", "startTime": t.Now.Format(engine.TimeForm)}
	return nil
}

// managedRunPut returns the work that runs the script.
func managedRunPut() engine.Work {
	return engine.Work{Name: "run.put", Run: runManaged, Finish: finishManagedRun}
}

// runManaged runs the script and stores its result as the instance view.
func runManaged(ctx context.Context, s *engine.Server, op *engine.Operation) (any, *engine.Error) {
	if hostOf(s) == nil {
		return nil, engine.ErrUnsupported("Run Command without guests")
	}
	vm, script, seconds, strict := "", "", maxRunSeconds, false
	s.Read(func(t *engine.Tx) {
		if d := t.Find(op.Target); d != nil {
			parent, _ := d.Parsed.Parent()
			p := value.Props(d.Body)
			vm, strict = parent.String(), value.Bool(p, "treatFailureAsDeploymentFailure")
			script = withParameters(t.Find(parent.Key()), value.Str(p, "source", "script"),
				append(value.Items(p, "parameters"), value.Items(d.Hidden, "protectedParameters")...), false)
			seconds, _ = value.Int(p, "timeoutInSeconds")
		}
	})
	limited, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
	defer cancel()
	code, out, errOut, err := hostOf(s).Run(limited, vm, script)
	if ctx.Err() != nil {
		return nil, engine.Refuse(503, "ServerTimeout", "The local Azure is stopping.")
	}
	view := value.Object{"executionState": "Succeeded", "exitCode": float64(code), "output": tail(out),
		"error": tail(errOut), "executionMessage": "RunCommand script execution completed", "statuses": []any{}}
	switch {
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		view["executionState"], view["executionMessage"] = "TimedOut", "RunCommand script execution timed out"
	case err != nil:
		view["executionState"], view["executionMessage"], view["exitCode"] = "Failed", err.Error(), float64(-1)
	case code != 0:
		view["executionState"] = "Failed"
	}
	if strict && view["executionState"] != "Succeeded" {
		return view, engine.Conflict("VMExtensionProvisioningError",
			"The Run Command failed with the exit code %d and treatFailureAsDeploymentFailure is set.", code)
	}
	return view, nil
}

func tail(s string) string { return s[max(0, len(s)-maxRunOutput):] }

func finishManagedRun(t *engine.Tx, op *engine.Operation, result any, err *engine.Error) {
	d := t.Edit(op.Target)
	if d == nil {
		return
	}
	if view, ok := result.(value.Object); ok {
		view["startTime"], view["endTime"] = value.Str(d.Hidden, "run", "startTime"), t.Now.Format(engine.TimeForm)
		d.Hidden["run"] = view
	}
	d.Settle(err)
	t.Put(d)
}

// viewManagedRun adds the instance view with the script's result if the request selects it with
// $expand.
func viewManagedRun(_ *engine.Tx, d *engine.Doc, body value.Object, expand string) {
	if engine.Expands(expand, "instanceView") {
		value.Props(body)["instanceView"] = value.Clone(d.Hidden["run"])
	}
}
