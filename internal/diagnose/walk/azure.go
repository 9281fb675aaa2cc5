package walk

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
)

// AsksAzure reports whether data from Azure may explain a cause: with the data that package reach reads,
// the walk may find a more precise cause.
func AsksAzure(cause string) bool {
	return slices.Contains([]string{"NoRouteToAPI", "APIRefused", "APIServerStarts", "APIServerLate", "APINameUnresolved",
		"KubeletStopped", "NotRegistered", "NodeDeleted", "CloudProviderMissing"}, cause)
}

// obstacle is the text, the fix and the next command for a facts.Obstacle, by its cause.
type obstacle struct{ says, fix, next string }

// zones is the command that shows the private DNS zones of a cluster.
const zones = "az network private-dns zone list --resource-group GROUP -o table"

// named are the obstacles that prevent a name from being resolved.
var named = map[string]obstacle{
	"DNSZoneMissing": {"the private DNS zone with the API server's name does not exist",
		"let casement make it again: nothing may pause the AzureCluster", zones},
	"DNSLinkMissing": {"the private DNS zone with the API server's name is not linked to the machines' network",
		"let casement make the link again: nothing may pause the AzureCluster; or az network private-dns link vnet create", zones},
	"DNSRecordMissing": {"the private DNS zone lacks the API server's record",
		"let casement make the record again: nothing may pause the AzureCluster", zones},
}

const ofRules = "az network nsg list --resource-group GROUP -o table"

// barriers are the obstacles that prevent connections to the API server.
var barriers = map[string]obstacle{
	"NetworkRuleDenies": {"a security rule keeps connections from the API server",
		"ask the owner of the rule that the evidence names; a rule of lower priority number may let the port pass before it", ofRules},
	"PortClosed": {"no rule of the control plane's security group lets the API server's port in",
		"add an Inbound rule that allows the port to the group that the evidence names", ofRules},
	"ProbeBlocked": {"a security rule keeps the load balancer's probe from the API server, so it sends nothing there",
		"allow the source AzureLoadBalancer in a rule of lower priority number", ofRules},
	"RouteDrops": {"a route drops what goes to the API server",
		"ask the owner of the route that the evidence names", "az network route-table list --resource-group GROUP -o table"},
	"NextHopDead": {"a route leads to an appliance that does not forward",
		"start the appliance or give its interface IP forwarding, or correct the route",
		"az network route-table list --resource-group GROUP -o table"},
	"BackendPoolEmpty": {"the API server's load balancer has no member to send to",
		"see why casement's control plane machines are not in it: nothing may pause the AzureMachines",
		"az network lb list --resource-group GROUP -o table"},
	"BalancerRuleMissing": {"the API server's load balancer has no rule that sends its port on",
		"let casement make the rule again: nothing may pause the AzureCluster, which sets it",
		"az network lb list --resource-group GROUP -o table"},
	"ProbeFails": {"the load balancer's probe asks another port than the API server's, so it sends nothing there",
		"correct the probe's port: nothing may pause the AzureCluster, which sets it", "az network lb list --resource-group GROUP -o table"},
}

// azureObstacle returns, for a finding about an unreachable API server, the known obstacle in Azure instead: a control plane
// machine that is not running, a zone, or a rule, route or pool.
func (w walker) azureObstacle(a *finding) *finding {
	known := barriers
	switch a.Cause {
	case "APINameUnresolved":
		known = named
	case "NoRouteToAPI", "APIRefused":
		if off := w.controlPlaneOff(); off != nil {
			off.Evidence = append(off.Evidence, a.Evidence...)
			return off
		}
		if slices.ContainsFunc(a.Evidence, func(line string) bool { return strings.Contains(line, "no such host") }) {
			known = named
		}
	default:
		return a
	}
	i := slices.IndexFunc(w.Closed, func(o facts.Obstacle) bool { _, is := known[o.Cause]; return is })
	if i < 0 {
		return a
	}
	o := known[w.Closed[i].Cause]
	seen := []string{w.Closed[i].Line}
	for _, other := range w.Closed {
		if _, is := known[other.Cause]; is && other != w.Closed[i] {
			seen = append(seen, other.Line)
		}
	}
	a.Type, a.Unknown, a.Cause, a.Says, a.Fix, a.Next = "Azure", false, w.Closed[i].Cause, o.says, o.fix, o.next
	a.Evidence = append(seen, a.Evidence...)
	a.Harm = "a change opens or reroutes a network that others may use too: the evidence says whose it is"
	return a
}

// groupGone finds that the resource group of the cluster's network no longer exists in Azure.
func (w walker) groupGone() *finding {
	i := slices.IndexFunc(w.Closed, func(o facts.Obstacle) bool { return o.Cause == "ResourceGroupGone" })
	if i < 0 || w.AzureCluster == nil {
		return nil
	}
	return &finding{Step: "infrastructure", At: "AzureCluster/" + w.AzureCluster.Name, Type: "Azure", Reason: "ResourceGroupNotFound",
		Cause: "ResourceGroupGone", Says: "the resource group of the cluster does not exist in Azure any more, nor does what was in it",
		Evidence: []string{w.Closed[i].Line},
		Fix:      "delete the Cluster and make it again: etcd was on disks of the group; what was in it comes from a backup alone",
		Harm:     "deleting the Cluster deletes its objects here too: save their manifests first",
		Next: "az group list -o table; az monitor activity-log list --offset 7d --query \"[?operationName.value=='Microsoft.Resources/" +
			"subscriptions/resourcegroups/delete']\""}
}

// controlPlaneOff finds that no machine of the control plane is running in Azure.
func (w walker) controlPlaneOff() *finding {
	if gone := w.groupGone(); gone != nil {
		return gone
	}
	var first *finding
	for _, m := range w.machinesWhere(isControlPlane) {
		a := w.vmNotRunning(&m)
		if a == nil {
			return nil
		}
		if first == nil {
			first = a
		}
	}
	return first
}

// vmNotRunning finds that a machine's VM is not running in Azure, or does not exist.
func (w walker) vmNotRunning(m *clusterv1.Machine) *finding {
	vm, read := w.VMs[m.Name]
	if !read || !vm.Gone && !vm.Off() {
		return nil
	}
	ref := m.Spec.InfrastructureRef
	a := &finding{Step: "infrastructure", At: ref.Kind + "/" + ref.Name, Type: "Azure", Reason: vm.Power, Cause: vmStopped,
		Says:     "somebody else than casement stopped the virtual machine: start it, or delete the Machine, so that its set makes another",
		Evidence: []string{fmt.Sprintf("power state of the virtual machine of Machine/%s: %s", m.Name, vm.Power)},
		Fix:      "az vm start --ids " + strings.TrimPrefix(w.ProviderID(m), "azure://"),
		Harm:     "whoever stopped it may have had a reason",
		Next:     "az vm get-instance-view --ids " + strings.TrimPrefix(w.ProviderID(m), "azure://") + " --query instanceView.statuses"}
	if vm.Gone {
		a.Reason, a.Cause, a.Says = "NotFound", "VMDeleted", "the virtual machine does not exist in Azure any more"
		a.Evidence = []string{"Azure has no " + strings.TrimPrefix(w.ProviderID(m), "azure://")}
		a.Fix, a.Harm, a.Next = "delete the Machine, so that its set makes another", "", w.showCommand(m)
	}
	return a
}

// machineOn returns the machine of a node, or nil.
func (w walker) machineOn(n *corev1.Node) *clusterv1.Machine {
	i := slices.IndexFunc(w.Machines, func(m clusterv1.Machine) bool {
		id := w.ProviderID(&m)
		return m.Status.NodeRef.Name == n.Name || id != "" && strings.EqualFold(id, n.Spec.ProviderID)
	})
	if i < 0 {
		return nil
	}
	return &w.Machines[i]
}

// unidentified finds a machine whose VM lacks a user-assigned identity that its spec requests: programs on it that call
// Azure, such as the cloud provider, cannot log in.
func (w walker) unidentified(m *clusterv1.Machine) *finding {
	am := w.AzureMachines[m.Spec.InfrastructureRef.Name]
	vm, read := w.VMs[m.Name]
	if am == nil || !read || vm.Gone || am.Spec.Identity != infrav1.VMIdentityUserAssigned {
		return nil
	}
	for _, wanted := range am.Spec.UserAssignedIdentities {
		if id := strings.ToLower(strings.TrimPrefix(wanted.ProviderID, "azure://")); !slices.Contains(vm.Identities, id) {
			return &finding{Step: "infrastructure", At: "AzureMachine/" + am.Name, Type: "Azure", Cause: "VMIdentityMissing",
				Says:     "the virtual machine lacks an identity that its spec asks for, so the cloud provider on it cannot sign in",
				Evidence: []string{fmt.Sprintf("spec.userAssignedIdentities: %s; the VM has %d identities: %v", id, len(vm.Identities), vm.Identities)},
				Fix:      "az vm identity assign --ids " + strings.TrimPrefix(w.ProviderID(m), "azure://") + " --identities " + id,
				Harm:     "the identity's roles are the machine's from then on",
				Next:     "az vm identity show --ids " + strings.TrimPrefix(w.ProviderID(m), "azure://")}
		}
	}
	return nil
}
