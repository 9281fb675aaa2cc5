// Package machine has the parts of a simulated guest that exist before a program runs in it: the facts that its host
// knows, a file tree, a service table and a console. It does not interpret custom data or scripts: the agents
// (cloudinit, cloudbase) and the shell do. The packages below internal/sim/guest and internal/sim/host import it, and
// the host's command callbacks see it as Process.Guest.
package machine

import (
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/utils/clock"

	"casement.dev/casement/internal/contain"
	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/sim/domain"
)

// The operating systems, spelled as Azure's osDisk.osType.
const (
	Linux   = "Linux"
	Windows = "Windows"
)

// The ways in which the kubelet service of a Windows image is managed. Images built before June 2026 use nssm; later
// ones register the kubelet with the service control manager, have no nssm, and ignore kubeadm-flags.env.
const (
	NSSM           = "nssm"
	WindowsService = "windows_service"
)

// Sentinel is the file whose existence reports that kubeadm succeeded, on both systems.
const Sentinel = "/run/cluster-api/bootstrap-success.complete"

// Spec is the description of a VM that the host passes to the guest.
type Spec struct {
	// ID is the VM's ARM resource ID.
	ID string
	// InstanceID identifies the machine for the image's agent, which records its completed steps under it. The
	// default is ID; a reimaged VM of the same ID needs another InstanceID.
	InstanceID string
	// Dir is the host directory with all files of the guest.
	Dir string
	// Folder gives access to that directory. A container has a Folder and no Dir.
	Folder guestfs.Folder
	// OS is Linux or Windows.
	OS string
	// ComputerName is osProfile.computerName, at most 15 characters on Windows.
	ComputerName  string
	AdminUsername string
	// IPs are the VM's private addresses, the address of the primary NIC first.
	IPs []netip.Addr
	// Range is the address range of the first address; invalid for an address of the virtual network.
	Range netip.Prefix
	// CustomData is osProfile.customData, decoded from base64.
	CustomData []byte
	// SSHPublicKeys are osProfile's keys for AdminUsername. A Windows guest does not get them.
	SSHPublicKeys []string
	Image         Image
	DataDisks     []DataDisk
	// DNS are the DNS servers from the network; none means Azure's.
	DNS []string
	// Search are the suffixes by which the guest completes names; none means the network's.
	Search []string
	// Network is the network that the guest can reach; nil means none.
	Network Network
	// Pods are the pods of a node; nil for a machine that is not a node.
	Pods Pods
	// Directory has the domains that the guest can find; nil means none.
	Directory *domain.Directory
	// OnPanic is called for each panic of the simulation's own code in a program of the guest, from the
	// goroutine that panicked. It may be nil.
	OnPanic func(*contain.Panic)
	// Usage is the resource usage of the guest's programs, which a container shares with its machine. Nil counts the
	// guest alone.
	Usage *limit.Guest
	// Speed is the number of simulated seconds that scripts wait in one real second; 0 means the shell's
	// default.
	Speed float64
}

// Image describes the contents of the VM's image.
type Image struct {
	// Name is the product as the OS prints it ("Windows Server 2022 Datacenter",
	// "Ubuntu 24.04.2 LTS").
	Name string
	// Release is the year or version ("2022", "24.04").
	Release string
	// Build is the kernel version ("10.0.20348.2700", "6.8.0-1030-azure").
	Build             string
	KubernetesVersion string
	Runtime           string
	RuntimeVersion    string
	// ServiceManager is NSSM (the default) or WindowsService.
	ServiceManager string
	// Ignition is set for Flatcar, where Ignition runs the first boot in place of cloud-init.
	Ignition bool
	// Container is set for a container's image, which has no programs of a node.
	Container bool
	// Plain is set for the publisher's image of Windows or Ubuntu, without the programs of a node.
	Plain bool
	// Captured is the disk of the machine that the image was created from, as Capture
	// returns it; empty for publishers' images.
	Captured []byte
}

// DataDisk is an attached empty disk.
type DataDisk struct {
	LUN    int
	SizeGB int
}

// HasLUN reports whether the VM has a data disk with that number.
func (s Spec) HasLUN(lun string) bool {
	return slices.ContainsFunc(s.DataDisks, func(d DataDisk) bool { return strconv.Itoa(d.LUN) == lun })
}

// Machine has the parts of a guest that its programs use.
type Machine struct {
	Spec
	Root     *guestfs.Root
	Services *Services
	Console  *Console
	Journal  *Journal
	Pulse    *Pulse
	Clock    clock.Clock
	// Wall contains the panics of everything that the guest runs.
	Wall    *contain.Wall
	reboot  atomic.Bool
	overrun atomic.Pointer[string]

	registryOnce sync.Once
	registry     *Registry
	marks        marks
}

// New creates the guest's file tree from its image, or keeps an existing tree.
func New(spec Spec, console io.Writer, clk clock.Clock, onService func(name string, action Action)) (*Machine, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	if spec.Dir != "" {
		spec.Folder = guestfs.At(spec.Dir)
	}
	if spec.Usage == nil {
		spec.Usage = &limit.Guest{}
	}
	if spec.InstanceID == "" {
		spec.InstanceID = spec.ID
	}
	if spec.Image.ServiceManager == "" {
		spec.Image.ServiceManager = NSSM
	}
	if err := spec.Folder.Make(); err != nil {
		return nil, fmt.Errorf("make the guest's directory: %w", err)
	}
	journal, err := openJournal(spec.Folder, spec.InstanceID)
	if err != nil {
		return nil, err
	}
	root, err := spec.Folder.Root(spec.OS == Windows)
	if err != nil {
		return nil, fmt.Errorf("make the guest's file tree: %w", err)
	}
	if !spec.Image.Container { // a container's tree is a part of its machine's
		if err := root.DropEscapes(); err != nil {
			return nil, err
		}
	}
	fresh, err := unpack(spec, root)
	if err != nil {
		return nil, fmt.Errorf("lay the image that was captured: %w", err)
	}
	services, err := loadServices(spec.Folder, imageServices(spec), onService)
	if err != nil {
		return nil, err
	}
	pulse, err := loadPulse(spec.Folder)
	if err != nil {
		return nil, err
	}
	m := &Machine{Spec: spec, Pulse: pulse, Root: root, Services: services, Console: NewConsole(console), Journal: journal, Clock: clk}
	m.Wall = &contain.Wall{Report: m.panicked}
	if m.IsWindows() {
		services.lacks = m.lacksProgram
	}
	if err := m.layImage(); err != nil {
		return nil, err
	}
	if fresh {
		if err := m.specialize(); err != nil {
			return nil, err
		}
	}
	m.detectPrograms()
	return m, nil
}

// View returns the machine as a HostProcess container sees it: its services, its health and its files, with the
// container's volumes mounted. Its waits are not shortened. The caller closes root.
func (m *Machine) View(root *guestfs.Root) *Machine {
	v := &Machine{Spec: m.Spec, Root: root, Services: m.Services, Console: m.Console, Journal: m.Journal, Pulse: m.Pulse,
		Clock: m.Clock, Wall: m.Wall}
	v.Speed = 1
	v.registryOnce.Do(func() { v.registry = m.Registry() })
	return v
}

// panicked writes a panic with its trace to the machine's console.
func (m *Machine) panicked(p *contain.Panic) {
	fmt.Fprintf(m.Console, "guest: %v\n%s\n", p, p.Trace)
	if m.OnPanic != nil {
		m.OnPanic(p)
	}
}

func (s Spec) check() error {
	switch {
	case s.OS != Linux && s.OS != Windows:
		return fmt.Errorf("guest %s: OS is %q, want %s or %s", s.ID, s.OS, Linux, Windows)
	case s.Dir == "" && !s.Image.Container:
		return fmt.Errorf("guest %s: no directory", s.ID)
	case s.ComputerName == "":
		return fmt.Errorf("guest %s: no computer name", s.ID)
	case s.OS == Windows && len(s.ComputerName) > 15 && !s.Image.Container:
		return fmt.Errorf("guest %s: computer name %q is longer than the 15 characters of a Windows VM", s.ID, s.ComputerName)
	}
	return nil
}

// Path returns the host path of a guest path. It refuses a path that leads out of the guest, by .. or by a link.
func (m *Machine) Path(guestPath string) (string, error) { return m.Root.Host(guestPath) }

// IsWindows reports whether the machine runs Windows.
func (m *Machine) IsWindows() bool { return m.OS == Windows }

// IP returns the primary address; the zero Addr if there is none.
func (m *Machine) IP() netip.Addr {
	if len(m.IPs) == 0 {
		return netip.Addr{}
	}
	return m.IPs[0]
}

// Hostname returns the host name of the OS: from /etc/hostname on Linux, the name last set on Windows, or
// else the computer name.
func (m *Machine) Hostname() string {
	data, err := m.readHostname()
	if name := strings.TrimSpace(string(data)); err == nil && name != "" {
		return name
	}
	return m.ComputerName
}

func (m *Machine) readHostname() ([]byte, error) {
	if m.OS == Windows {
		return m.Folder.ReadFile(hostnameFile)
	}
	return m.Root.ReadFile("/etc/hostname")
}

// SetHostname changes the host name of the OS.
func (m *Machine) SetHostname(name string) error {
	if m.OS == Windows {
		return m.Folder.WriteFile(hostnameFile, []byte(name+"\n"))
	}
	return m.Root.WriteFile("/etc/hostname", []byte(name+"\n"), 0o644)
}

// hostnameFile stores the registry's ComputerName, beside the file tree.
const hostnameFile = "hostname"

// RequestReboot requests a restart of the guest after the current program has ended.
func (m *Machine) RequestReboot() { m.reboot.Store(true) }

// TakeReboot reports whether a restart was requested since the last call.
func (m *Machine) TakeReboot() bool { return m.reboot.Swap(false) }

// Overrun records that a bound ended a program, and which bound. It keeps the first reason since TakeOverrun.
func (m *Machine) Overrun(reason string) { m.overrun.CompareAndSwap(nil, &reason) }

// TakeOverrun returns and clears the reason that Overrun stored, or "".
func (m *Machine) TakeOverrun() string {
	if reason := m.overrun.Swap(nil); reason != nil {
		return *reason
	}
	return ""
}

// MAC returns the primary NIC's hardware address: Azure's prefix and the digits of the IPv4 address, as
// 00:0d:3a:xx:xx:xx.
func (m *Machine) MAC() string {
	var last [3]byte
	if ip := m.IP(); ip.Is4() {
		b := ip.As4()
		copy(last[:], b[1:])
	}
	return fmt.Sprintf("00:0d:3a:%02x:%02x:%02x", last[0], last[1], last[2])
}

// Home returns the guest directory of a user.
func (m *Machine) Home(user string) string {
	switch {
	case m.OS == Windows:
		return `C:\Users\` + user
	case user == "root":
		return "/root"
	}
	return "/home/" + user
}

// Users returns the accounts that have a home directory, sorted.
func (m *Machine) Users() []string {
	homes := "/home"
	if m.OS == Windows {
		homes = `C:\Users`
	}
	entries, err := m.Root.ReadDir(homes)
	if err != nil {
		return nil
	}
	var users []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != "Public" {
			users = append(users, e.Name())
		}
	}
	slices.Sort(users)
	return users
}

// Close releases the handles on the file tree.
func (m *Machine) Close() error { return m.Root.Close() }

// UnitLog returns the guest path of a service's log: its file on Windows, and on Linux a file in place of the unit's
// journal.
func (m *Machine) UnitLog(unit string) string {
	if m.OS == Windows {
		return `C:\var\log\` + unit + `\` + unit + ".log"
	}
	return "/run/log/journal/" + unit + ".log"
}
