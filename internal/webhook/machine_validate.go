package webhook

import (
	"encoding/base64"
	"reflect"
	"strings"

	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
)

func validateMachine(old, m *infrav1.AzureMachine) field.ErrorList {
	path := field.NewPath("spec")
	if old == nil {
		return append(misnamed(desired.MachineNames(&m.Spec, path.String())), validateMachineSpec(&m.Spec, path)...)
	}
	was := old.DeepCopy()
	copyGenerated(&was.Spec, &m.Spec)
	if err := defaultMachine(was); err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	return machineImmutable(&was.Spec, &m.Spec, path)
}

// copyGenerated copies generated values that the stored object lacks from the new object, so that they do not count as changes.
func copyGenerated(was, is *infrav1.AzureMachineSpec) {
	setDefault(&was.SSHPublicKey, is.SSHPublicKey)
	if was.Identity == infrav1.VMIdentitySystemAssigned && is.SystemAssignedIdentityRole != nil && was.RoleAssignmentName == "" {
		if was.SystemAssignedIdentityRole == nil {
			was.SystemAssignedIdentityRole = &infrav1.SystemAssignedIdentityRole{}
		}
		setDefault(&was.SystemAssignedIdentityRole.Name, is.SystemAssignedIdentityRole.Name)
	}
}

func validateMachineTemplate(old, t *infrav1.AzureMachineTemplate) field.ErrorList {
	path := field.NewPath("spec", "template", "spec")
	spec := &t.Spec.Template.Spec
	if old != nil {
		was := old.DeepCopy()
		copyGenerated(&was.Spec.Template.Spec, spec)
		if err := defaultMachineTemplate(was); err != nil {
			return field.ErrorList{field.InternalError(path, err)}
		}
		if !reflect.DeepEqual(was.Spec.Template.Spec, *spec) {
			return field.ErrorList{field.Forbidden(path, "a machine template cannot be changed; make a new one and refer to it")}
		}
		return nil
	}
	errs := validateMachineSpec(spec, path)
	if spec.RoleAssignmentName != "" {
		errs = append(errs, field.Forbidden(path.Child("roleAssignmentName"), "each machine needs a name of its own"))
	}
	if role := spec.SystemAssignedIdentityRole; role != nil && role.Name != "" {
		errs = append(errs, field.Forbidden(path.Child("systemAssignedIdentityRole", "name"), "each machine needs a name of its own"))
	}
	return errs
}

func validateMachineSpec(s *infrav1.AzureMachineSpec, path *field.Path) field.ErrorList {
	return append(validateVM(s, path), validateIdentities(s, path)...)
}

// validateVM checks the fields of a virtual machine in machines and pools, except names and IDs, which a
// template may leave to the patches of a ClusterClass.
func validateVM(s *infrav1.AzureMachineSpec, path *field.Path) field.ErrorList {
	errs := validateImage(s.Image, path.Child("image"))
	errs = append(errs, validateSSHKey(s.SSHPublicKey, path.Child("sshPublicKey"))...)
	errs = append(errs, validateOSDisk(s, path.Child("osDisk"))...)
	errs = append(errs, validateDataDisks(s.DataDisks, path.Child("dataDisks"))...)
	errs = append(errs, validateSecurity(s, path)...)
	errs = append(errs, validateInterfaces(s, path)...)
	errs = append(errs, validateDiagnostics(s.Diagnostics, path.Child("diagnostics", "boot"))...)
	errs = append(errs, validateExtensions(s, path.Child("vmExtensions"))...)
	if spot := s.SpotVMOptions; spot != nil && spot.MaxPrice != nil {
		if price := spot.MaxPrice.AsApproximateFloat64(); price <= 0 && price != -1 {
			errs = append(errs, field.Invalid(path.Child("spotVMOptions", "maxPrice"), spot.MaxPrice.String(),
				"must be more than 0 US dollars an hour, or -1 for up to the price on demand"))
		}
	}
	if id := s.CapacityReservationGroupID; id != nil && *id == "" {
		errs = append(errs, field.Required(path.Child("capacityReservationGroupID"), "the ID of a capacity reservation group"))
	}
	return errs
}

// validateSSHKey checks a key. Its errors never contain the value, because it may be a private key.
func validateSSHKey(key string, path *field.Path) field.ErrorList {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err == nil {
		_, _, _, _, err = ssh.ParseAuthorizedKey(raw)
	}
	if err != nil {
		return field.ErrorList{field.Invalid(path, "(not shown)",
			"must be the base64 of an authorized_keys line, such as of an id_rsa.pub")}
	}
	return nil
}

func validateIdentities(s *infrav1.AzureMachineSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	user, system := s.Identity == infrav1.VMIdentityUserAssigned, s.Identity == infrav1.VMIdentitySystemAssigned
	if user && len(s.UserAssignedIdentities) == 0 {
		errs = append(errs, field.Required(path.Child("userAssignedIdentities"), "identity UserAssigned needs at least one"))
	}
	if !user && len(s.UserAssignedIdentities) > 0 {
		errs = append(errs, field.Forbidden(path.Child("userAssignedIdentities"), "only with identity UserAssigned"))
	}
	if !system && s.RoleAssignmentName != "" {
		errs = append(errs, field.Forbidden(path.Child("roleAssignmentName"), "only with identity SystemAssigned"))
	}
	role, at := s.SystemAssignedIdentityRole, path.Child("systemAssignedIdentityRole")
	switch {
	case role == nil:
	case !system:
		errs = append(errs, field.Forbidden(at, "only with identity SystemAssigned"))
	case s.RoleAssignmentName != "" && role.Name != "":
		errs = append(errs, field.Invalid(path.Child("roleAssignmentName"), s.RoleAssignmentName,
			"give systemAssignedIdentityRole.name alone"))
	}
	return errs
}

func validateInterfaces(s *infrav1.AzureMachineSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.SubnetName != "" {
		errs = append(errs, field.Invalid(path.Child("subnetName"), s.SubnetName, "give networkInterfaces[0].subnetName alone"))
	}
	if s.AcceleratedNetworking != nil {
		errs = append(errs, field.Invalid(path.Child("acceleratedNetworking"), *s.AcceleratedNetworking,
			"give networkInterfaces[0].acceleratedNetworking alone"))
	}
	for i, n := range s.NetworkInterfaces {
		if n.PrivateIPConfigs < 1 {
			errs = append(errs, field.Invalid(path.Child("networkInterfaces").Index(i).Child("privateIPConfigs"),
				n.PrivateIPConfigs, "must be at least 1"))
		}
	}
	return errs
}

func validateDiagnostics(d *infrav1.Diagnostics, path *field.Path) field.ErrorList {
	if d == nil || d.Boot == nil {
		return nil
	}
	managed := d.Boot.StorageAccountType == infrav1.UserManagedDiagnosticsStorage
	switch {
	case managed && d.Boot.UserManaged == nil:
		return field.ErrorList{field.Required(path.Child("userManaged"), "storageAccountType UserManaged needs the account")}
	case !managed && d.Boot.UserManaged != nil:
		return field.ErrorList{field.Forbidden(path.Child("userManaged"), "only with storageAccountType UserManaged")}
	}
	return nil
}

func validateExtensions(s *infrav1.AzureMachineSpec, path *field.Path) field.ErrorList {
	if off := s.DisableExtensionOperations; off != nil && *off && len(s.VMExtensions) > 0 {
		return field.ErrorList{field.Forbidden(path, "extension operations are disabled by disableExtensionOperations")}
	}
	var errs field.ErrorList
	names := map[string]bool{}
	for i, e := range s.VMExtensions {
		if names[e.Name] {
			errs = append(errs, field.Duplicate(path.Index(i).Child("name"), e.Name))
		}
		names[e.Name] = true
	}
	return errs
}

func machineImmutable(old, s *infrav1.AzureMachineSpec, path *field.Path) field.ErrorList {
	errs := sameProviderID(path.Child("providerID"), ptr.Deref(old.ProviderID, ""), ptr.Deref(s.ProviderID, ""))
	errs = append(errs, immutable(path.Child("image"), old.Image, s.Image)...)
	errs = append(errs, immutable(path.Child("identity"), old.Identity, s.Identity)...)
	errs = append(errs, immutable(path.Child("systemAssignedIdentityRole"), old.SystemAssignedIdentityRole,
		s.SystemAssignedIdentityRole)...)
	errs = append(errs, immutable(path.Child("userAssignedIdentities"), old.UserAssignedIdentities, s.UserAssignedIdentities)...)
	errs = append(errs, immutable(path.Child("roleAssignmentName"), old.RoleAssignmentName, s.RoleAssignmentName)...)
	errs = append(errs, immutable(path.Child("osDisk"), old.OSDisk, s.OSDisk)...)
	errs = append(errs, immutable(path.Child("dataDisks"), old.DataDisks, s.DataDisks)...)
	if old.SSHPublicKey != s.SSHPublicKey {
		errs = append(errs, field.Forbidden(path.Child("sshPublicKey"), "field is immutable"))
	}
	errs = append(errs, immutable(path.Child("allocatePublicIP"), old.AllocatePublicIP, s.AllocatePublicIP)...)
	errs = append(errs, immutable(path.Child("enableIPForwarding"), old.EnableIPForwarding, s.EnableIPForwarding)...)
	errs = append(errs, immutable(path.Child("spotVMOptions"), old.SpotVMOptions, s.SpotVMOptions)...)
	errs = append(errs, immutable(path.Child("securityProfile"), old.SecurityProfile, s.SecurityProfile)...)
	errs = append(errs, onceSet(path.Child("diagnostics"), old.Diagnostics, s.Diagnostics)...)
	errs = append(errs, immutable(path.Child("capacityReservationGroupID"), old.CapacityReservationGroupID,
		s.CapacityReservationGroupID)...)
	errs = append(errs, immutable(path.Child("disableExtensionOperations"), old.DisableExtensionOperations,
		s.DisableExtensionOperations)...)
	errs = append(errs, onceSet(path.Child("disableVMBootstrapExtension"), old.DisableVMBootstrapExtension,
		s.DisableVMBootstrapExtension)...)
	errs = append(errs, immutable(path.Child("subnetName"), old.SubnetName, s.SubnetName)...)
	if s.AcceleratedNetworking != nil {
		errs = append(errs, immutable(path.Child("acceleratedNetworking"), old.AcceleratedNetworking, s.AcceleratedNetworking)...)
	}
	return append(errs, interfacesImmutable(old.NetworkInterfaces, s.NetworkInterfaces, path.Child("networkInterfaces"))...)
}

// sameProviderID returns an error if a provider ID that is set has changed, because it identifies the object's
// resources. Like Azure, it ignores case.
func sameProviderID(path *field.Path, old, value string) field.ErrorList {
	if old == "" || strings.EqualFold(old, value) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, "cannot be changed: it names what casement made for this object")}
}

// interfacesImmutable refuses changes of interfaces, except setting an unset subnet of the first interface.
func interfacesImmutable(old, value []infrav1.NetworkInterface, path *field.Path) field.ErrorList {
	if len(old) > 0 && len(value) > 0 && old[0].SubnetName == "" {
		old = append([]infrav1.NetworkInterface{}, old...)
		old[0].SubnetName = value[0].SubnetName
	}
	return immutable(path, old, value)
}
