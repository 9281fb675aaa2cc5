package azuresim

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azarm "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"casement.dev/casement/azuresim/internal/compute"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/entra"
)

// azure is a local Azure with the options of the SDK's clients. The tests use Azure's official SDK,
// so that the emulator is tested with code of others.
type azure struct {
	*engine.Server
	t          *testing.T
	credential azcore.TokenCredential
	options    *azarm.ClientOptions
}

func start(t *testing.T, cfg Config) *azure {
	t.Helper()
	s, err := open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	a := &azure{Server: s, t: t}
	cc := cloud.Configuration{ActiveDirectoryAuthorityHost: "https://azure.test/",
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: "https://azure.test", Audience: "https://azure.test"}}}
	client := policy.ClientOptions{Cloud: cc, Transport: s, Retry: policy.RetryOptions{MaxRetries: -1}}
	a.options = &azarm.ClientOptions{ClientOptions: client}
	a.credential, err = azidentity.NewClientSecretCredential(engine.DefaultTenant, entra.DefaultClient,
		entra.Owner(s).Secret,
		&azidentity.ClientSecretCredentialOptions{ClientOptions: client, DisableInstanceDiscovery: true})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// must waits for the success of an operation of the SDK.
func must[T any](t *testing.T, p *runtime.Poller[T], err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.PollUntilDone(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func code(err error) string {
	if e, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return e.ErrorCode
	}
	return ""
}

// network creates a group with a vnet of one subnet and an interface in it.
func (a *azure) network() (nic string) {
	a.t.Helper()
	ctx, t := a.t.Context(), a.t
	groups, _ := armresources.NewResourceGroupsClient(engine.DefaultSubscription, a.credential, a.options)
	if _, err := groups.CreateOrUpdate(ctx, "g", armresources.ResourceGroup{Location: new("West Europe")}, nil); err != nil {
		t.Fatal(err)
	}
	vnets, _ := armnetwork.NewVirtualNetworksClient(engine.DefaultSubscription, a.credential, a.options)
	p, err := vnets.BeginCreateOrUpdate(ctx, "g", "v",
		armnetwork.VirtualNetwork{Location: new("westeurope"), Properties: &armnetwork.VirtualNetworkPropertiesFormat{
			AddressSpace: &armnetwork.AddressSpace{AddressPrefixes: []*string{new("10.0.0.0/8")}},
			Subnets: []*armnetwork.Subnet{{Name: new("nodes"),
				Properties: &armnetwork.SubnetPropertiesFormat{AddressPrefix: new("10.1.0.0/16")}}},
		}}, nil)
	v := must(t, p, err)
	nics, _ := armnetwork.NewInterfacesClient(engine.DefaultSubscription, a.credential, a.options)
	n, err := nics.BeginCreateOrUpdate(ctx, "g", "n",
		armnetwork.Interface{Location: new("westeurope"), Properties: &armnetwork.InterfacePropertiesFormat{
			IPConfigurations: []*armnetwork.InterfaceIPConfiguration{{
				Name: new("c"),
				Properties: &armnetwork.InterfaceIPConfigurationPropertiesFormat{
					Subnet: &armnetwork.Subnet{ID: v.Properties.Subnets[0].ID},
				},
			}},
		}}, nil)
	made := must(t, n, err)
	if ip := *made.Properties.IPConfigurations[0].Properties.PrivateIPAddress; ip != "10.1.0.4" {
		t.Errorf("address %s, want the first that Azure gives, 10.1.0.4", ip)
	}
	return *made.ID
}

func windowsVM(nic string) armcompute.VirtualMachine {
	return armcompute.VirtualMachine{Location: new("westeurope"), Properties: &armcompute.VirtualMachineProperties{
		HardwareProfile: &armcompute.HardwareProfile{VMSize: new(armcompute.VirtualMachineSizeTypes("Standard_D2s_v3"))},
		StorageProfile: &armcompute.StorageProfile{
			ImageReference: &armcompute.ImageReference{CommunityGalleryImageID: new("/CommunityGalleries/" +
				compute.CommunityGallery + "/Images/capi-win-2022-containerd/Versions/1.36.3")},
			OSDisk: &armcompute.OSDisk{Name: new("w_OSDisk"), OSType: new(armcompute.OperatingSystemTypesWindows),
				CreateOption: new(armcompute.DiskCreateOptionTypesFromImage),
				DeleteOption: new(armcompute.DiskDeleteOptionTypesDelete)},
		},
		OSProfile: &armcompute.OSProfile{
			ComputerName: new("w"), AdminUsername: new("capi"), AdminPassword: new("Correct-Horse-1"),
			CustomData: new(base64.StdEncoding.EncodeToString([]byte("secret data"))),
		},
		NetworkProfile: &armcompute.NetworkProfile{NetworkInterfaces: []*armcompute.NetworkInterfaceReference{{
			ID: &nic,
			Properties: &armcompute.NetworkInterfaceReferenceProperties{
				Primary: new(true), DeleteOption: new(armcompute.DeleteOptionsDelete),
			},
		}}},
	}}
}

// TestDeleteWithEphemeralDisk: the delete of a VM whose OS disk is no resource deletes no other
// resource.
func TestDeleteWithEphemeralDisk(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	vm := windowsVM(a.network())
	vm.Properties.StorageProfile.OSDisk.DiffDiskSettings = &armcompute.DiffDiskSettings{Option: new(armcompute.DiffDiskOptionsLocal)}
	vm.Properties.StorageProfile.OSDisk.Caching = new(armcompute.CachingTypesReadOnly)
	vm.Properties.StorageProfile.OSDisk.DiskSizeGB = new(int32(30))
	vms, _ := armcompute.NewVirtualMachinesClient(engine.DefaultSubscription, a.credential, a.options)
	p, err := vms.BeginCreateOrUpdate(t.Context(), "g", "w", vm, nil)
	must(t, p, err)
	gone, err := vms.BeginDelete(t.Context(), "g", "w", nil)
	must(t, gone, err)
	groups, _ := armresources.NewResourceGroupsClient(engine.DefaultSubscription, a.credential, a.options)
	if _, err := groups.Get(t.Context(), "g", nil); err != nil {
		t.Errorf("the group is gone: %v", err)
	}
}

func TestLifeOfAVM(t *testing.T) {
	dir := t.TempDir()
	a := start(t, Config{Dir: dir})
	nic := a.network()
	vms, _ := armcompute.NewVirtualMachinesClient(engine.DefaultSubscription, a.credential, a.options)
	p, err := vms.BeginCreateOrUpdate(t.Context(), "g", "w", windowsVM(nic), nil)
	vm := must(t, p, err)
	if *vm.Properties.ProvisioningState != "Succeeded" || vm.Properties.OSProfile.CustomData != nil ||
		vm.Properties.OSProfile.AdminPassword != nil {
		t.Errorf("VM %s shows custom data or password, or has not succeeded", *vm.Properties.ProvisioningState)
	}
	nics, _ := armnetwork.NewInterfacesClient(engine.DefaultSubscription, a.credential, a.options)
	if _, err := nics.BeginDelete(t.Context(), "g", "n", nil); code(err) != "NicInUse" {
		t.Errorf("delete of a used interface: %v, want NicInUse", err)
	}
	// Acknowledged writes survive a restart.
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a = start(t, Config{Dir: dir})
	defer a.Close()
	vms, _ = armcompute.NewVirtualMachinesClient(engine.DefaultSubscription, a.credential, a.options)
	got, err := vms.Get(t.Context(), "g", "w",
		&armcompute.VirtualMachinesClientGetOptions{Expand: new(armcompute.InstanceViewTypesInstanceView)})
	if err != nil {
		t.Fatal(err)
	}
	if s := *got.Properties.InstanceView.Statuses[1].Code; s != "PowerState/running" {
		t.Errorf("power state %s", s)
	}
	stop, err := vms.BeginDeallocate(t.Context(), "g", "w", nil)
	must(t, stop, err)
	del, err := vms.BeginDelete(t.Context(), "g", "w", nil)
	must(t, del, err)
	for _, id := range a.Resources() {
		if strings.Contains(id, "networkInterfaces") || strings.Contains(id, "disks") {
			t.Errorf("%s is left, though it was to be deleted with the VM", id)
		}
	}
	groups, _ := armresources.NewResourceGroupsClient(engine.DefaultSubscription, a.credential, a.options)
	gone, err := groups.BeginDelete(t.Context(), "g", nil)
	must(t, gone, err)
	if left := a.Resources(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestVMRefused(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	nic := a.network()
	vms, _ := armcompute.NewVirtualMachinesClient(engine.DefaultSubscription, a.credential, a.options)
	for name, tc := range map[string]struct {
		change func(*armcompute.VirtualMachine)
		code   string
	}{
		"long computer name": {func(v *armcompute.VirtualMachine) {
			v.Properties.OSProfile.ComputerName = new("sixteen-letters-")
		}, "InvalidParameter"},
		"all digits": {func(v *armcompute.VirtualMachine) { v.Properties.OSProfile.ComputerName = new("12345") }, "InvalidParameter"},
		"weak password": {func(v *armcompute.VirtualMachine) {
			v.Properties.OSProfile.AdminPassword = new("aaaaaaaaaaaaaaa")
		}, "InvalidParameter"},
		"ssh on Windows": {func(v *armcompute.VirtualMachine) {
			v.Properties.OSProfile.LinuxConfiguration = &armcompute.LinuxConfiguration{}
		}, "InvalidParameter"},
		"custom data": {func(v *armcompute.VirtualMachine) {
			v.Properties.OSProfile.CustomData = new(base64.StdEncoding.EncodeToString(make([]byte, 64<<10+1)))
		}, "InvalidParameter"},
		"unknown size": {func(v *armcompute.VirtualMachine) {
			v.Properties.HardwareProfile.VMSize = new(armcompute.VirtualMachineSizeTypes("Standard_X1"))
		}, "InvalidParameter"},
		"barred size": {func(v *armcompute.VirtualMachine) {
			v.Properties.HardwareProfile.VMSize = new(armcompute.VirtualMachineSizeTypes("Standard_NC6s_v3"))
		}, "SkuNotAvailable"},
		"unknown image": {func(v *armcompute.VirtualMachine) {
			v.Properties.StorageProfile.ImageReference.CommunityGalleryImageID = new("/CommunityGalleries/" +
				compute.CommunityGallery + "/Images/capi-win-2022-containerd/Versions/1.99.0")
		}, "GalleryImageNotFound"},
		"unknown zone": {func(v *armcompute.VirtualMachine) { v.Zones = []*string{new("9")} }, "AvailabilityZoneNotSupported"},
		"no interface": {func(v *armcompute.VirtualMachine) { v.Properties.NetworkProfile = nil }, "InvalidParameter"},
	} {
		t.Run(name, func(t *testing.T) {
			vm := windowsVM(nic)
			tc.change(&vm)
			if _, err := vms.BeginCreateOrUpdate(context.Background(), "g", "w", vm, nil); code(err) != tc.code {
				t.Errorf("error %v, want %s", err, tc.code)
			}
		})
	}
}

func TestSubnetRules(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.network()
	subnets, _ := armnetwork.NewSubnetsClient(engine.DefaultSubscription, a.credential, a.options)
	put := func(cidr string) error {
		_, err := subnets.BeginCreateOrUpdate(t.Context(), "g", "v", "other",
			armnetwork.Subnet{Properties: &armnetwork.SubnetPropertiesFormat{AddressPrefix: &cidr}}, nil)
		return err
	}
	if err := put("10.1.128.0/17"); code(err) != "NetcfgSubnetRangesOverlap" {
		t.Errorf("overlap: %v", err)
	}
	if err := put("192.168.0.0/24"); code(err) != "NetcfgSubnetRangeOutsideVnet" {
		t.Errorf("outside: %v", err)
	}
	if _, err := subnets.BeginDelete(t.Context(), "g", "v", "nodes", nil); code(err) != "InUseSubnetCannotBeDeleted" {
		t.Errorf("delete of a used subnet: %v", err)
	}
}

func TestErrors(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	token := "Bearer " + a.Token("client", "client", "https://azure.test")
	for name, tc := range map[string]struct {
		path, authorization, code string
		status                    int
	}{
		"no token": {"/subscriptions/" + engine.DefaultSubscription + "?api-version=2021-04-01", "", "AuthenticationFailed", 401},
		"bad token": {"/subscriptions/" + engine.DefaultSubscription + "?api-version=2021-04-01", "Bearer x",
			"InvalidAuthenticationToken", 401},
		"no api-version":  {"/subscriptions/" + engine.DefaultSubscription, token, "MissingApiVersionParameter", 400},
		"bad api-version": {"/subscriptions/" + engine.DefaultSubscription + "?api-version=new", token, "InvalidApiVersionParameter", 400},
		"no subscription": {"/subscriptions/nope?api-version=2021-04-01", token, "SubscriptionNotFound", 404},
		"no group": {"/SUBSCRIPTIONS/" + engine.DefaultSubscription + "//resourcegroups/nope?api-version=2021-04-01",
			token, "ResourceGroupNotFound", 404},
		"not modelled": {"/subscriptions/" + engine.DefaultSubscription + "/resourceGroups/g/providers/" +
			"Microsoft.Web/sites?api-version=2021-04-01", token, "NotSupportedByLocalAzure", 501},
		"tenant level": {"/providers/Microsoft.Web?api-version=2021-04-01", token, "MissingSubscription", 404},
		"no such resource": {"/subscriptions/" + engine.DefaultSubscription + "/resourceGroups/g/providers/" +
			"Microsoft.Compute/disks/d?api-version=2021-04-01", token, "ResourceGroupNotFound", 404},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequest(http.MethodGet, "https://azure.test"+tc.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", tc.authorization)
			resp, err := a.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if got := resp.Header.Get("x-ms-error-code"); got != tc.code || resp.StatusCode != tc.status {
				t.Errorf("%d %s, want %d %s", resp.StatusCode, got, tc.status, tc.code)
			}
		})
	}
}
