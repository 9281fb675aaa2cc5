package compute

import (
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/compute/catalogue"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// demand is the set of properties of a machine, or of a scale set's profile, that its size must
// support.
type demand struct {
	id, name, location string
	zones              []string
	// properties are the machine's properties; a profile has the same form.
	properties value.Object
	// set means that the demand is of a scale set's profile.
	set bool
	// interfaces is the number of network interfaces, accelerated the ID of an interface with
	// accelerated networking.
	interfaces  int
	accelerated string
	// generation and architecture describe the image, "" where the image does not set them.
	generation, architecture string
}

// fit refuses a demand that the size does not support according to one or more capabilities in the
// list of SKUs.
type fit struct {
	capabilities []string
	refuse       func(m demand, sz catalogue.Size) *engine.Error
}

// fits has a row for each announced capability that Azure enforces.
var fits = []fit{
	{[]string{"MaxDataDiskCount"}, func(m demand, sz catalogue.Size) *engine.Error { return checkDataDisks(m.disks(), sz) }},
	{[]string{"PremiumIO"}, fitPremium},
	{[]string{"UltraSSDAvailable"}, fitUltra},
	{[]string{"EphemeralOSDiskSupported", "SupportedEphemeralOSDiskPlacements", "CachedDiskBytes", "MaxResourceVolumeMB", "NvmeDiskSizeInMiB"},
		func(m demand, sz catalogue.Size) *engine.Error {
			return checkEphemeral(value.Sub(m.properties, "storageProfile", "osDisk"), sz)
		}},
	{[]string{"DiskControllerTypes"}, fitController},
	{[]string{"EncryptionAtHostSupported"}, fitEncryption},
	{[]string{"MaxNetworkInterfaces"}, fitInterfaces},
	{[]string{"AcceleratedNetworkingEnabled"}, fitAccelerated},
	{[]string{"HyperVGenerations"}, fitGeneration},
	{[]string{"CpuArchitectureType"}, fitArchitecture},
	{[]string{"LowPriorityCapable"}, fitSpot},
	{[]string{"TrustedLaunchDisabled", "ConfidentialComputingType"}, fitSecurity},
}

// checkFit returns the first error among fits, or nil if the size supports the demand.
func checkFit(m demand, sz catalogue.Size) *engine.Error {
	for _, f := range fits {
		if e := f.refuse(m, sz); e != nil {
			return e
		}
	}
	return nil
}

// demandOf returns the demand of a machine.
func demandOf(t *engine.Tx, d *engine.Doc) demand {
	m := demand{id: d.ID, name: d.Parsed.Name(), location: d.Location(), zones: value.Texts(d.Body, "zones"), properties: value.Props(d.Body)}
	for _, n := range value.Items(m.properties, "networkProfile", "networkInterfaces") {
		m.interfaces++
		if nic := t.Find(value.Str(n, "id")); nic != nil && value.Bool(value.Props(nic.Body), "enableAcceleratedNetworking") {
			m.accelerated = nic.ID
		}
	}
	m.generation, m.architecture = traits(t, value.Sub(m.properties, "storageProfile", "imageReference"))
	return m
}

// demandOfSet returns the demand of a scale set's profile; probe is a machine that the profile
// would create.
func demandOfSet(t *engine.Tx, set, probe *engine.Doc) demand {
	m := demand{id: set.ID, name: set.Parsed.Name(), location: set.Location(), zones: value.Texts(set.Body, "zones"),
		properties: value.Props(probe.Body), set: true}
	for _, c := range value.Items(m.properties, "networkProfile", "networkInterfaceConfigurations") {
		m.interfaces++
		if value.Bool(value.Props(c), "enableAcceleratedNetworking") {
			m.accelerated = value.Str(c, "name")
		}
	}
	m.generation, m.architecture = traits(t, value.Sub(m.properties, "storageProfile", "imageReference"))
	return m
}

// traits returns the generation and the architecture of the image that a reference names, or "" if
// they are not known.
func traits(t *engine.Tx, ref value.Object) (generation, architecture string) {
	image := imageOf(ref)
	if image.ID == "" {
		found, _, _ := catalogue.FindImage(image.Publisher, image.Offer, image.SKU, image.Version)
		if found.Guessed {
			return "", ""
		}
		return found.Generation, found.Architecture
	}
	r, err := engine.ParseID(image.ID)
	if err != nil {
		return "", ""
	}
	if strings.EqualFold(r.FullType(), typeGalleryVersion) {
		r, _ = r.Parent()
	}
	d := t.Find(r.Key())
	if d == nil {
		return "", ""
	}
	return value.Str(d.Body, "properties", "hyperVGeneration"), value.Str(d.Body, "properties", "architecture")
}

func (m demand) disks() []value.Object {
	return value.Items(m.properties, "storageProfile", "dataDisks")
}

// storage returns the storage types of the disks; the values are the paths of the types in the
// profile.
func (m demand) storage() map[string]string {
	out := map[string]string{}
	for _, disk := range m.disks() {
		out[value.Str(disk, "managedDisk", "storageAccountType")] = "dataDisk.managedDisk.storageAccountType"
	}
	out[value.Str(m.properties, "storageProfile", "osDisk", "managedDisk", "storageAccountType")] = "osDisk.managedDisk.storageAccountType"
	return out
}

// fitPremium refuses premium storage on a size without it. Source:
// https://github.com/Azure/azure-xplat-cli/issues/3008.
func fitPremium(m demand, sz catalogue.Size) *engine.Error {
	for kind, at := range m.storage() {
		if strings.HasPrefix(kind, "Premium") && !sz.Premium() {
			return invalid(at, "Requested operation cannot be performed because storage account type '%s' is not supported for VM size '%s'.",
				kind, sz.Name)
		}
	}
	return nil
}

func fitUltra(m demand, sz catalogue.Size) *engine.Error {
	_, asked := m.storage()["UltraSSD_LRS"]
	zonal := len(m.zones) > 0 && engine.Places[m.location].Zonal
	if (asked || value.Bool(m.properties, "additionalCapabilities", "ultraSSDEnabled")) && (!sz.UltraDisks() || !zonal) {
		return invalid("additionalCapabilities.ultraSSDEnabled", "The VM size '%s' does not support UltraSSD_LRS disks in the "+
			"location '%s' and zone '%s'. See https://aka.ms/UltraDisk.", sz.Name, m.location, strings.Join(m.zones, ","))
	}
	return nil
}

func fitController(m demand, sz catalogue.Size) *engine.Error {
	kind := value.Str(m.properties, "storageProfile", "diskControllerType")
	if kind != "" && !slices.ContainsFunc(sz.Controllers(), func(c string) bool { return strings.EqualFold(c, kind) }) {
		return invalid("storageProfile.diskControllerType", "The VM size '%s' does not support the disk controller type '%s'.", sz.Name, kind)
	}
	return nil
}

func fitEncryption(m demand, sz catalogue.Size) *engine.Error {
	if value.Bool(m.properties, "securityProfile", "encryptionAtHost") && !sz.EncryptionAtHost() {
		return invalid("securityProfile.encryptionAtHost", "The VM size '%s' does not support encryption at host.", sz.Name)
	}
	return nil
}

// fitInterfaces refuses too many network interfaces. Source:
// https://github.com/fortinet/fortigate-terraform-deploy/issues/148 and, for sets,
// https://github.com/fortinet/fortigate-autoscale-azure/issues/60.
func fitInterfaces(m demand, sz catalogue.Size) *engine.Error {
	switch most := sz.Interfaces(); {
	case m.interfaces <= most:
		return nil
	case m.set:
		return engine.BadRequest("NetworkInterfaceCountExceeded", "The number of network interface configurations for VM scale set %s "+
			"exceeds the maximum allowed for the virtual machine size %s. The number of network interface configurations is %d, and the "+
			"maximum allowed is %d.", m.name, sz.Name, m.interfaces, most)
	default:
		return engine.BadRequest("NetworkInterfaceCountExceeded", "The number of network interfaces for virtual machine %s exceeds the "+
			"maximum allowed for the virtual machine size %s. The number of network interfaces is %d and the maximum allowed is %d.",
			m.name, sz.Name, m.interfaces, most)
	}
}

// fitAccelerated refuses accelerated networking on a size without it. Source:
// https://github.com/Azure/azure-cli/issues/19182 and, for sets,
// https://github.com/kubernetes-sigs/cluster-api/issues/1201.
func fitAccelerated(m demand, sz catalogue.Size) *engine.Error {
	switch {
	case m.accelerated == "" || sz.Accelerated():
		return nil
	case m.set:
		return engine.BadRequest("VMSizeIsNotPermittedToEnableAcceleratedNetworkingForVmss", "Virtual machine at index 0 of VM scale set "+
			"%s has size %s, which is not compatible with enabling accelerated networking in the network profile on the scale set.",
			m.id, sz.Name)
	default:
		return engine.BadRequest("VMSizeIsNotPermittedToEnableAcceleratedNetworking", "Virtual machine %s has size %s, which is not "+
			"compatible with enabling accelerated networking on network interface(s) on the VM.", m.id, sz.Name)
	}
}

func fitGeneration(m demand, sz catalogue.Size) *engine.Error {
	if m.generation == "" || slices.Contains(strings.Split(sz.Generations(), ","), m.generation) {
		return nil
	}
	return engine.BadRequest("BadRequest", "The selected VM size '%s' cannot boot Hypervisor Generation '%s'. If this was a Create "+
		"operation please check that the Hypervisor Generation of the Image matches the Hypervisor Generation of the selected VM Size. "+
		"If this was an Update operation please select a Hypervisor Generation '%s' VM Size. For more information, see "+
		"https://aka.ms/azuregen2vm", sz.Name, strings.TrimPrefix(m.generation, "V"), strings.TrimPrefix(m.generation, "V"))
}

func fitArchitecture(m demand, sz catalogue.Size) *engine.Error {
	if m.architecture == "" || strings.EqualFold(m.architecture, sz.Architecture()) {
		return nil
	}
	return engine.BadRequest("BadRequest", "Cannot create a VM of size '%s' because this VM size only supports a CPU Architecture of "+
		"'%s', but an image or disk with CPU Architecture '%s' was given. Please check that the CPU Architecture of the image or disk is "+
		"compatible with that of the VM size.", sz.Name, sz.Architecture(), m.architecture)
}

func fitSpot(m demand, sz catalogue.Size) *engine.Error {
	if isSpot(m.properties) && !sz.LowPriority() {
		return engine.BadRequest("OperationNotAllowed", "The VM size '%s' does not support Azure Spot Virtual Machines. For more "+
			"information, see http://aka.ms/AzureSpot/errormessages.", sz.Name)
	}
	return nil
}

// fitSecurity refuses a security type that the size does not support. Source:
// https://learn.microsoft.com/azure/virtual-machines/trusted-launch-faq.
func fitSecurity(m demand, sz catalogue.Size) *engine.Error {
	asked := value.Str(m.properties, "securityProfile", "securityType")
	trusted := strings.EqualFold(asked, "TrustedLaunch") && !sz.TrustedLaunch()
	if trusted || strings.EqualFold(asked, "ConfidentialVM") && sz.Confidential() == "" {
		return invalid("securityProfile.securityType", "The VM size '%s' is not supported for creation of VMs and Virtual Machine Scale "+
			"Set with '%s' security type.", sz.Name, asked)
	}
	return nil
}
