package azuresim

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const subnetID = "/subscriptions/" + engine.DefaultSubscription +
	"/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/nodes"

func TestLifeOfAScaleSet(t *testing.T) {
	h := newRack()
	dir := t.TempDir()
	a := startWith(t, Config{Dir: dir}, h)
	a.network()
	set := a.putSet(windowsSet(2))
	if *set.Properties.ProvisioningState != "Succeeded" ||
		set.Properties.VirtualMachineProfile.OSProfile.CustomData != nil ||
		set.Properties.VirtualMachineProfile.OSProfile.AdminPassword != nil {
		t.Errorf("set %s shows custom data or password, or has not succeeded", *set.Properties.ProvisioningState)
	}
	wantRunning(t, h, "win000000", "win000001")
	got := a.listed()
	wantIDs(t, got, "0", "1")
	vm := got["1"]
	if *vm.Name != "win_1" || *vm.Properties.ProvisioningState != "Succeeded" ||
		!*vm.Properties.LatestModelApplied || *vm.Properties.OSProfile.ComputerName != "win000001" ||
		len(vm.Properties.StorageProfile.DataDisks) != 1 {
		t.Errorf("instance %s %s %v %s", *vm.Name, *vm.Properties.ProvisioningState,
			*vm.Properties.LatestModelApplied, *vm.Properties.OSProfile.ComputerName)
	}
	if s := vm.Properties.InstanceView.Statuses; len(s) != 2 || *s[1].Code != "PowerState/running" {
		t.Errorf("instance view %v", s)
	}
	if string(h.vms[value.Lower(*vm.ID)].CustomData) != "secret data" || h.vms[value.Lower(*vm.ID)].ScaleSet != "win" {
		t.Errorf("guest got %+v", h.vms[value.Lower(*vm.ID)])
	}
	page, err := a.nics().NewListVirtualMachineScaleSetVMNetworkInterfacesPager("g", "win", "1", nil).NextPage(t.Context())
	if err != nil || len(page.Value) != 1 {
		t.Fatal(page, err)
	}
	if nic := page.Value[0]; *nic.Properties.VirtualMachine.ID != *vm.ID ||
		*nic.Properties.IPConfigurations[0].Properties.PrivateIPAddress != "10.1.0.6" ||
		!*nic.Properties.EnableIPForwarding {
		t.Errorf("interface %s of %s", *nic.Properties.IPConfigurations[0].Properties.PrivateIPAddress, *nic.Properties.VirtualMachine.ID)
	}
	all, err := a.nics().NewListVirtualMachineScaleSetNetworkInterfacesPager("g", "win", nil).NextPage(t.Context())
	if err != nil || len(all.Value) != 2 {
		t.Error(all, err)
	}

	// One PUT scales up; a number is never used again.
	del, err := a.sets().BeginDeleteInstances(t.Context(), "g", "win", a.instanceIDs("1"), nil)
	must(t, del, err)
	a.putSet(windowsSet(3))
	wantIDs(t, a.listed(), "0", "2", "3")
	wantRunning(t, h, "win000000", "win000002", "win000003")
	one, err := a.instanceClient().BeginDelete(t.Context(), "g", "win", "0", nil)
	must(t, one, err)
	now, err := a.sets().Get(t.Context(), "g", "win", nil)
	if err != nil || *now.SKU.Capacity != 2 {
		t.Errorf("capacity %d after a delete, want 2 (%v)", *now.SKU.Capacity, err)
	}
	patch, err := a.sets().BeginUpdate(t.Context(), "g", "win",
		armcompute.VirtualMachineScaleSetUpdate{SKU: &armcompute.SKU{Capacity: new(int64(1))}}, nil)
	must(t, patch, err)
	wantIDs(t, a.listed(), "2")

	// A restart starts the machines again.
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	h = newRack()
	a = startWith(t, Config{Dir: dir}, h)
	defer func() { a.Close() }()
	wantRunning(t, h, "win000002")
	if len(h.kept) != 1 || !strings.HasSuffix(value.Lower(h.kept[0]), "/virtualmachines/2") {
		t.Errorf("the host keeps what is of %v", h.kept)
	}
	subnets, _ := armnetwork.NewSubnetsClient(engine.DefaultSubscription, a.credential, a.options)
	if _, err := subnets.BeginDelete(t.Context(), "g", "v", "nodes", nil); code(err) != "InUseSubnetCannotBeDeleted" {
		t.Errorf("delete of a used subnet: %v", err)
	}
	gone, err := a.sets().BeginDelete(t.Context(), "g", "win", nil)
	must(t, gone, err)
	wantRunning(t, h)
	for _, id := range a.Resources() {
		if strings.Contains(id, "irtualMachine") || strings.Contains(id, "disks") {
			t.Errorf("%s is left", id)
		}
	}
}

func TestScaleSetModelDrift(t *testing.T) {
	h := newRack()
	a := startWith(t, Config{}, h)
	defer a.Close()
	a.network()
	a.putSet(windowsSet(2))
	set := windowsSet(2)
	set.Properties.VirtualMachineProfile.StorageProfile.ImageReference.CommunityGalleryImageID = imageID("2025", "1.36.3")
	a.putSet(set)
	for id, vm := range a.listed() {
		if *vm.Properties.LatestModelApplied {
			t.Errorf("instance %s is up to date with a model it was not made from", id)
		}
	}
	// A write that omits optional parts keeps them.
	less := windowsSet(2)
	less.Properties.VirtualMachineProfile.NetworkProfile, less.Properties.VirtualMachineProfile.StorageProfile.ImageReference = nil, nil
	kept := a.putSet(less)
	if *kept.Properties.VirtualMachineProfile.StorageProfile.ImageReference.CommunityGalleryImageID != *imageID("2025",
		"1.36.3") || len(kept.Properties.VirtualMachineProfile.NetworkProfile.NetworkInterfaceConfigurations) != 1 {
		t.Errorf("the model is %+v", kept.Properties.VirtualMachineProfile)
	}
	up, err := a.sets().BeginUpdateInstances(t.Context(), "g", "win", a.instanceIDs("1"), nil)
	must(t, up, err)
	got := a.listed()
	if *got["0"].Properties.LatestModelApplied || !*got["1"].Properties.LatestModelApplied {
		t.Errorf("latest model applied: %v %v, want false true", *got["0"].Properties.LatestModelApplied,
			*got["1"].Properties.LatestModelApplied)
	}
	if image := h.vms[value.Lower(*got["1"].ID)].Image.ID; image != *imageID("2025", "1.36.3") || h.boots["win000001"] != 2 {
		t.Errorf("the upgraded instance booted %d times, the last time from %s", h.boots["win000001"], image)
	}
}

func TestScaleSetBootFails(t *testing.T) {
	h := newRack()
	h.fails["win000001"] = true
	a := startWith(t, Config{}, h)
	defer a.Close()
	a.network()
	p, err := a.sets().BeginCreateOrUpdate(t.Context(), "g", "win", windowsSet(3), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = p.PollUntilDone(t.Context(), nil); code(err) != "OSProvisioningClientError" || !strings.Contains(err.Error(), "win_1") {
		t.Errorf("error %v, want OSProvisioningClientError of win_1", err)
	}
	for id, want := range map[string]string{"0": "Succeeded", "1": "Failed", "2": "Succeeded"} {
		if got := *a.listed()[id].Properties.ProvisioningState; got != want {
			t.Errorf("instance %s is %s, want %s", id, got, want)
		}
	}
	if s := a.listed()["1"].Properties.InstanceView.Statuses[0]; *s.Code != "ProvisioningState/failed/"+
		"OSProvisioningClientError" || !strings.Contains(*s.Message, "the answer file is broken") {
		t.Errorf("status %s %s does not say why", *s.Code, *s.Message)
	}
	del, err := a.instanceClient().BeginDelete(t.Context(), "g", "win", "1", nil)
	must(t, del, err)
	set := a.putSet(windowsSet(2))
	if *set.Properties.ProvisioningState != "Succeeded" {
		t.Errorf("the set is %s", *set.Properties.ProvisioningState)
	}
}

func TestScaleSetRefused(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.network()
	profile := func(s *armcompute.VirtualMachineScaleSet) *armcompute.VirtualMachineScaleSetVMProfile {
		return s.Properties.VirtualMachineProfile
	}
	for name, tc := range map[string]struct {
		change func(*armcompute.VirtualMachineScaleSet)
		code   string
	}{
		"long prefix": {func(s *armcompute.VirtualMachineScaleSet) {
			profile(s).OSProfile.ComputerNamePrefix = new("ten-letter")
		}, "InvalidParameter"},
		"weak password": {func(s *armcompute.VirtualMachineScaleSet) {
			profile(s).OSProfile.AdminPassword = new("aaaaaaaaaaaa")
		}, "InvalidParameter"},
		"too much data": {func(s *armcompute.VirtualMachineScaleSet) {
			profile(s).OSProfile.CustomData = new(base64.StdEncoding.EncodeToString(make([]byte, 64<<10+1)))
		}, "InvalidParameter"},
		"unknown size": {func(s *armcompute.VirtualMachineScaleSet) { s.SKU.Name = new("Standard_X1") }, "InvalidParameter"},
		"barred size":  {func(s *armcompute.VirtualMachineScaleSet) { s.SKU.Name = new("Standard_NC6s_v3") }, "SkuNotAvailable"},
		"unknown image": {func(s *armcompute.VirtualMachineScaleSet) {
			profile(s).StorageProfile.ImageReference.CommunityGalleryImageID = imageID("2022", "1.99.0")
		}, "GalleryImageNotFound"},
		"unknown zone": {func(s *armcompute.VirtualMachineScaleSet) { s.Zones = []*string{new("1"), new("9")} },
			"AvailabilityZoneNotSupported"},
		"no network": {func(s *armcompute.VirtualMachineScaleSet) { profile(s).NetworkProfile = nil }, "InvalidParameter"},
		"no such subnet": {func(s *armcompute.VirtualMachineScaleSet) {
			profile(s).NetworkProfile.NetworkInterfaceConfigurations[0].Properties.IPConfigurations[0].Properties.Subnet.ID =
				new(subnetID + "x")
		}, "InvalidResourceReference"},
		"no such pool": {func(s *armcompute.VirtualMachineScaleSet) {
			profile(s).
				NetworkProfile.NetworkInterfaceConfigurations[0].Properties.IPConfigurations[0].Properties.LoadBalancerBackendAddressPools =
				[]*armcompute.SubResource{{ID: new("/subscriptions/" +
					engine.DefaultSubscription +
					"/resourceGroups/g/providers/Microsoft.Network/loadBalancers/l/backendAddressPools/p")}}
		}, "InvalidResourceReference"},
		"too many": {func(s *armcompute.VirtualMachineScaleSet) { s.SKU.Capacity = new(int64(1001)) }, "InvalidParameter"},
		"rolling": {func(s *armcompute.VirtualMachineScaleSet) {
			s.Properties.UpgradePolicy.Mode = new(armcompute.UpgradeModeRolling)
		}, "InvalidParameter"},
		"eviction policy": {func(s *armcompute.VirtualMachineScaleSet) {
			profile(s).EvictionPolicy = new(armcompute.VirtualMachineEvictionPolicyTypesDelete)
		}, "OperationNotAllowed"},
		"identity": {func(s *armcompute.VirtualMachineScaleSet) {
			s.Identity = &armcompute.VirtualMachineScaleSetIdentity{
				Type: new(armcompute.ResourceIdentityTypeUserAssigned),
				UserAssignedIdentities: map[string]*armcompute.UserAssignedIdentitiesValue{"/subscriptions/" +
					engine.DefaultSubscription +
					"/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i": {}},
			}
		}, "FailedIdentityOperation"},
		"ephemeral": {func(s *armcompute.VirtualMachineScaleSet) {
			s.SKU.Name = new("Standard_D2s_v5")
			profile(s).StorageProfile.OSDisk.DiffDiskSettings = &armcompute.DiffDiskSettings{Option: new(armcompute.DiffDiskOptionsLocal)}
		}, "NotSupported"},
	} {
		t.Run(name, func(t *testing.T) {
			set := windowsSet(1)
			tc.change(&set)
			var p *runtime.Poller[armcompute.VirtualMachineScaleSetsClientCreateOrUpdateResponse]
			p, err := a.sets().BeginCreateOrUpdate(t.Context(), "g", "win", set, nil)
			if code(err) != tc.code {
				t.Errorf("answer %v, error %v, want %s", p, err, tc.code)
			}
		})
	}
	for _, id := range a.Resources() {
		if strings.Contains(id, "irtualMachine") || strings.Contains(id, "disks") {
			t.Errorf("%s is there after a refusal", id)
		}
	}
}

func TestQuota(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.network()
	big := windowsSet(1000)
	big.SKU.Name = new("Standard_D8s_v3")
	p, err := a.sets().BeginCreateOrUpdate(t.Context(), "g", "big", big, nil)
	must(t, p, err)
	more := windowsSet(251)
	more.SKU.Name = new("Standard_D8s_v3")
	if _, err := a.sets().BeginCreateOrUpdate(t.Context(), "g", "win", more,
		nil); code(err) != "OperationNotAllowed" || !strings.Contains(err.Error(), "standardDSv3Family Cores quota") {
		t.Errorf("error %v, want OperationNotAllowed for the family's cores", err)
	}
	client, err := armcompute.NewUsageClient(engine.DefaultSubscription, a.credential, a.options)
	if err != nil {
		t.Fatal(err)
	}
	page, err := client.NewListPager("westeurope", nil).NextPage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int32{"cores": 8000, "standardDSv3Family": 8000, "virtualMachines": 1000,
		"virtualMachineScaleSets": 1, "lowPriorityCores": 0}
	for _, u := range page.Value {
		if n, ok := want[*u.Name.Value]; ok && n != *u.CurrentValue {
			t.Errorf("usage of %s is %d, want %d", *u.Name.Value, *u.CurrentValue, n)
		}
	}
}

func TestPowerOfInstances(t *testing.T) {
	h := newRack()
	a := startWith(t, Config{}, h)
	defer a.Close()
	a.network()
	a.putSet(windowsSet(2))
	power := func() string {
		out := ""
		vms := a.listed()
		for _, id := range value.SortedKeys(vms) {
			out += id + *vms[id].Properties.InstanceView.Statuses[1].Code + " "
		}
		return out
	}
	off, err := a.sets().BeginPowerOff(t.Context(), "g", "win", &armcompute.VirtualMachineScaleSetsClientBeginPowerOffOptions{
		VMInstanceIDs: &armcompute.VirtualMachineScaleSetVMInstanceIDs{InstanceIDs: []*string{new("0")}},
	})
	must(t, off, err)
	free, err := a.instanceClient().BeginDeallocate(t.Context(), "g", "win", "1", nil)
	must(t, free, err)
	if got, want := power(), "0PowerState/stopped 1PowerState/deallocated "; got != want {
		t.Errorf("power %s, want %s", got, want)
	}
	wantRunning(t, h)
	on, err := a.sets().BeginStart(t.Context(), "g", "win", nil)
	must(t, on, err)
	wantRunning(t, h, "win000000", "win000001")
	again, err := a.instanceClient().BeginReimage(t.Context(), "g", "win", "1", nil)
	must(t, again, err)
	if h.boots["win000000"] != 1 || h.boots["win000001"] != 2 {
		t.Errorf("boots %v, want the reimaged one to have booted twice", h.boots)
	}
	run, err := a.instanceClient().BeginRunCommand(t.Context(), "g", "win", "1",
		armcompute.RunCommandInput{CommandID: new("RunPowerShellScript"), Script: []*string{new("hostname")}}, nil)
	if out := must(t, run, err); *out.Value[0].Message != "ran on win000001" {
		t.Errorf("output %q", *out.Value[0].Message)
	}
	view, err := a.sets().GetInstanceView(t.Context(), "g", "win", nil)
	if err != nil || len(view.VirtualMachine.StatusesSummary) != 2 || *view.VirtualMachine.StatusesSummary[0].Count != 2 {
		t.Errorf("instance view %v (%v)", view.VirtualMachine, err)
	}
	if _, err := a.sets().BeginDeleteInstances(t.Context(), "g", "win", a.instanceIDs("7"), nil); code(err) != "InvalidParameter" {
		t.Errorf("delete of an instance that is not there: %v", err)
	}
	a.protect("1")
	patch, err := a.sets().BeginUpdate(t.Context(), "g", "win",
		armcompute.VirtualMachineScaleSetUpdate{SKU: &armcompute.SKU{Capacity: new(int64(1))}}, nil)
	must(t, patch, err)
	wantIDs(t, a.listed(), "1")
}

// TestFaultsOnInstances: the rules for VMs match instances.
func TestFaultsOnInstances(t *testing.T) {
	for kind, want := range map[fault.Kind]string{fault.Quota: "OperationNotAllowed", fault.SKU: "SkuNotAvailable",
		fault.BootFailure: "OSProvisioningTimedOut", fault.Operation: "AllocationFailed"} {
		t.Run(string(kind), func(t *testing.T) {
			a := startWith(t, Config{}, newRack())
			defer a.Close()
			a.network()
			rule := fault.Rule{Kind: kind, Type: "Microsoft.Compute/virtualMachineScaleSets", Count: 1}
			switch kind {
			case fault.BootFailure:
				rule.Type, rule.Name = "Microsoft.Compute/virtualMachineScaleSets/virtualMachines", "1"
			case fault.Operation:
				rule.Code = want
			}
			a.addFault(rule)
			p, err := a.sets().BeginCreateOrUpdate(t.Context(), "g", "win", windowsSet(2), nil)
			if err == nil {
				_, err = p.PollUntilDone(t.Context(), nil)
			}
			if code(err) != want {
				t.Errorf("error %v, want %s", err, want)
			}
			if kind != fault.Operation {
				return
			}
			for id, vm := range a.listed() {
				if *vm.Properties.ProvisioningState != "Failed" {
					t.Errorf("instance %s is %s after its set's write failed", id, *vm.Properties.ProvisioningState)
				}
			}
			a.addFault(fault.Rule{Kind: fault.Operation, Type: "Microsoft.Compute/virtualMachineScaleSets", Count: 1})
			up, err := a.sets().BeginUpdateInstances(t.Context(), "g", "win", a.instanceIDs("*"), nil)
			if err == nil {
				_, err = up.PollUntilDone(t.Context(), nil)
			}
			if err == nil {
				t.Error("a failed upgrade succeeded")
			}
			del, err := a.instanceClient().BeginDelete(t.Context(), "g", "win", "1", nil)
			must(t, del, err)
			wantIDs(t, a.listed(), "0")
		})
	}
}

// TestScaleSetBehindBalancer: instances are in the pool that the model names, existing ones after
// their upgrade, and keep their addresses.
func TestScaleSetBehindBalancer(t *testing.T) {
	a := startWith(t, Config{}, newRack())
	defer a.Close()
	a.network()
	balancers, _ := armnetwork.NewLoadBalancersClient(engine.DefaultSubscription, a.credential, a.options)
	const id = "/subscriptions/" + engine.DefaultSubscription + "/resourceGroups/g/providers/Microsoft.Network/loadBalancers/l"
	p, err := balancers.BeginCreateOrUpdate(t.Context(), "g", "l",
		armnetwork.LoadBalancer{Location: new("westeurope"), Properties: &armnetwork.LoadBalancerPropertiesFormat{
			FrontendIPConfigurations: []*armnetwork.FrontendIPConfiguration{{
				Name:       new("f"),
				Properties: &armnetwork.FrontendIPConfigurationPropertiesFormat{Subnet: &armnetwork.Subnet{ID: new(subnetID)}},
			}},
			BackendAddressPools: []*armnetwork.BackendAddressPool{{Name: new("p")}},
		}}, nil)
	must(t, p, err)
	a.putSet(windowsSet(2))
	set := windowsSet(2)
	nic := set.Properties.VirtualMachineProfile.NetworkProfile.NetworkInterfaceConfigurations[0].Properties
	nic.IPConfigurations[0].Properties.LoadBalancerBackendAddressPools = []*armcompute.SubResource{{ID: new(id + "/backendAddressPools/p")}}
	a.putSet(set)
	members := func() int {
		t.Helper()
		l, err := balancers.Get(t.Context(), "g", "l", nil)
		if err != nil {
			t.Fatal(err)
		}
		return len(l.Properties.BackendAddressPools[0].Properties.BackendIPConfigurations)
	}
	if n := members(); n != 0 {
		t.Errorf("%d members before the upgrade, want none", n)
	}
	up, err := a.sets().BeginUpdateInstances(t.Context(), "g", "win", a.instanceIDs("*"), nil)
	must(t, up, err)
	if n := members(); n != 2 {
		t.Errorf("%d members after the upgrade, want 2", n)
	}
	page, err := a.nics().NewListVirtualMachineScaleSetVMNetworkInterfacesPager("g", "win", "1", nil).NextPage(t.Context())
	if err != nil || *page.Value[0].Properties.IPConfigurations[0].Properties.PrivateIPAddress != "10.1.0.7" {
		t.Errorf("interfaces %+v (%v), want the address that it had", page.Value, err)
	}
	if _, err := balancers.BeginDelete(t.Context(), "g", "l", nil); code(err) != "LoadBalancerInUseByVirtualMachineScaleSet" {
		t.Errorf("delete of a balancer that a set uses: %v", err)
	}
	gone, err := a.sets().BeginDelete(t.Context(), "g", "win", nil)
	must(t, gone, err)
	last, err := balancers.BeginDelete(t.Context(), "g", "l", nil)
	must(t, last, err)
}

// TestScaleSetSuperseded: a write during another write cancels it and does its unfinished tasks.
func TestScaleSetSuperseded(t *testing.T) {
	h := newRack()
	h.blocked["win000001"] = true
	a := startWith(t, Config{}, h)
	defer a.Close()
	a.network()
	first, err := a.sets().BeginCreateOrUpdate(t.Context(), "g", "win", windowsSet(2), nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := a.sets().BeginCreateOrUpdate(t.Context(), "g", "win", windowsSet(3), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.PollUntilDone(t.Context(), nil); code(err) != "OperationPreempted" {
		t.Errorf("the first write ended with %v, want OperationPreempted", err)
	}
	h.release("win000001")
	must(t, second, nil)
	wantRunning(t, h, "win000000", "win000001", "win000002")
	for name, n := range h.boots {
		if n != 1 {
			t.Errorf("%s booted %d times, want once", name, n)
		}
	}

	// An instance that is deleted while it boots does not delay the write.
	h.blocked["win000003"] = true
	third, err := a.sets().BeginCreateOrUpdate(t.Context(), "g", "win", windowsSet(4), nil)
	if err != nil {
		t.Fatal(err)
	}
	del, err := a.instanceClient().BeginDelete(t.Context(), "g", "win", "3", nil)
	must(t, del, err)
	must(t, third, nil)
	wantIDs(t, a.listed(), "0", "1", "2")

	// Nor does a delete of the whole set.
	h.blocked["win000004"] = true
	if _, err := a.sets().BeginCreateOrUpdate(t.Context(), "g", "win", windowsSet(4), nil); err != nil {
		t.Fatal(err)
	}
	gone, err := a.sets().BeginDelete(t.Context(), "g", "win", nil)
	must(t, gone, err)
	wantRunning(t, h)
}
