package host

import (
	"errors"
	"strings"
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
	if text := string(m.Console(vm.ID)); !strings.Contains(text, "is not known here") {
		t.Errorf("the console says %q", text)
	}
	if _, _, _, err := m.Run(t.Context(), vm.ID, "x"); !errors.As(err, new(unknownImage)) {
		t.Errorf("a script: %v", err)
	}
}

// TestLatest: the version latest of an image has the contents of the exact version.
func TestLatest(t *testing.T) {
	for _, image := range []host.Image{
		{Publisher: "cncf-upstream", Offer: "capi-windows", SKU: "windows-2019-containerd-gen1", Version: "latest",
			ExactVersion: "128.5.20240102"},
		{ID: "/CommunityGalleries/g/Images/capi-win-2022-containerd/Versions/latest", ExactVersion: "1.33.1"},
	} {
		c, _, plain, err := contents(host.VM{Name: "vm", Image: image})
		if err != nil || plain || c.KubernetesVersion == "" {
			t.Errorf("%s holds %+v, plain %v: %v", imageName(image), c, plain, err)
		}
	}
}
