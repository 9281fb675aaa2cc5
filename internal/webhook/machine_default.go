package webhook

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"sync"

	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/util/uuid"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// Disk SKUs to which special rules apply.
const (
	ultraSSD  = "UltraSSD_LRS"
	premiumV2 = "PremiumV2_LRS"
)

func defaultMachine(m *infrav1.AzureMachine) error {
	defaultRole(&m.Spec)
	return defaultMachineSpec(&m.Spec)
}

func defaultMachineTemplate(t *infrav1.AzureMachineTemplate) error {
	return defaultMachineSpec(&t.Spec.Template.Spec)
}

func defaultMachineSpec(s *infrav1.AzureMachineSpec) error {
	if s.SSHPublicKey == "" {
		key, err := throwAwayKey()
		if err != nil {
			return fmt.Errorf("make a key for spec.sshPublicKey: %w", err)
		}
		s.SSHPublicKey = key
	}
	setDefault(&s.Identity, infrav1.VMIdentityNone)
	setDefault(&s.OSDisk.CachingType, "None")
	defaultDataDisks(s.DataDisks)
	defaultInterfaces(s)
	if s.Diagnostics == nil {
		s.Diagnostics = &infrav1.Diagnostics{}
	}
	if s.Diagnostics.Boot == nil {
		s.Diagnostics.Boot = &infrav1.BootDiagnostics{StorageAccountType: infrav1.ManagedDiagnosticsStorage}
	}
	if spot := s.SpotVMOptions; spot != nil && spot.EvictionPolicy == nil {
		policy := infrav1.SpotEvictionPolicyDeallocate
		if d := s.OSDisk.DiffDiskSettings; d != nil && d.Option == "Local" {
			policy = infrav1.SpotEvictionPolicyDelete // an ephemeral disk cannot be deallocated
		}
		spot.EvictionPolicy = &policy
	}
	return nil
}

// defaultRole sets the name of the role assignment of the VM's own identity, for which Azure requires a GUID. Scope and
// role stay unset, which means Contributor on the subscription, because the subscription is in another object.
// Templates have no name, because each machine needs its own.
func defaultRole(s *infrav1.AzureMachineSpec) {
	if s.Identity != infrav1.VMIdentitySystemAssigned {
		return
	}
	if s.SystemAssignedIdentityRole == nil {
		s.SystemAssignedIdentityRole = &infrav1.SystemAssignedIdentityRole{}
	}
	role := s.SystemAssignedIdentityRole
	setDefault(&role.Name, s.RoleAssignmentName)
	if s.RoleAssignmentName == role.Name {
		s.RoleAssignmentName = "" // it was moved
	}
	setDefault(&role.Name, string(uuid.NewUUID()))
}

// throwAwayKey returns the public key for VMs to which no user wants to log in: Azure requires a key, and the private
// key is discarded. All such VMs have the same key, because generating one takes 70 ms of processor time, and the
// private key no longer exists.
var throwAwayKey = sync.OnceValues(func() (string, error) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", err
	}
	public, err := ssh.NewPublicKey(&private.PublicKey)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(ssh.MarshalAuthorizedKey(public)), nil
})

// defaultDataDisks sets each unset LUN to the lowest free one.
func defaultDataDisks(disks []infrav1.DataDisk) {
	used := map[int32]bool{}
	for _, d := range disks {
		if d.Lun != nil {
			used[*d.Lun] = true
		}
	}
	next := int32(0)
	for i := range disks {
		d := &disks[i]
		if d.Lun == nil {
			for used[next] {
				next++
			}
			d.Lun = new(next)
			used[next] = true
		}
		caching := "ReadWrite"
		if uncached(d.ManagedDisk) {
			caching = "None"
		}
		setDefault(&d.CachingType, caching)
	}
}

// uncached reports whether Azure refuses host caching for a disk.
func uncached(d *infrav1.ManagedDiskParameters) bool {
	return d != nil && (d.StorageAccountType == ultraSSD || d.StorageAccountType == premiumV2)
}

// defaultInterfaces moves the old single-interface fields to the list, even if a manifest with these fields is applied again.
func defaultInterfaces(s *infrav1.AzureMachineSpec) {
	if len(s.NetworkInterfaces) == 0 {
		s.NetworkInterfaces = []infrav1.NetworkInterface{{SubnetName: s.SubnetName, AcceleratedNetworking: s.AcceleratedNetworking}}
	}
	first := &s.NetworkInterfaces[0]
	if s.SubnetName == first.SubnetName {
		s.SubnetName = ""
	}
	if a, b := s.AcceleratedNetworking, first.AcceleratedNetworking; a != nil && b != nil && *a == *b {
		s.AcceleratedNetworking = nil
	}
	for i := range s.NetworkInterfaces {
		setDefault(&s.NetworkInterfaces[i].PrivateIPConfigs, 1)
	}
}
