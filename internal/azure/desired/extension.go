package desired

import (
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// The bootstrap extension waits for the file that kubeadm's command line writes at its end: the number of attempts, and
// the seconds between them.
const (
	bootstrapSentinel = "/run/cluster-api/bootstrap-success.complete"
	bootstrapTries    = 60
	bootstrapSeconds  = 5
)

const publicCloud = "AzurePublicCloud"

// extensions adds the extensions that run in the guest after boot: the bootstrap check if the spec requests it, then
// the user's extensions, one after the other.
func (b *machineBuilder) extensions() {
	if off := b.spec.DisableExtensionOperations; off != nil && *off {
		return
	}
	before := VMID(b.Cluster, b.VMName)
	add := func(name, field string, p *armcompute.VirtualMachineExtensionProperties) {
		id := VMID(b.Cluster, b.VMName) + "/extensions/" + name
		b.add(Resource{
			ID: id, APIVersion: ComputeAPIVersion,
			Body:   armcompute.VirtualMachineExtension{Location: b.location(), Properties: p},
			Policy: CreateOnly, Condition: infrav1.BootstrapSucceededCondition, Field: field, Needs: []string{before},
		})
		before = id
	}
	if WantsBootstrapExtension(b.Cluster, b.Machine) {
		name, p := b.bootstrapExtension()
		add(name, "spec.disableVMBootstrapExtension", p)
	}
	for i, e := range b.spec.VMExtensions {
		add(e.Name, fmt.Sprintf("spec.vmExtensions[%d]", i), extensionProperties(&e))
	}
}

// extensionProperties returns the ARM properties of an extension in the machine's spec.
func extensionProperties(e *infrav1.VMExtension) *armcompute.VirtualMachineExtensionProperties {
	p := &armcompute.VirtualMachineExtensionProperties{
		Publisher: &e.Publisher, Type: &e.Name, TypeHandlerVersion: &e.Version,
	}
	if len(e.Settings) > 0 {
		p.Settings = e.Settings
	}
	if len(e.ProtectedSettings) > 0 {
		p.ProtectedSettings = e.ProtectedSettings
	}
	return p
}

// WantsBootstrapExtension reports whether the bootstrap check is added: only if the spec
// requests it, and only in the public cloud, which has its publisher.
func WantsBootstrapExtension(c *infrav1.AzureCluster, m *infrav1.AzureMachine) bool {
	off := m.Spec.DisableVMBootstrapExtension
	public := c.Spec.AzureEnvironment == "" || strings.EqualFold(c.Spec.AzureEnvironment, publicCloud)
	return off != nil && !*off && public
}

func (b *machineBuilder) bootstrapExtension() (string, *armcompute.VirtualMachineExtensionProperties) {
	name, version := "CAPZ.Linux.Bootstrapping", "1.0"
	command := fmt.Sprintf(`for i in $(seq %d); do test -f %s && exit 0; sleep %d; done; exit 1`,
		bootstrapTries, bootstrapSentinel, bootstrapSeconds)
	switch {
	case b.windows():
		name = "CAPZ.Windows.Bootstrapping"
		command = fmt.Sprintf(`powershell.exe -Command "for ($i = 0; $i -lt %d; $i++) { if (Test-Path 'C:%s') { `+
			`exit 0 }; Start-Sleep -Seconds %d }; exit -2"`,
			bootstrapTries, strings.ReplaceAll(bootstrapSentinel, "/", `\`), bootstrapSeconds)
	case b.ARM64:
		version = "1.1"
	}
	return name, &armcompute.VirtualMachineExtensionProperties{
		Publisher:          new("Microsoft.Azure.ContainerUpstream"),
		Type:               &name,
		TypeHandlerVersion: &version,
		ProtectedSettings:  map[string]string{"commandToExecute": command},
	}
}
