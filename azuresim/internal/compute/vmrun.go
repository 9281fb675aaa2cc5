package compute

import (
	"context"
	"net/http"
	"time"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// runCreateVM boots the VM and waits for the report of its provisioning agent.
func runCreateVM(ctx context.Context, s *engine.Server, op *engine.Operation) (any, *engine.Error) {
	if hostOf(s) == nil {
		return nil, nil
	}
	vm, ok := machineNamed(s, op.Target)
	if !ok {
		return nil, nil
	}
	if e := bootFault(s, ctx, vm); e != nil {
		return nil, e
	}
	hostOf(s).Start(vm)
	for {
		changed := s.Changed()
		switch view := hostOf(s).View(op.Target); view.Provisioned {
		case host.ProvisioningReady:
			scheduleEviction(s, op.Target)
			return nil, nil
		case host.ProvisioningFailed:
			return nil, engine.Conflict("OSProvisioningClientError",
				"OS Provisioning for VM '%s' failed. Error details: %s", vm.Name, view.Message)
		}
		select {
		case <-ctx.Done():
			return nil, engine.Refuse(http.StatusServiceUnavailable, "ServerTimeout", "The local Azure is stopping.")
		case <-changed:
		}
	}
}

// deleteTimeout limits the wait for a guest to stop; afterwards the VM is deleted anyway.
const deleteTimeout = 30 * time.Second

func runDeleteVM(ctx context.Context, s *engine.Server, op *engine.Operation) (any, *engine.Error) {
	if hostOf(s) == nil {
		return nil, nil
	}
	// A scale set's operation that is booting the VM finishes its step first.
	l := computeOf(s).begun.of(op.Target)
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	if err := hostOf(s).Delete(ctx, op.Target); err != nil {
		return nil, engine.Refuse(http.StatusInternalServerError, "InternalExecutionError",
			"The guest of %s did not end: %s", op.Target, err)
	}
	return nil, nil
}

// finishDeleteVM removes the VM and the resources that are deleted with it.
func finishDeleteVM(t *engine.Tx, op *engine.Operation, _ any, err *engine.Error) {
	if err != nil {
		engine.FinishPut(t, op, nil, err)
		return
	}
	d := t.Find(op.Target)
	if d == nil {
		return
	}
	leaveSet(t, d)
	computeOf(t.Server).begun.forget(d.ID)
	dropVM(t, d)
}

// dropVM removes a VM, its extensions, and the disks and interfaces whose deleteOption is
// Delete.
func dropVM(t *engine.Tx, d *engine.Doc) {
	p := value.Props(d.Body)
	t.Drop(d.ID)
	for _, disk := range append(value.Items(p, "storageProfile", "dataDisks"), value.Sub(p, "storageProfile", "osDisk")) {
		if value.Str(disk, "deleteOption") == "Delete" {
			t.Drop(value.Str(disk, "managedDisk", "id"))
		}
	}
	for _, n := range value.Items(p, "networkProfile", "networkInterfaces") {
		if value.Str(value.Props(n), "deleteOption") == "Delete" {
			t.Drop(value.Str(n, "id"))
		}
	}
}
