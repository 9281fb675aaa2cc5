package arm

import (
	"context"
	"net/http"
	"time"
)

// runCreateVM boots the VM and waits for what its provisioning agent reports.
func runCreateVM(ctx context.Context, s *Server, op *operation) (any, *Error) {
	if hostOf(s) == nil {
		return nil, nil
	}
	vm, ok := s.machine(op.Target)
	if !ok {
		return nil, nil
	}
	if e := s.bootFault(ctx, vm); e != nil {
		return nil, e
	}
	hostOf(s).Start(vm)
	for {
		changed := s.changed()
		switch view := hostOf(s).View(op.Target); view.Provisioned {
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

// deleteTimeout bounds the wait for a guest to end; after it the platform takes
// the machine away regardless.
const deleteTimeout = 30 * time.Second

func runDeleteVM(ctx context.Context, s *Server, op *operation) (any, *Error) {
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
	computeOf(t.s).begun.forget(d.ID)
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
