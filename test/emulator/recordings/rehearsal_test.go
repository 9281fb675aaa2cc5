package recordings

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/recorder"
)

// TestRehearsal records the SDK's calls to a local Azure in the role of the real one, replays the
// recording against another local Azure, and checks that nothing differs.
func TestRehearsal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rehearsal.yaml")
	rehearse(t, file)
	rec, err := load("rehearsal", file)
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.calls) < 20 {
		t.Fatalf("the recording has %d calls", len(rec.calls))
	}
	accepted, err := readBaseline("rehearsal.tsv")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		result := newReport()
		replay(t, rec, accepted, result)
		if len(result.differences) > 0 || result.total.unmodelled > 0 {
			var out strings.Builder
			result.print(&out)
			result.printDifferences(&out)
			t.Errorf("the recording of a local Azure differs from another one's answers:\n%s", out.String())
		}
	})
}

// password is sent in the rehearsal; the recording must not contain it.
const password = "Canary-Horse-1"

// rehearse records the SDK's calls in a file.
func rehearse(t *testing.T, file string) {
	server, err := azuresim.Start(azuresim.Config{Clients: []azuresim.Client{{ID: zero, Secret: secret}}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(server.CAPEM())
	r, err := recorder.New(server.Endpoint(), &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}, out)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pair, ca, err := recorder.Certificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, l, pair) }()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	options := &arm.ClientOptions{DisableRPRegistration: true, ClientOptions: policy.ClientOptions{
		Transport: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}},
		Cloud: cloud.Configuration{Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: "https://" + l.Addr().String(), Audience: server.Endpoint()},
		}},
	}}
	play(t, server.Credential(), options)
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := r.Calls(); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, canary := range []string{password, azuresim.DefaultSubscription, azuresim.DefaultTenant, azuresim.DefaultClient, "Bearer"} {
		if strings.Contains(string(data), canary) {
			t.Errorf("the recording holds %q", canary)
		}
	}
}

// scene lists the resources of the rehearsal, in order, in the form of the SDK's generic client.
var scene = []struct {
	path, version, place string
	properties           map[string]any
}{
	{"Microsoft.Network/virtualNetworks/v", "2024-05-01", "westeurope", map[string]any{"addressSpace": map[string]any{
		"addressPrefixes": []string{"10.0.0.0/16"},
	},
		"subnets": []any{map[string]any{"name": "s", "properties": map[string]any{"addressPrefix": "10.0.0.0/24"}}}}},
	{"Microsoft.Network/networkInterfaces/n", "2024-05-01", "westeurope",
		map[string]any{"ipConfigurations": []any{map[string]any{"name": "c",
			"properties": map[string]any{"subnet": map[string]any{"id": below + "Microsoft.Network/virtualNetworks/v/subnets/s"}}}}}},
	{"Microsoft.KeyVault/vaults/rehearsal", "2023-07-01", "westeurope", map[string]any{
		"tenantId": azuresim.DefaultTenant, "sku": map[string]any{"family": "A", "name": "standard"},
		"accessPolicies": []any{},
	}},
	{"Microsoft.KeyVault/vaults/rehearsal/secrets/s", "2023-07-01", "", map[string]any{"value": password}},
	{"Microsoft.Compute/virtualMachines/vm", "2024-07-01", "westeurope", map[string]any{
		"hardwareProfile": map[string]any{"vmSize": "Standard_D2s_v3"},
		"storageProfile": map[string]any{"imageReference": map[string]any{"publisher": "MicrosoftWindowsServer",
			"offer": "WindowsServer", "sku": "2022-datacenter-core-g2", "version": "latest"},
			"osDisk": map[string]any{"createOption": "FromImage", "managedDisk": map[string]any{"storageAccountType": "Premium_LRS"}}},
		"osProfile":      map[string]any{"computerName": "vm", "adminUsername": "capi", "adminPassword": password},
		"networkProfile": map[string]any{"networkInterfaces": []any{map[string]any{"id": below + "Microsoft.Network/networkInterfaces/n"}}},
	}},
}

// below is the prefix of the IDs of the rehearsal's resources.
const below = "/subscriptions/" + azuresim.DefaultSubscription + "/resourceGroups/g/providers/"

// play creates a group with a Windows machine, reads all resources, and deletes the group.
func play(t *testing.T, credential azcore.TokenCredential, options *arm.ClientOptions) {
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	factory, err := armresources.NewClientFactory(azuresim.DefaultSubscription, credential, options)
	must(err)
	groups, resources := factory.NewResourceGroupsClient(), factory.NewClient()
	_, err = groups.CreateOrUpdate(ctx, "g", armresources.ResourceGroup{Location: new("westeurope")}, nil)
	must(err)
	for _, one := range scene {
		body := armresources.GenericResource{Properties: one.properties}
		if one.place != "" {
			body.Location = &one.place
		}
		p, err := resources.BeginCreateOrUpdateByID(ctx, below+one.path, one.version, body, nil)
		must(err)
		_, err = p.PollUntilDone(ctx, nil)
		must(err)
		_, err = resources.GetByID(ctx, below+one.path, one.version, nil)
		must(err)
	}
	if _, err := resources.GetByID(ctx, below+"Microsoft.Network/publicIPAddresses/none", "2024-05-01", nil); err == nil {
		t.Error("an address that is not there is found")
	}
	machine, err := resources.BeginDeleteByID(ctx, below+"Microsoft.Compute/virtualMachines/vm", "2024-07-01", nil)
	must(err)
	_, err = machine.PollUntilDone(ctx, nil)
	must(err)
	group, err := groups.BeginDelete(ctx, "g", nil)
	must(err)
	_, err = group.PollUntilDone(ctx, nil)
	must(err)
}
