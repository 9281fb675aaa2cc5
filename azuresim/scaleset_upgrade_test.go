package azuresim

import (
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// withHealth adds to a set the properties that rolling upgrades require.
func withHealth(set armcompute.VirtualMachineScaleSet) armcompute.VirtualMachineScaleSet {
	set.Properties.VirtualMachineProfile.ExtensionProfile =
		&armcompute.VirtualMachineScaleSetExtensionProfile{Extensions: []*armcompute.VirtualMachineScaleSetExtension{{
			Name: new("health"), Properties: &armcompute.VirtualMachineScaleSetExtensionProperties{
				Publisher: new("Microsoft.ManagedServices"), Type: new("ApplicationHealthWindows"),
				TypeHandlerVersion: new("1.0"),
			}}}}
	return set
}

func (a *azure) protect(id string) {
	a.t.Helper()
	vm := armcompute.VirtualMachineScaleSetVM{Location: new("westeurope"), Properties: &armcompute.VirtualMachineScaleSetVMProperties{
		ProtectionPolicy: &armcompute.VirtualMachineScaleSetVMProtectionPolicy{
			ProtectFromScaleIn: new(true), ProtectFromScaleSetActions: new(true),
		}}}
	p, err := a.instanceClient().BeginUpdate(a.t.Context(), "g", "win", id, vm, nil)
	must(a.t, p, err)
}

func TestUpgradeModes(t *testing.T) {
	for mode, want := range map[armcompute.UpgradeMode][]string{armcompute.UpgradeModeManual: {},
		armcompute.UpgradeModeAutomatic: {"0", "2"}, armcompute.UpgradeModeRolling: {"0", "2"}} {
		t.Run(string(mode), func(t *testing.T) {
			h := newRack()
			a := startWith(t, Config{}, h)
			defer a.Close()
			a.network()
			set := withHealth(windowsSet(3))
			set.Properties.UpgradePolicy.Mode = &mode
			a.putSet(set)
			a.protect("1")
			set.Properties.VirtualMachineProfile.StorageProfile.ImageReference.CommunityGalleryImageID = imageID("2025", "1.36.3")
			a.putSet(set)
			if mode == armcompute.UpgradeModeRolling {
				a.awaitRoll(armcompute.RollingUpgradeStatusCodeCompleted)
			}
			got := []string{}
			for _, id := range value.SortedKeys(a.listed()) {
				if *a.listed()[id].Properties.LatestModelApplied {
					got = append(got, id)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("up to date %v, want %v: instance 1 is protected", got, want)
			}
		})
	}
}

// awaitRoll waits for the end of the rolling upgrade in progress.
func (a *azure) awaitRoll(want armcompute.RollingUpgradeStatusCode) armcompute.RollingUpgradeStatusInfo {
	a.t.Helper()
	rolls, err := armcompute.NewVirtualMachineScaleSetRollingUpgradesClient(engine.DefaultSubscription, a.credential, a.options)
	if err != nil {
		a.t.Fatal(err)
	}
	for {
		changed := a.Changed()
		got, err := rolls.GetLatest(a.t.Context(), "g", "win", nil)
		if err != nil {
			a.t.Fatal(err)
		}
		if code := *got.Properties.RunningStatus.Code; code != armcompute.RollingUpgradeStatusCodeRollingForward {
			if code != want {
				a.t.Errorf("the rolling upgrade is %s, want %s", code, want)
			}
			return got.RollingUpgradeStatusInfo
		}
		select {
		case <-changed:
		case <-a.t.Context().Done():
			a.t.Fatal("the rolling upgrade does not end")
		}
	}
}

func TestRollingUpgradeStops(t *testing.T) {
	h := newRack()
	a := startWith(t, Config{}, h)
	defer a.Close()
	a.network()
	set := withHealth(windowsSet(4))
	set.Properties.UpgradePolicy = &armcompute.UpgradePolicy{Mode: new(armcompute.UpgradeModeRolling),
		RollingUpgradePolicy: &armcompute.RollingUpgradePolicy{
			MaxBatchInstancePercent: new(int32(25)), MaxUnhealthyInstancePercent: new(int32(50)),
			MaxUnhealthyUpgradedInstancePercent: new(int32(0)),
		}}
	a.putSet(set)
	h.mu.Lock()
	h.fails["win000001"] = true
	h.mu.Unlock()
	set.Properties.VirtualMachineProfile.StorageProfile.ImageReference.CommunityGalleryImageID = imageID("2025", "1.36.3")
	a.putSet(set)
	roll := a.awaitRoll(armcompute.RollingUpgradeStatusCodeFaulted)
	if p := roll.Properties.Progress; *p.SuccessfulInstanceCount != 1 || *p.FailedInstanceCount != 1 || *p.PendingInstanceCount != 2 {
		t.Errorf("%d upgraded, %d failed, %d pending; want 1, 1, 2", *p.SuccessfulInstanceCount,
			*p.FailedInstanceCount, *p.PendingInstanceCount)
	}
	if roll.Properties.Error == nil || *roll.Properties.Error.Code != "MaxUnhealthyUpgradedInstancePercentExceededInRollingUpgrade" {
		t.Errorf("error %v", roll.Properties.Error)
	}
}
