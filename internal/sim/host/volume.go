package host

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"

	"casement.dev/casement/internal/guestfs"
)

// volumes is the folder with the content of disks and shares that claims are bound to. It does not follow a disk that
// something else than a driver of CSI makes or deletes.
func (h *Host) volumes() guestfs.Folder { return guestfs.At(filepath.Join(h.config.Dir, "volumes")) }

// volumeName is the name of a volume's folder there, by its CSI handle.
func volumeName(handle string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(handle)))
	return fmt.Sprintf("%x", sum[:12])
}

// volume returns the content of a volume, which all pods that have it share and which outlives them.
func (h *Host) volume(handle string) (guestfs.Folder, error) {
	folder := guestfs.At(filepath.Join(h.config.Dir, "volumes", volumeName(handle)))
	return folder, folder.Make()
}

// released discards the content of a volume that was deleted.
func (h *Host) released(handle string) {
	if err := h.volumes().RemoveAll(volumeName(handle)); err != nil {
		h.config.Log.Info("The content of a deleted volume is left over", "error", err.Error())
	}
}
