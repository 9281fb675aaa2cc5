package azuresim

import (
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"casement.dev/casement/azuresim/internal/value"
)

// TestInstanceDisks tests the disks of a Uniform scale set's instance: they belong to the
// instance and are deleted with it.
func TestInstanceDisks(t *testing.T) {
	a := startWith(t, Config{}, newRack())
	defer a.Close()
	nic := a.network()
	thief := "resourceGroups/g/providers/Microsoft.Compute/virtualMachines/thief"
	a.carried("PUT", thief, `{"location": "westeurope", "properties": {"hardwareProfile": {"vmSize": "Standard_D2s_v3"},
		"storageProfile": {"imageReference": {"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer",
			"sku": "2022-datacenter-core-smalldisk", "version": "latest"}, "osDisk": {"createOption": "fromImage"}},
		"osProfile": {"computerName": "thief", "adminUsername": "u", "adminPassword": "Correct-Horse-1"},
			"networkProfile": {"networkInterfaces": [{"id": "`+
		nic+`"}]}}}`)
	a.putSet(windowsSet(1))
	instance := *a.listed()["0"].ID
	var disks []string
	for _, id := range a.Resources() {
		if strings.Contains(id, "/disks/win_") {
			disks = append(disks, id)
		}
	}
	if len(disks) != 2 {
		t.Fatalf("disks %v, want one of the system and one for data", disks)
	}
	for _, id := range disks {
		_, disk, _ := a.speak(http.MethodGet, id, "")
		if value.Str(disk, "managedBy") != instance || value.Str(disk, "properties", "diskState") != "Attached" {
			t.Errorf("%s is %s, managed by %q; want %s", id, value.Str(disk, "properties", "diskState"),
				value.Str(disk, "managedBy"), instance)
		}
		status, answer, _ := a.speak(http.MethodDelete, id, "")
		if status != http.StatusConflict || value.Str(answer, "error", "code") != "OperationNotAllowed" ||
			!strings.Contains(value.Str(answer, "error", "message"), "is attached to VM "+instance) {
			t.Errorf("delete of %s: %d %v", id, status, answer)
		}
		if code := a.refusal("PATCH", thief, `{"properties": {"storageProfile": {"dataDisks": [{"lun": 0, `+
			`"createOption": "Attach", "managedDisk": {"id": `+
			`"`+id+`"}}]}}}`); code != "AttachDiskWhileBeingDetached" {
			t.Errorf("attach of %s to another machine: %q", id, code)
		}
	}
	a.carried(http.MethodDelete, instance, "")
	for _, id := range disks {
		if status, _, _ := a.speak(http.MethodGet, id, ""); status != http.StatusNotFound {
			t.Errorf("%s is left after its instance: %d", id, status)
		}
	}
}

// TestUserDataOfSet: only an answer to a request that expands it contains the user data of a scale
// set's model.
func TestUserDataOfSet(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.network()
	set := windowsSet(0)
	set.Properties.VirtualMachineProfile.UserData = new("dXNlcg==")
	p, err := a.sets().BeginCreateOrUpdate(t.Context(), "g", "win", set, nil)
	must(t, p, err)
	for expand, want := range map[armcompute.ExpandTypesForGetVMScaleSets]string{
		"": "", armcompute.ExpandTypesForGetVMScaleSetsUserData: "dXNlcg=="} {
		got, err := a.sets().Get(t.Context(), "g", "win", &armcompute.VirtualMachineScaleSetsClientGetOptions{Expand: &expand})
		if err != nil {
			t.Fatal(err)
		}
		if data := got.Properties.VirtualMachineProfile.UserData; (data == nil) != (want == "") || data != nil && *data != want {
			t.Errorf("with %q expanded the user data is %v", expand, data)
		}
	}
}
