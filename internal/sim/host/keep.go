package host

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"casement.dev/casement/internal/sim/guest"
)

// lostFolder, below vms, contains the disks of VMs that the local Azure does not have. No resource
// group can have this name.
const lostFolder = "@lost"

// Keep implements host.Keeper. It deletes the folder of a VM that was deleted while this process
// was being killed. The folder of a VM whose boot had ended is moved to lostFolder instead, because
// the VM may have been lost with a part of Azure's state; Notices reports it. If the local Azure
// has no VM at all, its state may be lost, and Keep does nothing.
func (h *Host) Keep(ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	known := map[string]bool{}
	for _, id := range ids {
		known[h.home(id)] = true
	}
	homes, _ := filepath.Glob(filepath.Join(h.config.Dir, "vms", "*", "*")) // cannot fail: the pattern is valid
	var errs []error
	for _, home := range homes {
		if known[home] || filepath.Base(filepath.Dir(home)) == lostFolder {
			continue
		}
		if guest.Booted(home) {
			errs = append(errs, h.setAside(home))
			continue
		}
		h.config.Log.Info("Removed the folder of a VM that the local Azure does not have", "folder", home)
		errs = append(errs, os.RemoveAll(home))
	}
	return errors.Join(errs...)
}

// setAside moves the folder of a VM to the folder of lost VMs.
func (h *Host) setAside(home string) error {
	name := fmt.Sprintf("%s@%s@%s", filepath.Base(filepath.Dir(home)), filepath.Base(home), time.Now().UTC().Format("20060102T150405"))
	lost := filepath.Join(h.config.Dir, "vms", lostFolder)
	if err := os.MkdirAll(lost, 0o700); err != nil {
		return err
	}
	h.config.Log.Info("The local Azure does not have a VM; its folder is set aside", "folder", home, "now", filepath.Join(lost, name))
	return os.Rename(home, filepath.Join(lost, name))
}

// Notices returns messages for the plane's owner about the machines: faults of the simulation, with
// the number of times each occurred, regenerated host keys, and folders of VMs that the local Azure
// does not have.
func (h *Host) Notices() (all []string) {
	h.mu.Lock()
	for _, where := range slices.Sorted(maps.Keys(h.panics)) {
		p := h.panics[where]
		all = append(all, fmt.Sprintf("a fault of the simulation at %s was met %d times since the plane began, last by %s: "+
			"what met it failed, and nothing else; please report it with the trace in the plane's log",
			where, p.times, cmp.Or(p.vm, "what serves all machines")))
	}
	h.mu.Unlock()
	vms := filepath.Join(h.config.Dir, "vms")
	keys, _ := filepath.Glob(filepath.Join(vms, "*", "*", guest.BrokenHostKey)) // cannot fail: the pattern is valid
	for _, key := range keys {
		all = append(all, fmt.Sprintf("the SSH host key of %s was broken and was made again: SSH clients that knew it refuse the new one; "+
			"delete %s when you know", filepath.Base(filepath.Dir(key)), key))
	}
	lost, _ := os.ReadDir(filepath.Join(vms, lostFolder)) // does not exist unless a VM was lost
	for _, l := range lost {
		all = append(all, fmt.Sprintf("the local Azure does not have the VM whose disk is now in %s: its state may have lost it; "+
			"delete the folder when you do not need it", filepath.Join(vms, lostFolder, l.Name())))
	}
	return all
}
