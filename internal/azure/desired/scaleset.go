package desired

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// instanceNetworkAPIVersion is the version of the network API with which Flexible scale sets create their interfaces.
// Azure requires a value; CAPZ uses the same one.
const instanceNetworkAPIVersion = armcompute.NetworkAPIVersionTwoThousandTwenty1101

// ScaleSetInput has all values that the resources of a pool depend on.
type ScaleSetInput struct {
	// Cluster and Pool are the AzureCluster and the AzureMachinePool with their
	// admission defaults.
	Cluster *infrav1.AzureCluster
	Pool    *infrav1.AzureMachinePool
	// ClusterName is the name of the owning Cluster, from which tags are derived.
	ClusterName string
	// Name is the scale set's name and the prefix of its computer names.
	Name string
	// Zones are the availability zones of the instances; none for a regional set.
	Zones []string
	// Capacity is the number of instances.
	Capacity int32
	// Exists is true if the scale set exists: then its password is not set again.
	Exists bool
	// Image is the image of new instances; exactly one of its fields is set.
	Image infrav1.Image
	// BootstrapData is the document that an instance's agent reads at its first boot. It is secret.
	BootstrapData []byte
	// AdminPassword is the same as in MachineInput.
	AdminPassword string
	// AcceleratedNetworking is true if the VM size supports it. It applies to interfaces whose spec does not set it.
	AcceleratedNetworking bool
	// ARM64 is true if the VM size has Arm processors.
	ARM64 bool
	// ScaledElsewhere is true if something other than casement, such as an autoscaler, sets
	// the number of instances.
	ScaledElsewhere bool
	// PrincipalID is the principal of the set's system-assigned identity; "" until Azure
	// returns it.
	PrincipalID string
	// SecretReader is the same as in MachineInput.
	SecretReader string
}

// ScaleSetID returns the ID of a pool's scale set.
func ScaleSetID(c *infrav1.AzureCluster, name string) string {
	return ClusterGroup(c).Compute("virtualMachineScaleSets", name)
}

// ScaleSet returns the Azure resources of a pool: the scale set, which creates its
// instances with their disks and interfaces, and the role of its identity. The error, if
// any, is an *InvalidError.
func ScaleSet(in ScaleSetInput) ([]Resource, error) {
	b := newScaleSetBuilder(in)
	if wrong := MachineNames(b.spec, "spec.template"); len(wrong) > 0 {
		return nil, wrong[0]
	}
	if err := b.scaleSet(); err != nil {
		return nil, err
	}
	b.roleAssignment(ScaleSetID(in.Cluster, in.Name))
	return b.resources, nil
}

// ScaleSetToDelete returns the resources of a pool that is being deleted. Only names and tags matter, so an invalid
// spec is no error.
func ScaleSetToDelete(in ScaleSetInput) []Resource {
	b := newScaleSetBuilder(in)
	b.add(Resource{
		ID: ScaleSetID(in.Cluster, in.Name), APIVersion: ComputeAPIVersion, Body: armcompute.VirtualMachineScaleSet{Tags: b.allTags()},
		Policy: Manage, Condition: infrav1.ScaleSetRunningCondition, Field: "spec.template",
	})
	b.roleAssignment(ScaleSetID(in.Cluster, in.Name))
	return b.resources
}

func newScaleSetBuilder(in ScaleSetInput) *scaleSetBuilder {
	spec := in.Pool.MachineSpec()
	return &scaleSetBuilder{
		in: in,
		machineBuilder: machineBuilder{
			MachineInput: MachineInput{
				Cluster: in.Cluster, Machine: &infrav1.AzureMachine{Spec: spec}, ClusterName: in.ClusterName, VMName: in.Name,
				BootstrapData: in.BootstrapData, AdminPassword: in.AdminPassword,
				AcceleratedNetworking: in.AcceleratedNetworking, ARM64: in.ARM64, PrincipalID: in.PrincipalID,
				SecretReader: in.SecretReader,
			},
			tagger: taggerOf(in.Cluster, in.ClusterName, ObjectMark("AzureMachinePool", in.Pool.Name)),
			spec:   &spec,
			group:  ClusterGroup(in.Cluster),
		},
	}
}

// scaleSetBuilder builds a scale set with methods of machineBuilder.
type scaleSetBuilder struct {
	machineBuilder
	in ScaleSetInput
}

func (b *scaleSetBuilder) flexible() bool {
	return b.in.Pool.Spec.OrchestrationMode == infrav1.FlexibleOrchestrationMode
}

// bootstrapTag is the tag on sets that something other than casement scales. It changes with the bootstrap data, so
// that the set is written again and later instances can join.
const bootstrapTag = "casement_bootstrap-data"

func (b *scaleSetBuilder) allTags() map[string]*string {
	extra := infrav1.Tags{}
	if b.in.ScaledElsewhere && len(b.BootstrapData) > 0 {
		sum := sha256.Sum256(b.BootstrapData)
		extra[bootstrapTag] = hex.EncodeToString(sum[:8])
	}
	return b.tags(b.in.Name, roleNode, b.spec.AdditionalTags, b.cloudProviderTags(), extra)
}

func (b *scaleSetBuilder) scaleSet() error {
	identity, err := b.identity()
	if err != nil {
		return err
	}
	profile, plan, err := b.profile()
	if err != nil {
		return err
	}
	set := armcompute.VirtualMachineScaleSet{
		Location: &b.in.Pool.Spec.Location,
		Tags:     b.allTags(),
		SKU: &armcompute.SKU{
			Name: &b.spec.VMSize, Tier: new("Standard"), Capacity: new(int64(b.in.Capacity)),
		},
		Zones: pointers(b.in.Zones), Plan: plan,
		Properties: &armcompute.VirtualMachineScaleSetProperties{
			SinglePlacementGroup:     new(false),
			OrchestrationMode:        new(armcompute.OrchestrationMode(b.in.Pool.Spec.OrchestrationMode)),
			PlatformFaultDomainCount: b.in.Pool.Spec.PlatformFaultDomainCount,
			VirtualMachineProfile:    profile,
		},
	}
	if identity != nil {
		set.Identity = scaleSetIdentity(identity)
	}
	if balance := b.in.Pool.Spec.ZoneBalance; balance != nil && len(b.in.Zones) > 1 {
		set.Properties.ZoneBalance = balance
	}
	if b.flexible() {
		if set.Properties.PlatformFaultDomainCount == nil {
			set.Properties.PlatformFaultDomainCount = new(int32(1))
		}
	} else {
		// casement decides which instance is deleted and when, because it drains nodes first.
		set.Properties.UpgradePolicy = &armcompute.UpgradePolicy{Mode: new(armcompute.UpgradeModeManual)}
		set.Properties.Overprovision = new(false)
	}
	b.add(Resource{
		ID: ScaleSetID(b.Cluster, b.in.Name), APIVersion: ComputeAPIVersion, Body: set,
		Policy: Manage, Condition: infrav1.ScaleSetRunningCondition, Field: "spec.template",
	})
	return nil
}

func scaleSetIdentity(i *armcompute.VirtualMachineIdentity) *armcompute.VirtualMachineScaleSetIdentity {
	out := &armcompute.VirtualMachineScaleSetIdentity{Type: i.Type}
	for id, v := range i.UserAssignedIdentities {
		if out.UserAssignedIdentities == nil {
			out.UserAssignedIdentities = map[string]*armcompute.UserAssignedIdentitiesValue{}
		}
		out.UserAssignedIdentities[id] = v
	}
	return out
}

// profile returns the model from which instances are created.
func (b *scaleSetBuilder) profile() (*armcompute.VirtualMachineScaleSetVMProfile, *armcompute.Plan, error) {
	image, plan, err := imageReference(b.in.Image, b.Cluster.Spec.SubscriptionID)
	if err != nil {
		return nil, nil, err
	}
	os, err := b.scaleSetOSProfile()
	if err != nil {
		return nil, nil, err
	}
	network, err := b.networkProfile()
	if err != nil {
		return nil, nil, err
	}
	p := &armcompute.VirtualMachineScaleSetVMProfile{
		OSProfile:          os,
		NetworkProfile:     network,
		SecurityProfile:    b.securityProfile(),
		DiagnosticsProfile: b.diagnostics(),
		StorageProfile: &armcompute.VirtualMachineScaleSetStorageProfile{
			ImageReference: image, OSDisk: b.scaleSetOSDisk(), DataDisks: b.scaleSetDataDisks(),
		},
		ExtensionProfile: b.extensionProfile(),
	}
	b.scaleSetSpot(p)
	if minutes := b.in.Pool.Spec.Template.TerminateNotificationTimeout; minutes != nil {
		p.ScheduledEventsProfile =
			&armcompute.ScheduledEventsProfile{TerminateNotificationProfile: &armcompute.TerminateNotificationProfile{
				Enable: new(true), NotBeforeTimeout: new(fmt.Sprintf("PT%dM", *minutes)),
			}}
	}
	return p, plan, nil
}

func (b *scaleSetBuilder) scaleSetOSProfile() (*armcompute.VirtualMachineScaleSetOSProfile, error) {
	vm, err := b.osProfile()
	if err != nil {
		return nil, err
	}
	p := &armcompute.VirtualMachineScaleSetOSProfile{
		ComputerNamePrefix: &b.in.Name, AdminUsername: vm.AdminUsername,
		LinuxConfiguration: vm.LinuxConfiguration, WindowsConfiguration: vm.WindowsConfiguration,
	}
	if len(b.BootstrapData) > 0 {
		p.CustomData = new(base64.StdEncoding.EncodeToString(b.BootstrapData))
	}
	if !b.in.Exists {
		p.AdminPassword = vm.AdminPassword
	}
	return p, nil
}

// scaleSetOSDisk returns the OS disk. It does not set the delete option of a Flexible set's disks, because deletion
// with the instance is Azure's default: thus a scale set of CAPZ does not differ.
func (b *scaleSetBuilder) scaleSetOSDisk() *armcompute.VirtualMachineScaleSetOSDisk {
	vm := b.osDisk()
	return &armcompute.VirtualMachineScaleSetOSDisk{
		OSType: vm.OSType, CreateOption: vm.CreateOption, DiskSizeGB: vm.DiskSizeGB, Caching: vm.Caching,
		DiffDiskSettings: vm.DiffDiskSettings, ManagedDisk: scaleSetDisk(vm.ManagedDisk),
	}
}

func (b *scaleSetBuilder) scaleSetDataDisks() []*armcompute.VirtualMachineScaleSetDataDisk {
	var disks []*armcompute.VirtualMachineScaleSetDataDisk
	for _, vm := range b.dataDisks() {
		disks = append(disks, &armcompute.VirtualMachineScaleSetDataDisk{
			Lun: vm.Lun, CreateOption: vm.CreateOption, DiskSizeGB: vm.DiskSizeGB, Caching: vm.Caching,
			ManagedDisk: scaleSetDisk(vm.ManagedDisk),
		})
	}
	return disks
}

func scaleSetDisk(d *armcompute.ManagedDiskParameters) *armcompute.VirtualMachineScaleSetManagedDiskParameters {
	if d == nil {
		return nil
	}
	return &armcompute.VirtualMachineScaleSetManagedDiskParameters{
		StorageAccountType: d.StorageAccountType, DiskEncryptionSet: d.DiskEncryptionSet, SecurityProfile: d.SecurityProfile,
	}
}

// networkProfile returns the interfaces of an instance; the first one is the primary one
// and joins the backend pools.
func (b *scaleSetBuilder) networkProfile() (*armcompute.VirtualMachineScaleSetNetworkProfile, error) {
	interfaces := b.spec.NetworkInterfaces
	if len(interfaces) == 0 {
		interfaces = []infrav1.NetworkInterface{
			{SubnetName: b.spec.SubnetName, AcceleratedNetworking: b.spec.AcceleratedNetworking, PrivateIPConfigs: 1},
		}
	}
	profile := &armcompute.VirtualMachineScaleSetNetworkProfile{}
	if b.flexible() {
		profile.NetworkAPIVersion = new(instanceNetworkAPIVersion)
	}
	for i, n := range interfaces {
		subnet, err := b.subnet(n.SubnetName, fmt.Sprintf("spec.template.networkInterfaces[%d].subnetName", i))
		if err != nil {
			return nil, err
		}
		accelerated := n.AcceleratedNetworking
		if accelerated == nil {
			accelerated = &b.AcceleratedNetworking
		}
		profile.NetworkInterfaceConfigurations = append(profile.NetworkInterfaceConfigurations,
			&armcompute.VirtualMachineScaleSetNetworkConfiguration{
				Name: new(fmt.Sprintf("%s-nic-%d", b.in.Name, i)),
				Properties: &armcompute.VirtualMachineScaleSetNetworkConfigurationProperties{
					Primary: new(i == 0), EnableAcceleratedNetworking: accelerated, EnableIPForwarding: &b.spec.EnableIPForwarding,
					IPConfigurations: b.scaleSetAddresses(n, subnet, i == 0),
				},
			})
	}
	return profile, nil
}

func (b *scaleSetBuilder) scaleSetAddresses(n infrav1.NetworkInterface, subnet *infrav1.SubnetSpec,
	primary bool) []*armcompute.VirtualMachineScaleSetIPConfiguration {
	var configs []*armcompute.VirtualMachineScaleSetIPConfiguration
	add := func(name string, version armcompute.IPVersion) *armcompute.VirtualMachineScaleSetIPConfigurationProperties {
		p := &armcompute.VirtualMachineScaleSetIPConfigurationProperties{
			Primary: new(len(configs) == 0), PrivateIPAddressVersion: &version,
			Subnet: &armcompute.APIEntityReference{ID: new(SubnetID(b.Cluster, subnet.Name))},
		}
		configs = append(configs, &armcompute.VirtualMachineScaleSetIPConfiguration{Name: &name, Properties: p})
		return p
	}
	first := add("ipConfig0", armcompute.IPVersionIPv4)
	if primary {
		for _, pool := range b.pools(subnet) {
			first.LoadBalancerBackendAddressPools = append(first.LoadBalancerBackendAddressPools, &armcompute.SubResource{ID: &pool})
		}
	}
	for i := 1; i < n.PrivateIPConfigs; i++ {
		add(fmt.Sprintf("ipConfig%d", i), armcompute.IPVersionIPv4)
	}
	if hasIPv6(subnet) {
		add("ipConfigv6", armcompute.IPVersionIPv6)
	}
	return configs
}

func (b *scaleSetBuilder) extensionProfile() *armcompute.VirtualMachineScaleSetExtensionProfile {
	var all []*armcompute.VirtualMachineScaleSetExtension
	add := func(name string, p *armcompute.VirtualMachineExtensionProperties) {
		all = append(all, &armcompute.VirtualMachineScaleSetExtension{Name: &name,
			Properties: &armcompute.VirtualMachineScaleSetExtensionProperties{
				Publisher: p.Publisher, Type: p.Type, TypeHandlerVersion: p.TypeHandlerVersion,
				Settings: p.Settings, ProtectedSettings: p.ProtectedSettings,
			}})
	}
	if WantsBootstrapExtension(b.Cluster, b.Machine) {
		add(b.bootstrapExtension())
	}
	for i := range b.spec.VMExtensions {
		add(b.spec.VMExtensions[i].Name, extensionProperties(&b.spec.VMExtensions[i]))
	}
	if all == nil {
		return nil
	}
	return &armcompute.VirtualMachineScaleSetExtensionProfile{Extensions: all}
}

func (b *scaleSetBuilder) scaleSetSpot(p *armcompute.VirtualMachineScaleSetVMProfile) {
	var vm armcompute.VirtualMachineProperties
	b.spot(&vm)
	p.Priority, p.EvictionPolicy, p.BillingProfile = vm.Priority, vm.EvictionPolicy, vm.BillingProfile
}

// Hidden is the part of a scale set's model that its instances do not show, or only in resources of their own. Two
// scale sets with equal values create equal instances from it.
type Hidden struct {
	// Extensions are ordered by name. Their settings may be secret.
	Extensions []*armcompute.VirtualMachineScaleSetExtension
	Interfaces []*armcompute.VirtualMachineScaleSetNetworkConfiguration
}

// HiddenModel returns the part of a scale set that InstanceModel leaves out, without the bootstrap data.
func HiddenModel(set Resource) Hidden {
	body, ok := set.Body.(armcompute.VirtualMachineScaleSet)
	if !ok {
		return Hidden{}
	}
	p := body.Properties.VirtualMachineProfile
	hidden := Hidden{Interfaces: p.NetworkProfile.NetworkInterfaceConfigurations}
	if p.ExtensionProfile != nil {
		hidden.Extensions = slices.SortedFunc(slices.Values(p.ExtensionProfile.Extensions),
			func(a, b *armcompute.VirtualMachineScaleSetExtension) int { return cmp.Compare(*a.Name, *b.Name) })
	}
	return hidden
}

// InstanceModel returns the part of a scale set's model that instances show too; an instance that differs from it has
// an old model.
func InstanceModel(set Resource) any {
	body, ok := set.Body.(armcompute.VirtualMachineScaleSet)
	if !ok {
		return nil
	}
	p := body.Properties.VirtualMachineProfile
	model := armcompute.VirtualMachineScaleSetVM{
		SKU: &armcompute.SKU{Name: body.SKU.Name},
		Properties: &armcompute.VirtualMachineScaleSetVMProperties{
			SecurityProfile: p.SecurityProfile,
			StorageProfile:  &armcompute.StorageProfile{ImageReference: p.StorageProfile.ImageReference},
		},
	}
	if d := p.StorageProfile.OSDisk; d != nil {
		disk := &armcompute.OSDisk{DiskSizeGB: d.DiskSizeGB, Caching: d.Caching, DiffDiskSettings: d.DiffDiskSettings}
		if d.ManagedDisk != nil {
			disk.ManagedDisk = &armcompute.ManagedDiskParameters{StorageAccountType: d.ManagedDisk.StorageAccountType}
		}
		model.Properties.StorageProfile.OSDisk = disk
	}
	for _, d := range p.StorageProfile.DataDisks {
		model.Properties.StorageProfile.DataDisks = append(model.Properties.StorageProfile.DataDisks,
			&armcompute.DataDisk{Lun: d.Lun, DiskSizeGB: d.DiskSizeGB})
	}
	return model
}

// SetModel returns the part of a scale set's properties that InstanceModel compares:
// writing a set whose SetModel differs makes its existing instances outdated.
func SetModel(set Resource) any {
	body, ok := set.Body.(armcompute.VirtualMachineScaleSet)
	if !ok {
		return nil
	}
	p := body.Properties.VirtualMachineProfile
	return armcompute.VirtualMachineScaleSet{
		SKU: &armcompute.SKU{Name: body.SKU.Name},
		Properties: &armcompute.VirtualMachineScaleSetProperties{VirtualMachineProfile: &armcompute.VirtualMachineScaleSetVMProfile{
			SecurityProfile: p.SecurityProfile, StorageProfile: p.StorageProfile,
		}},
	}
}

// FlexibleInstanceModel returns InstanceModel for an instance that is a separate virtual machine, whose size is in
// another field.
func FlexibleInstanceModel(set Resource) any {
	model, ok := InstanceModel(set).(armcompute.VirtualMachineScaleSetVM)
	if !ok {
		return nil
	}
	return armcompute.VirtualMachine{Properties: &armcompute.VirtualMachineProperties{
		HardwareProfile: &armcompute.HardwareProfile{VMSize: new(armcompute.VirtualMachineSizeTypes(*model.SKU.Name))},
		SecurityProfile: model.Properties.SecurityProfile,
		StorageProfile:  model.Properties.StorageProfile,
	}}
}
