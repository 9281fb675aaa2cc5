package azuresim

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/azuresim/internal/compute"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// quickGuests is a Host whose guests report success immediately, and whose scripts print
// themselves.
type quickGuests struct{}

func (quickGuests) Start(host.VM)                        {}
func (quickGuests) Stop(string)                          {}
func (quickGuests) Delete(context.Context, string) error { return nil }
func (quickGuests) View(string) host.View {
	return host.View{Provisioned: host.ProvisioningReady, AgentReady: true}
}
func (quickGuests) Console(string) []byte { return []byte("booted\n") }
func (quickGuests) Run(_ context.Context, _, script string) (int, string, string, error) {
	return 0, script, "", nil
}

// TestScriptParameters: a script gets its parameters in the form of its shell, and answers never
// contain protected parameters.
func TestScriptParameters(t *testing.T) {
	named := func(list ...string) (out []*armcompute.RunCommandInputParameter) {
		for i := 0; i < len(list); i += 2 {
			out = append(out, &armcompute.RunCommandInputParameter{Name: &list[i], Value: &list[i+1]})
		}
		return out
	}
	for _, test := range []struct {
		name, os, command     string
		parameters, protected []*armcompute.RunCommandInputParameter
		want                  string // the executed text; the script is "echo"
	}{
		{"none", "Linux", "RunShellScript", nil, nil, "echo"},
		{"an action on Linux", "Linux", "RunShellScript", named("arg1", "it's", "arg2", "b", "none", ""), nil,
			"export arg1='it'\\''s'\nexport arg2='b'\nset -- 'it'\\''s' 'b'\necho"},
		{"an action on Windows", "Windows", "RunPowerShellScript", named("who", "it's"), nil, "& {\necho\n} -who 'it''s'"},
		{"a resource on Linux", "Linux", "", named("a", "1", "", "two"), named("b", "hush"),
			"export a='1'\nexport b='hush'\nset -- 'two'\necho"},
		{"a resource on Windows", "Windows", "", named("a", "1", "", "two"), named("b", "hush"), "& {\necho\n} -a '1' 'two' -b 'hush'"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := start(t, Config{Host: quickGuests{}})
			defer a.Close()
			vm, got := windowsVM(a.network()), ""
			if test.os == "Linux" {
				vm.Properties.OSProfile.LinuxConfiguration = &armcompute.LinuxConfiguration{}
				vm.Properties.StorageProfile.OSDisk.OSType = new(armcompute.OperatingSystemTypesLinux)
				vm.Properties.StorageProfile.ImageReference.CommunityGalleryImageID = new("/CommunityGalleries/" +
					compute.CommunityGallery + "/Images/capi-ubun2-2404/Versions/latest")
			}
			p, err := a.vms().BeginCreateOrUpdate(t.Context(), "g", "w", vm, nil)
			must(t, p, err)
			if test.command != "" {
				p, err := a.vms().BeginRunCommand(t.Context(), "g", "w",
					armcompute.RunCommandInput{CommandID: &test.command, Script: []*string{new("echo")}, Parameters: test.parameters}, nil)
				got = *must(t, p, err).Value[0].Message
			} else {
				managed, err := armcompute.NewVirtualMachineRunCommandsClient(engine.DefaultSubscription, a.credential, a.options)
				if err != nil {
					t.Fatal(err)
				}
				p, err := managed.BeginCreateOrUpdate(t.Context(), "g", "w", "r", armcompute.VirtualMachineRunCommand{
					Location: new("westeurope"), Properties: &armcompute.VirtualMachineRunCommandProperties{
						Source:     &armcompute.VirtualMachineRunCommandScriptSource{Script: new("echo")},
						Parameters: test.parameters, ProtectedParameters: test.protected}}, nil)
				must(t, p, err)
				shown := a.carried("GET", "resourceGroups/g/providers/Microsoft.Compute/virtualMachines/w/runCommands/r?$expand=instanceView", "")
				got = value.Str(shown, "properties", "instanceView", "output")
				delete(value.Sub(shown, "properties"), "instanceView")
				if text := fmt.Sprint(shown); strings.Contains(text, "hush") {
					t.Errorf("a protected parameter is answered: %s", text)
				}
			}
			if got != test.want {
				t.Errorf("the guest runs %q, want %q", got, test.want)
			}
		})
	}
}
