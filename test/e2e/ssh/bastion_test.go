package ssh

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/azuresim"
	azure "casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/plane"
)

type object = map[string]any

// TestBastion connects through a Bastion host of the local Azure to a machine that echoes
// everything, and checks that it is refused where Azure would refuse.
func TestBastion(t *testing.T) {
	var asked netip.AddrPort

	server, err := azuresim.New(azuresim.Config{Dir: t.TempDir(),
		Tunnel: func(_ context.Context, _ string, from netip.Addr, to netip.AddrPort) (net.Conn, error) {
			if from != netip.MustParseAddr("10.0.9.4") {
				t.Errorf("the Bastion host comes from %s", from)
			}
			asked = to
			near, far := net.Pipe()
			go io.Copy(far, far) // ends when near is closed
			return near, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(t.Context(), l) // returns when the test ends
	where := plane.Azure{Endpoint: "https://" + l.Addr().String(), CAFile: server.CAFile(),
		TenantID: azuresim.DefaultTenant, SubscriptionID: azuresim.DefaultSubscription,
		ClientID: server.Client().ID, SecretFile: server.SecretFile()}
	client, err := where.ARM()
	if err != nil {
		t.Fatal(err)
	}
	group := "/subscriptions/" + azuresim.DefaultSubscription + "/resourceGroups/g"
	network := group + "/providers/Microsoft.Network/"
	subnet := func(name, prefix string) object {
		return object{"name": name, "properties": object{"addressPrefix": prefix}}
	}
	sub := func(id string) object { return object{"id": id} }
	put(t, client, group, "2021-04-01", object{"location": "westeurope"})
	put(t, client, network+"virtualNetworks/v", "2024-05-01", object{"location": "westeurope",
		"properties": object{"addressSpace": object{"addressPrefixes": []string{"10.0.0.0/16"}},
			"subnets": []object{subnet("nodes", "10.0.1.0/24"), subnet("AzureBastionSubnet", "10.0.9.0/26")}}})
	put(t, client, network+"publicIPAddresses/ip", "2024-05-01", object{"location": "westeurope",
		"sku": object{"name": "Standard"}, "properties": object{"publicIPAllocationMethod": "Static"}})
	put(t, client, network+"networkInterfaces/nic", "2024-05-01", object{"location": "westeurope", "properties": object{
		"ipConfigurations": []object{{"name": "c", "properties": object{"subnet": sub(network + "virtualNetworks/v/subnets/nodes")}}},
	}})
	vm := group + "/providers/Microsoft.Compute/virtualMachines/vm"
	put(t, client, vm, "2024-11-01",
		object{"location": "westeurope", "properties": object{"hardwareProfile": object{"vmSize": "Standard_D2s_v3"},
			"osProfile": object{"computerName": "vm", "adminUsername": "capi", "adminPassword": "Not-4-a-log!x"},
			"storageProfile": object{"imageReference": object{
				"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2019-Datacenter",
				"version": "latest",
			}, "osDisk": object{"createOption": "FromImage"}},
			"networkProfile": object{"networkInterfaces": []object{sub(network + "networkInterfaces/nic")}}}})
	host := func(sku string, tunnels bool) string {
		raw := put(t, client, network+"bastionHosts/b", "2024-05-01", object{"location": "westeurope", "sku": object{
			"name": sku,
		}, "properties": object{"enableTunneling": tunnels,
			"ipConfigurations": []object{{"name": "c", "properties": object{
				"subnet":          sub(network + "virtualNetworks/v/subnets/AzureBastionSubnet"),
				"publicIPAddress": sub(network + "publicIPAddresses/ip"),
			}}}}})
		var b struct{ Properties struct{ DNSName string } }
		if err := json.Unmarshal(raw, &b); err != nil || b.Properties.DNSName == "" {
			t.Fatalf("the Bastion host has no name: %s, %v", raw, err)
		}
		return b.Properties.DNSName
	}
	dial := func(name, id string) (net.Conn, error) {
		through, err := where.Bastion(name)
		if err != nil {
			t.Fatal(err)
		}
		return through.Dial(t.Context(), id, "22")
	}
	name := host("Basic", false)
	if c, err := dial(name, vm); err == nil || !strings.Contains(err.Error(), "enableTunneling") {
		t.Errorf("a Basic host: %v, %v", c, err)
	}
	name = host("Standard", true)
	if c, err := dial(name, vm+"2"); err == nil || !strings.Contains(err.Error(), "no virtual machine") {
		t.Errorf("a machine that is not there: %v, %v", c, err)
	}
	c, err := dial(name, vm)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("all that is said ", 1<<12)
	go c.Write([]byte(text)) // the echo shows whether the text arrived
	back := make([]byte, len(text))
	if _, err := io.ReadFull(c, back); err != nil || string(back) != text {
		t.Errorf("it says something else again: %v", err)
	}
	if asked.Port() != 22 || !netip.MustParsePrefix("10.0.1.0/24").Contains(asked.Addr()) {
		t.Errorf("the tunnel leads to %s", asked)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// put writes a resource, waits until the operation has ended, and returns the resource's final
// state.
func put(t *testing.T, c *azure.Client, id, version string, body any) json.RawMessage {
	t.Helper()
	result, err := c.Put(t.Context(), id, version, body)
	if err != nil {
		t.Fatal(err)
	}
	for tick := time.NewTicker(10 * time.Millisecond); result.Operation != nil; <-tick.C {
		if result, err = c.Poll(t.Context(), result.Operation.Token); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := c.Get(t.Context(), id, version)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
