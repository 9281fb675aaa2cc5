package image

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest"
)

// depot responds to each download of a simulated guest with a text that contains its URL.
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

// TestScriptsInGuest runs functions of the library in the PowerShell of a simulated Windows guest, each twice: the
// second run changes nothing.
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
		// says is a text in the output; has are files that must exist afterwards, and lacks is a file that must not.
		says  string
		has   []string
		lacks string
	}{
		{"directories", "Initialize-Node", 0, "", []string{`C:\etc\cni\net.d`, `C:\var\log\kubelet`}, ""},
		{"a download", install(sumOf(url), `C:\it's here\kubelet.exe`), 0, "", []string{`C:\it's here\kubelet.exe`},
			`C:\ProgramData\casement\downloads\kubelet.exe`},
		{"another checksum", install(strings.Repeat("ab", 32), `C:\k\never.exe`), 1,
			"FAILED: the SHA-256 of " + url + " is " + sumOf(url) + ", not abab", nil, `C:\k\never.exe`},
		{"kubelet by sc", "sc.exe delete kubelet\n  Register-Kubelet -Mode 'sc' -LogFlags '--log-file-size=100Mi'",
			0, "", []string{`C:\k\RestartKubelet.ps1`}, ""},
		{"kubelet's log rotates", "Test-Rotation -Mode 'sc' -LogFlags '--log-file-size=100Mi'", 0, "", nil, ""},
		{"kubelet's log does not rotate", "Test-Rotation -Mode 'sc' -LogFlags '--log-file-size=1Gi'", 1,
			"FAILED: the service kubelet does not rotate its log: it runs without --log-file-size=1Gi", nil, ""},
		{"csi-proxy", "Set-Content -Path C:\\k\\csi-proxy.exe -Value x\n  Register-CsiProxy\n  " +
			"Write-Output (Get-Service -Name csi-proxy).Status", 0, "Running", nil, ""},
		{"a file without a signature", strings.Replace(install(sumOf(url), `C:\k\never.exe`), "-Signer ''", "-Signer 'CN=x'", 1), 1,
			"FAILED: " + url + " has no valid signature: NotSigned", nil, `C:\k\never.exe`},
		{"a feature", "Add-Feature -Name 'Containers'", 0, "", nil, ""},
		{"a feature that needs a restart", "Add-Feature -Name 'Telnet-Client'", systems[osWindows].restart, "", nil, ""},
		{"a service that there is not", "Set-ServiceStart -Name 'nothing' -Start 'Disabled'", 1,
			"FAILED: there is no service nothing", nil, ""},
		{"a service", "Set-ServiceStart -Name 'kubelet' -Start 'Manual'\n  Write-Output (Get-Service -Name kubelet).StartType",
			0, "Manual", nil, ""},
		{"a port", "Add-FirewallRule -Name 'exporter' -Protocol 'TCP' -Port '9182'\n  " +
			"Write-Output (Get-NetFirewallRule -Name exporter).Name", 0, "exporter", nil, ""},
		{"hardening", "Set-Hardening -What 'no-smb1'\n  Set-Hardening -What 'no-old-tls'\n  Set-Hardening -What 'no-llmnr'\n  " +
			"Set-Hardening -What 'strong-crypto'\n  Write-Output \"smb1 is $((Get-ItemProperty -Path " +
			"HKLM:\\SYSTEM\\CurrentControlSet\\Services\\LanmanServer\\Parameters).SMB1)\"", 0, "smb1 is 0", nil, ""},
		{"no such switch", "Set-Hardening -What 'all'", 1, "FAILED: there is no switch all", nil, ""},
		{"a missing cloudbase-init", "Remove-Item -Recurse -Force -ErrorAction SilentlyContinue 'C:\\Program " +
			"Files\\Cloudbase Solutions\\Cloudbase-Init\\conf'\n  " +
			"Set-CloudbaseConfig", 1, "FAILED: cloudbase-init is not installed", nil, ""},
		{"a missing program", "Invoke-Native -Program 'C:\\k\\none.exe' -With @('-x')", 1, "FAILED: ", nil, ""},
		{"a missing file of a node", "Test-Node -Mode 'nssm'", 1,
			`FAILED: C:\Program Files\Cloudbase Solutions\Cloudbase-Init\conf\cloudbase-init.conf is missing`, nil,
			""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for run := range 2 {
				want := tc.code
				if run == 1 && want == systems[osWindows].restart {
					want = 0 // the machine has restarted
				}
				var out, errOut strings.Builder
				if code := g.Exec(t.Context(), wrapPowerShell([]string{tc.call}), nil, &out, &errOut); code != want ||
					!strings.Contains(out.String(), tc.says) {
					t.Errorf("code %d, want %d, and %q has no %q; stderr %q", code, want, out.String(), tc.says, errOut.String())
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

// TestScriptsInLinuxGuest runs all scripts of an Ubuntu build, each twice, in the sh of a simulated guest.
func TestScriptsInLinuxGuest(t *testing.T) {
	b := sampleLinux(t)
	g, err := guest.New(guest.Config{HTTP: &depot{}, Machine: guest.Machine{
		ID: "/vm/builder", Dir: t.TempDir(), OS: guest.Linux, ComputerName: "builder", AdminUsername: "casement",
		IPs:   []netip.Addr{netip.MustParseAddr("10.91.0.4")},
		Image: guest.Image{Name: "Ubuntu 24.04 LTS", Release: "24.04", Build: "6.8.0-1031-azure", Plain: true}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	if err := g.Boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	scripts, err := b.Scripts()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scripts {
		if _, archive := map[string]bool{"containerd": true, "cni-plugins": true}[s.Name]; archive || s.Name == "verify" {
			continue // the depot has no archives, so the machine does not have their programs either
		}
		for range 2 {
			var out strings.Builder
			if code := g.Exec(t.Context(), linuxLibrary+s.Script, nil, &out, &out); code != 0 && s.Name != "images" {
				t.Errorf("%s ended with %d: %s", s.Name, code, out.String())
			}
		}
	}
	root := g.Machine().Root
	for _, file := range []string{"/usr/bin/kubelet", "/usr/local/sbin/runc", "/etc/systemd/system/kubelet.service",
		"/etc/systemd/system/containerd.service.d/proxy.conf", "/usr/local/share/ca-certificates/own-1.crt", "/usr/sbin/socat"} {
		if !root.Exists(file) {
			t.Errorf("%s is missing", file)
		}
	}
	if text, err := root.ReadFile("/etc/environment"); err != nil || strings.Count(string(text), "http_proxy=http://proxy.example") != 1 {
		t.Errorf("/etc/environment is %q, %v", text, err)
	}
}

// TestShSyntax: a real sh parses the Linux scripts.
func TestShSyntax(t *testing.T) {
	scripts, err := sampleLinux(t).Scripts()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scripts {
		sh := exec.Command("sh", "-n")
		sh.Stdin = strings.NewReader(linuxLibrary + s.Script)
		if out, err := sh.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", s.Name, err, out)
		}
	}
}

// TestCalls: the calls in PowerShell and in sh name the same functions.
func TestCalls(t *testing.T) {
	for function, want := range map[string]string{
		"Register-Kubelet": "register_kubelet", "Get-ContainerImage": "get_container_image", "Set-ServiceStart": "set_service_start",
	} {
		if got := callSh(function, "Name", "it's"); got != want+` 'it'\''s'` {
			t.Errorf("got %s", got)
		}
		if !strings.Contains(linuxLibrary, "\n"+want+"() {\n") || !strings.Contains(windowsLibrary, "function "+function+" {") {
			t.Errorf("%s is no function of both libraries", function)
		}
	}
}
