package casement_test

import (
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/flavors"
	"casement.dev/casement/internal/image"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/lint/rules"
	"casement.dev/casement/internal/windows"
)

// TestNewWindowsRelease: a new release of Windows Server needs only a row in the table of package
// windows. The emulator has its own table, which TestReleasesInAzure compares.
func TestNewWindowsRelease(t *testing.T) {
	defer windows.AddForTest(windows.Release{
		Name: "2028", Build: "10.0.29000", UBR: 1, OSImage: "Windows Server 2028 Datacenter",
		Tags: []string{"ltsc2028"}, Node: true, Pause: "3.11.0",
		Released: time.Date(2027, 10, 1, 0, 0, 0, 0, time.UTC), EndOfSupport: time.Date(2037, 10, 1, 0, 0, 0, 0, time.UTC),
		Publisher: "MicrosoftWindowsServer", Offer: "WindowsServer", SKU: "2028-Datacenter-Core-smalldisk",
	})()
	t.Run("flavors", func(t *testing.T) {
		class, err := flavors.Class()
		if err != nil || !strings.Contains(string(class), "windows-2025, windows-2028]") {
			t.Errorf("the ClusterClass does not offer windows-2028 (%v)", err)
		}
		for _, name := range []string{"windows", "machinepool-windows"} {
			text, err := flavors.Get(name)
			if err != nil || !strings.Contains(string(text), "windows-2025 or windows-2028") {
				t.Errorf("flavor %s does not name windows-2028 (%v)", name, err)
			}
		}
	})
	t.Run("images", func(t *testing.T) {
		chosen, err := windows.DefaultImage("v1.36.3", windows.OSWindows,
			map[string]string{windows.WindowsServerVersionAnnotation: "windows-2028"})
		if err != nil || chosen.Name != "capi-win-2028-containerd" {
			t.Errorf("the annotation chooses %+v, %v", chosen, err)
		}
		if has, ok := windows.ParseImage(chosen.Reference()); !ok || has.Release.Name != "2028" {
			t.Errorf("%s has %+v, %v", chosen.Reference(), has, ok)
		}
		_, err = image.Parse([]byte("apiVersion: image.casement.dev/v1alpha1\nkind: ImageBuild\n" +
			"metadata: {name: x}\nspec: {source: {release: \"2028\"}}\n"))
		if err != nil && strings.Contains(err.Error(), "spec.source.release") {
			t.Errorf("an image of it cannot be built: %v", err)
		}
		if !windows.CanRun("10.0.29000", "10.0.26100") || windows.CanRun("10.0.29000", "10.0.20348") {
			t.Error("a node runs images from the last long-term release on")
		}
	})
	pod := func(selector, image string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\nspec:\n  nodeSelector:\n" +
			"    kubernetes.io/os: windows\n" + selector +
			"  containers:\n  - name: c\n    image: " + image + "\n"
	}
	for name, test := range map[string]struct{ manifest, rule, message string }{
		"build by tag": {
			pod("    node.kubernetes.io/windows-build: ltsc2028\n", "mcr.microsoft.com/windows/nanoserver:ltsc2028"),
			"WIN008", "10.0.29000",
		},
		"build by year": {
			pod("    node.kubernetes.io/windows-build: \"2028\"\n", "mcr.microsoft.com/windows/nanoserver:ltsc2028"),
			"WIN008", "10.0.29000",
		},
		"older image": {pod("", "mcr.microsoft.com/windows/nanoserver:ltsc2022"), "WIN702", "2028"},
		"its image":   {pod("", "mcr.microsoft.com/windows/nanoserver:ltsc2028"), "", ""},
	} {
		t.Run("lint/"+name, func(t *testing.T) {
			target, err := lint.Config{Target: lint.Target{Windows: []string{"2028"}}}.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			set, problems := lint.Parse("pod.yaml", []byte(test.manifest), lint.Options{})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			found := test.rule == ""
			for _, f := range lint.Run(set, rules.All(), target) {
				if f.Rule == test.rule {
					found = found || strings.Contains(f.Message+f.Fix, test.message)
				} else if f.Rule == "WIN008" || f.Rule == "WIN702" {
					t.Errorf("%s: %s", f.Rule, f.Message)
				}
			}
			if !found {
				t.Errorf("no %s with %q", test.rule, test.message)
			}
		})
	}
}

// TestReleasesInAzure: the local Azure has the marketplace image and the reference image of each
// release. It has its own table and shares no facts with the provider.
func TestReleasesInAzure(t *testing.T) {
	azure, err := azuresim.New(azuresim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer azure.Close()
	options := &arm.ClientOptions{ClientOptions: azure.ClientOptions(), DisableRPRegistration: true}
	community, err := armcompute.NewCommunityGalleryImagesClient(azuresim.DefaultSubscription, azure.Credential(), options)
	if err != nil {
		t.Fatal(err)
	}
	market, err := armcompute.NewVirtualMachineImagesClient(azuresim.DefaultSubscription, azure.Credential(), options)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range windows.ServerReleases() {
		r, _ := windows.ReleaseByName(name)
		versions, err := market.List(t.Context(), "westeurope", r.Publisher, r.Offer, r.SKU, nil)
		if err != nil || len(versions.VirtualMachineImageResourceArray) == 0 {
			t.Errorf("%s:%s:%s: %v", r.Publisher, r.Offer, r.SKU, err)
		}
		reference, err := windows.DefaultImage("v1.36.3", windows.OSWindows,
			map[string]string{windows.WindowsServerVersionAnnotation: "windows-" + name})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := community.Get(t.Context(), "westeurope", reference.Gallery, reference.Name, nil); err != nil {
			t.Errorf("%s: %v", reference.Name, err)
		}
	}
}
