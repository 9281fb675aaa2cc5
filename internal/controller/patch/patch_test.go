package patch

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/catalog"
	"casement.dev/casement/internal/patchday"
)

// TestHealthChanged: Machines trigger a pass when their node becomes healthy or unhealthy, and when their
// deletion begins.
func TestHealthChanged(t *testing.T) {
	machine := func(healthy metav1.ConditionStatus, going bool) *clusterv1.Machine {
		m := &clusterv1.Machine{}
		m.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineNodeHealthyCondition, Status: healthy}}
		if going {
			m.DeletionTimestamp = new(metav1.Now())
		}
		return m
	}
	for _, test := range []struct {
		name string
		a, b *clusterv1.Machine
		want bool
	}{
		{"healthy", machine("Unknown", false), machine("True", false), true}, {"broken", machine("True", false), machine("False", false), true},
		{"going", machine("True", false), machine("True", true), true}, {"the same", machine("True", false), machine("True", false), false},
	} {
		if got := healthChanged().Update(event.UpdateEvent{ObjectOld: test.a, ObjectNew: test.b}); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}

// TestImage: an image is taken apart into its line and version, and gets another version in its own form.
func TestImage(t *testing.T) {
	const id = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/galleries/n/images/win"
	for _, test := range []struct {
		name       string
		image      *infrav1.Image
		line, next string
	}{
		{"an ID", &infrav1.Image{ID: new(id + "/versions/1.0.0")}, id, id + "/versions/1.1.0"},
		{"a private gallery", &infrav1.Image{ComputeGallery: &infrav1.AzureComputeGalleryImage{SubscriptionID: new("s"), ResourceGroup: new("g"),
			Gallery: "n", Name: "win", Version: "1.0.0"}}, id, id + "/versions/1.1.0"},
		{"a shared gallery", &infrav1.Image{SharedGallery: &infrav1.AzureSharedGalleryImage{SubscriptionID: "s", ResourceGroup: "g", Gallery: "n",
			Name: "win", Version: "1.0.0"}}, id, id + "/versions/1.1.0"},
		{"a community gallery", &infrav1.Image{ComputeGallery: &infrav1.AzureComputeGalleryImage{Gallery: "n", Name: "win", Version: "1.0.0"}},
			"/CommunityGalleries/n/Images/win", ""},
		{"the marketplace", &infrav1.Image{Marketplace: &infrav1.AzureMarketplaceImage{ImagePlan: infrav1.ImagePlan{Publisher: "p", Offer: "o",
			SKU: "s"}, Version: "1.0.0"}}, "p:o:s", ""},
	} {
		line, version, why := split(test.image)
		if line != test.line || version != "1.0.0" || why != "" {
			t.Errorf("%s: %s, %s, %s", test.name, line, version, why)
		}
		if line, version, _ := split(at(test.image, "1.1.0")); line != test.line || version != "1.1.0" {
			t.Errorf("%s at another version: %s, %s", test.name, line, version)
		}
	}
	for name, image := range map[string]*infrav1.Image{
		"none": nil, "a managed image": {ID: new("/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/images/i")},
		"latest":       {Marketplace: &infrav1.AzureMarketplaceImage{Version: "latest", ImagePlan: infrav1.ImagePlan{Publisher: "p"}}},
		"a definition": {ID: new(id)},
	} {
		if _, _, why := split(image); why == "" {
			t.Errorf("%s has a version", name)
		}
	}
}

// TestChoose: no channel uses a version that its publisher excludes, and the owner of an image determines the verified versions.
func TestChoose(t *testing.T) {
	private, market := catalog.Image{ID: "/subscriptions/s/galleries/n/images/win"}, catalog.Image{Publisher: "MicrosoftWindowsServer"}
	releases := []catalog.Release{{Version: "1.0.0", Verified: true}, {Version: "1.2.0", Verified: true}, {Version: "1.10.0"},
		{Version: "2.0.0", Excluded: true, Verified: true}}
	builds := []catalog.Release{{Version: "20348.1668.230404"}, {Version: "20348.2582.240703"}, {Version: "20348.9999.300101", Excluded: true}}
	for _, test := range []struct {
		name, channel string
		releases      []catalog.Release
		image         catalog.Image
		want          string
	}{
		{"verified", infrav1.ImageChannelVerified, releases, private, "1.2.0"}, {"latest", infrav1.ImageChannelLatest, releases, private,
			"1.10.0"},
		{"none", infrav1.ImageChannelVerified, releases[2:], private, ""},
		{"of the marketplace, without regressions", infrav1.ImageChannelVerified, builds, market, "20348.1668.230404"},
		{"of the marketplace", infrav1.ImageChannelLatest, builds, market, "20348.2582.240703"},
	} {
		if got := choose(test.releases, test.channel, test.image); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestOverride: a pool's variable is the cluster's variable with the version replaced; repeating this changes nothing.
func TestOverride(t *testing.T) {
	cluster := &clusterv1.Cluster{}
	cluster.Spec.Topology.Variables = []clusterv1.ClusterVariable{{Name: "image",
		Value: apiextensionsv1.JSON{Raw: []byte(`{"id":"v/1.0.0","not":"11.0.0"}`)}}}
	var own []clusterv1.ClusterVariable
	d := patchday.Decision{Version: "1.1.0", State: patchday.State{From: "1.0.0", To: "1.1.0"}}
	for range 2 {
		if err := override(cluster, &own, "image", d); err != nil || len(own) != 1 ||
			string(own[0].Value.Raw) != `{"id":"v/1.1.0","not":"11.0.0"}` {
			t.Fatalf("%v, %s", err, own[0].Value.Raw)
		}
	}
	d.Version = "1.0.0"
	if err := override(cluster, &own, "image", d); err != nil || string(own[0].Value.Raw) != `{"id":"v/1.0.0","not":"11.0.0"}` {
		t.Errorf("back: %v, %s", err, own[0].Value.Raw)
	}
	if err := override(cluster, &own, "other", d); err == nil {
		t.Error("a variable that is not there has a version")
	}
}
