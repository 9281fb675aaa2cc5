package windows

import (
	"strings"
	"testing"
)

func TestDefaultImage(t *testing.T) {
	gallery := "/CommunityGalleries/" + CommunityGallery + "/Images/"
	for _, tc := range []struct {
		name        string
		version     string
		os          string
		annotations map[string]string
		want        string
		err         string
	}{
		{name: "old containerd", version: "v1.22.1", os: OSWindows,
			want: "cncf-upstream:capi-windows:k8s-1dot22dot1-windows-2019-containerd:latest"},
		{name: "old dockershim", version: "v1.21.4", os: OSWindows, want: "cncf-upstream:capi-windows:k8s-1dot21dot4-windows-2019:latest"},
		{name: "dockershim asked for", version: "v1.22.1", os: OSWindows,
			annotations: map[string]string{"runtime": "dockershim"},
			want:        "cncf-upstream:capi-windows:k8s-1dot22dot1-windows-2019:latest"},
		{name: "1.22.0 and containerd", version: "v1.22.0", os: OSWindows,
			annotations: map[string]string{"runtime": "containerd"},
			want:        "cncf-upstream:capi-windows:k8s-1dot22dot0-windows-2019-containerd:latest"},
		{name: "containerd too early", version: "v1.21.4", os: OSWindows,
			annotations: map[string]string{"runtime": "containerd"}, err: "annotation runtime"},
		{name: "dockershim too late", version: "v1.24.0", os: OSWindows,
			annotations: map[string]string{"runtime": "dockershim"}, err: "annotation runtime"},
		{name: "old 2022", version: "v1.25.3", os: OSWindows,
			annotations: map[string]string{"windowsServerVersion": "windows-2022"},
			want:        "cncf-upstream:capi-windows:k8s-1dot25dot3-windows-2022-containerd:latest"},
		{name: "pre-release and build dropped", version: "v1.22.1-rc.1+abc", os: OSWindows,
			want: "cncf-upstream:capi-windows:k8s-1dot22dot1-windows-2019-containerd:latest"},
		{name: "new default", version: "v1.34.1", os: OSWindows, want: gallery + "capi-win-2022-containerd/Versions/1.34.1"},
		{name: "new 2025", version: "v1.34.1", os: OSWindows,
			annotations: map[string]string{"windowsServerVersion": "windows-2025", "runtime": "containerd"},
			want:        gallery + "capi-win-2025-containerd/Versions/1.34.1"},
		{name: "new and docker", version: "v1.34.1", os: OSWindows,
			annotations: map[string]string{"runtime": "docker"}, err: "annotation runtime"},
		{name: "year misspelt", version: "v1.34.1", os: OSWindows,
			annotations: map[string]string{"windowsServerVersion": "2025"}, err: "annotation windowsServerVersion"},
		{name: "kept in the marketplace", version: "v1.28.5", os: OSWindows,
			annotations: map[string]string{"windowsServerVersion": "windows-2025"},
			want:        "cncf-upstream:capi-windows:windows-2019-containerd-gen1:128.5.20240102"},
		{name: "Windows list lacks 1.27.15", version: "v1.27.15", os: OSWindows,
			want: gallery + "capi-win-2022-containerd/Versions/1.27.15"},
		{name: "linux new", version: "1.34.1", os: OSLinux, want: gallery + "capi-ubun2-2404/Versions/1.34.1"},
		{name: "linux kept", version: "1.27.15", want: "cncf-upstream:capi:ubuntu-2204-gen1:127.15.20240612"},
		{name: "linux old", version: "v1.22.1", want: "cncf-upstream:capi:k8s-1dot22dot1-ubuntu-2004:latest"},
		{name: "linux 1.21.1", version: "v1.21.1", want: "cncf-upstream:capi:k8s-1dot21dot1-ubuntu-1804:latest"},
		{name: "linux 1.17", version: "v1.17.9", want: "cncf-upstream:capi:k8s-1dot17dot9-ubuntu-1804:latest"},
		{name: "no version", version: "", err: "spec.version"},
		{name: "other OS", version: "v1.34.1", os: "windows", err: "osType"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			image, err := DefaultImage(tc.version, tc.os, tc.annotations)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error %v, want one with %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := image.Reference(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestParseImage(t *testing.T) {
	for _, tc := range []struct{ reference, want string }{
		{"cncf-upstream:capi-windows:k8s-1dot22dot1-windows-2019-containerd:latest", "Windows 2019 v1.22.1 containerd"},
		{"cncf-upstream:capi-windows:k8s-1dot22dot1-windows-2019:latest", "Windows 2019 v1.22.1 docker"},
		{"cncf-upstream:capi-windows:windows-2019-containerd-gen1:128.5.20240102", "Windows 2019 v1.28.5 containerd"},
		{"cncf-upstream:capi:k8s-1dot22dot1-ubuntu-2004:2021.10.1", "Linux 20.04 v1.22.1 containerd"},
		{"cncf-upstream:capi:ubuntu-2204-gen1:130.10.20240717", "Linux 22.04 v1.30.10 containerd"},
		{"/CommunityGalleries/x/Images/capi-win-2025-containerd/Versions/1.34.1", "Windows 2025 v1.34.1 containerd"},
		{"/communityGalleries/x/images/CAPI-ubun2-2404/versions/1.36.0", "Linux 24.04 v1.36.0 containerd"},
		{"/communityGalleries/x/images/capi-azurelinux-3/versions/1.36.0", "Linux 3.0 v1.36.0 containerd"},
		{"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/galleries/a/images/capi-windows-2022-" +
			"containerd/versions/1.33.2", "Windows 2022 v1.33.2 containerd"},
		{"/CommunityGalleries/x/Images/capi-win-2021-containerd/Versions/1.34.1", ""},
		{"/CommunityGalleries/x/Images/other/Versions/1.34.1", ""},
		{"MicrosoftWindowsServer:WindowsServer:2019-datacenter-core-smalldisk:17763.6293.240905", ""},
		{"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/images/mine", ""},
		{"", ""},
	} {
		c, ok := ParseImage(tc.reference)
		got := ""
		if ok {
			got = strings.Join([]string{c.OS, c.Release.Name + c.Distribution, c.KubernetesVersion, c.Runtime}, " ")
		}
		if got != tc.want {
			t.Errorf("ParseImage(%q) = %q, want %q", tc.reference, got, tc.want)
		}
		if ok && (c.OSImage == "" || c.KernelVersion == "" || c.RuntimeVersion == "") {
			t.Errorf("ParseImage(%q) leaves gaps: %+v", tc.reference, c)
		}
	}
}

// TestDefaultImagesAreReadable: ParseImage can parse every default image, so that the simulator knows its contents.
func TestDefaultImagesAreReadable(t *testing.T) {
	for _, v := range []string{"v1.20.1", "v1.22.1", "v1.26.0", "v1.27.3", "v1.28.5", "v1.30.3", "v1.36.3"} {
		for _, os := range []string{OSWindows, OSLinux} {
			image, err := DefaultImage(v, os, nil)
			if err != nil {
				t.Fatal(err)
			}
			c, ok := ParseImage(image.Reference())
			if !ok || c.OS != os || c.KubernetesVersion != v {
				t.Errorf("%s: got %+v, %v", image.Reference(), c, ok)
			}
		}
	}
}

func FuzzParseImage(f *testing.F) {
	f.Add("cncf-upstream:capi-windows:k8s-1dot22dot1-windows-2019-containerd:latest")
	f.Add("/CommunityGalleries/x/Images/capi-win-2025-containerd/Versions/1.34.1")
	f.Fuzz(func(t *testing.T, reference string) {
		if c, ok := ParseImage(reference); ok && c.KubernetesVersion == "" {
			t.Errorf("%q: %+v", reference, c)
		}
	})
}
