package image

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest"
)

// depot answers each download of a simulated guest with a text that names it.
type depot struct{ asked int }

func (d *depot) RoundTrip(r *http.Request) (*http.Response, error) {
	d.asked++
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/octet-stream"}},
		Body: io.NopCloser(strings.NewReader(answerOf(r.URL.String()))),
	}, nil
}

func answerOf(url string) string { return "contents of " + url + "\n" }

func sumOf(url string) string {
	sum := sha256.Sum256([]byte(answerOf(url)))
	return hex.EncodeToString(sum[:])
}

// TestScriptsInGuest runs functions of the library in the PowerShell of a simulated Windows
// guest, each twice: what is as it should be stays.
func TestScriptsInGuest(t *testing.T) {
	const url = "https://dl.k8s.io/v1.36.3/bin/windows/amd64/kubelet.exe"
	d := &depot{}
	g, err := guest.New(guest.Config{HTTP: d, Machine: guest.Machine{
		ID: "/vm/builder", Dir: t.TempDir(), OS: guest.Windows, ComputerName: "builder", AdminUsername: "casement",
		IPs: []netip.Addr{netip.MustParseAddr("10.91.0.4")},
		Image: guest.Image{Name: "Windows Server 2022 Datacenter", Release: "2022", Build: "10.0.20348.2700",
			KubernetesVersion: "v1.36.3"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	if err := g.Boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	install := func(sum, path string) string {
		return "Install-Component -Url " + quote(url) + " -Checksum " + quote(sum) + " -Path " + quote(path) + " -As 'file' -Signer ''"
	}
	for _, tc := range []struct {
		name, call string
		code       int
		// says is in the output; has are files that are there afterwards, lacks one that is not.
		says  string
		has   []string
		lacks string
	}{
		{"directories", "Initialize-Node", 0, "", []string{`C:\etc\cni\net.d`, `C:\var\log\kubelet`}, ""},
		{"a download", install(sumOf(url), `C:\it's here\kubelet.exe`), 0, "", []string{`C:\it's here\kubelet.exe`},
			`C:\ProgramData\casement\downloads\kubelet.exe`},
		{"another checksum", install(strings.Repeat("ab", 32), `C:\k\never.exe`), 1,
			"FAILED: the SHA-256 of " + url + " is " + sumOf(url) + ", not abab", nil, `C:\k\never.exe`},
		{"kubelet by sc", "Register-Kubelet -Mode 'sc'", 0, "", []string{`C:\k\RestartKubelet.ps1`}, ""},
		{"a missing cloudbase-init", "Remove-Item -Recurse -Force -ErrorAction SilentlyContinue 'C:\\Program " +
			"Files\\Cloudbase Solutions\\Cloudbase-Init\\conf'\n  " +
			"Set-CloudbaseConfig", 1, "FAILED: cloudbase-init is not installed", nil, ""},
		{"a missing program", "Invoke-Native -Program 'C:\\k\\none.exe' -With @('-x')", 1, "FAILED: ", nil, ""},
		{"a missing file of a node", "Test-Node -Mode 'nssm'", 1,
			`FAILED: C:\Program Files\Cloudbase Solutions\Cloudbase-Init\conf\cloudbase-init.conf is missing`, nil,
			""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 2 {
				var out, errOut strings.Builder
				if code := g.Exec(t.Context(), wrap([]string{tc.call}), nil, &out, &errOut); code != tc.code ||
					!strings.Contains(out.String(), tc.says) {
					t.Errorf("code %d, want %d, and %q has no %q; stderr %q", code, tc.code, out.String(), tc.says, errOut.String())
				}
				for _, file := range tc.has {
					if !g.Machine().Root.Exists(file) {
						t.Errorf("%s is missing", file)
					}
				}
				if tc.lacks != "" && g.Machine().Root.Exists(tc.lacks) {
					t.Errorf("%s is there", tc.lacks)
				}
			}
		})
	}
	if text, err := g.Machine().Root.ReadFile(`C:\it's here\kubelet.exe`); err != nil || string(text) != answerOf(url) {
		t.Errorf("the installed file is %q, %v", text, err)
	}
}
