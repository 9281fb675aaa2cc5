package azuresim

import (
	"strings"
	"testing"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// TestReferences: a resource that a document refers to must exist, in the document's region unless
// the reference allows any.
func TestReferences(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	const group = "/subscriptions/" + engine.DefaultSubscription + "/resourceGroups/g/providers/Microsoft."
	near, far := `{"location":"westeurope",`, `{"location":"northeurope",`
	put := func(of, body string) (status int, code string) {
		path := "resourceGroups/g/providers/Microsoft." + of
		status, answer, h := a.speak("PUT", path+"?api-version="+versionFor(path, "2026-04-01"), strings.ReplaceAll(body, "~", group))
		if e := a.ended(h); e != nil {
			return status, e.Code
		}
		return status, value.Str(answer, "error", "code")
	}
	const space = `"properties":{"addressSpace":{"addressPrefixes":["10.%.0.0/16"]},"subnets":[{"name":"s","properties":` +
		`{"addressPrefix":"10.%.0.0/24"}}]}}`
	for _, made := range [][2]string{
		{"Network/virtualNetworks/near", near + strings.ReplaceAll(space, "%", "1")},
		{"Network/virtualNetworks/far", far + strings.ReplaceAll(space, "%", "2")},
		{"Network/networkSecurityGroups/far", far + `"properties":{}}`},
		{"Network/publicIPAddresses/far", far + `"sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}`},
		{"Network/applicationSecurityGroups/far", far + `"properties":{}}`},
		{"Network/networkInterfaces/far", far + `"properties":{"ipConfigurations":[{"name":"c","properties":{"subnet":` +
			`{"id":"~Network/virtualNetworks/far/subnets/s"}}}]}}`},
		{"Network/networkInterfaces/near", near + `"properties":{"ipConfigurations":[{"name":"c","properties":{"subnet":` +
			`{"id":"~Network/virtualNetworks/near/subnets/s"}}}]}}`},
		{"Compute/proximityPlacementGroups/far", far + `"properties":{}}`},
		{"Compute/capacityReservationGroups/far", far + `"properties":{}}`},
	} {
		if status, code := put(made[0], made[1]); status >= 300 {
			t.Fatalf("%s: %d %s", made[0], status, code)
		}
	}
	machine := func(nic, disk, more string) string {
		return near + `"properties":{"hardwareProfile":{"vmSize":"Standard_D2s_v3"},"storageProfile":{"imageReference":{"publisher":` +
			`"MicrosoftWindowsServer","offer":"WindowsServer","sku":"2022-datacenter-g2","version":"latest"},"osDisk":{"createOption":` +
			`"FromImage","managedDisk":{` + disk + `}}},"osProfile":{"computerName":"w","adminUsername":"capi","adminPassword":` +
			`"Correct-Horse-1"},"networkProfile":{"networkInterfaces":[{"id":"~Network/networkInterfaces/` + nic + `"}]}` + more + `}}`
	}
	const there = "InvalidResourceReference"
	for name, test := range map[string]struct{ of, body, code string }{
		"an interface in another region's network": {"Network/networkInterfaces/x", near + `"properties":{"ipConfigurations":[{"name":"c",` +
			`"properties":{"subnet":{"id":"~Network/virtualNetworks/far/subnets/s"}}}]}}`, there},
		"an interface with another region's address": {"Network/networkInterfaces/x", near + `"properties":{"ipConfigurations":[{"name":"c",` +
			`"properties":{"subnet":{"id":"~Network/virtualNetworks/near/subnets/s"},"publicIPAddress":` +
			`{"id":"~Network/publicIPAddresses/far"}}}]}}`, there},
		"an interface with another region's application group": {"Network/networkInterfaces/x", near + `"properties":{"ipConfigurations":` +
			`[{"name":"c","properties":{"subnet":{"id":"~Network/virtualNetworks/near/subnets/s"},"applicationSecurityGroups":` +
			`[{"id":"~Network/applicationSecurityGroups/far"}]}}]}}`, there},
		"a subnet with another region's security group": {"Network/virtualNetworks/near/subnets/x", `{"properties":{"addressPrefix":` +
			`"10.1.9.0/24","networkSecurityGroup":{"id":"~Network/networkSecurityGroups/far"}}}`, there},
		"a peering with another region": {"Network/virtualNetworks/near/virtualNetworkPeerings/x", `{"properties":{"remoteVirtualNetwork":` +
			`{"id":"~Network/virtualNetworks/far"}}}`, ""},
		"a load balancer with another region's address": {"Network/loadBalancers/x", near + `"sku":{"name":"Standard"},"properties":` +
			`{"frontendIPConfigurations":[{"name":"f","properties":{"publicIPAddress":{"id":"~Network/publicIPAddresses/far"}}}]}}`, there},
		"a machine with another region's interface": {"Compute/virtualMachines/x", machine("far", "", ""), there},
		"a machine with a reservation group that is not there": {"Compute/virtualMachines/x", machine("near", "",
			`,"capacityReservation":{"capacityReservationGroup":{"id":"~Compute/capacityReservationGroups/none"}}`), there},
		"a machine with another region's reservation group": {"Compute/virtualMachines/x", machine("near", "",
			`,"capacityReservation":{"capacityReservationGroup":{"id":"~Compute/capacityReservationGroups/far"}}`), there},
		"a machine with another region's placement group": {"Compute/virtualMachines/x", machine("near", "",
			`,"proximityPlacementGroup":{"id":"~Compute/proximityPlacementGroups/far"}`), there},
		"a machine with a disk encryption set that is not there": {"Compute/virtualMachines/x", machine("near",
			`"diskEncryptionSet":{"id":"~Compute/diskEncryptionSets/none"}`, ""), there},
		"a machine with a reference that is no ID": {"Compute/virtualMachines/x", machine("near",
			`"diskEncryptionSet":{"id":"none"}`, ""), "LinkedInvalidPropertyId"},
	} {
		t.Run(name, func(t *testing.T) {
			if status, code := put(test.of, test.body); code != test.code || (status < 300) != (code == "") {
				t.Errorf("%d %s, want %s", status, code, test.code)
			}
		})
	}
	if status, code := put("Compute/virtualMachines/x", machine("near", "", "")); code != "" {
		t.Errorf("a machine without them: %d %s", status, code)
	}
}
