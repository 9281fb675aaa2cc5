package guest

import (
	"net/netip"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/artifact"
	"casement.dev/casement/internal/sim/guest/machine"
)

// plain boots a Windows machine without the programs of a node, from a captured disk if there is one.
func plain(t *testing.T, name string, captured []byte) (*Guest, string) {
	t.Helper()
	dir := t.TempDir()
	g, err := New(Config{Machine: Machine{
		ID: "/vm/" + name, Dir: dir, OS: Windows, ComputerName: name, AdminUsername: "casement",
		IPs: []netip.Addr{netip.MustParseAddr("10.91.0.4")}, CustomData: []byte("#cloud-config\n"),
		Image: Image{Name: "Windows Server 2022 Datacenter", Release: "2022", Build: "10.0.20348.2700", Plain: true, Captured: captured}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	if err := g.Boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g, dir
}

func output(t *testing.T, g *Guest, script string) string {
	t.Helper()
	var out strings.Builder
	g.Exec(t.Context(), script, nil, &out, &out)
	return out.String()
}

// TestCapture checks that the machines of an image have exactly the programs that scripts installed on the captured
// machine.
func TestCapture(t *testing.T) {
	builder, dir := plain(t, "builder", nil)
	if s := builder.Status(); s.Provisioned != ProvisionedReady || !builder.Machine().Root.Exists(`C:\AzureData\CustomData.bin`) {
		t.Errorf("plain Windows: %+v, custom data in a file: %v", s, builder.Machine().Root.Exists(`C:\AzureData\CustomData.bin`))
	}
	for script, want := range map[string]string{
		"kubelet --version":                         "is not recognized",
		"kubeadm version":                           "is not recognized",
		`& 'C:\k\kubelet.exe' --version`:            "is not recognized",
		"(Get-WindowsFeature Containers).Installed": "False",
		"Get-Service sshd":                          "Cannot find any service",
	} {
		if got := output(t, builder, script); !strings.Contains(got, want) {
			t.Errorf("%s on plain Windows prints %q, want %q", script, got, want)
		}
	}
	m := builder.Machine()
	for file, p := range map[string]artifact.Program{`C:\k\kubelet.exe`: {Name: "kubelet", Version: "v1.35.2"},
		`C:\Program Files\containerd\containerd.exe`: {Name: "containerd", Version: "v2.0.5"},
		`C:\setup.msi`: {Name: artifact.CloudbaseSetup, Version: "1.1.6"}} {
		if err := m.Root.MkdirAll(file[:strings.LastIndex(file, `\`)]); err != nil {
			t.Fatal(err)
		}
		if err := m.Root.WriteFile(file, p.File(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	output(t, builder, `msiexec.exe /i C:\setup.msi /qn
dism.exe /Online /Add-Capability /CapabilityName:OpenSSH.Server~~~~0.0.1.0
[Environment]::SetEnvironmentVariable('Path', "$([Environment]::GetEnvironmentVariable('Path', 'Machine'));C:\k", 'Machine')
Set-Content -Path C:\Windows\Temp\x -Value x`)
	builder.Stop()
	disk, err := Capture(dir)
	if err != nil {
		t.Fatal(err)
	}
	trial, _ := plain(t, "trial", disk)
	if got := trial.Machine().Image; got.KubernetesVersion != "v1.35.2" || got.RuntimeVersion != "2.0.5" ||
		got.ServiceManager != machine.WindowsService {
		t.Errorf("the image is %+v", got)
	}
	for script, want := range map[string]string{
		"kubelet --version":       "Kubernetes v1.35.2",
		"(Get-Service sshd).Name": "sshd",
		"(Get-ItemProperty 'HKLM:\\SYSTEM\\CurrentControlSet\\Control\\ComputerName\\ComputerName').ComputerName": "trial",
		`"windows $([Environment]::OSVersion.Version)"`:                                                           "windows 10.0.20348",
		`Test-Path C:\Windows\Temp\x`:                                                                             "False",
		"(Get-Service cloudbase-init).StartType":                                                                  "Automatic",
	} {
		if got := output(t, trial, script); !strings.Contains(got, want) {
			t.Errorf("%s on a machine of the image prints %q, want %q", script, got, want)
		}
	}
}

// TestSysprep checks that sysprep fails if an application is installed for one user only, and that its log says so.
func TestSysprep(t *testing.T) {
	g, _ := plain(t, "builder", nil)
	const run = `& C:\Windows\System32\Sysprep\sysprep.exe /oobe /generalize
Test-Path C:\Windows\System32\Sysprep\Sysprep_succeeded.tag`
	if got := output(t, g, run); !strings.Contains(got, "True") {
		t.Errorf("it did not succeed: %s", got)
	}
	got := output(t, g, `Remove-Item C:\Windows\System32\Sysprep\Sysprep_succeeded.tag
Add-AppxPackage -Path C:\Agent.appx
`+run+`
Get-Content C:\Windows\System32\Sysprep\Panther\setuperr.log`)
	if !strings.Contains(got, "False") || !strings.Contains(got, "Agent.appx was installed for a user") {
		t.Errorf("got %s", got)
	}
}

// plainLinux boots Ubuntu without the programs of a node, from a captured disk if there is one.
func plainLinux(t *testing.T, name string, captured []byte) (*Guest, string) {
	t.Helper()
	dir := t.TempDir()
	g, err := New(Config{Machine: Machine{
		ID: "/vm/" + name, Dir: dir, OS: Linux, ComputerName: name, AdminUsername: "casement",
		IPs: []netip.Addr{netip.MustParseAddr("10.91.0.4")}, CustomData: []byte("#cloud-config\n"),
		Image: Image{Name: "Ubuntu 24.04 LTS", Release: "24.04", Build: "6.8.0-1031-azure", Plain: true, Captured: captured}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	if err := g.Boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g, dir
}

// TestCaptureLinux checks that software that scripts install on Ubuntu is on the machines of its image, and that files
// that identify the machine are not.
func TestCaptureLinux(t *testing.T) {
	builder, dir := plainLinux(t, "builder", nil)
	for script, want := range map[string]string{
		"kubelet --version":                 "kubelet: command not found",
		"kubeadm version":                   "kubeadm: command not found",
		"/usr/local/bin/containerd -v":      "No such file",
		"command -v conntrack || echo none": "none",
		"systemctl is-enabled kubelet":      "No such file",
		"apt-get install -y nginx":          "Unable to locate package nginx",
	} {
		if got := output(t, builder, script); !strings.Contains(got, want) {
			t.Errorf("%s on plain Ubuntu prints %q, want %q", script, got, want)
		}
	}
	m := builder.Machine()
	for file, p := range map[string]artifact.Program{"/usr/bin/kubelet": {Name: "kubelet", Version: "v1.35.2"},
		"/usr/local/bin/containerd": {Name: "containerd", Version: "v2.0.5"}} {
		if err := m.Root.WriteFile(file, p.File(), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	output(t, builder, `printf '[Service]\nExecStart=/usr/bin/kubelet\n' > /etc/systemd/system/kubelet.service
systemctl enable kubelet
apt-get install -y conntrack
printf '#!/bin/sh\necho own\n' > /usr/local/bin/own
chmod 0755 /usr/local/bin/own
ln -s /usr/local/bin/own /usr/bin/other
echo x > /tmp/x
echo key > /etc/ssh/ssh_host_rsa_key
cloud-init clean --logs
waagent -deprovision+user -force`)
	builder.Stop()
	disk, err := Capture(dir)
	if err != nil {
		t.Fatal(err)
	}
	trial, _ := plainLinux(t, "trial", disk)
	if got := trial.Machine().Image; got.KubernetesVersion != "v1.35.2" || got.RuntimeVersion != "2.0.5" || got.Runtime != "containerd" {
		t.Errorf("the image is %+v", got)
	}
	for script, want := range map[string]string{
		"kubelet --version":            "Kubernetes v1.35.2",
		"containerd --version":         "v2.0.5",
		"systemctl is-enabled kubelet": "enabled",
		"hostname":                     "trial",
		"command -v conntrack":         "/usr/sbin/conntrack",
		"own":                          "own",
		"/usr/bin/other":               "own",
	} {
		if got := output(t, trial, script); !strings.Contains(got, want) {
			t.Errorf("%s on a machine of the image prints %q, want %q", script, got, want)
		}
	}
	for _, file := range []string{"/tmp/x", "/etc/ssh/ssh_host_rsa_key"} {
		if trial.Machine().Root.Exists(file) {
			t.Errorf("%s of the builder is on a machine of its image", file)
		}
	}
}
