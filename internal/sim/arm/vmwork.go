package arm

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// runCreateVM boots the VM and waits for what its provisioning agent reports.
func runCreateVM(ctx context.Context, s *Server, op *operation) (any, *Error) {
	if s.cfg.Machines == nil {
		return nil, nil
	}
	vm, ok := s.machine(op.Target)
	if !ok {
		return nil, nil
	}
	if e := s.bootFault(ctx, vm); e != nil {
		return nil, e
	}
	s.cfg.Machines.Start(vm)
	for {
		changed := s.running.wait()
		switch view := s.cfg.Machines.View(op.Target); view.Provisioned {
		case ProvisioningReady:
			s.threaten(op.Target)
			return nil, nil
		case ProvisioningFailed:
			return nil, conflict("OSProvisioningClientError", "OS Provisioning for VM '%s' failed. Error details: %s", vm.Name, view.Message)
		}
		select {
		case <-ctx.Done():
			return nil, refuse(http.StatusServiceUnavailable, "ServerTimeout", "The local Azure is stopping.")
		case <-changed:
		}
	}
}

func (s *Server) machine(id string) (vm VM, ok bool) {
	s.read(func(t *tx) {
		if d := t.find(id); d != nil {
			vm, ok = t.machine(d), true
		}
	})
	return vm, ok
}

// deleteTimeout bounds the wait for a guest to end; after it the platform takes
// the machine away regardless.
const deleteTimeout = 30 * time.Second

func runDeleteVM(ctx context.Context, s *Server, op *operation) (any, *Error) {
	if s.cfg.Machines == nil {
		return nil, nil
	}
	// A scale set's operation that is booting the VM finishes its step first.
	l := s.begun.of(op.Target)
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	if err := s.cfg.Machines.Delete(ctx, op.Target); err != nil {
		return nil, refuse(http.StatusInternalServerError, "InternalExecutionError", "The guest of %s did not end: %s", op.Target, err)
	}
	return nil, nil
}

// finishDeleteVM removes the VM and what is to be deleted with it.
func finishDeleteVM(t *tx, op *operation, _ any, err *Error) {
	if err != nil {
		finishPut(t, op, nil, err)
		return
	}
	d := t.find(op.Target)
	if d == nil {
		return
	}
	t.leaveSet(d)
	t.s.begun.forget(d.ID)
	t.dropVM(d)
}

// dropVM removes a VM, its extensions, and the disks and interfaces that are to be
// deleted with it.
func (t *tx) dropVM(d *doc) {
	p := props(d.Body)
	t.drop(d.ID)
	for _, disk := range append(items(p, "storageProfile", "dataDisks"), sub(p, "storageProfile", "osDisk")) {
		if str(disk, "deleteOption") == "Delete" {
			t.drop(str(disk, "managedDisk", "id"))
		}
	}
	for _, n := range items(p, "networkProfile", "networkInterfaces") {
		if str(props(n), "deleteOption") == "Delete" {
			t.drop(str(n, "id"))
		}
	}
}

func runStartVM(_ context.Context, s *Server, op *operation) (any, *Error) {
	if vm, ok := s.machine(op.Target); ok && s.cfg.Machines != nil {
		s.cfg.Machines.Start(vm)
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
	if s.cfg.Machines != nil {
		s.cfg.Machines.Stop(op.Target)
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
	if s.cfg.Machines == nil {
		return nil, errUnsupported("Run Command without guests")
	}
	_, out, errOut, err := s.cfg.Machines.Run(ctx, op.Target, strings.Join(texts(op.Args, "script"), "\n"))
	if err != nil {
		return nil, conflict("VMAgentStatusCommunicationError", "VM '%s' has not reported status for VM agent or extensions: %s", op.Target, err)
	}
	status := func(stream, text string) object {
		return object{"code": "ComponentStatus/" + stream + "/succeeded", "level": "Info", "displayStatus": "Provisioning succeeded", "message": text}
	}
	return object{"value": []any{status("StdOut", out), status("StdErr", errOut)}}, nil
}

// vmActions are the POST actions of a VM that are operations.
var vmActions = map[string]struct {
	action string
	takes  time.Duration
}{
	"poweroff": {"vm.stop", 20 * time.Second}, "start": {"vm.start", 30 * time.Second}, "restart": {"vm.restart", 30 * time.Second},
	"deallocate": {"vm.deallocate", 40 * time.Second}, "redeploy": {"vm.redeploy", 60 * time.Second}, "reapply": {"vm.touch", 10 * time.Second}, "runcommand": {"vm.run", 10 * time.Second},
}

// serveAction answers POST actions and the sub-resources of a VM that are no
// resources; false means the path is something else.
func (c *call) serveAction() (bool, *Error) {
	parent, ok := c.id.parent()
	if !ok || lower(parent.fullType()) != lower(typeVM) {
		return false, nil
	}
	tail := lower(c.id.tail())
	if c.r.Method == http.MethodGet && tail == "instanceview" {
		var view object
		c.s.read(func(t *tx) {
			if d := t.find(parent.key()); d != nil {
				view = t.instanceView(d)
			}
		})
		if view == nil {
			return true, errNotFound(parent)
		}
		c.reply(http.StatusOK, view)
		return true, nil
	}
	if c.r.Method == http.MethodPost && tail == "generalize" {
		return true, c.generalize(parent)
	}
	if c.r.Method == http.MethodPost && tail == "simulateeviction" {
		return true, c.simulateEviction(parent)
	}
	if c.r.Method == http.MethodGet && tail == "vmsizes" {
		c.reply(http.StatusOK, object{"value": machineSizes()})
		return true, nil
	}
	if c.r.Method == http.MethodPost && tail == "retrievebootdiagnosticsdata" {
		return true, c.serveBootDiagnostics(parent)
	}
	if _, ok := vmActions[tail]; ok && c.r.Method == http.MethodPost {
		return true, c.act(parent, tail)
	}
	return false, nil
}

// act begins the operation of a POST action.
func (c *call) act(vm resourceID, tail string) *Error {
	action := vmActions[tail]
	args, e := c.body()
	if e != nil {
		return e
	}
	var op *operation
	err := c.s.update(func(t *tx) error {
		d := t.edit(vm.key())
		if d == nil {
			return errNotFound(vm)
		}
		if e := t.writable(vm, vm.key(), ""); e != nil {
			return e
		}
		if boolean(d.Hidden, "generalized") && (tail == "start" || tail == "restart") {
			return conflict("OperationNotAllowed", "Cannot perform operation '%s' because VM '%s' is generalized.", tail, d.id.name())
		}
		if action.action != "vm.run" {
			props(d.Body)["provisioningState"] = "Updating"
			t.put(d)
		} else if str(d.Hidden, "power") != "running" {
			return conflict("OperationNotAllowed", "The operation requires the VM to be running (or set to run).")
		} else if e := checkRunCommand(d, args); e != nil {
			return e
		}
		op = t.begin(&operation{Action: action.action, Method: http.MethodPost, Target: d.ID, Style: styleCompute, Subscription: c.id.Subscription,
			Namespace: c.id.Namespace, Location: d.location(), APIVersion: c.version, Args: args}, action.takes)
		return nil
	})
	return c.accepted(op, err)
}

// prepareExtension files an extension; its protected settings are never shown.
func prepareExtension(t *tx, d, _ *doc) *Error {
	p := props(d.Body)
	for _, field := range []string{"publisher", "type", "typeHandlerVersion"} {
		if str(p, field) == "" {
			return invalid(field, "Required parameter '%s' is missing (null).", field)
		}
	}
	if v := p["protectedSettings"]; v != nil {
		d.Hidden["protectedSettings"] = v
		delete(p, "protectedSettings")
	}
	if e := checkExtension(t, d); e != nil {
		return e
	}
	if isAccess(d) {
		t.s.passwords.Store(d.key(), str(d.Hidden, "protectedSettings", "Password"))
		delete(d.Hidden, "protectedSettings")
	}
	return nil
}

// runExtension runs the command of a script extension in the guest.
func runExtension(ctx context.Context, s *Server, op *operation) (any, *Error) {
	var command, vm, name, user, password string
	access := false
	s.read(func(t *tx) {
		if d := t.find(op.Target); d != nil {
			parent, _ := d.id.parent()
			vm, name = parent.String(), d.id.name()
			access, user = isAccess(d), str(props(d.Body), "settings", "UserName")
			if kept, ok := t.s.passwords.LoadAndDelete(d.key()); ok {
				password, _ = kept.(string)
			}
			command = orDefault(str(d.Hidden, "protectedSettings", "commandToExecute"), str(props(d.Body), "settings", "commandToExecute"))
		}
	})
	if access && s.cfg.Machines != nil {
		return nil, s.runAccess(ctx, vm, name, user, password)
	}
	if command == "" || s.cfg.Machines == nil {
		return nil, nil
	}
	code, out, errOut, err := s.cfg.Machines.Run(ctx, vm, command)
	if err == nil && code == 0 {
		return nil, nil
	}
	detail := strings.TrimSpace(out + "\n" + errOut)
	if err != nil {
		detail = err.Error()
	}
	return nil, conflict("VMExtensionProvisioningError", "VM has reported a failure when processing extension '%s'. Error message: \"Command execution finished, but failed because it returned a non-zero exit code of: '%d'\". %s", name, code, detail)
}

func prepareDisk(t *tx, d, old *doc) *Error {
	if str(props(d.Body), "creationData", "createOption") == "" {
		return invalid("creationData", "Required parameter 'creationData.createOption' is missing (null).")
	}
	completeDisk(t, d, old)
	return nil
}

func guardDisk(t *tx, d *doc) *Error {
	if users := t.users(d.ID, typeVM); len(users) > 0 {
		return conflict("OperationNotAllowed", "Disk %s is attached to VM %s.", d.id.name(), users[0].ID)
	}
	return nil
}

func viewDisk(t *tx, d *doc, body object, _ string) {
	props(body)["diskState"] = "Unattached"
	if users := t.users(d.ID, typeVM); len(users) > 0 {
		props(body)["diskState"] = "Attached"
		body["managedBy"] = users[0].ID
	}
}

func guardSet(t *tx, d *doc) *Error {
	if users := t.users(d.ID, typeVM); len(users) > 0 {
		return conflict("OperationNotAllowed", "Availability Set '%s' cannot be deleted because it contains VMs.", d.id.name())
	}
	return nil
}

func prepareIdentity(t *tx, d, old *doc) *Error {
	p := props(d.Body)
	if old != nil {
		d.Body["properties"] = clone(old.Body["properties"])
		return nil
	}
	p["clientId"], p["principalId"], p["tenantId"] = t.s.guid(), t.s.guid(), t.s.cfg.TenantID
	return nil
}
