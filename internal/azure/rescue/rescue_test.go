package rescue

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/azure/arm"
)

// guests runs the commands of a local Azure's machines.
type guests struct {
	mu        sync.Mutex
	passwords map[string]string
}

func (*guests) Start(host.VM)                        {}
func (*guests) Stop(string)                          {}
func (*guests) Delete(context.Context, string) error { return nil }
func (*guests) View(string) host.View {
	return host.View{Provisioned: host.ProvisioningReady, AgentReady: true}
}
func (*guests) Console(id string) []byte { return []byte("console of " + id + "\n") }
func (*guests) Run(_ context.Context, _, script string) (int, string, string, error) {
	return 0, "ran " + script, "oops", nil
}
func (g *guests) SetPassword(_ context.Context, _, user, password string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passwords[user] = password
	return nil
}

const group = "/subscriptions/" + azuresim.DefaultSubscription + "/resourceGroups/g"

// newVM returns a Windows VM of a local Azure in process.
func newVM(t *testing.T, diagnostics bool) (VM, *guests) {
	t.Helper()
	g := &guests{passwords: map[string]string{}}
	s, err := azuresim.New(azuresim.Config{Host: g})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	where := cloud.Configuration{ActiveDirectoryAuthorityHost: "https://azure.test/",
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: "https://azure.test", Audience: "https://azure.test"}}}
	credential, err := azidentity.NewClientSecretCredential(azuresim.DefaultTenant, s.Client().ID,
		s.Client().Secret, &azidentity.ClientSecretCredentialOptions{
			ClientOptions: azcore.ClientOptions{Cloud: where, Transport: s}, DisableInstanceDiscovery: true})
	if err != nil {
		t.Fatal(err)
	}
	client, err := arm.New(arm.Config{Cloud: where, SubscriptionID: azuresim.DefaultSubscription, Credential: credential, Transport: s})
	if err != nil {
		t.Fatal(err)
	}
	v := VM{Client: client, HTTP: &http.Client{Transport: transport(s.Do)},
		ID: group + "/providers/Microsoft.Compute/virtualMachines/w", Windows: true}
	type object = map[string]any
	const network = group + "/providers/Microsoft.Network"
	for _, r := range []struct {
		id   string
		body object
	}{
		{group, object{}},
		{network + "/virtualNetworks/n", object{"addressSpace": object{"addressPrefixes": []string{"10.0.0.0/8"}},
			"subnets": []object{{"name": "s", "properties": object{"addressPrefix": "10.1.0.0/16"}}}}},
		{network + "/networkInterfaces/w", object{"ipConfigurations": []object{
			{"name": "c", "properties": object{"subnet": object{"id": network + "/virtualNetworks/n/subnets/s"}}},
		}}},
		{v.ID, object{
			"hardwareProfile": object{"vmSize": "Standard_D2s_v3"},
			"storageProfile": object{"osDisk": object{"createOption": "FromImage", "osType": "Windows"}, "imageReference": object{
				"publisher": "cncf-upstream", "offer": "capi-windows",
				"sku": "k8s-1dot22dot1-windows-2019-containerd", "version": "latest",
			}},
			"osProfile": object{
				"computerName": "w", "adminUsername": "capi", "adminPassword": "Not-4-a-log!",
				"customData": base64.StdEncoding.EncodeToString([]byte("#cloud-config\n")),
			},
			"networkProfile":     object{"networkInterfaces": []object{{"id": network + "/networkInterfaces/w"}}},
			"diagnosticsProfile": object{"bootDiagnostics": object{"enabled": diagnostics}},
		}},
	} {
		result, err := client.Put(t.Context(), r.id, "2024-07-01", object{"location": "westeurope", "properties": r.body})
		if err == nil {
			_, err = v.wait(t.Context(), result)
		}
		if err != nil {
			t.Fatalf("put %s: %v", r.id, err)
		}
	}
	return v, g
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func TestConsole(t *testing.T) {
	v, _ := newVM(t, true)
	if text, err := v.Console(t.Context()); err != nil || text != "console of "+v.ID+"\n" {
		t.Errorf("got %q, %v", text, err)
	}
	v, _ = newVM(t, false)
	if text, err := v.Console(t.Context()); err == nil || !strings.Contains(err.Error(), "not enabled") {
		t.Errorf("a VM without boot diagnostics: %q, %v", text, err)
	}
}

// TestConsoleIsSigned: a URL without a valid signature is refused.
func TestConsoleIsSigned(t *testing.T) {
	v, _ := newVM(t, true)
	for _, address := range []string{
		"https://azure.test/bootdiagnostics/" + base64.RawURLEncoding.EncodeToString([]byte(v.ID)) + "/serialconsole.log",
		"https://azure.test/bootdiagnostics/" + base64.RawURLEncoding.EncodeToString([]byte(v.ID)) +
			"/serialconsole.log?se=9999999999&sig=AAAA",
	} {
		resp, err := v.HTTP.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s answers %s", address, resp.Status)
		}
	}
}

func TestRun(t *testing.T) {
	v, _ := newVM(t, true)
	out, errOut, err := v.Run(t.Context(), "hostname")
	if err != nil || out != "ran hostname" || errOut != "oops" {
		t.Errorf("got %q, %q, %v", out, errOut, err)
	}
}

func TestResetPassword(t *testing.T) {
	v, g := newVM(t, true)
	first, err := v.ResetPassword(t.Context(), "capi")
	if err != nil || g.passwords["capi"] != first {
		t.Fatalf("the guest has %q, want %q; %v", g.passwords["capi"], first, err)
	}
	second, err := v.ResetPassword(t.Context(), "ops")
	if err != nil || g.passwords["ops"] != second || first == second {
		t.Fatalf("the second: %q and %q, %v", first, second, err)
	}
	extensions := 0
	for body, err := range v.Client.List(t.Context(), v.ID+"/extensions", apiVersion) {
		extensions++
		if err != nil || strings.Contains(string(body), second) || strings.Contains(string(body), "protectedSettings") {
			t.Errorf("Azure shows %s, %v", body, err)
		}
	}
	if extensions != 1 {
		t.Errorf("%d extensions, want one for both", extensions)
	}
	v.Windows = false
	if _, err := v.ResetPassword(t.Context(), "capi"); err == nil {
		t.Error("a Linux VM got a password")
	}
}

// TestResetPasswordTakesTheExtensionThatIsThere: Azure refuses a second extension of the same handler.
func TestResetPasswordTakesTheExtensionThatIsThere(t *testing.T) {
	v, g := newVM(t, true)
	put := func(name string) error {
		result, err := v.Client.Put(t.Context(), v.ID+"/extensions/"+
			name, apiVersion, map[string]any{"location": "westeurope", "properties": map[string]any{
			"publisher": "Microsoft.Compute", "type": "VMAccessAgent", "typeHandlerVersion": "2.4", "settings": map[string]any{}}})
		if err == nil {
			_, err = v.wait(t.Context(), result)
		}
		return err
	}
	if err := put("mine"); err != nil {
		t.Fatal(err)
	}
	if err := put("another"); err == nil || !strings.Contains(err.Error(), "per handler") {
		t.Errorf("a second extension of the handler: %v", err)
	}
	password, err := v.ResetPassword(t.Context(), "capi")
	if err != nil || g.passwords["capi"] != password {
		t.Errorf("the guest has %q, want %q; %v", g.passwords["capi"], password, err)
	}
}

func TestNewPassword(t *testing.T) {
	seen := map[string]bool{}
	for range 200 {
		p, err := newPassword()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range classes {
			if !strings.ContainsAny(p, c) {
				t.Errorf("%q has none of %s", p, c)
			}
		}
		if len(p) != passwordLength || seen[p] {
			t.Errorf("%q is short or comes twice", p)
		}
		seen[p] = true
	}
}
