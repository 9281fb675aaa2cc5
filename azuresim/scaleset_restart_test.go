package azuresim

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
)

// TestScaleSetResumes: operations in progress at the end of the process continue after a
// restart.
func TestScaleSetResumes(t *testing.T) {
	h := newRack()
	dir := t.TempDir()
	a := startWith(t, Config{Dir: dir}, h)
	a.network()
	a.putSet(windowsSet(2))
	h.blocked["win000002"] = true
	p, err := a.sets().BeginCreateOrUpdate(t.Context(), "g", "win", windowsSet(3), nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := p.ResumeToken()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	h = newRack()
	a = startWith(t, Config{Dir: dir}, h)
	defer a.Close()
	p, err = a.sets().BeginCreateOrUpdate(t.Context(), "g", "win", windowsSet(3),
		&armcompute.VirtualMachineScaleSetsClientBeginCreateOrUpdateOptions{ResumeToken: token})
	must(t, p, err)
	wantRunning(t, h, "win000000", "win000001", "win000002")
	for id, vm := range a.listed() {
		if *vm.Properties.ProvisioningState != "Succeeded" {
			t.Errorf("instance %s is %s", id, *vm.Properties.ProvisioningState)
		}
	}
}
