package webhook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// cluster returns a valid AzureCluster as a user would write it, with its defaults.
func cluster(t *testing.T, change func(*infrav1.AzureCluster)) *infrav1.AzureCluster {
	t.Helper()
	c := &infrav1.AzureCluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	c.Spec.Location, c.Spec.SubscriptionID, c.Spec.ControlPlaneEnabled = "westeurope", "00000000-0000-0000-0000-000000000001", true
	c.Spec.IdentityRef = &corev1.ObjectReference{Kind: "AzureClusterIdentity", Name: "id"}
	if change != nil {
		change(c)
	}
	if err := defaultCluster(c); err != nil {
		t.Fatal(err)
	}
	return c
}

func machine(t *testing.T, change func(*infrav1.AzureMachine)) *infrav1.AzureMachine {
	t.Helper()
	m := &infrav1.AzureMachine{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	m.Spec.VMSize, m.Spec.OSDisk.OSType = "Standard_D2s_v3", infrav1.WindowsOS
	if change != nil {
		change(m)
	}
	if err := defaultMachine(m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestClusterDefaults(t *testing.T) {
	c := cluster(t, nil)
	n := c.Spec.NetworkSpec
	got := map[string]string{
		"group": c.Spec.ResourceGroup, "vnet": n.Vnet.Name, "vnet CIDR": strings.Join(n.Vnet.CIDRBlocks, ","),
		"lb": n.APIServerLB.Name, "frontend": n.APIServerLB.FrontendIPs[0].Name,
		"ip": n.APIServerLB.FrontendIPs[0].PublicIP.Name, "pool": n.APIServerLB.BackendPool.Name,
		"control plane": n.Subnets[0].Name + " " + n.Subnets[0].CIDRBlocks[0] + " " +
			n.Subnets[0].SecurityGroup.Name + " " + n.Subnets[0].RouteTable.Name,
		"node": n.Subnets[1].Name + " " + n.Subnets[1].CIDRBlocks[0] + " " + n.Subnets[1].SecurityGroup.Name + " " +
			n.Subnets[1].RouteTable.Name + " " + n.Subnets[1].NatGateway.Name,
	}
	want := map[string]string{
		"group": "demo", "vnet": "demo-vnet", "vnet CIDR": "10.0.0.0/8",
		"lb": "demo-public-lb", "frontend": "demo-public-lb-frontEnd", "ip": "pip-demo-apiserver", "pool": "demo-public-lb-backendPool",
		"control plane": "demo-controlplane-subnet 10.0.0.0/16 demo-controlplane-nsg demo-node-routetable",
		"node":          "demo-node-subnet 10.1.0.0/16 demo-node-nsg demo-node-routetable demo-node-natgw",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	again := c.DeepCopy()
	if err := defaultCluster(again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, again); diff != "" {
		t.Errorf("defaulting twice differs from once\n%s", diff)
	}
	if errs := validateCluster(nil, c); len(errs) > 0 {
		t.Errorf("the defaulted cluster is refused: %v", errs)
	}
}

func TestClusterRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*infrav1.AzureCluster)
		field  string
	}{
		"one-letter name":     {func(c *infrav1.AzureCluster) { c.Name = "x" }, "metadata.name"},
		"no identity":         {func(c *infrav1.AzureCluster) { c.Spec.IdentityRef = nil }, "spec.identityRef"},
		"identity kind":       {func(c *infrav1.AzureCluster) { c.Spec.IdentityRef.Kind = "Secret" }, "spec.identityRef.kind"},
		"subnet outside":      {subnets("192.168.0.0/24", "10.1.0.0/16"), "spec.networkSpec.subnets[0].cidrBlocks[0]"},
		"overlapping subnets": {subnets("10.0.0.0/16", "10.0.128.0/17"), "spec.networkSpec.subnets[1].cidrBlocks[0]"},
		"unreadable CIDR":     {subnets("10.0.0.0", "10.1.0.0/16"), "spec.networkSpec.subnets[0].cidrBlocks[0]"},
		"tunnel without SKU": {func(c *infrav1.AzureCluster) {
			c.Spec.BastionSpec.AzureBastion = &infrav1.AzureBastion{EnableTunneling: true}
		}, "spec.bastionSpec.azureBastion.enableTunneling"},
		"zone name on public": {func(c *infrav1.AzureCluster) { c.Spec.NetworkSpec.PrivateDNSZoneName = "a.b" },
			"spec.networkSpec.privateDNSZoneName"},
		"internal IP outside": {func(c *infrav1.AzureCluster) {
			c.Spec.NetworkSpec.APIServerLB = internalLB("10.9.0.1")
		}, "spec.networkSpec.apiServerLB.frontendIPs[0].privateIP"},
		"idle timeout": {func(c *infrav1.AzureCluster) {
			c.Spec.NetworkSpec.APIServerLB = &infrav1.LoadBalancerSpec{
				LoadBalancerClassSpec: infrav1.LoadBalancerClassSpec{IdleTimeoutInMinutes: new(int32(31))},
			}
		}, "spec.networkSpec.apiServerLB.idleTimeoutInMinutes"},
		"priority of a rule": {rule(infrav1.SecurityRule{Name: "r", Priority: 99}),
			"spec.networkSpec.subnets[0].securityGroup.securityRules[0].priority"},
		"source and sources": {
			rule(infrav1.SecurityRule{Name: "r", Priority: 100, Source: new("*"), Sources: []*string{new("*")}}),
			"spec.networkSpec.subnets[0].securityGroup.securityRules[0].sources",
		},
		"two peerings": {func(c *infrav1.AzureCluster) {
			c.Spec.NetworkSpec.Vnet.Peerings = []infrav1.VnetPeeringSpec{{RemoteVnetName: "v"}, {RemoteVnetName: "v"}}
		}, "spec.networkSpec.vnet.peerings[1].remoteVnetName"},
		"extended location": {func(c *infrav1.AzureCluster) {
			c.Spec.ExtendedLocation = &infrav1.ExtendedLocationSpec{Name: "a b", Type: "EdgeZone"}
		}, "spec.extendedLocation.name"},
		"too many outbound IP": {func(c *infrav1.AzureCluster) {
			c.Spec.NetworkSpec.NodeOutboundLB = &infrav1.LoadBalancerSpec{FrontendIPsCount: new(int32(17))}
		}, "spec.networkSpec.nodeOutboundLB.frontendIPsCount"},
	} {
		t.Run(name, func(t *testing.T) {
			errs := validateCluster(nil, cluster(t, tc.change))
			about(t, errs, tc.field)
		})
	}
}

func subnets(controlPlane, node string) func(*infrav1.AzureCluster) {
	return func(c *infrav1.AzureCluster) {
		c.Spec.NetworkSpec.Subnets = []infrav1.SubnetSpec{
			{SubnetClassSpec: infrav1.SubnetClassSpec{Name: "a", Role: infrav1.SubnetControlPlane, CIDRBlocks: []string{controlPlane}}},
			{SubnetClassSpec: infrav1.SubnetClassSpec{Name: "b", Role: infrav1.SubnetNode, CIDRBlocks: []string{node}}},
		}
	}
}

func rule(r infrav1.SecurityRule) func(*infrav1.AzureCluster) {
	return func(c *infrav1.AzureCluster) {
		subnets("10.0.0.0/16", "10.1.0.0/16")(c)
		c.Spec.NetworkSpec.Subnets[0].SecurityGroup.SecurityRules = []infrav1.SecurityRule{r}
	}
}

func internalLB(ip string) *infrav1.LoadBalancerSpec {
	return &infrav1.LoadBalancerSpec{
		FrontendIPs:           []infrav1.FrontendIP{{Name: "f", FrontendIPClass: infrav1.FrontendIPClass{PrivateIPAddress: ip}}},
		LoadBalancerClassSpec: infrav1.LoadBalancerClassSpec{Type: infrav1.Internal},
	}
}

func TestClusterImmutable(t *testing.T) {
	for field, change := range map[string]func(*infrav1.AzureCluster){
		"spec.resourceGroup":                func(c *infrav1.AzureCluster) { c.Spec.ResourceGroup = "other" },
		"spec.subscriptionID":               func(c *infrav1.AzureCluster) { c.Spec.SubscriptionID = "other" },
		"spec.location":                     func(c *infrav1.AzureCluster) { c.Spec.Location = "other" },
		"spec.azureEnvironment":             func(c *infrav1.AzureCluster) { c.Spec.AzureEnvironment = "AzureChinaCloud" },
		"spec.networkSpec.apiServerLB.name": func(c *infrav1.AzureCluster) { c.Spec.NetworkSpec.APIServerLB.Name = "other" },
		"spec.networkSpec.subnets[1].natGateway.name": func(c *infrav1.AzureCluster) {
			c.Spec.NetworkSpec.Subnets[1].NatGateway.Name = "other"
		},
	} {
		t.Run(field, func(t *testing.T) {
			old := cluster(t, nil)
			c := old.DeepCopy()
			change(c)
			errs := validateCluster(old, c)
			about(t, errs, field)
		})
	}
	old := cluster(t, nil)
	c := old.DeepCopy()
	c.Spec.ControlPlaneEndpoint.Host = "127.0.0.1"
	if errs := validateCluster(old, c); len(errs) > 0 {
		t.Errorf("an endpoint that was not set cannot be filled: %v", errs)
	}
}

func TestMachineDefaults(t *testing.T) {
	m := machine(t, func(m *infrav1.AzureMachine) {
		m.Spec.SubnetName = "nodes"
		m.Spec.DataDisks = []infrav1.DataDisk{{NameSuffix: "a", DiskSizeGB: 4}, {NameSuffix: "b", DiskSizeGB: 4, Lun: new(int32(0))}}
	})
	if *m.Spec.DataDisks[0].Lun != 1 || m.Spec.DataDisks[0].CachingType != "ReadWrite" {
		t.Errorf("data disk %+v, want LUN 1 and ReadWrite", m.Spec.DataDisks[0])
	}
	if m.Spec.SubnetName != "" || m.Spec.NetworkInterfaces[0].SubnetName != "nodes" || m.Spec.NetworkInterfaces[0].PrivateIPConfigs != 1 {
		t.Errorf("interfaces %+v", m.Spec.NetworkInterfaces)
	}
	if errs := validateMachine(nil, m); len(errs) > 0 {
		t.Errorf("the defaulted machine is refused: %v", errs)
	}
	again := m.DeepCopy()
	if err := defaultMachine(again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, again); diff != "" {
		t.Errorf("defaulting twice differs from once\n%s", diff)
	}
}

func TestMachineRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*infrav1.AzureMachine)
		field  string
	}{
		"two images": {func(m *infrav1.AzureMachine) {
			m.Spec.Image = &infrav1.Image{ID: new("a"), Marketplace: &infrav1.AzureMarketplaceImage{}}
		}, "spec.image"},
		"no image kind":     {func(m *infrav1.AzureMachine) { m.Spec.Image = &infrav1.Image{} }, "spec.image"},
		"ssh key":           {func(m *infrav1.AzureMachine) { m.Spec.SSHPublicKey = "%%%" }, "spec.sshPublicKey"},
		"OS disk too large": {func(m *infrav1.AzureMachine) { m.Spec.OSDisk.DiskSizeGB = new(int32(2049)) }, "spec.osDisk.diskSizeGB"},
		"OS type":           {func(m *infrav1.AzureMachine) { m.Spec.OSDisk.OSType = "windows" }, "spec.osDisk.osType"},
		"ultra OS disk": {func(m *infrav1.AzureMachine) {
			m.Spec.OSDisk.ManagedDisk = &infrav1.ManagedDiskParameters{StorageAccountType: "UltraSSD_LRS"}
		}, "spec.osDisk.managedDisk.storageAccountType"},
		"data disk too small": {func(m *infrav1.AzureMachine) {
			m.Spec.DataDisks = []infrav1.DataDisk{{NameSuffix: "a", DiskSizeGB: 3}}
		}, "spec.dataDisks[0].diskSizeGB"},
		"LUN twice": {func(m *infrav1.AzureMachine) {
			m.Spec.DataDisks = []infrav1.DataDisk{{NameSuffix: "a", DiskSizeGB: 4, Lun: new(int32(1))},
				{NameSuffix: "b", DiskSizeGB: 4, Lun: new(int32(1))}}
		}, "spec.dataDisks[1].lun"},
		"LUN out of range": {func(m *infrav1.AzureMachine) {
			m.Spec.DataDisks = []infrav1.DataDisk{{NameSuffix: "a", DiskSizeGB: 4, Lun: new(int32(64))}}
		}, "spec.dataDisks[0].lun"},
		"no user identity": {func(m *infrav1.AzureMachine) { m.Spec.Identity = infrav1.VMIdentityUserAssigned },
			"spec.userAssignedIdentities"},
		"extension forbidden": {func(m *infrav1.AzureMachine) {
			m.Spec.DisableExtensionOperations = new(true)
			m.Spec.VMExtensions = []infrav1.VMExtension{{Name: "e"}}
		}, "spec.vmExtensions"},
	} {
		t.Run(name, func(t *testing.T) {
			errs := validateMachine(nil, machine(t, tc.change))
			about(t, errs, tc.field)
		})
	}
}

func TestTemplateCannotChange(t *testing.T) {
	old := &infrav1.AzureMachineTemplate{}
	old.Spec.Template.Spec = machine(t, nil).Spec
	changed := old.DeepCopy()
	changed.Spec.Template.Spec.VMSize = "Standard_D4s_v3"
	if errs := validateMachineTemplate(old, changed); len(errs) != 1 {
		t.Errorf("errors %v, want one", errs)
	}
	if errs := validateMachineTemplate(old, old.DeepCopy()); len(errs) != 0 {
		t.Errorf("an unchanged template is refused: %v", errs)
	}
}

func TestIdentity(t *testing.T) {
	old := &infrav1.AzureClusterIdentity{Spec: infrav1.AzureClusterIdentitySpec{Type: infrav1.ServicePrincipal}}
	changed := old.DeepCopy()
	changed.Spec.Type = infrav1.WorkloadIdentity
	if errs := validateIdentity(old, changed); len(errs) != 1 || errs[0].Field != "spec.type" {
		t.Errorf("errors %v, want one about spec.type", errs)
	}
	changed = old.DeepCopy()
	changed.Spec.ResourceID = "x"
	if errs := validateIdentity(nil, changed); len(errs) != 1 || errs[0].Field != "spec.resourceID" {
		t.Errorf("errors %v, want one about spec.resourceID", errs)
	}
}

// TestRefusing: if the gate of a kind is off, no new object is admitted, and existing ones can be changed.
func TestRefusing(t *testing.T) {
	closed, ok := hook[*infrav1.AzureMachinePoolTemplate]{
		kind: "AzureMachinePoolTemplate", validate: func(_, _ *infrav1.AzureMachinePoolTemplate) field.ErrorList { return nil },
	}.refusing("the gate is off").(hook[*infrav1.AzureMachinePoolTemplate])
	if !ok {
		t.Fatal("refusing makes something else of the hook")
	}
	o := &infrav1.AzureMachinePoolTemplate{}
	if _, err := closed.ValidateCreate(t.Context(), o); err == nil || !strings.Contains(err.Error(), "the gate is off") {
		t.Errorf("a new object: %v", err)
	}
	if _, err := closed.ValidateUpdate(t.Context(), o, o); err != nil {
		t.Errorf("a change: %v", err)
	}
}
