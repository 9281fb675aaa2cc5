package desired

import (
	"cmp"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// MachineInput has all values that the resources of a machine depend on.
type MachineInput struct {
	// Cluster and Machine are the AzureCluster and the AzureMachine with their
	// admission defaults.
	Cluster *infrav1.AzureCluster
	Machine *infrav1.AzureMachine
	// ClusterName is the name of the owning Cluster, from which tags are derived.
	ClusterName string
	// VMName is the computer name, from which the names of the VM and of its other
	// resources are derived.
	VMName string
	// ControlPlane is true for a machine of the control plane.
	ControlPlane bool
	// Zone is the availability zone, or "".
	Zone string
	// Exists is true if the virtual machine exists. Then only its name and tags matter, and Image, BootstrapData and
	// AdminPassword may be empty.
	Exists bool
	// Image is the image of the VM; exactly one of its fields is set.
	Image infrav1.Image
	// BootstrapData is the document that the guest's agent reads at its first boot. It is secret.
	BootstrapData []byte
	// AdminPassword is for Windows only. It is secret and never stored: the image's agent replaces it at the first boot.
	AdminPassword string
	// AcceleratedNetworking is true if the VM size supports it. It applies to interfaces whose spec does not set it.
	AcceleratedNetworking bool
	// ARM64 is true if the VM size has Arm processors.
	ARM64 bool
	// AvailabilitySet is the machine's availability set; nil if it needs none.
	AvailabilitySet *AvailabilitySet
	// SSHPort is the frontend port of the machine's SSH NAT rule; 0 for none.
	SSHPort int32
	// PrincipalID is the principal of the VM's system-assigned identity; "" until Azure
	// returns it.
	PrincipalID string
	// SecretReader is the ID of the identity that reads the bootstrap secret; "" if the
	// bootstrap data is in the custom data.
	SecretReader string
}

// AvailabilitySet is an availability set, which machines share in regions without zones.
type AvailabilitySet struct {
	Name string
	// FaultDomains is the largest number of fault domains that the region allows.
	FaultDomains int32
}

// AvailabilitySetName returns the name of a machine's availability set: one for the control plane and one per
// MachineDeployment or, without a MachineDeployment, per MachineSet. It is "" for any other machine.
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

// Machine returns every Azure resource of a machine, each after the resources that it needs. Its disks are
// part of the VM. The error, if any, is an *InvalidError.
func Machine(in MachineInput) ([]Resource, error) {
	b := &machineBuilder{
		MachineInput: in,
		tagger:       taggerOf(in.Cluster, in.ClusterName, ObjectMark("AzureMachine", in.Machine.Name)),
		spec:         &in.Machine.Spec,
		group:        ClusterGroup(in.Cluster),
	}
	if wrong := MachineNames(b.spec, "spec"); len(wrong) > 0 && !in.Exists {
		return nil, wrong[0]
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

// machineBuilder collects resources; each of its methods adds the resources of one kind. MachineToDelete selects those
// that a delete includes.
type machineBuilder struct {
	MachineInput
	tagger
	spec      *infrav1.AzureMachineSpec
	group     Group
	resources []Resource
	// needs are the IDs of the resources that the virtual machine needs besides its
	// interfaces.
	needs []string
}

func (b *machineBuilder) location() *string { return &b.Cluster.Spec.Location }

func (b *machineBuilder) add(r Resource) {
	if r.APIVersion == "" {
		r.APIVersion = NetworkAPIVersion
	}
	b.resources = append(b.resources, r)
}

// wantsPublicIP reports whether the machine gets its own public IP. Control planes use the load balancer's public IP.
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
			Tags:     b.shared().tags(b.AvailabilitySet.Name, roleCommon, b.spec.AdditionalTags, b.cloudProviderTags()),
			Properties: &armcompute.AvailabilitySetProperties{
				PlatformFaultDomainCount: &b.AvailabilitySet.FaultDomains,
			},
		},
		Policy: CreateOnly, Condition: infrav1.AvailabilitySetReadyCondition, Field: "spec.failureDomain",
	})
}

// roleAssignment adds the role of the system-assigned identity of a VM or scale set, once
// Azure has created the identity.
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

// Made lists the resources of a machine that exist, known from Azure and the machine's status; only names come from the spec.
type Made struct {
	// NICs are the IDs of the machine's network interfaces.
	NICs []string
	// PublicIP, NATRule and Role are true if the machine may have its own public IP, SSH NAT rule and role assignment.
	PublicIP, NATRule, Role bool
	// PrincipalID is the principal of the machine's identity, or "" if it is not known.
	PrincipalID string
	// AvailabilitySet is the name of the machine's availability set if no other machine uses it, or "".
	AvailabilitySet string
}

// MachineToDelete returns the resources that a machine may have in Azure, with the names and tags from its creation. It
// returns no error, because the resources of an invalid spec have to be deleted too.
func MachineToDelete(c *infrav1.AzureCluster, m *infrav1.AzureMachine, clusterName, vmName string, made Made) []Resource {
	group, own := ClusterGroup(c), taggerOf(c, clusterName, ObjectMark("AzureMachine", m.Name))
	tags := own.tags("", "")
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
			ComputeAPIVersion, infrav1.AvailabilitySetReadyCondition, armcompute.AvailabilitySet{Tags: own.shared().tags("", "")}))
	}
	out = append(append(first, out...), vm)
	if role := m.Spec.SystemAssignedIdentityRole; made.Role && role != nil && role.Name != "" {
		add(&out, RoleAssignmentID(cmp.Or(role.Scope, "/subscriptions/"+c.Spec.SubscriptionID), role.Name),
			AuthorizationAPIVersion, infrav1.RoleAssignmentReadyCondition, roleOf(made.PrincipalID))
		out[len(out)-1].Needs = []string{vm.ID}
	}
	return out
}

// roleOf returns the body of a role assignment of a principal.
func roleOf(principal string) any {
	if principal == "" {
		return nil
	}
	return armauthorization.RoleAssignmentCreateParameters{Properties: &armauthorization.RoleAssignmentProperties{PrincipalID: &principal}}
}

// RoleAssignmentID returns the ID of a role assignment of a scope.
func RoleAssignmentID(scope, name string) string {
	return trimSlash(scope) + "/providers/Microsoft.Authorization/roleAssignments/" + name
}
