package windows

import "testing"

func TestCanRun(t *testing.T) {
	for _, tc := range []struct {
		host, image string
		want        bool
	}{
		{"10.0.17763", "10.0.17763.6293", true},
		{"10.0.17763", "10.0.20348", false},
		{"10.0.20348", "10.0.17763", false},
		{"10.0.20348", "10.0.20348", true},
		{"10.0.26100", "10.0.20348", true},
		{"10.0.26100.1742", "26100", true},
		{"10.0.20348", "10.0.26100", false},
		{"10.0.26100", "10.0.17763", false},
		{"10.0.25398", "10.0.20348", true},
		{"10.0.27000", "10.0.20348", false},
		{"10.0.17763", "", false},
		{"", "", false},
		{"10.0", "10.0", false},
		{"ltsc2019", "ltsc2019", false},
	} {
		if got := CanRun(tc.host, tc.image); got != tc.want {
			t.Errorf("CanRun(%q, %q) = %v", tc.host, tc.image, got)
		}
	}
}

func TestImageRelease(t *testing.T) {
	for _, tc := range []struct {
		reference, want string
		windows         bool
	}{
		{"mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2019", "2019", true},
		{"mcr.microsoft.com/windows/nanoserver:1809", "2019", true},
		{"mcr.microsoft.com/windows/nanoserver:ltsc2022-amd64", "2022", true},
		{"mcr.microsoft.com/windows/servercore:ltsc2025@sha256:abcd", "2025", true},
		{"mcr.microsoft.com/windows/servercore:10.0.17763.1040", "2019", true},
		{"mcr.microsoft.com/dotnet/framework/aspnet:4.8-windowsservercore-ltsc2019", "2019", true},
		{"mcr.microsoft.com/dotnet/samples:aspnetapp-nanoserver-ltsc2022", "2022", true},
		{"registry.k8s.io/pause:3.9-windows-1809-amd64", "2019", true},
		{"registry.k8s.io/e2e-test-images/agnhost:2.40-windows-amd64-ltsc2022", "2022", true},
		{"golang:1.22-nanoserver-20H2", "20H2", true},
		{"localhost:5000/app:nanoserver-1909", "1909", true},
		{"localhost:5000/nanoserver/app", "", true},
		{"mcr.microsoft.com/windows/servercore", "", true},
		{"registry.k8s.io/pause:3.10", "", false},
		{"mcr.microsoft.com/mssql/server:2019-latest", "", false},
		{"example.com/app:1809", "", false},
		{"nginx", "", false},
		{"", "", false},
	} {
		r, ok := ImageRelease(tc.reference)
		if r.Name != tc.want || ok != (tc.want != "") {
			t.Errorf("ImageRelease(%q) = %q, %v, want %q", tc.reference, r.Name, ok, tc.want)
		}
		if got := IsWindowsImage(tc.reference); got != tc.windows {
			t.Errorf("IsWindowsImage(%q) = %v", tc.reference, got)
		}
	}
}

func TestReleases(t *testing.T) {
	for _, r := range Releases() {
		if again, ok := ReleaseByBuild(r.KernelVersion()); !ok || again.Name != r.Name {
			t.Errorf("%s is found by build as %q, %v", r.KernelVersion(), again.Name, ok)
		}
		if r.SupportedAt(r.EndOfSupport.AddDate(0, 0, 1)) || !r.SupportedAt(r.EndOfSupport) {
			t.Errorf("%s: support ends on %v", r.Name, r.EndOfSupport)
		}
	}
	if r, ok := ReleaseByName(DefaultRelease); !ok || !r.Node {
		t.Errorf("the default release %s is no node's", DefaultRelease)
	}
}
