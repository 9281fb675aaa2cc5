package azuresim

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

func flexibleSet(capacity int64) armcompute.VirtualMachineScaleSet {
	set := windowsSet(capacity)
	set.Properties.OrchestrationMode = new(armcompute.OrchestrationModeFlexible)
	set.Properties.UpgradePolicy, set.Properties.Overprovision = nil, nil
	set.Properties.PlatformFaultDomainCount = new(int32(1))
	set.Properties.VirtualMachineProfile.NetworkProfile.NetworkAPIVersion = new(armcompute.NetworkAPIVersion("2020-11-01"))
	return set
}

func (a *azure) vms() *armcompute.VirtualMachinesClient {
	c, err := armcompute.NewVirtualMachinesClient(engine.DefaultSubscription, a.credential, a.options)
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

// inSet returns the VMs of the set by means of Azure's filter for it.
func (a *azure) inSet() []*armcompute.VirtualMachine {
	a.t.Helper()
	filter := "'virtualMachineScaleSet/id' eq '/subscriptions/" + engine.DefaultSubscription +
		"/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/win'"
	page, err := a.vms().NewListPager("g", &armcompute.VirtualMachinesClientListOptions{Filter: &filter}).NextPage(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	return page.Value
}

func (a *azure) capacity() int64 {
	a.t.Helper()
	set, err := a.sets().Get(a.t.Context(), "g", "win", nil)
	if err != nil {
		a.t.Fatal(err)
	}
	return *set.SKU.Capacity
}

func TestFlexibleSet(t *testing.T) {
	h := newRack()
	a := startWith(t, Config{}, h)
	defer a.Close()
	nic := a.network()
	a.putSet(flexibleSet(2))
	vms := a.inSet()
	if len(vms) != 2 || len(h.running()) != 2 {
		t.Fatalf("%d VMs, running %v", len(vms), h.running())
	}
	form := regexp.MustCompile(`^win_[0-9a-f]{8}$`)
	for _, vm := range vms {
		guest := h.vms[value.Lower(*vm.ID)]
		if !form.MatchString(*vm.Name) || *vm.Properties.ProvisioningState != "Succeeded" ||
			vm.Properties.OSProfile.CustomData != nil ||
			!strings.HasPrefix(*vm.Properties.OSProfile.ComputerName, "win") ||
			len(*vm.Properties.OSProfile.ComputerName) != 9 {
			t.Errorf("VM %s is %s, computer name %s", *vm.Name, *vm.Properties.ProvisioningState, *vm.Properties.OSProfile.ComputerName)
		}
		if string(guest.CustomData) != "secret data" || guest.ScaleSet != "win" || len(guest.NICs) != 1 {
			t.Errorf("guest got %+v", guest)
		}
	}
	if ids := value.SortedKeys(a.listed()); !slices.Contains(ids, *vms[0].Name) {
		t.Errorf("the instances of the set are %v, want the VMs' names", ids)
	}

	// A VM that is deleted by itself reduces the capacity, and so does a VM that is deleted through
	// the set.
	del, err := a.vms().BeginDelete(t.Context(), "g", *vms[0].Name, nil)
	must(t, del, err)
	if n := a.capacity(); n != 1 {
		t.Errorf("capacity %d after the delete of a VM, want 1", n)
	}
	a.putSet(flexibleSet(3))
	drop, err := a.sets().BeginDeleteInstances(t.Context(), "g", "win", a.instanceIDs(*vms[1].Name), nil)
	must(t, drop, err)
	if n, vms := a.capacity(), a.inSet(); n != 2 || len(vms) != 2 || len(h.running()) != 2 {
		t.Errorf("capacity %d, %d VMs, running %v", n, len(vms), h.running())
	}
	if _, err := a.sets().BeginUpdateInstances(t.Context(), "g", "win", a.instanceIDs("*"), nil); code(err) != "OperationNotAllowed" {
		t.Errorf("manual upgrade of a Flexible set: %v", err)
	}

	// A separately created VM joins a set by its PUT.
	vm := windowsVM(nic)
	vm.Properties.VirtualMachineScaleSet = &armcompute.SubResource{ID: new("/subscriptions/" +
		engine.DefaultSubscription + "/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/win")}
	put, err := a.vms().BeginCreateOrUpdate(t.Context(), "g", "w", vm, nil)
	must(t, put, err)
	if n := a.capacity(); n != 3 || len(a.inSet()) != 3 {
		t.Errorf("capacity %d after one was attached, want 3", n)
	}
	down := flexibleSet(0)
	a.putSet(down)
	if n := a.inSet(); len(n) != 0 {
		t.Errorf("%d VMs are left of none", len(n))
	}
	gone, err := a.sets().BeginDelete(t.Context(), "g", "win", nil)
	must(t, gone, err)
	wantRunning(t, h)
	for _, id := range a.Resources() {
		if strings.Contains(id, "/virtualMachine") || strings.Contains(id, "/disks/") || strings.Contains(id, "/networkInterfaces/win") {
			t.Errorf("%s is left", id)
		}
	}
}

func TestFlexibleSetAlone(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	nic := a.network()
	empty := armcompute.VirtualMachineScaleSet{Location: new("westeurope"), Properties: &armcompute.VirtualMachineScaleSetProperties{
		OrchestrationMode: new(armcompute.OrchestrationModeFlexible), PlatformFaultDomainCount: new(int32(1)),
	}}
	a.putSet(empty)
	vm := windowsVM(nic)
	vm.Properties.VirtualMachineScaleSet = &armcompute.SubResource{ID: new("/subscriptions/" +
		engine.DefaultSubscription + "/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/win")}
	for name, tc := range map[string]struct {
		change func(*armcompute.VirtualMachine)
		code   string
	}{
		"no such set": {func(v *armcompute.VirtualMachine) { *v.Properties.VirtualMachineScaleSet.ID += "x" }, "InvalidResourceReference"},
		"zone":        {func(v *armcompute.VirtualMachine) { v.Zones = []*string{new("1")} }, "InvalidParameter"},
		"spot limit without spot": {func(v *armcompute.VirtualMachine) {
			v.Properties.EvictionPolicy = new(armcompute.VirtualMachineEvictionPolicyTypesDelete)
		}, "OperationNotAllowed"},
		"ephemeral disk larger than the cache": {func(v *armcompute.VirtualMachine) {
			v.Properties.StorageProfile.OSDisk.DiffDiskSettings = &armcompute.DiffDiskSettings{Option: new(armcompute.DiffDiskOptionsLocal)}
		}, "NotSupported"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := windowsVM(nic)
			bad.Properties.VirtualMachineScaleSet = &armcompute.SubResource{ID: new(*vm.Properties.VirtualMachineScaleSet.ID)}
			tc.change(&bad)
			if _, err := a.vms().BeginCreateOrUpdate(t.Context(), "g", "w", bad, nil); code(err) != tc.code {
				t.Errorf("error %v, want %s", err, tc.code)
			}
		})
	}
	put, err := a.vms().BeginCreateOrUpdate(t.Context(), "g", "w", vm, nil)
	must(t, put, err)
	if vms := a.inSet(); len(vms) != 1 || *vms[0].Name != "w" {
		t.Errorf("VMs %v", vms)
	}
}
