package host

import (
	"errors"
	"testing"

	"casement.dev/casement/azuresim/host"
)

// TestUnknownImage: the VM of an image whose contents are not known is provisioned, and nothing
// runs in it.
func TestUnknownImage(t *testing.T) {
	vm := host.VM{ID: "/vm", Name: "vm"}
	vm.Image = host.Image{Publisher: "MicrosoftWindowsServer", Offer: "WindowsServer", SKU: "2012-R2-Datacenter"}
	_, _, _, err := contents(vm)
	if _, is := errors.AsType[unknownImage](err); !is {
		t.Fatalf("error %v", err)
	}
	m := &Host{byID: map[string]*machine{machineKey(vm.ID): {vm: vm, err: err}}}
	if v := m.View(vm.ID); v.Provisioned != host.ProvisioningReady || !v.Empty || v.AgentReady || v.Message == "" {
		t.Errorf("view %+v", v)
	}
	if _, _, _, err := m.Run(t.Context(), vm.ID, "x"); !errors.As(err, new(unknownImage)) {
		t.Errorf("a script: %v", err)
	}
}
