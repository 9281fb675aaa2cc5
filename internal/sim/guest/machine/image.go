package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"casement.dev/casement/internal/sim/artifact"
)

// program returns the content of the file that simulates a program of the image.
func program(name, version string) string {
	return string(artifact.Program{Name: name, Version: version}.File())
}

// layImage creates the directories and marker files of the image that are missing.
func (m *Machine) layImage() error {
	dirs, files := linuxImage(m.Spec)
	switch {
	case m.OS == Windows && m.Image.Plain:
		dirs, files = plainWindows()
	case m.Image.Plain:
		dirs, files = plainLinux(m.Spec)
	case m.OS == Windows:
		dirs, files = windowsImage(m.Spec)
	}
	if m.Image.Container {
		dirs, files = containerImage(m.Spec)
	}
	for _, d := range dirs {
		if err := m.Root.MkdirAll(d); err != nil {
			return fmt.Errorf("lay the image: %w", err)
		}
	}
	for p, content := range files {
		if _, err := m.Root.Lstat(p); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("lay the image: %w", err)
		}
		if err := m.Root.WriteFile(p, []byte(content), 0o644); err != nil {
			return fmt.Errorf("lay the image: %w", err)
		}
	}
	return nil
}

// Families of Linux images, as the ID of /etc/os-release names them.
const (
	Ubuntu     = "ubuntu"
	Flatcar    = "flatcar"
	AzureLinux = "azurelinux"

	azureLinux = "Microsoft Azure Linux"
)

// Family returns the family of a Linux image.
func (i Image) Family() string {
	switch {
	case i.Ignition:
		return Flatcar
	case strings.HasPrefix(i.Name, azureLinux):
		return AzureLinux
	}
	return Ubuntu
}

func linuxImage(s Spec) ([]string, map[string]string) {
	dirs := []string{
		"/etc/kubernetes/manifests", "/etc/netplan", "/etc/systemd/system", "/etc/cni/net.d", "/etc/containerd",
		"/etc/sysctl.d", "/etc/modules-load.d", "/etc/ssh",
		"/home", "/root", "/run", "/tmp", "/mnt", "/opt/cni/bin", "/usr/bin", "/usr/local/bin", "/usr/sbin", "/usr/local/sbin",
		"/var/lib/cloud/instance", "/var/lib/kubelet", "/var/log", "/var/tmp", "/proc/sys/net/ipv4",
		"/usr/lib/systemd/system", "/usr/share", "/lib/modules/" + s.Image.Build, "/sys/class/net/lo", "/sys/class/net/eth0",
	}
	name := map[string]string{Ubuntu: "Ubuntu", Flatcar: "Flatcar Container Linux by Kinvolk", AzureLinux: azureLinux}[s.Image.Family()]
	release := fmt.Sprintf("NAME=%q\nID=%s\nVERSION_ID=%q\nPRETTY_NAME=%q\n", name, s.Image.Family(), s.Image.Release, s.Image.Name)
	return dirs, map[string]string{
		"/etc/os-release": release,
		"/etc/hosts":      "127.0.0.1 localhost\n::1 localhost\n",
		"/proc/cmdline":   "BOOT_IMAGE=/boot/vmlinuz-" + s.Image.Build + " root=/dev/sda1 ro console=tty1 console=ttyS0 earlyprintk=ttyS0\n",
		"/proc/mounts": "/dev/sda1 / ext4 rw,relatime 0 0\nproc /proc proc rw,nosuid,nodev,noexec,relatime 0 0\n" +
			"sysfs /sys sysfs rw,nosuid,nodev,noexec,relatime 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime 0 0\n",
		"/proc/swaps":                   "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
		"/sys/class/net/eth0/mtu":       "1500\n",
		"/sys/class/net/eth0/operstate": "up\n",
		"/sys/class/net/lo/mtu":         "65536\n",
		"/etc/passwd":                   systemAccounts(),
		"/etc/group":                    systemGroups(),
		"/usr/bin/kubeadm":              program("kubeadm", s.Image.KubernetesVersion),
		"/usr/bin/kubelet":              program("kubelet", s.Image.KubernetesVersion),
		"/usr/bin/kubectl":              program("kubectl", s.Image.KubernetesVersion),
	}
}

// windowsHosts is the hosts file of a fresh image, which contains only comments.
const windowsHosts = "# simulated by casement\r\n#\t127.0.0.1       localhost\r\n#\t::1             localhost\r\n"

// systemUsers are accounts and groups of Ubuntu's image, with their numbers.
var systemUsers = []struct {
	name string
	id   int
}{
	{"daemon", 1}, {"bin", 2}, {"sys", 3}, {"games", 60}, {"man", 6}, {"mail", 8}, {"news", 9}, {"proxy", 13},
	{"www-data", 33}, {"backup", 34}, {"list", 38},
	{"systemd-network", 998}, {"systemd-resolve", 992}, {"messagebus", 101}, {"syslog", 103}, {"sshd", 107}, {"nobody", 65534},
}

// groupsOnly are groups of Ubuntu's image that are not the primary group of a user.
var groupsOnly = []struct {
	name string
	id   int
}{{"adm", 4}, {"tty", 5}, {"disk", 6}, {"dialout", 20}, {"cdrom", 24}, {"floppy", 25}, {"sudo", 27}, {"audio", 29},
	{"dip", 30}, {"shadow", 42}, {"video", 44}, {"plugdev", 46}, {"staff", 50}, {"users", 100}, {"netdev", 110},
	{"lxd", 111}, {"docker", 999}}

func systemAccounts() string {
	text := "root:x:0:0:root:/root:/bin/bash\n"
	for _, u := range systemUsers {
		text += fmt.Sprintf("%s:x:%d:%d:%s:/nonexistent:/usr/sbin/nologin\n", u.name, u.id, u.id, u.name)
	}
	return text
}

func systemGroups() string {
	text := "root:x:0:\n"
	for _, u := range systemUsers {
		name := u.name
		if name == "nobody" {
			name = "nogroup"
		}
		text += fmt.Sprintf("%s:x:%d:\n", name, u.id)
	}
	for _, g := range groupsOnly {
		text += fmt.Sprintf("%s:x:%d:\n", g.name, g.id)
	}
	return text
}

func windowsImage(s Spec) ([]string, map[string]string) {
	dirs := []string{
		`C:\k\debug`, `C:\etc\kubernetes\manifests`, `C:\etc\kubernetes\pki`, `C:\etc\cni\net.d`, `C:\opt\cni\bin`,
		`C:\var\log\kubelet`, `C:\var\lib\kubelet\credential-provider`, `C:\Windows\System32\drivers\etc`,
		`C:\Windows\System32\config`, `C:\Windows\Temp`, `C:\Users\Public`,
		`C:\ProgramData\containerd\root`, `C:\ProgramData\containerd\state`, `C:\ProgramData\ssh`, `C:\Program Files\containerd`,
		`C:\Program Files\Cloudbase Solutions\Cloudbase-Init\log`,
	}
	files := map[string]string{
		`C:\k\kubeadm.exe`:                           program("kubeadm", s.Image.KubernetesVersion),
		`C:\k\kubelet.exe`:                           program("kubelet", s.Image.KubernetesVersion),
		`C:\k\kubectl.exe`:                           program("kubectl", s.Image.KubernetesVersion),
		`C:\Windows\System32\drivers\etc\hosts`:      windowsHosts,
		`C:\k\debug\hns.psm1`:                        "# simulated by casement\n",
		`C:\k\debug\collectlogs.ps1`:                 "# simulated by casement\n",
		`C:\Program Files\containerd\containerd.exe`: program("containerd", s.Image.RuntimeVersion),
		`C:\Program Files\containerd\ctr.exe`:        program("ctr", s.Image.RuntimeVersion),
		`C:\Program Files\containerd\crictl.exe`:     program("crictl", ""),
		`C:\image-builder-release.txt`:               "This guest is simulated by casement.\n",
	}
	if s.Image.ServiceManager == WindowsService {
		files[`C:\k\kube-log-runner.exe`] = program("kube-log-runner", "")
		files[`C:\k\RestartKubelet.ps1`] = "# simulated by casement: makes the kubelet service again with the flags of kubeadm-flags.env\n"
	} else {
		files[`C:\k\nssm.exe`] = program("nssm", "")
		files[`C:\k\StartKubelet.ps1`] = "# simulated by casement: starts kubelet with the flags of kubeadm-flags.env\n"
	}
	return dirs, files
}

// plainWindows returns the folders and files of the publisher's Windows image, without the programs of a node.
func plainWindows() ([]string, map[string]string) {
	return []string{`C:\Windows\System32\drivers\etc`, `C:\Windows\System32\config`, `C:\Windows\Temp`,
			`C:\Users\Public`, `C:\ProgramData`, `C:\Program Files`},
		map[string]string{`C:\Windows\System32\drivers\etc\hosts`: windowsHosts}
}

// plainLinux returns the folders and files of the publisher's Ubuntu image, without the programs of a node.
func plainLinux(s Spec) ([]string, map[string]string) {
	dirs, files := linuxImage(s)
	dirs = slices.DeleteFunc(dirs, func(dir string) bool {
		return slices.ContainsFunc([]string{"/etc/kubernetes", "/etc/cni", "/etc/containerd", "/opt/cni", "/var/lib/kubelet"},
			func(of string) bool { return strings.HasPrefix(dir, of) })
	})
	maps.DeleteFunc(files, func(file, _ string) bool { return strings.HasPrefix(file, "/usr/bin/kube") })
	files["/usr/bin/unattended-upgrade"] = program("unattended-upgrade", "")
	return dirs, files
}

// containerImage returns the folders and files that every base image has.
func containerImage(s Spec) ([]string, map[string]string) {
	if s.OS == Windows {
		return []string{
			`C:\inetpub\wwwroot`, `C:\Windows\System32\drivers\etc`, `C:\Windows\Temp`,
			`C:\Users\ContainerAdministrator`, `C:\Users\ContainerUser`,
		}, map[string]string{`C:\Windows\System32\drivers\etc\hosts`: windowsHosts}
	}
	return []string{"/etc", "/home", "/root", "/run", "/tmp", "/usr/bin", "/var/log"}, map[string]string{
		"/etc/os-release": fmt.Sprintf("PRETTY_NAME=%q\n", s.Image.Name),
		"/etc/passwd":     "root:x:0:0:root:/root:/bin/sh\n",
	}
}

// imageServices returns the service table of a fresh image.
func imageServices(s Spec) []Service {
	if s.Image.Container {
		return nil
	}
	if s.OS == Linux {
		agent := "cloud-init"
		if s.Image.Ignition {
			agent = "oem-cloudinit"
		}
		system := []Service{
			{Name: agent, Start: Automatic},
			{Name: "ssh", Start: Automatic},
			{Name: "systemd-networkd", Start: Automatic},
			{Name: "systemd-resolved", Start: Automatic},
			{Name: "systemd-timesyncd", Start: Automatic},
			{Name: "walinuxagent", Start: Automatic},
		}
		if s.Image.Plain {
			return system
		}
		return append(system, Service{Name: "containerd", Start: Automatic}, Service{Name: "kubelet", Start: Automatic})
	}
	system := []Service{
		{Name: "hns", Display: "Host Network Service", Start: Manual, Triggered: true},
		{Name: "RdAgent", Display: "RdAgent", Start: Automatic},
		{Name: "TermService", Display: "Remote Desktop Services", Start: Automatic},
		{Name: "vmcompute", Display: "Hyper-V Host Compute Service", Start: Manual, Triggered: true},
		{Name: "W32Time", Display: "Windows Time", Start: Automatic},
		{Name: "WindowsAzureGuestAgent", Display: "Windows Azure Guest Agent", Start: Automatic},
		{Name: "WinRM", Display: "Windows Remote Management (WS-Management)", Start: Automatic},
	}
	if s.Image.Plain {
		return system
	}
	kubelet := `C:\k\nssm.exe`
	if s.Image.ServiceManager == WindowsService {
		kubelet = `C:\k\kube-log-runner.exe --log-file=C:\var\log\kubelet\kubelet.log C:\k\kubelet.exe ` +
			`--windows-service --cert-dir=C:\var\lib\kubelet\pki --config=C:\var\lib\kubelet\config.yaml ` +
			`--bootstrap-kubeconfig=C:\etc\kubernetes\bootstrap-kubelet.conf ` +
			`--kubeconfig=C:\etc\kubernetes\kubelet.conf`
	}
	rows := append(system,
		Service{Name: "kubelet", Display: "kubelet", Start: Automatic, Path: kubelet, Recovery: restarting},
		Service{Name: CloudbaseInit, Display: "Cloud Initialization Service", Start: Automatic},
		OpenSSH(),
	)
	if strings.HasPrefix(s.Image.Runtime, "docker") {
		return append(rows,
			Service{Name: "docker", Display: "Docker Engine", Start: Automatic},
			Service{Name: "rancher-wins", Display: "Rancher Wins", Start: Automatic})
	}
	return append(rows, Service{Name: "containerd", Display: "containerd", Start: Automatic,
		Path: `"C:\Program Files\containerd\containerd.exe" --run-service`, Recovery: restarting})
}
