// Package host is the interface between the local Azure and the program that runs its
// virtual machines: the Host that azuresim.Config takes, and the types that describe
// machines. It imports nothing.
package host

import "context"

// Host runs the machines that virtualMachines resources describe. The local Azure calls it and
// knows nothing of guests. Methods may be called at the same time.
//
// Start, Stop, View and Console are called while requests wait and must not block: a boot continues
// in the background and its progress shows in View. Delete and Run may block until their context
// ends. After a change of the result of View, the implementation calls azuresim.Azure.GuestChanged.
type Host interface {
	// Start powers a VM on. The first Start of an ID boots it from its custom
	// data; a later one is a reboot of the same disks. When the emulator starts
	// with state it calls Start once for each VM that was running.
	Start(vm VM)
	// Stop powers the VM off and keeps its disks.
	Stop(id string)
	// Delete powers the VM off and discards its disks. It returns after the guest is
	// removed completely.
	Delete(ctx context.Context, id string) error
	// View returns the state of the guest.
	View(id string) View
	// Run executes a script in the guest, as Run Command and the custom script
	// extension do, and returns its exit code and output.
	Run(ctx context.Context, id string, script string) (code int, stdout, stderr string, err error)
	// Console returns the serial console's text so far.
	Console(id string) []byte
}

// Breaker is implemented by a Host that can detect broken guests: a broken guest cannot run until
// it is started again or deleted.
type Breaker interface {
	// Broken returns the reason why a VM's guest cannot run, or "". It is called for each VM that
	// is read and must be quick.
	Broken(id string) string
}

// Keeper may be implemented by a Host that finds guests of an earlier process.
type Keeper interface {
	// Keep discards the guests and disks of all VMs that are not among the IDs. It is called once,
	// before the first Start.
	Keep(ids []string) error
}

// View is the state of a guest as far as the platform can see it.
type View struct {
	// Provisioned is the outcome that the guest agent reported.
	Provisioned Provisioning
	// Message explains a failed provisioning.
	Message string
	// Empty means that nothing runs in the VM, because the contents of its image are not known.
	Empty bool
	// AgentReady is true while the guest agent answers.
	AgentReady bool
}

// Provisioning is the outcome of the provisioning agent (cloud-init,
// cloudbase-init), as reported to the platform.
type Provisioning string

const (
	ProvisioningPending Provisioning = ""
	ProvisioningReady   Provisioning = "Ready"
	ProvisioningFailed  Provisioning = "Failed"
)

// VM describes a virtual machine to the Host that runs it.
type VM struct {
	// ID is the VM's ARM resource ID, with the casing of its creation.
	ID   string
	Name string
	// ScaleSet is the name of the scale set that the VM belongs to, "" for none.
	ScaleSet      string
	ComputerName  string
	ResourceGroup string
	Location      string
	Zone          string // "" for a regional VM
	Size          string
	// Cores and MemoryMiB are the figures of the VM's size.
	Cores, MemoryMiB int
	// DataDiskLimit is how many data disks a VM of its size can have.
	DataDiskLimit int
	// OS is "Windows" or "Linux".
	OS            string
	Image         Image
	CustomData    []byte // decoded from base64, as the guest sees it
	AdminUsername string
	SSHPublicKeys []string
	NICs          []NIC
	// OSDiskGiB and DataDisks are sizes in GiB; data disks are ordered by LUN.
	OSDiskGiB int
	DataDisks []DataDisk
	// Identities are resource IDs of user-assigned identities.
	Identities []string
	Tags       map[string]string
}

// Image identifies the image that a VM was created from. ID is set for gallery and
// community images, the other four fields for marketplace images.
type Image struct {
	ID, Publisher, Offer, SKU, Version, ExactVersion string
	// Source is the published image that a custom image was captured from, or the exact
	// version of "latest": an ID, or publisher:offer:sku:version. It is empty if only ID is
	// known.
	Source string
	// Holds is the description that an Imager returned for the machine that the image was captured
	// from; empty for other images.
	Holds string
}

// Imager is implemented by a Host that can capture its guests' disks as images.
type Imager interface {
	// Capture returns a description of the disk of a stopped VM when the VM is generalized.
	// Each VM created from an image of that disk gets it as Image.Holds. It must be quick.
	Capture(id string) (string, error)
}

// NIC is one network interface of a VM; the first one is the primary interface.
type NIC struct {
	ID         string
	SubnetID   string
	PrivateIPs []string
	PublicIPID string
	// DNSServers are the DNS servers that the interface or its virtual network sets; empty means
	// Azure's own.
	DNSServers []string
}

// DataDisk is an attached data disk.
type DataDisk struct {
	Name    string
	LUN     int
	SizeGiB int
}

// PasswordSetter is implemented by a Host whose guests have accounts; the VMAccess
// extension calls it. An account that does not exist is created as an administrator.
type PasswordSetter interface {
	SetPassword(ctx context.Context, id, user, password string) error
}
