package azuresim

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"casement.dev/casement/azuresim/internal/engine"
)

// TestWhatMachinesRefuse: a machine, and a scale set of the same model, with a disk, identity or
// extension that Azure refuses.
func TestWhatMachinesRefuse(t *testing.T) {
	const absent = "/subscriptions/" + engine.DefaultSubscription +
		"/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/x"
	a := start(t, Config{})
	nic := a.network()
	for _, test := range []struct {
		name string
		vm   func(*armcompute.VirtualMachine)
		set  func(*armcompute.VirtualMachineScaleSet)
		want string
	}{
		{"a disk smaller than its image",
			func(vm *armcompute.VirtualMachine) { vm.Properties.StorageProfile.OSDisk.DiskSizeGB = new(int32(64)) },
			func(set *armcompute.VirtualMachineScaleSet) {
				set.Properties.VirtualMachineProfile.StorageProfile.OSDisk.DiskSizeGB = new(int32(64))
			}, "OperationNotAllowed"},
		{"an identity that does not exist",
			func(vm *armcompute.VirtualMachine) {
				vm.Identity = &armcompute.VirtualMachineIdentity{Type: new(armcompute.ResourceIdentityTypeUserAssigned),
					UserAssignedIdentities: map[string]*armcompute.UserAssignedIdentitiesValue{absent: {}}}
			},
			func(set *armcompute.VirtualMachineScaleSet) {
				set.Identity = &armcompute.VirtualMachineScaleSetIdentity{Type: new(armcompute.ResourceIdentityTypeUserAssigned),
					UserAssignedIdentities: map[string]*armcompute.UserAssignedIdentitiesValue{absent: {}}}
			}, "FailedIdentityOperation"},
		{"an extension that there is not",
			func(*armcompute.VirtualMachine) {},
			func(set *armcompute.VirtualMachineScaleSet) {
				set.Properties.VirtualMachineProfile.ExtensionProfile = &armcompute.VirtualMachineScaleSetExtensionProfile{
					Extensions: []*armcompute.VirtualMachineScaleSetExtension{{Name: new("e"),
						Properties: &armcompute.VirtualMachineScaleSetExtensionProperties{Publisher: new("Microsoft.Compute"),
							Type: new("CustomScript"), TypeHandlerVersion: new("1.10")}}}}
			}, "ArtifactNotFound"},
		{"a disk as large as its image",
			func(vm *armcompute.VirtualMachine) { vm.Properties.StorageProfile.OSDisk.DiskSizeGB = new(int32(127)) },
			func(set *armcompute.VirtualMachineScaleSet) {
				set.Properties.VirtualMachineProfile.StorageProfile.OSDisk.DiskSizeGB = new(int32(127))
			}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			vm, set := windowsVM(nic), windowsSet(1)
			image := &armcompute.ImageReference{Publisher: new("MicrosoftWindowsServer"), Offer: new("WindowsServer"),
				SKU: new("2019-Datacenter"), Version: new("latest")}
			vm.Properties.StorageProfile.ImageReference = image
			set.Properties.VirtualMachineProfile.StorageProfile.ImageReference = image
			test.vm(&vm)
			test.set(&set)
			if test.name != "an extension that there is not" {
				p, err := a.vms().BeginCreateOrUpdate(t.Context(), "g", "w", vm, nil)
				refused(t, p, err, test.want)
			}
			s, err := a.sets().BeginCreateOrUpdate(t.Context(), "g", "win", set, nil)
			refused(t, s, err, test.want)
		})
	}
	extensions, err := armcompute.NewVirtualMachineExtensionsClient(engine.DefaultSubscription, a.credential, a.options)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ publisher, kind, want string }{
		{"Microsoft.Compute", "CustomScript", "ArtifactNotFound"},
		{"microsoft.azure.containerupstream", "CAPZ.Solaris.Bootstrapping", "ArtifactNotFound"},
		{"Contoso.Agents", "Whatever", ""}, // the types of other publishers are not known
	} {
		p, err := extensions.BeginCreateOrUpdate(t.Context(), "g", "w", "e", armcompute.VirtualMachineExtension{Location: new("westeurope"),
			Properties: &armcompute.VirtualMachineExtensionProperties{Publisher: &x.publisher, Type: &x.kind, TypeHandlerVersion: new("1.0")}}, nil)
		refused(t, p, err, x.want)
	}
}

// refused compares the error code of a write with want; "" waits for its success.
func refused[T any](t *testing.T, p *runtime.Poller[T], err error, want string) {
	t.Helper()
	if want == "" {
		must(t, p, err)
	} else if code(err) != want {
		t.Errorf("the write ends with %v, want %s", err, want)
	}
}
