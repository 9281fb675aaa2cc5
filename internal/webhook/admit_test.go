package webhook

import (
	"errors"
	"slices"
	"strings"
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

// TestPlaceholders: names and IDs in a template may be placeholders for a ClusterClass; they cause a warning, and an
// object that still has them is refused.
func TestPlaceholders(t *testing.T) {
	machine := `{"vmSize":"Standard_D2s_v3","osDisk":{"osType":"Linux","diskSizeGB":30},"image":{"computeGallery":{` +
		`"gallery":"TO BE REPLACED","name":"x","version":"1.0.0"}}}`
	for _, tc := range []struct{ kind, object, made string }{
		{"AzureClusterTemplate", `{"spec":{"template":{"spec":{"location":"TO_BE_REPLACED","subscriptionID":"TO/BE/REPLACED"}}}}`,
			`{"metadata":{"name":"x"},"spec":{"location":"TO_BE_REPLACED","subscriptionID":"TO/BE/REPLACED",` +
				`"identityRef":{"kind":"AzureClusterIdentity","name":"i"}}}`},
		{"AzureMachineTemplate", `{"spec":{"template":{"spec":` + machine + `}}}`, `{"metadata":{"name":"x"},"spec":` + machine + `}`},
		{"AzureMachinePoolTemplate", `{"spec":{"template":{"spec":{"location":"x","template":` + machine + `}}}}`,
			`{"metadata":{"name":"x"},"spec":{"location":"x","template":` + machine + `}}`},
	} {
		t.Run(tc.kind, func(t *testing.T) {
			got, err := Admit(tc.kind, []byte(tc.object))
			if err != nil || len(got.Errors) > 0 || !slices.ContainsFunc(got.Warnings, func(w string) bool {
				return strings.HasPrefix(w, "spec.template.spec.") && strings.Contains(w, "unless a ClusterClass replaces it")
			}) {
				t.Errorf("the template: %v, %v, %v", got.Warnings, got.Errors, err)
			}
			got, err = Admit(strings.TrimSuffix(tc.kind, "Template"), []byte(tc.made))
			if err != nil || len(got.Errors) == 0 {
				t.Errorf("what is made of it: %v, %v", got.Errors, err)
			}
		})
	}
}
