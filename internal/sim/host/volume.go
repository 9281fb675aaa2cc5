package host

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/sim/stub"
)

// volumes returns the folder with the contents of the disks and shares to which claims are bound.
func (h *Host) volumes() guestfs.Folder { return guestfs.At(filepath.Join(h.config.Dir, "volumes")) }

// volumeName returns the name of a volume's folder there, from the resource ID of its disk or
// share.
func volumeName(id string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(id)))
	return fmt.Sprintf("%x", sum[:12])
}

// volume returns the content of a volume by its CSI handle; all pods with the volume share it, and
// it outlives them. A handle is untrusted input of a cluster, so Azure must confirm that the disk
// is attached to the machine, or that the share's account accepts the key.
func (h *Host) volume(vm host.VM, handle, key string) (guestfs.Folder, error) {
	var none guestfs.Folder
	id := handle
	if share, ok := stub.ParseShare(handle); ok {
		id = share.ID(subscription(vm.ID))
		if !h.azure.TakesKey(share.AccountID(subscription(vm.ID)), key) {
			return none, errors.New("mount failed: exit status 32: mount error(13): Permission denied: the account does not take the key")
		}
		if _, ok := h.azure.Resource(id); !ok {
			return none, errors.New("mount failed: exit status 32: mount error(2): No such file or directory: the account has no such share")
		}
	} else if doc, ok := h.azure.Resource(id); !ok || !strings.EqualFold(holderOf(doc), vm.ID) {
		return none, fmt.Errorf("failed to find disk on lun: %s is not attached to machine %s in Azure", handle, vm.Name)
	}
	folder := guestfs.At(filepath.Join(h.config.Dir, "volumes", volumeName(id)))
	return folder, folder.Make()
}

// subscription returns the subscription of a resource by the resource's ID.
func subscription(id string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(machineKey(id), "/subscriptions/"), "/")
	return name
}

// holderOf returns the ID of the machine that a disk is attached to.
func holderOf(disk json.RawMessage) string {
	var d struct {
		ManagedBy string `json:"managedBy"`
	}
	json.Unmarshal(disk, &d) // cannot fail: the local Azure encoded it
	return d.ManagedBy
}

// Discard removes the contents of a disk or a share that was deleted in Azure. It does nothing for
// other resources.
func (h *Host) Discard(id string) {
	if err := h.volumes().RemoveAll(volumeName(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.config.Log.Info("The content of a deleted volume is left over", "id", id, "error", err.Error())
	}
}
