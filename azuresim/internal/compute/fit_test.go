package compute

import (
	"slices"
	"testing"

	"casement.dev/casement/azuresim/internal/compute/catalogue"
	"casement.dev/casement/azuresim/internal/value"
)

// TestFits checks all capabilities that the list of SKUs announces: each refuses a demand that a
// size does not support, with Azure's code, or is enforced elsewhere.
func TestFits(t *testing.T) {
	disk := func(kind string) value.Object {
		return value.Object{"storageProfile": value.Object{"osDisk": value.Object{"managedDisk": value.Object{"storageAccountType": kind}}}}
	}
	local := func(placement string, gib int) value.Object {
		return value.Object{"storageProfile": value.Object{"osDisk": value.Object{"diskSizeGB": float64(gib),
			"diffDiskSettings": value.Object{"option": "Local", "placement": placement}}}}
	}
	security := func(kind string) value.Object {
		return value.Object{"securityProfile": value.Object{"securityType": kind}}
	}
	luns := func(n int) value.Object {
		var disks []any
		for lun := range n {
			disks = append(disks, value.Object{"lun": float64(lun)})
		}
		return value.Object{"storageProfile": value.Object{"dataDisks": disks}}
	}
	cases := map[string]struct {
		asks      demand
		fits, not string // names of sizes
		code      string
	}{
		"MaxDataDiskCount": {demand{properties: luns(5)}, "Standard_D4s_v3", "Standard_D2s_v3", "OperationNotAllowed"},
		"PremiumIO": {demand{properties: disk("Premium_LRS")},
			"Standard_D2s_v3", "Standard_D2_v3", "InvalidParameter"},
		"UltraSSDAvailable": {demand{properties: disk("UltraSSD_LRS"), location: "westeurope", zones: []string{"1"}},
			"Standard_D2s_v3", "Standard_D2_v2", "InvalidParameter"},
		"EphemeralOSDiskSupported": {demand{properties: local("CacheDisk", 30)},
			"Standard_D2s_v3", "Standard_D2_v5", "NotSupported"},
		"SupportedEphemeralOSDiskPlacements": {demand{properties: local("NvmeDisk", 30)},
			"Standard_D2ds_v6", "Standard_D2s_v3", "NotSupported"},
		"CachedDiskBytes": {demand{properties: local("CacheDisk", 60)},
			"Standard_D4s_v3", "Standard_D2s_v3", "NotSupported"},
		"MaxResourceVolumeMB": {demand{properties: local("ResourceDisk", 30)},
			"Standard_D4s_v3", "Standard_D2s_v3", "NotSupported"},
		"NvmeDiskSizeInMiB": {demand{properties: local("NvmeDisk", 200)},
			"Standard_D4ds_v6", "Standard_D2ds_v6", "NotSupported"},
		"DiskControllerTypes": {demand{properties: value.Object{"storageProfile": value.Object{"diskControllerType": "NVMe"}}},
			"Standard_D2s_v6", "Standard_D2s_v3", "InvalidParameter"},
		"EncryptionAtHostSupported": {demand{properties: value.Object{"securityProfile": value.Object{"encryptionAtHost": true}}},
			"Standard_D2s_v3", "Standard_D2_v3", "InvalidParameter"},
		"MaxNetworkInterfaces": {demand{interfaces: 3}, "Standard_D8s_v3", "Standard_D4s_v3", "NetworkInterfaceCountExceeded"},
		"AcceleratedNetworkingEnabled": {demand{accelerated: "/nic"},
			"Standard_D2s_v3", "Standard_B2s", "VMSizeIsNotPermittedToEnableAcceleratedNetworking"},
		"HyperVGenerations":   {demand{generation: "V1"}, "Standard_D2s_v3", "Standard_D2s_v6", "BadRequest"},
		"CpuArchitectureType": {demand{architecture: "Arm64"}, "Standard_D2ps_v5", "Standard_D2s_v5", "BadRequest"},
		"LowPriorityCapable": {demand{properties: value.Object{"priority": "Spot"}},
			"Standard_D2s_v3", "Standard_B2s", "OperationNotAllowed"},
		"TrustedLaunchDisabled": {demand{properties: security("TrustedLaunch")},
			"Standard_D2s_v3", "Standard_D2ps_v5", "InvalidParameter"},
		"ConfidentialComputingType": {demand{properties: security("ConfidentialVM")},
			"Standard_DC2as_v5", "Standard_D2s_v3", "InvalidParameter"},
	}
	announced := []string{"UltraSSDAvailable"} // an entry's zone details contain it
	for _, sz := range catalogue.Sizes() {
		for _, c := range sz.Capabilities() {
			announced = append(announced, c.Name)
		}
	}
	slices.Sort(announced)
	for _, name := range slices.Compact(announced) {
		enforced := slices.ContainsFunc(fits, func(f fit) bool { return slices.Contains(f.capabilities, name) })
		if elsewhere := enforcedElsewhere[name] != ""; enforced == elsewhere {
			t.Errorf("%s is announced; enforced: %v, said to be enforced elsewhere: %v", name, enforced, elsewhere)
		}
		if _, ok := cases[name]; ok != enforced {
			t.Errorf("%s has a case: %v, is enforced: %v", name, ok, enforced)
		}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.asks.properties == nil {
				c.asks.properties = value.Object{}
			}
			able, _ := catalogue.SizeNamed(c.fits)
			if e := checkFit(c.asks, able); e != nil {
				t.Errorf("%s is refused: %s %s", c.fits, e.Code, e.Message)
			}
			unable, _ := catalogue.SizeNamed(c.not)
			if e := checkFit(c.asks, unable); e == nil || e.Code != c.code {
				t.Errorf("%s: %v, want %s", c.not, e, c.code)
			}
		})
	}
}

// enforcedElsewhere are announced capabilities that refuse no machine, with the reason.
var enforcedElsewhere = map[string]string{
	"vCPUs": "quotas count them", "vCPUsAvailable": "the guest sees them", "MemoryGB": "the guest sees it", "GPUs": "the guest sees them",
	"ParentSize": "names the size without constrained cores", "RdmaEnabled": "only the guest's driver meets it",
	"OSVhdSizeMB": "is the largest disk of any size", "VMDeploymentTypes": "is IaaS for all",
}
