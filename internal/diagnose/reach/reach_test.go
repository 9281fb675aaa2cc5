package reach

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/diagnose/facts"
)

const (
	group = "/subscriptions/" + azuresim.DefaultSubscription + "/resourceGroups/g"
	netID = group + "/providers/Microsoft.Network"
	vmID  = group + "/providers/Microsoft.Compute/virtualMachines/cp-0"
)

type object = map[string]any

// azureOf starts a local Azure and returns its client.
func azureOf(t *testing.T) *arm.Client {
	t.Helper()
	s, err := azuresim.New(azuresim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	where := cloud.Configuration{ActiveDirectoryAuthorityHost: "https://azure.test/",
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: "https://azure.test", Audience: "https://azure.test"}}}
	credential, err := azidentity.NewClientSecretCredential(azuresim.DefaultTenant, s.Client().ID, s.Client().Secret,
		&azidentity.ClientSecretCredentialOptions{ClientOptions: azcore.ClientOptions{Cloud: where, Transport: s},
			DisableInstanceDiscovery: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := arm.New(arm.Config{Cloud: where, SubscriptionID: azuresim.DefaultSubscription, Credential: credential, Transport: s})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ended waits for an operation.
func ended(t *testing.T, c *arm.Client, r arm.Result, err error) {
	t.Helper()
	for err == nil && r.Operation != nil {
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(r.Operation.RetryAfter):
		}
		r, err = c.Poll(t.Context(), r.Operation.Token)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// put creates a resource.
func put(t *testing.T, c *arm.Client, id, version string, properties object) {
	t.Helper()
	where := "westeurope"
	if strings.Contains(id, "privateDnsZones") {
		where = "global"
	}
	body := object{"location": where, "properties": properties}
	if strings.Contains(id, "/A/") || strings.Contains(id, "/securityRules/") || strings.Contains(id, "/routes/") {
		delete(body, "location")
	}
	if i, is := properties["identity"]; is {
		delete(properties, "identity")
		body["identity"] = i
	}
	r, err := c.Put(t.Context(), id, version, body)
	ended(t, c, r, err)
}

func ref(id string) object { return object{"id": netID + "/" + id} }

// stage creates a cluster's network and its control plane machine in Azure, with an internal load balancer and a zone.
func stage(t *testing.T, c *arm.Client) {
	t.Helper()
	net := func(id string, properties object) {
		t.Helper()
		put(t, c, netID+"/"+id, desired.NetworkAPIVersion, properties)
	}
	rule := object{"name": "allow_apiserver", "properties": object{"access": "Allow", "direction": "Inbound", "protocol": "Tcp",
		"priority": 2201, "sourceAddressPrefix": "*", "sourcePortRange": "*", "destinationAddressPrefix": "*", "destinationPortRange": "6443"}}
	put(t, c, group, desired.ResourcesAPIVersion, object{})
	net("networkSecurityGroups/cp", object{"securityRules": []object{rule}})
	net("networkSecurityGroups/own", object{"securityRules": []object{rule}})
	net("routeTables/node", object{})
	net("virtualNetworks/v", object{"addressSpace": object{"addressPrefixes": []string{"10.0.0.0/8"}}, "subnets": []object{
		{"name": "cp", "properties": object{"addressPrefix": "10.0.0.0/16", "networkSecurityGroup": ref("networkSecurityGroups/cp")}},
		{"name": "node", "properties": object{"addressPrefix": "10.1.0.0/16", "routeTable": ref("routeTables/node")}}}})
	net("loadBalancers/lb", object{
		"frontendIPConfigurations": []object{{"name": "f", "properties": object{"privateIPAddress": "10.0.0.100",
			"privateIPAllocationMethod": "Static", "subnet": ref("virtualNetworks/v/subnets/cp")}}},
		"backendAddressPools": []object{{"name": "cp"}},
		"probes": []object{{"name": "p", "properties": object{"protocol": "Tcp", "port": 6443, "intervalInSeconds": 15,
			"numberOfProbes": 4}}},
		"loadBalancingRules": []object{{"name": "r", "properties": object{"frontendPort": 6443, "backendPort": 6443, "protocol": "Tcp",
			"frontendIPConfiguration": ref("loadBalancers/lb/frontendIPConfigurations/f"),
			"backendAddressPool":      ref("loadBalancers/lb/backendAddressPools/cp"), "probe": ref("loadBalancers/lb/probes/p")}}}})
	nic(t, c, true, "")
	zone := netID + "/privateDnsZones/demo.capz.io"
	put(t, c, zone, desired.PrivateDNSAPIVersion, object{})
	put(t, c, zone+"/virtualNetworkLinks/v-link", desired.PrivateDNSAPIVersion, object{"virtualNetwork": ref("virtualNetworks/v"),
		"registrationEnabled": false})
	put(t, c, zone+"/A/apiserver", desired.PrivateDNSAPIVersion, object{"ttl": 300, "aRecords": []object{{"ipv4Address": "10.0.0.100"}}})
	put(t, c, group+"/providers/Microsoft.ManagedIdentity/userAssignedIdentities/node", desired.IdentityAPIVersion, object{})
	vm(t, c, true)
}

// nic creates the control plane machine's interface, optionally in the load balancer's pool and with its own security group.
func nic(t *testing.T, c *arm.Client, pooled bool, securityGroup string) {
	t.Helper()
	ip := object{"subnet": ref("virtualNetworks/v/subnets/cp")}
	if pooled {
		ip["loadBalancerBackendAddressPools"] = []object{ref("loadBalancers/lb/backendAddressPools/cp")}
	}
	properties := object{"ipConfigurations": []object{{"name": "c", "properties": ip}}}
	if securityGroup != "" {
		properties["networkSecurityGroup"] = ref("networkSecurityGroups/" + securityGroup)
	}
	put(t, c, netID+"/networkInterfaces/cp-0-nic", desired.NetworkAPIVersion, properties)
}

// vm creates the control plane machine, with or without an identity.
func vm(t *testing.T, c *arm.Client, identified bool) {
	t.Helper()
	properties := object{
		"hardwareProfile": object{"vmSize": "Standard_D2s_v3"},
		"storageProfile": object{"osDisk": object{"createOption": "FromImage", "osType": "Windows"}, "imageReference": object{
			"publisher": "cncf-upstream", "offer": "capi-windows", "sku": "k8s-1dot22dot1-windows-2019-containerd", "version": "latest"}},
		"osProfile":      object{"computerName": "cp-0", "adminUsername": "capi", "adminPassword": "Not-4-a-log!"},
		"networkProfile": object{"networkInterfaces": []object{ref("networkInterfaces/cp-0-nic")}},
		"identity":       object{"type": "None"},
	}
	if identified {
		properties["identity"] = object{"type": "UserAssigned", "userAssignedIdentities": object{
			group + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/node": object{}}}
	}
	put(t, c, vmID, desired.ComputeAPIVersion, properties)
}

// snapshot returns the facts of the cluster whose control plane is the machine.
func snapshot() *facts.Snapshot {
	ac := &infrav1.AzureCluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	ac.Spec.ResourceGroup, ac.Spec.ControlPlaneEndpoint.Host, ac.Spec.ControlPlaneEndpoint.Port = "g", "apiserver.demo.capz.io", 6443
	n := &ac.Spec.NetworkSpec
	n.Vnet.Name = "v"
	n.APIServerLB = &infrav1.LoadBalancerSpec{Name: "lb"}
	n.APIServerLB.Type = infrav1.Internal
	n.Subnets = []infrav1.SubnetSpec{{SubnetClassSpec: infrav1.SubnetClassSpec{Name: "cp", Role: infrav1.SubnetControlPlane}}}
	m := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "cp-0", Labels: map[string]string{clusterv1.MachineControlPlaneLabel: ""}}}
	m.Spec.ProviderID = "azure://" + vmID
	return &facts.Snapshot{Cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}, AzureCluster: ac,
		Machines: []clusterv1.Machine{m}, AzureMachines: map[string]*infrav1.AzureMachine{}, Nodes: map[string]*corev1.Node{}}
}

// TestRead: each change in a local Azure is found, and no change is found before it is made.
func TestRead(t *testing.T) {
	c := azureOf(t)
	stage(t, c)
	observe := func(t *testing.T) *facts.Snapshot {
		t.Helper()
		s := snapshot()
		Read(t.Context(), c, s)
		if len(s.NotExamined) > 0 {
			t.Errorf("not examined: %q", s.NotExamined)
		}
		return s
	}
	causes := func(s *facts.Snapshot) string {
		var out []string
		for _, o := range s.Closed {
			out = append(out, o.Cause)
		}
		return strings.Join(out, " ")
	}
	t.Run("as casement made it", func(t *testing.T) {
		s := observe(t)
		v := s.VMs["cp-0"]
		if len(s.Closed) > 0 || v.Off() || v.Power == "" || v.Gone || len(v.Identities) != 1 {
			t.Errorf("got %+v, %+v", s.Closed, v)
		}
	})
	remove := func(id, version string) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			r, err := c.Delete(t.Context(), id, version)
			ended(t, c, r, err)
		}
	}
	deny := object{"access": "Deny", "direction": "Inbound", "protocol": "*", "priority": 100, "sourceAddressPrefix": "*",
		"sourcePortRange": "*", "destinationAddressPrefix": "*", "destinationPortRange": "*"}
	zone := netID + "/privateDnsZones/demo.capz.io"
	for _, step := range []struct { // each step is applied in addition to the previous ones
		name   string
		change func(*testing.T)
		want   string
	}{
		{"a rule of the interface's own group", func(t *testing.T) {
			put(t, c, netID+"/networkSecurityGroups/own/securityRules/corp", desired.NetworkAPIVersion, deny)
			nic(t, c, true, "own")
		}, "NetworkRuleDenies NetworkRuleDenies ProbeBlocked"},
		{"out of the pool", func(t *testing.T) { nic(t, c, false, "") }, "BackendPoolEmpty"},
		{"back in the pool", func(t *testing.T) { nic(t, c, true, "") }, ""},
		{"a route to nowhere", func(t *testing.T) {
			put(t, c, netID+"/routeTables/node/routes/hole", desired.NetworkAPIVersion, object{"addressPrefix": "10.0.0.0/16",
				"nextHopType": "None"})
		}, "RouteDrops"},
		{"a route to a machine that does not forward", func(t *testing.T) {
			raw, err := c.Get(t.Context(), netID+"/networkInterfaces/cp-0-nic", desired.NetworkAPIVersion)
			if err != nil {
				t.Fatal(err)
			}
			_, address, _ := strings.Cut(string(raw), `"privateIPAddress":"`)
			address, _, _ = strings.Cut(address, `"`)
			put(t, c, netID+"/routeTables/node/routes/hole", desired.NetworkAPIVersion, object{"addressPrefix": "10.0.0.0/16",
				"nextHopType": "VirtualAppliance", "nextHopIpAddress": address})
		}, "NextHopDead"},
		{"no route", remove(netID+"/routeTables/node/routes/hole", desired.NetworkAPIVersion), ""},
		{"no link", remove(zone+"/virtualNetworkLinks/v-link", desired.PrivateDNSAPIVersion), "DNSLinkMissing"},
		{"no record", remove(zone+"/A/apiserver", desired.PrivateDNSAPIVersion), "DNSLinkMissing DNSRecordMissing"},
		{"no zone", remove(zone, desired.PrivateDNSAPIVersion), "DNSZoneMissing"},
	} {
		t.Run(step.name, func(t *testing.T) {
			step.change(t)
			if got := causes(observe(t)); got != step.want {
				t.Errorf("got %s, want %s", got, step.want)
			}
		})
	}
	t.Run("no identity", func(t *testing.T) {
		vm(t, c, false)
		if v := observe(t).VMs["cp-0"]; len(v.Identities) > 0 {
			t.Errorf("got %+v", v)
		}
	})
	t.Run("deallocated", func(t *testing.T) {
		r, err := c.Post(t.Context(), vmID+"/deallocate", desired.ComputeAPIVersion, nil)
		ended(t, c, r, err)
		if v := observe(t).VMs["cp-0"]; !v.Off() {
			t.Errorf("got %+v", v)
		}
	})
	t.Run("deleted", func(t *testing.T) {
		remove(vmID, desired.ComputeAPIVersion)(t)
		if v := observe(t).VMs["cp-0"]; !v.Gone {
			t.Errorf("got %+v", v)
		}
	})
	if s := snapshot(); true {
		s.AzureCluster.Spec.NetworkSpec.Vnet.ResourceGroup = "other"
		Read(t.Context(), c, s)
		if fmt.Sprint(s.NotExamined) == "[]" {
			t.Error("a group that is not there: nothing is said to be unread")
		}
	}
}
