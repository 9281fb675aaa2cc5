package compute

import (
	"context"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// scalePut returns the work of a write of a scale set. The other functions return the works of
// tasks of some members, of a script in one instance, and of a rolling upgrade.
func scalePut() engine.Work {
	return engine.Work{Name: "scale.put", Run: runScaleSet, Finish: finishScaleSet}
}
func scaleTasks() engine.Work {
	return engine.Work{Name: "scale.tasks", Run: runTasks, Finish: finishTasks}
}
func scaleRun() engine.Work {
	return engine.Work{Name: "scale.run", Run: runScript, Finish: engine.FinishNothing}
}
func scaleRoll() engine.Work {
	return engine.Work{Name: "scale.roll", Run: runRoll, Finish: finishRoll}
}

// runScaleSet does the unfinished tasks of a set after a write of its model, including
// those of an operation that the write superseded.
func runScaleSet(ctx context.Context, s *engine.Server, op *engine.Operation) (any, *engine.Error) {
	var tasks []task
	s.Read(func(t *engine.Tx) { tasks = openTasks(t, op.Target) })
	return nil, perform(s, ctx, op, tasks)
}

// runTasks performs an action on the instances that the request names.
func runTasks(ctx context.Context, s *engine.Server, op *engine.Operation) (any, *engine.Error) {
	return nil, perform(s, ctx, op, tasksOf(s, op))
}

// finishScaleSet ends a write. If a fault replaced its work, the write's tasks fail too.
func finishScaleSet(t *engine.Tx, op *engine.Operation, result any, err *engine.Error) {
	if op.Fault != nil {
		for _, k := range openTasks(t, op.Target) {
			settleOne(t, k, err)
		}
	}
	engine.FinishPut(t, op, result, err)
}

func finishTasks(t *engine.Tx, op *engine.Operation, _ any, err *engine.Error) {
	if op.Fault == nil {
		return
	}
	for _, id := range value.Texts(op.Args, "members") {
		if d := t.Find(id); d != nil && value.Str(d.Hidden, "todo") != "" {
			settleOne(t, taskOf(d), err)
		}
	}
}

// runDeleteScaleSet stops all guests of a set.
func runDeleteScaleSet(ctx context.Context, s *engine.Server, op *engine.Operation) (any, *engine.Error) {
	var all []task
	err := s.Update(func(t *engine.Tx) error {
		set := t.Find(op.Target)
		if set == nil {
			return nil
		}
		for _, m := range members(t, set) {
			if value.Str(m.Hidden, "todo") != taskDelete {
				m = assign(t, m, taskDelete)
			}
			all = append(all, taskOf(m))
		}
		return nil
	})
	if err != nil {
		return nil, engine.AsError(err)
	}
	each(all, func(k task) { launchOnce(s, k) })
	if ctx.Err() != nil {
		return nil, errStopping()
	}
	return nil, nil
}

// finishDeleteScaleSet removes a set and all resources that were created for it.
func finishDeleteScaleSet(t *engine.Tx, op *engine.Operation, _ any, err *engine.Error) {
	if err != nil {
		engine.FinishPut(t, op, nil, err)
		return
	}
	set := t.Find(op.Target)
	if set == nil {
		return
	}
	for _, m := range members(t, set) {
		dropMember(t, m)
	}
	t.Drop(set.ID)
}

// dropMember removes a member of either mode and the resources that belong to it.
func dropMember(t *engine.Tx, d *engine.Doc) {
	computeOf(t.Server).begun.forget(d.ID)
	if d.Type == typeInstance {
		dropInstance(t, d)
		return
	}
	dropVM(t, d)
}

// bringsExtensions reports whether the model's extensions run at the end of a task.
func bringsExtensions(s *engine.Server, k task) (yes bool) {
	if k.what != taskBoot && k.what != taskReimage {
		return false
	}
	s.Read(func(t *engine.Tx) {
		if d := t.Find(k.id); d != nil && value.Str(d.Hidden, "task") == k.key {
			yes = len(modelExtensions(t, d)) > 0
		}
	})
	return yes
}

// modelExtensions returns the extensions that a member's set prescribes.
func modelExtensions(t *engine.Tx, d *engine.Doc) []value.Object {
	set := setOf(t, d)
	if set == nil {
		return nil
	}
	return value.Items(profileOf(set), "extensionProfile", "extensions")
}

// setOf returns the set of which d is a member, in either mode; nil if there is none.
func setOf(t *engine.Tx, d *engine.Doc) *engine.Doc {
	if d.Type == typeInstance {
		parent, _ := d.Parsed.Parent()
		return t.Find(parent.Key())
	}
	return t.Find(value.Str(value.Props(d.Body), "virtualMachineScaleSet", "id"))
}

// runModelExtensions installs the model's extensions on a new member, one after the other,
// and stops at the first failure.
func runModelExtensions(s *engine.Server, ctx context.Context, id string) *engine.Error {
	var extensions []value.Object
	secrets := value.Object{}
	s.Read(func(t *engine.Tx) {
		if d := t.Find(id); d != nil {
			extensions = modelExtensions(t, d)
			secrets = value.Sub(setOf(t, d).Hidden, "protectedSettings")
		}
	})
	for _, e := range extensions {
		target, ok := fileExtension(s, id, e, secrets[value.Str(e, "name")])
		if !ok {
			return nil // deleted meanwhile
		}
		_, failed := runExtension(ctx, s, &engine.Operation{Target: target})
		if ctx.Err() != nil {
			return errStopping()
		}
		endExtension(s, target, failed)
		if failed != nil {
			return failed
		}
	}
	return nil
}

// fileExtension stores the document of an extension that is about to run.
func fileExtension(s *engine.Server, id string, e value.Object, secret any) (target string, ok bool) {
	err := s.Update(func(t *engine.Tx) error {
		d := t.Find(id)
		if d == nil {
			return nil
		}
		typ := typeInstanceExt
		if d.Type == typeVM {
			typ = typeExt
		}
		x := &engine.Doc{
			Type: typ, Parsed: d.Parsed.Child("extensions", value.Str(e, "name")), Hidden: value.Object{},
			Body: value.Object{"location": d.Body["location"], "properties": value.CloneObject(value.Sub(e, "properties"))},
		}
		x.ID = x.Parsed.String()
		if secret != nil {
			x.Hidden["protectedSettings"] = secret
		}
		value.Props(x.Body)["provisioningState"] = "Creating"
		t.Put(x)
		target, ok = x.ID, true
		return nil
	})
	return target, ok && err == nil
}

func endExtension(s *engine.Server, target string, failed *engine.Error) {
	err := s.Update(func(t *engine.Tx) error {
		x := t.Edit(target)
		if x == nil {
			return nil
		}
		x.Settle(failed)
		t.Put(x)
		return nil
	})
	if err != nil {
		s.Log.Error(err, "The end of an extension could not be kept", "extension", target)
	}
}
