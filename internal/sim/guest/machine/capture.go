package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/sim/artifact"
)

// servicesFile stores the service table beside a guest's file tree.
const servicesFile = "services.json"

// leftOut are the folders of a disk whose contents an image omits: logs, and files of one run of a machine.
var leftOut = []string{"C/Windows/Temp", "C/var/log", "C/Program Files/Cloudbase Solutions/Cloudbase-Init/log",
	"C/Windows/System32/Sysprep/Panther", "rootfs/tmp", "rootfs/run", "rootfs/mnt", "rootfs/var/tmp", "rootfs/var/log",
	"rootfs/var/lib/cloud"}

// Capture returns the disk of a guest that is off, from the guest's directory: drive C of Windows or the file tree of
// Linux, and the service table.
func Capture(dir string) ([]byte, error) {
	disk, err := guestfs.At(dir).Pack(isLeftOut, servicesFile)
	if err != nil {
		return nil, fmt.Errorf("capture the guest's disk: %w", err)
	}
	return disk, nil
}

func isLeftOut(name string) bool {
	for _, folder := range leftOut {
		if strings.EqualFold(name, folder) {
			return true
		}
	}
	return false
}

// unpack writes a captured disk into a guest's directory if no disk is there yet. fresh reports whether it did.
func unpack(spec Spec, root *guestfs.Root) (fresh bool, err error) {
	laid := "/etc/passwd"
	if spec.OS == Windows {
		laid = `C:\Windows`
	}
	if len(spec.Image.Captured) == 0 || root.Exists(laid) {
		return false, nil
	}
	return true, spec.Folder.Unpack(spec.Image.Captured)
}

// specialize gives the system of a captured disk the name of its machine, as the first boot after sysprep does.
func (m *Machine) specialize() error {
	if m.OS == Linux { // cloud-init sets the name
		return m.Root.RemoveAll("/etc/hostname")
	}
	for _, at := range [][2]string{
		{`HKLM\SYSTEM\CurrentControlSet\Control\ComputerName\ComputerName`, "ComputerName"},
		{`HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters`, "Hostname"},
	} {
		if err := m.Registry().Set(at[0], at[1], Value{Kind: "String", Text: m.ComputerName}); err != nil {
			return fmt.Errorf("name a machine of an image: %w", err)
		}
	}
	return nil
}

// Deprovision removes the files that identify a Linux machine: host keys, its name and, if user is set, the account
// that it was created with.
func (m *Machine) Deprovision(user bool) error {
	own := []string{"/etc/hostname", "/var/lib/waagent", "/root/.bash_history"}
	entries, err := m.Root.ReadDir("/etc/ssh")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "ssh_host_") {
			own = append(own, "/etc/ssh/"+e.Name())
		}
	}
	if user && m.AdminUsername != "" {
		own = append(own, m.Home(m.AdminUsername))
		for _, file := range []string{"/etc/passwd", "/etc/group", "/etc/shadow"} {
			if err := m.dropLine(file, m.AdminUsername+":"); err != nil {
				return err
			}
		}
	}
	for _, file := range own {
		if err := m.Root.RemoveAll(file); err != nil {
			return err
		}
	}
	return nil
}

// dropLine removes the lines of a file that begin with a prefix.
func (m *Machine) dropLine(file, prefix string) error {
	data, err := m.Root.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var kept strings.Builder
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, prefix) {
			kept.WriteString(line)
		}
	}
	return m.Root.WriteFile(file, []byte(kept.String()), 0o644)
}

// CloudbaseInit is the service that reads custom data on Windows.
const CloudbaseInit = "cloudbase-init"

// OpenSSH returns the service of the OpenSSH server.
func OpenSSH() Service {
	return Service{Name: "sshd", Display: "OpenSSH SSH Server", Start: Automatic, Path: `C:\Windows\System32\OpenSSH\sshd.exe`}
}

// AddOpenSSH installs the OpenSSH server, whose service then starts on demand.
func (m *Machine) AddOpenSSH() error {
	row := OpenSSH()
	if _, there := m.Services.Get(row.Name); there {
		return nil
	}
	row.Start = Manual
	return m.Services.Create(row)
}

// The files of the programs of a Windows node.
const (
	kubeFolder       = `C:\k`
	containerdFolder = `C:\Program Files\containerd`
)

// The files of the programs of a Linux node, as image builds install them.
const (
	linuxKubelet    = "/usr/bin/kubelet"
	linuxContainerd = "/usr/local/bin/containerd"
)

// detectPrograms sets the machine's programs from the files on its disk. If the files do not show a fact, the image's stays.
func (m *Machine) detectPrograms() {
	if m.Image.Container {
		return
	}
	if m.OS == Linux {
		if p, ok := m.Program(linuxKubelet); ok && m.Image.Plain {
			m.Image.KubernetesVersion = p.Version
		}
		if p, ok := m.Program(linuxContainerd); ok && m.Image.Plain {
			m.Image.Runtime, m.Image.RuntimeVersion = "containerd", strings.TrimPrefix(p.Version, "v")
		}
		return
	}
	if p, ok := m.Program(kubeFolder + `\kubelet.exe`); ok {
		m.Image.KubernetesVersion = p.Version
	}
	if p, ok := m.Program(containerdFolder + `\containerd.exe`); ok && m.Image.Plain {
		m.Image.Runtime, m.Image.RuntimeVersion = "containerd", strings.TrimPrefix(p.Version, "v")
	}
	if m.Image.Plain && !m.Root.Exists(kubeFolder+`\nssm.exe`) {
		m.Image.ServiceManager = WindowsService
	}
}

// Program returns the program that a file simulates; ok is false if there is none.
func (m *Machine) Program(file string) (p artifact.Program, ok bool) {
	data, err := m.Root.ReadFile(file)
	if err != nil {
		return p, false
	}
	return artifact.Read(data)
}

// imagePath returns the value of PATH on a Windows image.
func imagePath(s Spec) string {
	const system = `C:\Windows\system32;C:\Windows`
	if s.Image.Plain {
		return system
	}
	return system + `;` + kubeFolder + `;` + containerdFolder
}

// environmentKey is the registry key of the machine's environment variables.
const environmentKey = `HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment`

// SearchPath returns the directories in which a Windows machine looks for programs.
func (m *Machine) SearchPath() string {
	v, _ := m.Registry().Value(environmentKey, "Path")
	return v.Text
}

// packagesKey is the registry key of the applications that are installed for one user.
const packagesKey = `HKLM\SOFTWARE\Microsoft\casement\UserPackages`

// UserPackages returns the applications that are installed for one user alone, sorted.
func (m *Machine) UserPackages() []string {
	k, _ := m.Registry().Key(packagesKey)
	return slices.Sorted(maps.Keys(k.Values))
}

// AddUserPackage installs an application for one user.
func (m *Machine) AddUserPackage(name string) error {
	return m.Registry().Set(packagesKey, name, Value{Kind: "String", Text: "Installed"})
}
