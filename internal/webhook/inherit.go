package webhook

import (
	"slices"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// inheritCluster copies names that an update leaves empty from the old object. They are derived from the Cluster's
// name, which is known only after the first admission, so that a new derivation could give other names, but names
// cannot change.
func inheritCluster(old, c *infrav1.AzureCluster) {
	was, is := &old.Spec.NetworkSpec, &c.Spec.NetworkSpec
	setDefault(&c.Spec.ResourceGroup, old.Spec.ResourceGroup)
	setDefault(&is.Vnet.Name, was.Vnet.Name)
	setDefault(&is.Vnet.ResourceGroup, was.Vnet.ResourceGroup)
	if !hasRole(&c.Spec, infrav1.SubnetControlPlane, infrav1.SubnetCluster) {
		is.Subnets = append(ofRole(was.Subnets, infrav1.SubnetControlPlane), is.Subnets...)
	}
	if !hasRole(&c.Spec, infrav1.SubnetNode, infrav1.SubnetCluster) {
		is.Subnets = append(is.Subnets, ofRole(was.Subnets, infrav1.SubnetNode)...)
	}
	for i := range is.Subnets {
		subnet := &is.Subnets[i]
		j := slices.IndexFunc(was.Subnets, func(o infrav1.SubnetSpec) bool { return o.Name == subnet.Name })
		if j < 0 {
			continue
		}
		before := &was.Subnets[j]
		if len(subnet.CIDRBlocks) == 0 {
			subnet.CIDRBlocks = slices.Clone(before.CIDRBlocks)
		}
		setDefault(&subnet.ID, before.ID)
		setDefault(&subnet.SecurityGroup.Name, before.SecurityGroup.Name)
		setDefault(&subnet.RouteTable.Name, before.RouteTable.Name)
		setDefault(&subnet.NatGateway.Name, before.NatGateway.Name)
		setDefault(&subnet.NatGateway.NatGatewayIP.Name, before.NatGateway.NatGatewayIP.Name)
	}
	if is.APIServerLB == nil {
		is.APIServerLB = was.APIServerLB.DeepCopy()
	}
	if is.NodeOutboundLB == nil && needsNodeOutboundLB(&c.Spec) {
		is.NodeOutboundLB = was.NodeOutboundLB.DeepCopy()
	}
	inheritLB(was.APIServerLB, is.APIServerLB)
	inheritLB(was.NodeOutboundLB, is.NodeOutboundLB)
	inheritLB(was.ControlPlaneOutboundLB, is.ControlPlaneOutboundLB)
	if was, is := old.Spec.BastionSpec.AzureBastion, c.Spec.BastionSpec.AzureBastion; was != nil && is != nil {
		setDefault(&is.Name, was.Name)
		setDefault(&is.PublicIP.Name, was.PublicIP.Name)
	}
}

func ofRole(subnets []infrav1.SubnetSpec, role infrav1.SubnetRole) []infrav1.SubnetSpec {
	var out []infrav1.SubnetSpec
	for _, s := range subnets {
		if s.Role == role {
			out = append(out, *s.DeepCopy())
		}
	}
	return out
}

func inheritLB(was, is *infrav1.LoadBalancerSpec) {
	if was == nil || is == nil {
		return
	}
	setDefault(&is.Name, was.Name)
	setDefault(&is.BackendPool.Name, was.BackendPool.Name)
	if len(is.FrontendIPs) == 0 && is.FrontendIPsCount == nil {
		is.FrontendIPs, is.FrontendIPsCount = was.DeepCopy().FrontendIPs, was.FrontendIPsCount
	}
}

func inheritMachine(old, m *infrav1.AzureMachine) { inheritDrawn(&old.Spec, &m.Spec) }

// inheritDrawn copies random values that an update leaves empty from the old object, so that a manifest without them
// can be applied again.
func inheritDrawn(old, spec *infrav1.AzureMachineSpec) {
	setDefault(&spec.SSHPublicKey, old.SSHPublicKey)
	was, is := old.SystemAssignedIdentityRole, spec.SystemAssignedIdentityRole
	switch {
	case was == nil || spec.Identity != old.Identity:
	case is == nil:
		spec.SystemAssignedIdentityRole = was.DeepCopy()
	default:
		setDefault(&is.Name, was.Name)
	}
}

func inheritMachineTemplate(old, t *infrav1.AzureMachineTemplate) {
	setDefault(&t.Spec.Template.Spec.SSHPublicKey, old.Spec.Template.Spec.SSHPublicKey)
}
