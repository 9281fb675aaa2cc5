package catalog_test

import (
	"strings"
	"testing"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/azure/catalog"
	"casement.dev/casement/internal/testing/emulator"
)

// TestEveryCapability: each capability in Azure's list of sizes is either checked before a machine is
// created, or listed here as no reason to refuse one.
func TestEveryCapability(t *testing.T) {
	c := catalog.New(emulator.Client(t, azuresim.Config{}), nil)
	offered, err := c.SKUs(t.Context(), "westeurope")
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]catalog.SKU{}
	for _, sku := range offered {
		sizes[sku.Name] = sku
	}
	type row struct {
		vm        catalog.VM
		fits, not string
		field     string
	}
	local := func(placement string) catalog.VM { return catalog.VM{EphemeralOSDisk: true, Placement: placement} }
	rows := map[string]row{
		"vcpus":                {catalog.VM{}, "Standard_D2s_v3", "Standard_B1ms", "spec.vmSize"},
		"memorygb":             {catalog.VM{}, "Standard_D2s_v3", "Standard_B1s", "spec.vmSize"},
		"maxdatadiskcount":     {catalog.VM{DataDisks: 5}, "Standard_D4s_v3", "Standard_D2s_v3", "spec.dataDisks"},
		"maxnetworkinterfaces": {catalog.VM{Interfaces: 3}, "Standard_D8s_v3", "Standard_D4s_v3", "spec.networkInterfaces"},
		"premiumio":            {catalog.VM{Premium: "spec.osDisk"}, "Standard_D2s_v3", "Standard_D2_v3", "spec.osDisk"},
		"ultrassdavailable": {catalog.VM{UltraSSD: true, Zone: "1"},
			"Standard_D2s_v3", "Standard_D2_v2", "spec.dataDisks"},
		"ephemeralosdisksupported": {local(""), "Standard_D2s_v3", "Standard_D2_v5", "spec.osDisk.diffDiskSettings"},
		"supportedephemeralosdiskplacements": {local("NvmeDisk"),
			"Standard_D2ds_v6", "Standard_D2s_v3", "spec.osDisk.diffDiskSettings.placement"},
		"encryptionathostsupported": {catalog.VM{EncryptionAtHost: true},
			"Standard_D2s_v3", "Standard_D2_v3", "spec.securityProfile.encryptionAtHost"},
		"acceleratednetworkingenabled": {catalog.VM{Accelerated: "spec.networkInterfaces[0]"},
			"Standard_D2s_v3", "Standard_B2s", "spec.networkInterfaces[0]"},
		"lowprioritycapable": {catalog.VM{Spot: true}, "Standard_D2s_v3", "Standard_B2s", "spec.spotVMOptions"},
		"hypervgenerations": {catalog.VM{SecurityType: catalog.TrustedLaunch},
			"Standard_D2s_v3", "Standard_D2_v3", "spec.securityProfile.securityType"},
		"trustedlaunchdisabled": {catalog.VM{SecurityType: catalog.TrustedLaunch},
			"Standard_D2s_v3", "Standard_D2ps_v5", "spec.securityProfile.securityType"},
		"confidentialcomputingtype": {catalog.VM{SecurityType: catalog.ConfidentialVM},
			"Standard_DC2as_v5", "Standard_D2s_v3", "spec.securityProfile.securityType"},
	}
	elsewhere := map[string]string{
		"cacheddiskbytes": "PRE115 compares the OS disk with it", "maxresourcevolumemb": "PRE115", "nvmedisksizeinmib": "PRE115",
		"cpuarchitecturetype": "the image is chosen by it", "diskcontrollertypes": "no field asks for a controller",
		"vcpusavailable": "the scheduler sees them", "gpus": "the scheduler sees them", "parentsize": "is a name",
		"rdmaenabled": "no field asks for it", "osvhdsizemb": "admission has a lower bound", "vmdeploymenttypes": "is IaaS for all",
	}
	for _, sku := range offered {
		if sku.VCPUs() == 0 {
			continue
		}
		for _, name := range sku.Capabilities() {
			if _, checked := rows[name]; checked == (elsewhere[name] != "") {
				t.Fatalf("%s of %s is announced; checked: %v, said to be checked elsewhere: %v", name, sku.Name, checked, !checked)
			}
		}
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			check := func(size string) string {
				if sizes[size].Name == "" {
					t.Fatalf("no size %s", size)
				}
				r.vm.Size, r.vm.Location = size, "westeurope"
				var fields []string
				for _, p := range catalog.CheckVM(sizes[size], r.vm) {
					fields = append(fields, p.Field)
				}
				return strings.Join(fields, " ")
			}
			if got := check(r.fits); got != "" {
				t.Errorf("%s has the problems %s", r.fits, got)
			}
			if got := check(r.not); !strings.Contains(got, r.field) {
				t.Errorf("%s has the problems %q, want %s", r.not, got, r.field)
			}
		})
	}
}
