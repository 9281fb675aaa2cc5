package arm

import "context"

// The works of scale sets: a write, tasks of some members, a script in one, and a
// rolling upgrade.
func scalePut() Work   { return Work{Name: "scale.put", Run: runScaleSet, Finish: finishScaleSet} }
func scaleTasks() Work { return Work{Name: "scale.tasks", Run: runTasks, Finish: finishTasks} }
func scaleRun() Work   { return Work{Name: "scale.run", Run: runScript, Finish: finishNothing} }
func scaleRoll() Work  { return Work{Name: "scale.roll", Run: runRoll, Finish: finishRoll} }

// runScaleSet does what a write of the model has left to be done, and what an
// operation that it superseded has not finished.
func runScaleSet(ctx context.Context, s *Server, op *operation) (any, *Error) {
	var tasks []task
	s.read(func(t *tx) { tasks = t.openTasks(op.Target) })
	return nil, s.perform(ctx, op, tasks)
}

// runTasks does what was asked of some members.
func runTasks(ctx context.Context, s *Server, op *operation) (any, *Error) {
	return nil, s.perform(ctx, op, s.tasksOf(op))
}

// finishScaleSet ends a write. If a fault took its place, what it had to do fails
// with it.
func finishScaleSet(t *tx, op *operation, result any, err *Error) {
	if op.Fault != nil {
		for _, k := range t.openTasks(op.Target) {
			t.settleOne(k, err)
		}
	}
	finishPut(t, op, result, err)
}

func finishTasks(t *tx, op *operation, _ any, err *Error) {
	if op.Fault == nil {
		return
	}
	for _, id := range texts(op.Args, "members") {
		if d := t.find(id); d != nil && str(d.Hidden, "todo") != "" {
			t.settleOne(taskOf(d), err)
		}
	}
}

// runDeleteScaleSet ends all guests of a set.
func runDeleteScaleSet(ctx context.Context, s *Server, op *operation) (any, *Error) {
	var all []task
	err := s.update(func(t *tx) error {
		set := t.find(op.Target)
		if set == nil {
			return nil
		}
		for _, m := range t.members(set) {
			if str(m.Hidden, "todo") != taskDelete {
				m = t.assign(m, taskDelete)
			}
			all = append(all, taskOf(m))
		}
		return nil
	})
	if err != nil {
		return nil, asError(err)
	}
	each(all, func(k task) { s.launchOnce(k) })
	if ctx.Err() != nil {
		return nil, errStopping()
	}
	return nil, nil
}

// finishDeleteScaleSet removes a set and all that was made for it.
func finishDeleteScaleSet(t *tx, op *operation, _ any, err *Error) {
	if err != nil {
		finishPut(t, op, nil, err)
		return
	}
	set := t.find(op.Target)
	if set == nil {
		return
	}
	for _, m := range t.members(set) {
		t.dropMember(m)
	}
	t.drop(set.ID)
}

// dropMember removes a member of either mode with what belongs to it.
func (t *tx) dropMember(d *doc) {
	computeOf(t.s).begun.forget(d.ID)
	if d.Type == typeInstance {
		t.dropInstance(d)
		return
	}
	t.dropVM(d)
}

// bringsExtensions says whether a task ends with running the model's extensions.
func (s *Server) bringsExtensions(k task) (yes bool) {
	if k.what != taskBoot && k.what != taskReimage {
		return false
	}
	s.read(func(t *tx) {
		if d := t.find(k.id); d != nil && str(d.Hidden, "task") == k.key {
			yes = len(t.modelExtensions(d)) > 0
		}
	})
	return yes
}

// modelExtensions are the extensions that a member's set prescribes.
func (t *tx) modelExtensions(d *doc) []object {
	set := t.setOf(d)
	if set == nil {
		return nil
	}
	return items(profileOf(set), "extensionProfile", "extensions")
}

// setOf is the set of a member of either mode; nil if it is in none.
func (t *tx) setOf(d *doc) *doc {
	if d.Type == typeInstance {
		parent, _ := d.id.parent()
		return t.find(parent.key())
	}
	return t.find(str(props(d.Body), "virtualMachineScaleSet", "id"))
}

// runModelExtensions installs the model's extensions on a new member, one after
// the other, and stops at the first that fails.
func (s *Server) runModelExtensions(ctx context.Context, id string) *Error {
	var extensions []object
	secrets := object{}
	s.read(func(t *tx) {
		if d := t.find(id); d != nil {
			extensions = t.modelExtensions(d)
			secrets = sub(t.setOf(d).Hidden, "protectedSettings")
		}
	})
	for _, e := range extensions {
		target, ok := s.fileExtension(id, e, secrets[str(e, "name")])
		if !ok {
			return nil // deleted meanwhile
		}
		_, failed := runExtension(ctx, s, &operation{Target: target})
		if ctx.Err() != nil {
			return errStopping()
		}
		s.endExtension(target, failed)
		if failed != nil {
			return failed
		}
	}
	return nil
}

// fileExtension makes the document of an extension that begins.
func (s *Server) fileExtension(id string, e object, secret any) (target string, ok bool) {
	err := s.update(func(t *tx) error {
		d := t.find(id)
		if d == nil {
			return nil
		}
		typ := typeInstanceExt
		if d.Type == typeVM {
			typ = typeExt
		}
		x := &doc{Type: typ, id: d.id.child("extensions", str(e, "name")), Hidden: object{}, Body: object{"location": d.Body["location"], "properties": cloneObject(sub(e, "properties"))}}
		x.ID = x.id.String()
		if secret != nil {
			x.Hidden["protectedSettings"] = secret
		}
		props(x.Body)["provisioningState"] = "Creating"
		t.put(x)
		target, ok = x.ID, true
		return nil
	})
	return target, ok && err == nil
}

func (s *Server) endExtension(target string, failed *Error) {
	err := s.update(func(t *tx) error {
		x := t.edit(target)
		if x == nil {
			return nil
		}
		x.settle(failed)
		t.put(x)
		return nil
	})
	if err != nil {
		s.log.Error(err, "The end of an extension could not be kept", "extension", target)
	}
}
