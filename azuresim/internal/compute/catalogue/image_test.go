package catalogue

import (
	"strings"
	"testing"
)

func TestFindImage(t *testing.T) {
	for _, c := range []struct {
		name, urn   string
		exact, os   string
		plan, found bool
	}{
		{"latest", "Canonical:UbuntuServer:18.04-LTS:latest", "18.04.202401161", "Linux", false, true},
		{"any case", "canonical:ubuntuserver:18.04-lts:Latest", "18.04.202401161", "Linux", false, true},
		{"any version", "MicrosoftWindowsServer:WindowsServer:2022-datacenter-core-smalldisk:20348.1.230101",
			"20348.1.230101", "Windows", false, true},
		{"no version", "Canonical:UbuntuServer:18.04-LTS:nonsense", "nonsense", "", false, false},
		{"a SKU that is not listed", "Canonical:ubuntu-25_10:server-gen2:latest", "1.0.0", "Linux", false, true},
		{"with a plan", "kinvolk:flatcar-container-linux-free:stable:latest", "4081.2.0", "Linux", true, true},
		{"of Kubernetes", "cncf-upstream:capi-windows:k8s-1dot22dot1-windows-2019-containerd:latest", "2021.10.15", "Windows", false, true},
		{"no such Kubernetes", "cncf-upstream:capi:k8s-1dot99dot1-ubuntu-2004:latest", "", "", false, false},
		{"for high-performance computing", "microsoft-dsvm:ubuntu-hpc:2404-v100:24.04.2026052501", "24.04.2026052501", "Linux", false, true},
		{"for data science", "microsoft-dsvm:dsvm-win-2022:winserver-2022:latest", "1.0.0", "Windows", false, true},
		{"no such publisher", "unknown:offer:sku:latest", "", "", false, false},
		{"without a SKU", "Canonical:UbuntuServer::latest", "", "", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := strings.Split(c.urn, ":")
			i, exact, ok := FindImage(f[0], f[1], f[2], f[3])
			if ok != c.found || ok && (exact != c.exact || i.OS != c.os || i.Plan != c.plan) {
				t.Errorf("found %v: %+v, exactly %q", ok, i, exact)
			}
		})
	}
}

// TestImages checks that each listed image can be looked up by its names.
func TestImages(t *testing.T) {
	seen := map[string]bool{}
	for _, i := range Images() {
		urn := strings.ToLower(strings.Join([]string{i.Publisher, i.Offer, i.SKU}, ":"))
		if seen[urn] {
			t.Errorf("%s is there twice", urn)
		}
		seen[urn] = true
		if found, exact, ok := FindImage(i.Publisher, i.Offer, i.SKU, i.Latest); !ok || found != i || exact != i.Latest {
			t.Errorf("%s is listed and not found", urn)
		}
	}
}

// TestKubernetesVersions compares dates with the rows of the guide and checks that later releases
// have later dates.
func TestKubernetesVersions(t *testing.T) {
	latest := map[string]string{}
	for _, i := range kubernetesImages() {
		latest[i.SKU] = i.Latest
	}
	for sku, want := range map[string]string{
		"k8s-1dot18dot13-windows-2019": "2020.12.11", "k8s-1dot19dot5-windows-2019": "2020.12.11",
		"k8s-1dot20dot0-windows-2019": "2020.12.11", "k8s-1dot22dot1-windows-2019-containerd": "2021.10.15",
		"k8s-1dot22dot2-windows-2019-containerd": "2021.10.15", "k8s-1dot26dot15-windows-2019-containerd": "2024.03.14",
	} {
		if latest[sku] != want {
			t.Errorf("%s: %s, want %s", sku, latest[sku], want)
		}
	}
	if a, b := latest["k8s-1dot23dot5-ubuntu-2004"], latest["k8s-1dot23dot6-ubuntu-2004"]; a >= b {
		t.Errorf("%s is not before %s", a, b)
	}
}

// TestKeptImages: the images that CAPZ uses for Kubernetes 1.27.14 to 1.30.3, and other images in
// templates.
func TestKeptImages(t *testing.T) {
	for _, c := range [][4]string{
		{"capi", "ubuntu-2204-gen1", "127.15.20240612", "127.15.20240612"},
		{"capi", "ubuntu-2204-gen1", "latest", newestMarketplace},
		{"capi-windows", "windows-2019-containerd-gen1", "128.5.20240102", "128.5.20240102"},
		{"capi-windows", "windows-2022-containerd-gen1", "latest", newestMarketplace},
	} {
		if _, exact, ok := FindImage("cncf-upstream", c[0], c[1], c[2]); !ok || exact != c[3] {
			t.Errorf("%s: %s, %t", c, exact, ok)
		}
	}
	if _, _, ok := FindImage("cncf-upstream", "capi-windows", "windows-2025-containerd-gen1", "latest"); ok {
		t.Error("there is an image of Windows Server 2025, which came after the last of them")
	}
}
