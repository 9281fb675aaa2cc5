package azuresim

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/azuresim/internal/compute"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// rack is a Host whose machines are provisioned when they are started. Machines whose computer name
// is in fails fail to provision.
type rack struct {
	changed func(string)
	fails   map[string]bool
	// blocked contains the computer names of machines that do not report their provisioning.
	blocked map[string]bool

	mu  sync.Mutex
	vms map[string]host.VM
	on  map[string]bool
	// kept are the IDs of the last call of Keep.
	kept []string
	// boots counts the first starts, by computer name.
	boots map[string]int
}

func newRack() *rack {
	return &rack{vms: map[string]host.VM{}, on: map[string]bool{}, boots: map[string]int{},
		fails: map[string]bool{}, blocked: map[string]bool{}, changed: func(string) {}}
}

func (r *rack) Start(vm host.VM) {
	r.mu.Lock()
	if _, ok := r.vms[value.Lower(vm.ID)]; !ok {
		r.boots[vm.ComputerName]++
	}
	r.vms[value.Lower(vm.ID)], r.on[value.Lower(vm.ID)] = vm, true
	r.mu.Unlock()
	r.changed(vm.ID)
}

// Keep implements host.Keeper.
func (r *rack) Keep(ids []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = ids
	return nil
}

func (r *rack) Stop(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on[value.Lower(id)] = false
}

func (r *rack) Delete(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.vms, value.Lower(id))
	delete(r.on, value.Lower(id))
	return nil
}

func (r *rack) View(id string) host.View {
	r.mu.Lock()
	defer r.mu.Unlock()
	vm, ok := r.vms[value.Lower(id)]
	switch {
	case !ok || r.blocked[vm.ComputerName]:
		return host.View{}
	case r.fails[vm.ComputerName]:
		return host.View{Provisioned: host.ProvisioningFailed, Message: "the answer file is broken"}
	}
	return host.View{Provisioned: host.ProvisioningReady, AgentReady: r.on[value.Lower(id)]}
}

func (r *rack) Run(_ context.Context, id, script string) (int, string, string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.on[value.Lower(id)] {
		return 0, "", "", fmt.Errorf("off")
	}
	if script == "exit 3" {
		return 3, "", "no node", nil
	}
	return 0, "ran on " + r.vms[value.Lower(id)].ComputerName, "", nil
}

func (r *rack) Console(string) []byte { return nil }

// running returns the computer names of the machines that are on.
func (r *rack) running() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []string{}
	for id, on := range r.on {
		if on {
			out = append(out, r.vms[id].ComputerName)
		}
	}
	slices.Sort(out)
	return out
}

// release lets a blocked machine report.
func (r *rack) release(name string) {
	r.mu.Lock()
	delete(r.blocked, name)
	r.mu.Unlock()
	r.changed(name)
}

// startWith starts a local Azure with a rack of machines.
func startWith(t *testing.T, cfg Config, h *rack) *azure {
	t.Helper()
	cfg.Host = h
	a := start(t, cfg)
	h.mu.Lock()
	h.changed = func(string) { a.Broadcast() }
	h.mu.Unlock()
	return a
}

func (a *azure) sets() *armcompute.VirtualMachineScaleSetsClient {
	c, err := armcompute.NewVirtualMachineScaleSetsClient(engine.DefaultSubscription, a.credential, a.options)
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

func (a *azure) instanceClient() *armcompute.VirtualMachineScaleSetVMsClient {
	c, err := armcompute.NewVirtualMachineScaleSetVMsClient(engine.DefaultSubscription, a.credential, a.options)
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

func (a *azure) nics() *armnetwork.InterfacesClient {
	c, err := armnetwork.NewInterfacesClient(engine.DefaultSubscription, a.credential, a.options)
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

// imageID returns the ID of the community image for a Windows release and a Kubernetes version.
func imageID(release, version string) *string {
	return new("/CommunityGalleries/" + compute.CommunityGallery + "/Images/capi-win-" + release + "-containerd/Versions/" + version)
}

func windowsSet(capacity int64) armcompute.VirtualMachineScaleSet {
	return armcompute.VirtualMachineScaleSet{Location: new("westeurope"),
		SKU: &armcompute.SKU{Name: new("Standard_D2s_v3"), Tier: new("Standard"), Capacity: &capacity},
		Properties: &armcompute.VirtualMachineScaleSetProperties{
			SinglePlacementGroup: new(false), Overprovision: new(false),
			UpgradePolicy: &armcompute.UpgradePolicy{Mode: new(armcompute.UpgradeModeManual)},
			VirtualMachineProfile: &armcompute.VirtualMachineScaleSetVMProfile{
				OSProfile: &armcompute.VirtualMachineScaleSetOSProfile{ComputerNamePrefix: new("win"),
					AdminUsername: new("capi"), AdminPassword: new("Correct-Horse-1"),
					CustomData: new(base64.StdEncoding.EncodeToString([]byte("secret data")))},
				StorageProfile: &armcompute.VirtualMachineScaleSetStorageProfile{
					ImageReference: &armcompute.ImageReference{CommunityGalleryImageID: imageID("2022", "1.36.3")},
					OSDisk: &armcompute.VirtualMachineScaleSetOSDisk{
						OSType:       new(armcompute.OperatingSystemTypesWindows),
						CreateOption: new(armcompute.DiskCreateOptionTypesFromImage),
					},
					DataDisks: []*armcompute.VirtualMachineScaleSetDataDisk{{Lun: new(int32(0)),
						DiskSizeGB: new(int32(8)), CreateOption: new(armcompute.DiskCreateOptionTypesEmpty)}},
				},
				NetworkProfile: &armcompute.VirtualMachineScaleSetNetworkProfile{
					NetworkInterfaceConfigurations: []*armcompute.VirtualMachineScaleSetNetworkConfiguration{{
						Name: new("win-nic-0"),
						Properties: &armcompute.VirtualMachineScaleSetNetworkConfigurationProperties{Primary: new(true),
							EnableIPForwarding: new(true),
							IPConfigurations: []*armcompute.VirtualMachineScaleSetIPConfiguration{{
								Name: new("ipConfig0"),
								Properties: &armcompute.VirtualMachineScaleSetIPConfigurationProperties{
									Primary: new(true), Subnet: &armcompute.APIEntityReference{ID: new(subnetID)},
								},
							}}},
					}}},
			},
		}}
}

func (a *azure) putSet(set armcompute.VirtualMachineScaleSet) armcompute.VirtualMachineScaleSet {
	a.t.Helper()
	p, err := a.sets().BeginCreateOrUpdate(a.t.Context(), "g", "win", set, nil)
	return must(a.t, p, err).VirtualMachineScaleSet
}

// listed returns the instances of the set, by number, with their states.
func (a *azure) listed() map[string]*armcompute.VirtualMachineScaleSetVM {
	a.t.Helper()
	out := map[string]*armcompute.VirtualMachineScaleSetVM{}
	for p := a.instanceClient().NewListPager("g", "win",
		&armcompute.VirtualMachineScaleSetVMsClientListOptions{Expand: new("instanceView")}); p.More(); {
		page, err := p.NextPage(a.t.Context())
		if err != nil {
			a.t.Fatal(err)
		}
		for _, vm := range page.Value {
			out[*vm.InstanceID] = vm
		}
	}
	return out
}

func wantIDs(t *testing.T, got map[string]*armcompute.VirtualMachineScaleSetVM, want ...string) {
	t.Helper()
	if ids := value.SortedKeys(got); !slices.Equal(ids, want) {
		t.Errorf("instances %v, want %v", ids, want)
	}
}

func wantRunning(t *testing.T, h *rack, want ...string) {
	t.Helper()
	if got := h.running(); !slices.Equal(got, want) {
		t.Errorf("running %v, want %v", got, want)
	}
}

func (a *azure) instanceIDs(ids ...string) armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs {
	out := armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{}
	for _, id := range ids {
		out.InstanceIDs = append(out.InstanceIDs, &id)
	}
	return out
}
