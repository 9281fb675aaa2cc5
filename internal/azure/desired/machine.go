package desired

import (
	"cmp"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// MachineInput is all that the resources of a machine depend on.
type MachineInput struct {
	// Cluster and Machine are the AzureCluster and the AzureMachine with their
	// admission defaults.
	Cluster *infrav1.AzureCluster
	Machine *infrav1.AzureMachine
	// ClusterName is the name of the owning Cluster; tags follow it.
	ClusterName string
	// VMName is the computer name; the VM and all that belongs to it are named after it.
	VMName string
	// ControlPlane says that the machine is part of the control plane.
	ControlPlane bool
	// Zone is the availability zone, "" for none.
	Zone string
	// Exists says that the virtual machine is there. Only its name and tags matter
	// then, and Image, BootstrapData and AdminPassword may be left out.
	Exists bool
	// Image is what to boot; exactly one of its kinds is set.
	Image infrav1.Image
	// BootstrapData is what the guest's agent reads at its first boot. It is secret.
	BootstrapData []byte
	// AdminPassword is for Windows only, secret and never stored: the agent of
	// the image replaces it at the first boot.
	AdminPassword string
	// AcceleratedNetworking is what the VM size can do, for interfaces that leave
	// the choice open.
	AcceleratedNetworking bool
	// ARM64 says that the VM size has Arm processors.
	ARM64 bool
	// AvailabilitySet is set where the machine needs one.
	AvailabilitySet *AvailabilitySet
	// SSHPort is the frontend port of the machine's SSH NAT rule, 0 for none.
	SSHPort int32
	// PrincipalID is the VM's system-assigned identity, "" until Azure reports it.
	PrincipalID string
	// SecretReader is the ID of the identity that reads the bootstrap secret, "" where
	// the bootstrap data is custom data.
	SecretReader string
}

// AvailabilitySet is what machines share in regions without zones.
type AvailabilitySet struct {
	Name string
	// FaultDomains is the region's maximum.
	FaultDomains int32
}

// AvailabilitySetName returns the name of the set that a machine belongs in: one for the
// control plane and one per MachineDeployment or, without it, MachineSet. It is "" for a
// machine of neither.
func AvailabilitySetName(clusterName string, controlPlane bool, deployment, machineSet string) string {
	group := cmp.Or(deployment, machineSet)
	if controlPlane {
		group = "control-plane"
	}
	if group == "" {
		return ""
	}
	return clusterName + "_" + group + "-as"
}

// VMID returns the ID of the machine's virtual machine.
func VMID(c *infrav1.AzureCluster, vmName string) string {
	return ClusterGroup(c).Compute("virtualMachines", vmName)
}

// Machine returns every Azure resource of a machine, needs before dependants. Its
// disks are part of the VM. The error, when there is one, is an *InvalidError.
func Machine(in MachineInput) ([]Resource, error) {
	b := &machineBuilder{
		MachineInput: in,
		tagger:       tagger{cluster: in.ClusterName, additional: in.Cluster.Spec.AdditionalTags},
		spec:         &in.Machine.Spec,
		group:        ClusterGroup(in.Cluster),
	}
	b.publicIP()
	b.natRule()
	if err := b.networkInterfaces(); err != nil {
		return nil, err
	}
	b.availabilitySet()
	if err := b.virtualMachine(); err != nil {
		return nil, err
	}
	b.roleAssignment(VMID(in.Cluster, in.VMName))
	b.extensions()
	return b.resources, nil
}

// machineBuilder gathers resources; each of its methods adds one kind. What is of a kind
// when the machine is deleted, MachineToDelete says.
type machineBuilder struct {
	MachineInput
	tagger
	spec      *infrav1.AzureMachineSpec
	group     Group
	resources []Resource
	// needs are the IDs that the virtual machine needs beside its interfaces.
	needs []string
}

func (b *machineBuilder) location() *string { return &b.Cluster.Spec.Location }

func (b *machineBuilder) add(r Resource) {
	if r.APIVersion == "" {
		r.APIVersion = NetworkAPIVersion
	}
	b.resources = append(b.resources, r)
}

// wantsPublicIP reports whether the machine gets an address of its own. Control planes have
// the load balancer's.
func (b *machineBuilder) wantsPublicIP() bool { return b.spec.AllocatePublicIP && !b.ControlPlane }

func (b *machineBuilder) publicIPID() string {
	return b.group.Network("publicIPAddresses", "pip-"+b.VMName)
}

func (b *machineBuilder) publicIP() {
	if !b.wantsPublicIP() {
		return
	}
	b.add(Resource{
		ID: b.publicIPID(),
		Body: armnetwork.PublicIPAddress{
			Location: b.location(),
			SKU:      &armnetwork.PublicIPAddressSKU{Name: new(armnetwork.PublicIPAddressSKUNameStandard)},
			Tags:     b.tags("pip-"+b.VMName, "", b.spec.AdditionalTags),
			Zones:    b.zones(),
			Properties: &armnetwork.PublicIPAddressPropertiesFormat{
				PublicIPAddressVersion:   new(armnetwork.IPVersionIPv4),
				PublicIPAllocationMethod: new(armnetwork.IPAllocationMethodStatic),
			},
		},
		Policy: CreateOnly, Condition: infrav1.PublicIPsReadyCondition, Field: "spec.allocatePublicIP",
	})
}

func (b *machineBuilder) zones() []*string {
	if b.Zone == "" {
		return nil
	}
	return []*string{&b.Zone}
}

func (b *machineBuilder) availabilitySetID() string {
	return b.group.Compute("availabilitySets", b.AvailabilitySet.Name)
}

func (b *machineBuilder) availabilitySet() {
	if b.AvailabilitySet == nil {
		return
	}
	b.needs = append(b.needs, b.availabilitySetID())
	b.add(Resource{
		ID: b.availabilitySetID(), APIVersion: ComputeAPIVersion,
		Body: armcompute.AvailabilitySet{
			Location: b.location(),
			SKU:      &armcompute.SKU{Name: new("Aligned")},
			Tags:     b.tags(b.AvailabilitySet.Name, roleCommon, b.spec.AdditionalTags, b.cloudProviderTags()),
			Properties: &armcompute.AvailabilitySetProperties{
				PlatformFaultDomainCount: &b.AvailabilitySet.FaultDomains,
			},
		},
		Policy: CreateOnly, Condition: infrav1.AvailabilitySetReadyCondition, Field: "spec.failureDomain",
	})
}

// roleAssignment gives the own identity of a VM or scale set its role, once Azure has
// made the identity.
func (b *machineBuilder) roleAssignment(owner string) {
	if b.spec.Identity != infrav1.VMIdentitySystemAssigned || b.PrincipalID == "" {
		return
	}
	role := b.spec.SystemAssignedIdentityRole
	if role == nil || role.Name == "" {
		return
	}
	subscription := b.Cluster.Spec.SubscriptionID
	scope := cmp.Or(role.Scope, "/subscriptions/"+subscription+"/")
	b.add(Resource{
		ID:         RoleAssignmentID(scope, role.Name),
		APIVersion: AuthorizationAPIVersion,
		Body: armauthorization.RoleAssignmentCreateParameters{Properties: &armauthorization.RoleAssignmentProperties{
			PrincipalID:      &b.PrincipalID,
			RoleDefinitionID: new(cmp.Or(role.DefinitionID, contributorRole(subscription))),
			PrincipalType:    new(armauthorization.PrincipalTypeServicePrincipal),
		}},
		Policy: CreateOnly, Condition: infrav1.RoleAssignmentReadyCondition, Field: "spec.systemAssignedIdentityRole",
		Needs: []string{owner},
	})
}

// contributorRole returns the ID of Azure's built-in Contributor role. Source: Azure
// built-in roles,
// https://learn.microsoft.com/azure/role-based-access-control/built-in-roles.
func contributorRole(subscription string) string {
	return fmt.Sprintf("/subscriptions/%s/providers/Microsoft.Authorization/roleDefinitions/b24988ac-6180-42a0-"+
		"ab88-20f7382dd24c", subscription)
}

func trimSlash(s string) string {
	for len(s) > 0 && s[len(s)-1] == '/' {
		s = s[:len(s)-1]
	}
	return s
}

// Made is what is recorded of a machine's resources: what Azure and the machine's status
// show, and of the spec nothing but names.
type Made struct {
	// NICs are the IDs of its network interfaces.
	NICs []string
	// PublicIP, NATRule and Role say that there may be an address, an SSH rule and a
	// role of its own.
	PublicIP, NATRule, Role bool
	// AvailabilitySet is the name of its set where it is the last one in it, or "".
	AvailabilitySet string
}

// MachineToDelete returns what may be in Azure of a machine, with the names and tags
// that it was made with. It has no error: a spec that cannot become resources any more,
// or never could, is no reason to leave some.
func MachineToDelete(c *infrav1.AzureCluster, m *infrav1.AzureMachine, clusterName, vmName string, made Made) []Resource {
	group, tags := ClusterGroup(c), tagger{cluster: clusterName}.tags("", "")
	vm := Resource{
		ID: VMID(c, vmName), APIVersion: ComputeAPIVersion, Body: armcompute.VirtualMachine{Tags: tags},
		Policy: CreateOnly, Condition: infrav1.VMRunningCondition, Field: "spec", Needs: made.NICs,
	}
	var out, first []Resource
	add := func(list *[]Resource, id, apiVersion, condition string, body any) string {
		*list = append(*list, Resource{ID: id, APIVersion: apiVersion, Body: body, Policy: CreateOnly, Condition: condition, Field: "spec"})
		return id
	}
	var needs []string
	if made.PublicIP {
		needs = append(needs, add(&first, group.Network("publicIPAddresses", "pip-"+vmName), NetworkAPIVersion,
			infrav1.PublicIPsReadyCondition, armnetwork.PublicIPAddress{Tags: tags}))
	}
	if lb := SSHRuleLB(c); made.NATRule && lb != "" {
		needs = append(needs, add(&first, lb+"/inboundNatRules/"+vmName, NetworkAPIVersion,
			infrav1.InboundNATRulesReadyCondition, armnetwork.InboundNatRule{}))
	}
	for _, id := range made.NICs {
		add(&out, id, NetworkAPIVersion, infrav1.NetworkInterfaceReadyCondition, armnetwork.Interface{Tags: tags})
		out[len(out)-1].Needs = needs
	}
	if made.AvailabilitySet != "" {
		vm.Needs = append(vm.Needs, add(&out, group.Compute("availabilitySets", made.AvailabilitySet),
			ComputeAPIVersion, infrav1.AvailabilitySetReadyCondition, armcompute.AvailabilitySet{Tags: tags}))
	}
	out = append(append(first, out...), vm)
	if role := m.Spec.SystemAssignedIdentityRole; made.Role && role != nil && role.Name != "" {
		add(&out, RoleAssignmentID(cmp.Or(role.Scope, "/subscriptions/"+c.Spec.SubscriptionID), role.Name),
			AuthorizationAPIVersion, infrav1.RoleAssignmentReadyCondition, nil)
		out[len(out)-1].Needs = []string{vm.ID}
	}
	return out
}

// RoleAssignmentID returns the ID of a role assignment of a scope.
func RoleAssignmentID(scope, name string) string {
	return trimSlash(scope) + "/providers/Microsoft.Authorization/roleAssignments/" + name
}
