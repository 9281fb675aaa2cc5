package webhook

import (
	"errors"
	"testing"

	infrav1 "casement.dev/casement/api/v1beta1"
)

func TestAdmit(t *testing.T) {
	for _, tc := range []struct {
		name, kind, object string
		errs               string
	}{
		{"a cluster", "AzureCluster", `{"metadata":{"name":"demo"},"spec":{"location":"westeurope",` +
			`"subscriptionID":"00000000-0000-0000-0000-000000000001","identityRef":{"kind":"AzureClusterIdentity","name":"i"}}}`, ""},
		{"a subnet outside", "AzureCluster", `{"metadata":{"name":"demo"},"spec":{"location":"westeurope",` +
			`"subscriptionID":"00000000-0000-0000-0000-000000000001","identityRef":{"kind":"AzureClusterIdentity","name":"i"},` +
			`"networkSpec":{"vnet":{"name":"vnet","cidrBlocks":["10.0.0.0/16"]},"subnets":[{"name":"c",` +
			`"role":"control-plane","cidrBlocks":["10.0.0.0/24"]},{"name":"n","role":"node",` +
			`"cidrBlocks":["10.9.0.0/24"]}]}}}`, "spec.networkSpec.subnets[1].cidrBlocks[0]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Admit(tc.kind, []byte(tc.object))
			if err != nil {
				t.Fatal(err)
			}
			field := ""
			if len(got.Errors) > 0 {
				field = got.Errors[0].Field
			}
			if field != tc.errs {
				t.Errorf("%v", got.Errors)
			}
			if c, ok := got.Object.(*infrav1.AzureCluster); !ok || len(c.Spec.NetworkSpec.Vnet.CIDRBlocks) == 0 {
				t.Errorf("no defaults in %+v", got.Object)
			}
		})
	}
	if _, err := Admit("Pod", []byte("{}")); !errors.Is(err, ErrNoAdmission) {
		t.Errorf("a pod: %v", err)
	}
	if _, err := Admit("AzureCluster", []byte(`{"spec":7}`)); err == nil {
		t.Error("a spec that is a number was read")
	}
}
