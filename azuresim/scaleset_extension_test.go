package azuresim

import (
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"casement.dev/casement/azuresim/internal/engine"
)

func TestExtensionsOfInstances(t *testing.T) {
	h := newRack()
	a := startWith(t, Config{}, h)
	defer a.Close()
	a.network()
	set := windowsSet(1)
	script := &armcompute.VirtualMachineScaleSetExtension{Name: new("bootstrap"),
		Properties: &armcompute.VirtualMachineScaleSetExtensionProperties{
			Publisher: new("Microsoft.Compute"), Type: new("CustomScriptExtension"),
			TypeHandlerVersion: new("1.10"), ProtectedSettings: map[string]any{"commandToExecute": "hostname"}}}
	set.Properties.VirtualMachineProfile.ExtensionProfile = &armcompute.VirtualMachineScaleSetExtensionProfile{
		Extensions: []*armcompute.VirtualMachineScaleSetExtension{script},
	}
	got := a.putSet(set)
	if got.Properties.VirtualMachineProfile.ExtensionProfile.Extensions[0].Properties.ProtectedSettings != nil {
		t.Error("protected settings are shown")
	}
	extensions, err := armcompute.NewVirtualMachineScaleSetVMExtensionsClient(engine.DefaultSubscription, a.credential, a.options)
	if err != nil {
		t.Fatal(err)
	}
	x, err := extensions.Get(t.Context(), "g", "win", "0", "bootstrap", nil)
	if err != nil || *x.Properties.ProvisioningState != "Succeeded" || x.Properties.ProtectedSettings != nil {
		t.Errorf("extension %+v (%v)", x.Properties, err)
	}
	script.Properties.ProtectedSettings = map[string]any{"commandToExecute": "exit 3"}
	set.SKU.Capacity = new(int64(2))
	p, err := a.sets().BeginCreateOrUpdate(t.Context(), "g", "win", set, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = p.PollUntilDone(t.Context(), nil); code(err) != "VMExtensionProvisioningError" ||
		!strings.Contains(err.Error(), "no node") {
		t.Errorf("error %v, want VMExtensionProvisioningError with the output", err)
	}
	x, err = extensions.Get(t.Context(), "g", "win", "1", "bootstrap", nil)
	if err != nil || *x.Properties.ProvisioningState != "Failed" || *a.listed()["1"].Properties.ProvisioningState != "Failed" {
		t.Errorf("the failed extension is %+v (%v)", x.Properties, err)
	}
	if view := a.listed()["1"].Properties.InstanceView.Extensions; len(view) != 1 ||
		!strings.Contains(*view[0].Statuses[0].Message, "no node") {
		t.Errorf("extensions %v do not say why", view)
	}
}
