package host

import (
	"encoding/base64"
	"fmt"
	"strings"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/windows"
)

// Capture implements host.Imager: an image contains the files and the services of its machine. The
// image of a Linux node has the contents of its publisher's image.
func (h *Host) Capture(id string) (string, error) {
	g := h.find(id)
	if g == nil {
		return "", nil
	}
	if _, _, plain, err := contents(g.vm); err != nil || !plain && g.vm.OS != guest.Windows {
		return "", err
	}
	disk, err := guest.Capture(h.home(id))
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(disk), nil
}

// unknownImage is the error for an image whose contents are not known here. As in Azure, its VM is
// provisioned, but no guest runs in it: a template with such images can be deployed, and no guest pretends
// to be one of them.
type unknownImage string

func (u unknownImage) Error() string {
	return "what the image " + string(u) + " holds is not known here, so that nothing boots"
}

// contents returns the software on the disk of a VM, from its publisher's image or a captured one.
func contents(vm host.VM) (c windows.Contents, captured []byte, plain bool, err error) {
	if vm.Image.Holds != "" {
		if captured, err = base64.StdEncoding.DecodeString(vm.Image.Holds); err != nil {
			return c, nil, false, fmt.Errorf("VM %s: what its image holds is damaged: %w", vm.Name, err)
		}
	}
	if c, known := windows.ParseImage(imageName(vm.Image)); known {
		return c, captured, false, nil
	}
	if parts := strings.Split(vm.Image.Source, ":"); len(parts) == 4 {
		vm.Image.Publisher, vm.Image.Offer, vm.Image.SKU, vm.Image.Version = parts[0], parts[1], parts[2], parts[3]
	}
	c, known := plainContents(vm)
	if !known {
		return c, nil, false, fmt.Errorf("VM %s: %w", vm.Name, unknownImage(imageName(vm.Image)))
	}
	return c, captured, !c.Ignition, nil
}
