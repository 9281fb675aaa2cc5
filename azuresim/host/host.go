// Package host is the seam between the local Azure and what runs its machines: the
// Host that azuresim.Config takes, and the machines as values. It imports nothing.
package host

import "context"

// Host runs what virtualMachines resources describe. The local Azure calls it and
// knows nothing of guests. Methods may be called at the same time.
//
// Start, Stop, View and Console are called while requests wait and must not block: a
// boot goes on in the background and is seen through View. Delete and Run may block
// until their context ends. After a change of what View answers, the implementation
// calls azuresim.Azure.GuestChanged.
type Host interface {
	// Start powers a VM on. The first Start of an ID boots it from its custom
	// data; a later one is a reboot of the same disks. When the emulator starts
	// with state it calls Start once for each VM that was running.
	Start(vm VM)
	// Stop powers the VM off and keeps its disks.
	Stop(id string)
	// Delete powers the VM off and discards its disks. It returns once nothing
	// of the guest is left.
	Delete(ctx context.Context, id string) error
	// View says what state the guest is in.
	View(id string) View
	// Run executes a script in the guest, as Run Command and the custom script
	// extension do, and returns its exit code and output.
	Run(ctx context.Context, id string, script string) (code int, stdout, stderr string, err error)
	// Console returns the serial console's text so far.
	Console(id string) []byte
}

// Breaker is a Host that knows of guests which cannot run any more until they are
// started again or deleted.
type Breaker interface {
	// Broken says why a VM's guest cannot run, or nothing. It is asked for each VM
	// that is read, and must be quick.
	Broken(id string) string
}

// View is what the platform can see of a guest.
type View struct {
	// Provisioned is what the guest agent reported about its provisioning.
	Provisioned Provisioning
	// Message explains a failed provisioning.
	Message string
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

// VM is a virtual machine as the platform hands it to the host that runs it.
type VM struct {
	// ID is the VM's ARM resource ID, with the casing of its creation.
	ID   string
	Name string
	// ScaleSet is the name of the scale set it belongs to, "" for none.
	ScaleSet      string
	ComputerName  string
	ResourceGroup string
	Location      string
	Zone          string // "" when regional
	Size          string
	// Cores and MemoryMiB are what the size has.
	Cores, MemoryMiB int
	// OS is "Windows" or "Linux".
	OS            string
	Image         Image
	CustomData    []byte // decoded from base64, as the guest sees it
	AdminUsername string
	SSHPublicKeys []string
	NICs          []NIC
	// OSDiskGiB and DataDisks are sizes in GiB; data disks by LUN order.
	OSDiskGiB int
	DataDisks []DataDisk
	// Identities are resource IDs of user-assigned identities.
	Identities []string
	Tags       map[string]string
}

// Image names what a VM was created from. ID is set for gallery and community
// images, the other four for marketplace ones.
type Image struct {
	ID, Publisher, Offer, SKU, Version, ExactVersion string
	// Source is the published image that an image of one's own was captured from,
	// or the exact version of "latest": an ID, or publisher:offer:sku:version. It
	// is empty where ID itself is all that is known.
	Source string
	// Holds is what an Imager answered of the machine that the image was captured
	// from; empty for all others.
	Holds string
}

// Imager is what a Host implements whose guests' disks become images.
type Imager interface {
	// Capture describes the disk of a VM that is off, at the time that it is
	// generalized. It comes back as Image.Holds of each VM that is made from an image
	// of it. It must be quick.
	Capture(id string) (string, error)
}

// NIC is one network interface, the primary one first.
type NIC struct {
	ID         string
	SubnetID   string
	PrivateIPs []string
	PublicIPID string
	// DNSServers are those that the interface or its virtual network names for the machine to
	// ask; none leaves it to Azure's.
	DNSServers []string
}

// DataDisk is an attached data disk.
type DataDisk struct {
	Name    string
	LUN     int
	SizeGiB int
}

// PasswordSetter is what a Host implements when its guests have accounts: it
// is how the VMAccess extension reaches them. An account that is not there is made,
// with administrator's rights.
type PasswordSetter interface {
	SetPassword(ctx context.Context, id, user, password string) error
}
