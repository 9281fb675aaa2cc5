package azuresim

import (
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// settled waits until no operation is in progress.
func (a *azure) settled() {
	a.t.Helper()
	for {
		changed := a.Changed()
		open := 0
		a.Read(func(t *engine.Tx) { open = len(t.OpenOperations()) })
		if open == 0 {
			return
		}
		select {
		case <-changed:
		case <-a.t.Context().Done():
			a.t.Fatal("operations do not end")
		}
	}
}

func spotSet(capacity int64, policy armcompute.VirtualMachineEvictionPolicyTypes) armcompute.VirtualMachineScaleSet {
	set := windowsSet(capacity)
	profile := set.Properties.VirtualMachineProfile
	profile.Priority, profile.EvictionPolicy = new(armcompute.VirtualMachinePriorityTypesSpot), &policy
	profile.BillingProfile = &armcompute.BillingProfile{MaxPrice: new(-1.0)}
	return set
}

func TestEvictionOfInstances(t *testing.T) {
	for policy, want := range map[armcompute.VirtualMachineEvictionPolicyTypes][]string{
		armcompute.VirtualMachineEvictionPolicyTypesDelete:     {"0 running"},
		armcompute.VirtualMachineEvictionPolicyTypesDeallocate: {"0 running", "1 deallocated"},
	} {
		t.Run(string(policy), func(t *testing.T) {
			h := newRack()
			a := startWith(t, Config{}, h)
			defer a.Close()
			a.network()
			a.putSet(spotSet(2, policy))
			if _, err := a.instanceClient().SimulateEviction(t.Context(), "g", "win", "1", nil); err != nil {
				t.Fatal(err)
			}
			a.settled()
			var got []string
			vms := a.listed()
			for _, id := range value.SortedKeys(vms) {
				got = append(got, id+" "+(*vms[id].Properties.InstanceView.Statuses[1].Code)[len("PowerState/"):])
			}
			if !slices.Equal(got, want) || int(a.capacity()) != len(want) {
				t.Errorf("instances %v, capacity %d, want %v", got, a.capacity(), want)
			}
			wantRunning(t, h, "win000000")
		})
	}
}

func TestEvictionOfVMs(t *testing.T) {
	h := newRack()
	a := startWith(t, Config{}, h)
	defer a.Close()
	nic := a.network()
	put := func(vm armcompute.VirtualMachine) {
		t.Helper()
		p, err := a.vms().BeginCreateOrUpdate(t.Context(), "g", "w", vm, nil)
		must(t, p, err)
	}
	put(windowsVM(nic))
	if _, err := a.vms().SimulateEviction(t.Context(), "g", "w", nil); code(err) != "OperationNotAllowed" {
		t.Errorf("eviction of a regular VM: %v", err)
	}
	del, err := a.vms().BeginDelete(t.Context(), "g", "w", nil)
	must(t, del, err)
	nic = a.network()

	// A VM that a rule evicts after its boot.
	a.addFault(fault.Rule{Kind: fault.Eviction, Type: "Microsoft.Compute/virtualMachines", Delay: "1ms", Count: 1})
	spot := windowsVM(nic)
	spot.Properties.Priority = new(armcompute.VirtualMachinePriorityTypesSpot)
	changes := make(chan engine.Change, 1000)
	a.Subscribe(func(c engine.Change) { changes <- c })
	put(spot)
	for {
		got, err := a.vms().InstanceView(t.Context(), "g", "w", nil)
		if err != nil {
			t.Fatal(err)
		}
		if *got.Statuses[len(got.Statuses)-1].Code == "PowerState/deallocated" {
			break
		}
		select {
		case <-changes:
		case <-t.Context().Done():
			t.Fatal("the VM is not evicted")
		}
	}
	wantRunning(t, h)
}
