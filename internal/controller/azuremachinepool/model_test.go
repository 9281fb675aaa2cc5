package azuremachinepool

import (
	"slices"
	"strings"
	"testing"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/bootdata"
)

func TestChanged(t *testing.T) {
	for _, test := range []struct{ name, was, is, want string }{
		{"the same", "bootstrap-data=1 extensions=2", "bootstrap-data=1 extensions=2", ""},
		{"one part", "bootstrap-data=1 extensions=2", "bootstrap-data=3 extensions=2", "bootstrap data"},
		{"two parts", "extensions=2 interfaces=1", "extensions=3 interfaces=2", "extensions, interfaces"},
		{"of an unknown model", "", "bootstrap-data=1 extensions=2", ""},
		{"a part that there was not", "extensions=2", "bootstrap-data=1 extensions=2", ""},
		{"a part that there is not any more", "bootstrap-data=1 extensions=2", "extensions=2", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Join(changed(test.was, test.is), ", "); got != test.want {
				t.Errorf("changed: %q, want %q", got, test.want)
			}
		})
	}
}

// hiddenSet returns a scale set of a pool, after a change of the pool.
func hiddenSet(t *testing.T, change func(*infrav1.AzureMachinePool)) desired.Resource {
	t.Helper()
	pool := &infrav1.AzureMachinePool{}
	pool.Name, pool.Spec.Location, pool.Spec.Template.VMSize = "p", "westeurope", "Standard_D2s_v3"
	pool.Spec.Template.OSDisk = infrav1.OSDisk{OSType: "Windows"}
	pool.Spec.Template.NetworkInterfaces = []infrav1.NetworkInterface{{SubnetName: "node", PrivateIPConfigs: 1}}
	pool.Spec.Template.VMExtensions = []infrav1.VMExtension{
		{Name: "b", Publisher: "P", Version: "1.0", Settings: infrav1.Tags{"x": "1"}}, {Name: "a", Publisher: "P", Version: "1.0"},
	}
	change(pool)
	cluster := &infrav1.AzureCluster{}
	cluster.Name, cluster.Spec.ResourceGroup, cluster.Spec.SubscriptionID = "c", "rg", "s"
	cluster.Spec.NetworkSpec.Vnet = infrav1.VnetSpec{Name: "v", ResourceGroup: "rg"}
	for _, name := range []string{"node", "other"} {
		s := infrav1.SubnetSpec{}
		s.Name, s.Role = name, infrav1.SubnetNode
		cluster.Spec.NetworkSpec.Subnets = append(cluster.Spec.NetworkSpec.Subnets, s)
	}
	resources, err := desired.ScaleSet(desired.ScaleSetInput{
		Cluster: cluster, Pool: pool, ClusterName: "c", Name: "p", Capacity: int32(len(pool.Name)), Exists: true,
		Image: infrav1.Image{ID: new("/image")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return resources[0]
}

// TestDigests: a model changes only with inputs of an instance that Azure does not show. The first model is
// fixed in this test: if a new version of casement computes another one, it replaces every instance of
// every pool.
func TestDigests(t *testing.T) {
	const written = "bootstrap-data=7ab0a82d8585d882 extensions=acdd4f69e58bbe34 interfaces=4a87ab992e0aae31"
	model := func(set desired.Resource, data string) string {
		var d digests
		got, err := d.model("/S", desired.HiddenModel(set), bootdata.Meaning([]byte(data)))
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := d.model("/S", desired.HiddenModel(set), bootdata.Meaning([]byte(data))); again != got {
			t.Errorf("the same is %s, then %s", got, again)
		}
		return got
	}
	const data = "#cloud-config\ntoken: abcdef.0123456789abcdef\nname: x\n"
	asIs := func(*infrav1.AzureMachinePool) {}
	first := model(hiddenSet(t, asIs), data)
	if first != written {
		t.Errorf("the model is %s, but %s was written down", first, written)
	}
	for _, test := range []struct {
		name, data string
		change     func(*infrav1.AzureMachinePool)
		want       string
	}{
		{"nothing", data, asIs, ""},
		{"a new token", strings.Replace(data, "abcdef.0123", "zzzzzz.9876", 1), asIs, ""},
		{"other bootstrap data", data + "more: true\n", asIs, "bootstrap data"},
		{"data that is no text", "\x1f\x8b\xff\xfe", asIs, ""},
		{"a setting", data, func(p *infrav1.AzureMachinePool) { p.Spec.Template.VMExtensions[0].Settings["x"] = "2" }, "extensions"},
		{"a protected setting", data, func(p *infrav1.AzureMachinePool) {
			p.Spec.Template.VMExtensions[0].ProtectedSettings = infrav1.Tags{"y": "1"}
		}, "extensions"},
		{"no extensions", data, func(p *infrav1.AzureMachinePool) { p.Spec.Template.VMExtensions = nil }, "extensions"},
		{"the order of extensions", data, func(p *infrav1.AzureMachinePool) { slices.Reverse(p.Spec.Template.VMExtensions) }, ""},
		{"another subnet", data, func(p *infrav1.AzureMachinePool) { p.Spec.Template.NetworkInterfaces[0].SubnetName = "other" }, "interfaces"},
		{"one more interface", data, func(p *infrav1.AzureMachinePool) {
			p.Spec.Template.NetworkInterfaces = append(p.Spec.Template.NetworkInterfaces, infrav1.NetworkInterface{SubnetName: "other"})
		}, "interfaces"},
		{"what instances show", data, func(p *infrav1.AzureMachinePool) { p.Spec.Template.VMSize = "Standard_D4s_v3" }, ""},
		{"tags", data, func(p *infrav1.AzureMachinePool) { p.Spec.AdditionalTags = infrav1.Tags{"a": "b"} }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Join(changed(first, model(hiddenSet(t, test.change), test.data)), ", "); got != test.want {
				t.Errorf("changed: %q, want %q", got, test.want)
			}
		})
	}
}
