package azuresim

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/azuresim/internal/engine"
)

func (a *azure) addFault(r fault.Rule) {
	a.t.Helper()
	if _, err := a.Faults().Add(r); err != nil {
		a.t.Fatal(err)
	}
}

// TestFaultsOnAVM lets the creation of one VM fail in each way, then succeed.
func TestFaultsOnAVM(t *testing.T) {
	for name, tc := range map[string]struct {
		rule fault.Rule
		code string // "" for a connection that was dropped
	}{
		"throttle":     {fault.Rule{Kind: fault.Throttle}, "TooManyRequests"},
		"conflict":     {fault.Rule{Kind: fault.Conflict}, "AnotherOperationInProgress"},
		"unavailable":  {fault.Rule{Kind: fault.Unavailable, Status: 500, Code: "InternalServerError"}, "InternalServerError"},
		"drop":         {fault.Rule{Kind: fault.Drop}, ""},
		"quota":        {fault.Rule{Kind: fault.Quota}, "OperationNotAllowed"},
		"sku":          {fault.Rule{Kind: fault.SKU}, "SkuNotAvailable"},
		"operation":    {fault.Rule{Kind: fault.Operation, Code: "AllocationFailed"}, "AllocationFailed"},
		"boot failure": {fault.Rule{Kind: fault.BootFailure}, "OSProvisioningTimedOut"},
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t, Config{Host: quickGuests{}})
			defer a.Close()
			nic := a.network()
			tc.rule.Type, tc.rule.Verbs, tc.rule.Count = "Microsoft.Compute/virtualMachines", []string{http.MethodPut}, 1
			a.addFault(tc.rule)
			vms, _ := armcompute.NewVirtualMachinesClient(engine.DefaultSubscription, a.credential, a.options)
			p, err := vms.BeginCreateOrUpdate(t.Context(), "g", "w", windowsVM(nic), nil)
			if err == nil {
				_, err = p.PollUntilDone(t.Context(), nil)
			}
			if code(err) != tc.code || err == nil || tc.code == "" && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("error %v, want code %q", err, tc.code)
			}
			p, err = vms.BeginCreateOrUpdate(t.Context(), "g", "w", windowsVM(nic), nil)
			must(t, p, err)
			if got := a.Faults().List()[0].Matched; got != 1 {
				t.Errorf("the rule matched %d times, want once", got)
			}
		})
	}
}

// TestLostAnswer: a request whose answer is lost is executed.
func TestLostAnswer(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.network()
	a.addFault(fault.Rule{Kind: fault.Lose, Type: "Microsoft.Network/networkInterfaces", Verbs: []string{http.MethodDelete}})
	nics, _ := armnetwork.NewInterfacesClient(engine.DefaultSubscription, a.credential, a.options)
	if _, err := nics.BeginDelete(t.Context(), "g", "n", nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("error %v, want a dropped connection", err)
	}
	var open int
	a.Read(func(tx *engine.Tx) { open = len(tx.OpenOperations()) })
	if _, err := nics.Get(t.Context(), "g", "n", nil); err == nil && open == 0 {
		t.Error("the delete whose answer was lost was not carried out")
	}
}

// TestAddressAfterFailure: a public IP whose creation failed gets its address from the next
// successful write.
func TestAddressAfterFailure(t *testing.T) {
	a := start(t, Config{Host: quickGuests{}})
	defer a.Close()
	a.network()
	a.addFault(fault.Rule{Kind: fault.Operation, Type: "Microsoft.Network/publicIPAddresses", Count: 1})
	ips, _ := armnetwork.NewPublicIPAddressesClient(engine.DefaultSubscription, a.credential, a.options)
	body := armnetwork.PublicIPAddress{Location: new("westeurope"),
		SKU:        &armnetwork.PublicIPAddressSKU{Name: new(armnetwork.PublicIPAddressSKUNameStandard)},
		Properties: &armnetwork.PublicIPAddressPropertiesFormat{PublicIPAllocationMethod: new(armnetwork.IPAllocationMethodStatic)}}
	p, err := ips.BeginCreateOrUpdate(t.Context(), "g", "late", body, nil)
	if err == nil {
		_, err = p.PollUntilDone(t.Context(), nil)
	}
	if code(err) != "InternalExecutionError" {
		t.Fatalf("error %v", err)
	}
	p, err = ips.BeginCreateOrUpdate(t.Context(), "g", "late", body, nil)
	if made := must(t, p, err); made.Properties.IPAddress == nil || *made.Properties.IPAddress == "" {
		t.Error("it has no address")
	}
}

func TestSnapshot(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	nic := a.network()
	vms, _ := armcompute.NewVirtualMachinesClient(engine.DefaultSubscription, a.credential, a.options)
	p, err := vms.BeginCreateOrUpdate(t.Context(), "g", "w", windowsVM(nic), nil)
	must(t, p, err)
	before, _ := a.Get(nic)
	want := len(a.Resources())
	var saved bytes.Buffer
	if err := a.Snapshot(&saved); err != nil {
		t.Fatal(err)
	}
	if err := a.Reset(); err != nil || len(a.Resources()) != 0 {
		t.Fatalf("reset: %v, %d resources left", err, len(a.Resources()))
	}
	if err := a.Restore(bytes.NewReader(saved.Bytes())); err != nil {
		t.Fatal(err)
	}
	after, _ := a.Get(nic)
	if len(a.Resources()) != want || string(after) != string(before) {
		t.Errorf("%d resources, want %d; the interface is\n%s\nwas\n%s", len(a.Resources()), want, after, before)
	}
	if err := a.Restore(bytes.NewReader([]byte(`{"resources":[]}`))); err == nil || len(a.Resources()) != want {
		t.Errorf("restore of something else: %v, %d resources", err, len(a.Resources()))
	}
}
