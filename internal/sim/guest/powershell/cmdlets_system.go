package powershell

import (
	"cmp"
	"math"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

var systemCmdlets = []cmdlet{
	{name: "Restart-Computer", parameters: "ComputerName|Cn:0 Force?~ Delay~ Timeout~ Wait?", run: restartComputer},
	{name: "Rename-Computer",
		parameters: "NewName%:0 ComputerName Force?~ Restart? PassThru? DomainCredential LocalCredential",
		run:        renameComputer},
	{name: "Get-ComputerInfo", parameters: "Property:0", run: getComputerInfo},
	{name: "Get-Volume", parameters: "DriveLetter:0", run: getVolume},
	{name: "Get-BitLockerVolume", parameters: "MountPoint:0", run: getBitLocker},
	{name: "Get-PSDrive", parameters: "Name%:0 PSProvider", run: getDrive},
	{name: "Get-WindowsFeature", parameters: "Name%:0", run: getFeature},
	{name: "Install-WindowsFeature",
		parameters: "Name%:0 IncludeManagementTools?~ IncludeAllSubFeature?~ Restart? Source~ LogPath~",
		run:        installFeature},
	{name: "Add-WindowsFeature",
		parameters: "Name%:0 IncludeManagementTools?~ IncludeAllSubFeature?~ Restart? Source~", run: installFeature},
	{name: "Get-WindowsOptionalFeature", parameters: "Online?~ FeatureName", run: getOptional},
	{name: "Enable-WindowsOptionalFeature", parameters: "Online?~ FeatureName All?~ NoRestart?~", run: installFeature},
	{name: "Get-WindowsCapability", parameters: "Online?~ Name%", run: getCapability},
	{name: "Add-AppxPackage", parameters: "Path%:0 DependencyPath~ ForceApplicationShutdown?~", run: addPackage},
	{name: "Add-WindowsCapability", parameters: "Online?~ Name% Source~", run: addCapability},
	{name: "Get-CimInstance", parameters: "ClassName:0 Filter Property~ Namespace~ Query", run: getInstance},
	{name: "Get-WmiObject", parameters: "Class:0 Property:1~ Filter Namespace~ Query", run: getInstance},
	{name: "Get-HotFix", parameters: "Id:0", run: func(*call) error { return nil }},
	{name: "Get-TimeZone", parameters: "", run: func(c *call) error {
		return c.emit(tabled("System.TimeZoneInfo", 2, "Id", "UTC", "DisplayName", "(UTC) Coordinated Universal Time", "StandardName",
			"Coordinated Universal Time"))
	}},
	{name: "Get-ExecutionPolicy", parameters: "Scope~", run: func(c *call) error { return c.emit("RemoteSigned") }},
}

func restartComputer(c *call) error {
	if c.has("computername") && !strings.EqualFold(c.textOf("computername"), "localhost") &&
		c.textOf("computername") != "." && !strings.EqualFold(c.textOf("computername"), c.m.ComputerName) {
		return lacking("restarting another computer")
	}
	c.m.RequestReboot()
	return nil
}

func renameComputer(c *call) error {
	if err := c.need("newname"); err != nil {
		return err
	}
	name := c.textOf("newname")
	if len(name) > 15 {
		return broken("System.InvalidOperationException", "FailToRenameComputer",
			"Fail to rename computer '%s' to '%s' because the name is longer than 15 characters.", c.m.ComputerName, name)
	}
	if err := c.m.SetHostname(name); err != nil {
		return broken("System.InvalidOperationException", "FailToRenameComputer", "Fail to rename computer to '%s': %v", name, err)
	}
	return c.finishChange()
}

// finishChange ends a change that takes effect with a restart: it requests the restart if -Restart is given, else it writes a warning.
func (c *call) finishChange() error {
	if c.is("restart") {
		c.m.RequestReboot()
		return nil
	}
	return c.warn("The changes will take effect after you restart the computer " + strings.ToUpper(c.m.ComputerName) + ".")
}

// buildNumber returns the third part of a version.
func buildNumber(build string) string {
	if parts := strings.Split(build, "."); len(parts) > 2 {
		return parts[2]
	}
	return build
}

func getComputerInfo(c *call) error {
	o := system("Microsoft.PowerShell.Commands.ComputerInfo", nil, "CsName", strings.ToUpper(c.m.ComputerName),
		"WindowsProductName", c.m.Image.Name, "OsName", "Microsoft "+c.m.Image.Name, "OsVersion", c.m.Image.Build,
		"OsBuildNumber", buildNumber(c.m.Image.Build), "CsModel", "Virtual Machine (simulated by casement)",
		"CsDNSHostName", c.m.Hostname())
	if c.has("property") {
		picked, err := c.pick(o, list(c.given["property"]))
		if err != nil {
			return err
		}
		return c.emit(picked)
	}
	o.shown = []string{"CsName", "WindowsProductName", "OsVersion", "OsBuildNumber", "CsModel"}
	return c.emit(o)
}

func (r *run) free() int64 {
	const gib = 1 << 30
	return int64(math.Round(127 * gib * r.m.Pulse.Get().Free))
}

func getVolume(c *call) error {
	const size = int64(127 << 30)
	o := system("Microsoft.Management.Infrastructure.CimInstance#MSFT_Volume",
		[]string{"DriveLetter", "FileSystemType", "HealthStatus", "SizeRemaining", "Size"}, "DriveLetter", "C",
		"FileSystemType", "NTFS", "FileSystem", "NTFS", "HealthStatus", "Healthy", "SizeRemaining", c.free(),
		"Size", size, "FileSystemLabel", "Windows", "DriveType", "Fixed")
	if c.has("driveletter") {
		c.given["driveletter"] = strings.TrimSuffix(c.textOf("driveletter"), ":")
	}
	return c.pickInstances([]*object{o}, map[string]string{"driveletter": "DriveLetter"}, "MSFT_Volume")
}

// getBitLocker emits the system volume. Windows in an image of Azure does not encrypt it.
func getBitLocker(c *call) error {
	o := system("Microsoft.BitLocker.Structures.BitLockerVolume",
		[]string{"VolumeType", "MountPoint", "CapacityGB", "VolumeStatus", "EncryptionPercentage",
			"KeyProtector", "AutoUnlockEnabled", "ProtectionStatus"},
		"ComputerName", strings.ToUpper(c.m.ComputerName), "VolumeType", "OperatingSystem", "MountPoint", "C:", "CapacityGB", int64(127),
		"VolumeStatus", "FullyDecrypted", "EncryptionPercentage", int64(0), "EncryptionMethod", "None", "KeyProtector", newArray(),
		"AutoUnlockEnabled", nil, "LockStatus", "Unlocked", "ProtectionStatus", "Off")
	if c.has("mountpoint") {
		c.given["mountpoint"] = strings.TrimSuffix(strings.TrimSuffix(c.textOf("mountpoint"), `\`), ":") + ":"
	}
	return c.pickInstances([]*object{o}, map[string]string{"mountpoint": "MountPoint"}, "BitLockerVolume")
}

func getDrive(c *call) error {
	names := c.textsOf("name")
	if len(names) == 0 {
		if !strings.EqualFold(c.textOf("psprovider"), "FileSystem") {
			return lacking("Get-PSDrive without a name")
		}
		names = []string{"C", "D"}
	}
	return every(c, names, func(n string) error {
		up := strings.ToUpper(n)
		if up != "C" && up != "D" {
			return broken("DriveNotFoundException", "GetLocationNoMatchingDrive", "Cannot find drive. A drive with the name '%s' does not exist.", n)
		}
		return c.emit(tabled("System.Management.Automation.PSDriveInfo", 5, "Name", up, "Used", int64(127<<30)-c.free(), "Free",
			c.free(), "Provider", "FileSystem", "Root", up+`:\`))
	})
}

// featuresKey is the registry key that records the features that scripts installed.
const featuresKey = `HKLM\SOFTWARE\Microsoft\casement\Features`

// imageFeatures are the Windows features that the simulation knows, with true for those that the image has installed.
var imageFeatures = map[string]bool{"containers": true, "hyper-v": false, "telnet-client": false,
	"web-server": false, "rsat-ad-powershell": false, "fs-smb1": false, "windows-defender": true,
	"powershell": true, "net-framework-45-core": true, "wow64-support": true, "snmp-service": false,
	"nfs-client": false, "multipath-io": false, "dns": false, "ad-domain-services": false,
	"data-center-bridging": false, "failover-clustering": false, "fs-fileserver": true, "storage-services": true,
	"web-webserver": false, "rsat": false, "rsat-hyper-v-tools": false, "hyper-v-powershell": false,
	"hypervisorplatform": false, "microsoft-hyper-v": false, "virtualmachineplatform": false, "smb1protocol": false}

// feature reports whether the image has a Windows feature, and whether it is installed.
func (r *run) feature(name string) (known, installed bool) {
	installed, known = imageFeatures[strings.ToLower(name)]
	installed = installed && !(r.m.Image.Plain && strings.EqualFold(name, "Containers"))
	if _, ok := r.m.Registry().Value(featuresKey, name); ok {
		installed = true
	}
	return known, installed
}

func getFeature(c *call) error {
	if !c.has("name") {
		return lacking("Get-WindowsFeature without a name")
	}
	return c.eachFeature(c.textsOf("name"), func(n string, installed bool) error {
		return c.emit(tabled("Microsoft.Windows.ServerManager.Commands.Feature", 3, "DisplayName", n, "Name", n, "InstallState",
			map[bool]string{true: "Installed", false: "Available"}[installed], "Installed", installed))
	})
}

func getOptional(c *call) error {
	if !c.has("featurename") {
		return lacking("Get-WindowsOptionalFeature without -FeatureName")
	}
	return c.eachFeature(c.textsOf("featurename"), func(n string, installed bool) error {
		return c.emit(tabled("Microsoft.Dism.Commands.AdvancedFeatureObject", 2, "FeatureName", n, "State",
			map[bool]string{true: "Enabled", false: "Disabled"}[installed], "RestartNeeded", "Possible"))
	})
}

// installFeature records features as installed. Some features need a restart.
func installFeature(c *call) error {
	names := append(c.textsOf("name"), c.textsOf("featurename")...)
	for _, v := range c.input {
		if o, ok := v.(*object); ok {
			v, _ = o.get("Name")
		}
		names = append(names, text(v))
	}
	if len(names) == 0 {
		return c.need("name")
	}
	changed := false
	err := c.eachFeature(names, func(n string, installed bool) error {
		if installed {
			return nil
		}
		changed = true
		return diskError(c.m.Registry().Set(featuresKey, n, machine.Value{Kind: "String", Text: "Installed"}), featuresKey)
	})
	if err != nil {
		return err
	}
	if changed {
		c.mark(c.cmd.name, "the feature is recorded and nothing of it runs")
	}
	if changed && c.is("restart") {
		c.m.RequestReboot()
	}
	if strings.HasPrefix(c.cmd.name, "Enable") {
		return c.emit(imageChange(changed))
	}
	return c.emit(tabled("Microsoft.Windows.ServerManager.Commands.FeatureOperationResult", 4, "Success", true, "RestartNeeded",
		map[bool]string{true: "Yes", false: "No"}[changed], "ExitCode",
		map[bool]string{true: "Success", false: "NoChangeNeeded"}[changed], "FeatureResult", newArray()))
}

// capabilities are the Windows capabilities of the image and whether each is installed. OpenSSH.Server is
// installed if the service sshd exists.
var capabilities = map[string]bool{"openssh.server~~~~0.0.1.0": true, "openssh.client~~~~0.0.1.0": true}

func getCapability(c *call) error {
	found := false
	for n, installed := range capabilities {
		if yes, err := like(n, c.textOf("name"), false); err != nil {
			return err
		} else if !yes && c.has("name") {
			continue
		}
		found = true
		if _, runs := c.m.Services.Get("sshd"); strings.HasPrefix(n, "openssh.server") {
			installed = runs
		}
		if err := c.emit(tabled("Microsoft.Dism.Commands.AdvancedCapabilityObject", 2, "Name",
			strings.Replace(n, "openssh", "OpenSSH", 1), "State", map[bool]string{true: "Installed", false: "NotPresent"}[installed])); err != nil {
			return err
		}
	}
	if !found {
		return lacking("the capability %s", c.textOf("name"))
	}
	return nil
}

// addPackage records an application as installed for the user who runs the script.
func addPackage(c *call) error {
	if err := c.need("path"); err != nil {
		return err
	}
	name := base(c.textOf("path"))
	c.mark(c.cmd.name, "the application is recorded and nothing of it runs")
	return c.m.AddUserPackage(name)
}

func addCapability(c *call) error {
	if !capabilities[strings.ToLower(c.textOf("name"))] {
		return lacking("the capability %s", c.textOf("name"))
	}
	if strings.HasPrefix(strings.ToLower(c.textOf("name")), "openssh.server") {
		if err := c.m.AddOpenSSH(); err != nil {
			return err
		}
	}
	return c.emit(imageChange(false))
}

// getInstance emits instances of the WMI classes that bootstrap scripts query.
func getInstance(c *call) error {
	class := c.textOf("classname") + c.textOf("class")
	if c.has("query") {
		return lacking("queries of WMI")
	}
	var o *object
	switch strings.ToLower(class) {
	case "win32_operatingsystem":
		o = tabled("Win32_OperatingSystem", 3, "Caption", "Microsoft "+c.m.Image.Name, "Version",
			strings.Join(firstParts(c.m.Image.Build, 3), "."), "BuildNumber", buildNumber(c.m.Image.Build), "OSArchitecture", "64-bit",
			"CSName", strings.ToUpper(c.m.ComputerName), "SystemDrive", "C:", "WindowsDirectory", `C:\Windows`, "ProductType", int64(3))
	case "win32_computersystem":
		o = system("Win32_ComputerSystem", []string{"Name", "Domain", "Model"}, "Name",
			strings.ToUpper(c.m.ComputerName), "Domain", cmp.Or(c.m.Domain(), workgroup), "PartOfDomain",
			c.m.Domain() != "", "Workgroup", map[bool]any{true: workgroup}[c.m.Domain() == ""], "Model",
			"Virtual Machine", "Manufacturer", "Microsoft Corporation", "DNSHostName",
			c.m.Hostname())
	case "win32_service", "win32_process":
		k, wanted, ok := strings.Cut(c.textOf("filter"), "=")
		if c.has("filter") && (!ok || !strings.EqualFold(strings.TrimSpace(k), "name")) {
			return lacking("this -Filter of %s", class)
		}
		wanted = strings.Trim(strings.TrimSpace(wanted), `'"`)
		if strings.EqualFold(class, "Win32_Service") {
			return c.serviceInstances(wanted)
		}
		return c.processInstances(wanted)
	case "win32_logicaldisk":
		o = tabled("Win32_LogicalDisk", 3, "DeviceID", "C:", "FreeSpace", c.free(), "Size", int64(127<<30), "DriveType", int64(3))
	default:
		return lacking("the WMI class %s", class)
	}
	if c.has("filter") {
		return lacking("-Filter on %s", class)
	}
	return c.emit(o)
}

func firstParts(s string, n int) []string {
	parts := strings.Split(s, ".")
	return parts[:min(n, len(parts))]
}

// processInstances emits the processes. Only processes of pods have a command line.
func (c *call) processInstances(wanted string) error {
	lines := map[any]string{}
	for _, p := range c.m.PodProcesses() {
		lines[p.ID] = p.Line
	}
	return every(c, c.processes(), func(p *object) error {
		id, _ := p.get("Id")
		program := text(p.read("ProcessName")) + ".exe"
		if wanted != "" && !strings.EqualFold(program, wanted) {
			return nil
		}
		return c.emit(tabled("Win32_Process", 2, "ProcessId", id, "Name", program, "CommandLine", lines[id]))
	})
}

// serviceInstances emits the services as instances of Win32_Service.
func (c *call) serviceInstances(wanted string) error {
	return every(c, c.m.Services.List(), func(s machine.Service) error {
		if wanted != "" && !strings.EqualFold(s.Name, wanted) {
			return nil
		}
		mode := map[string]string{machine.Automatic: "Auto", machine.Manual: "Manual", machine.Disabled: "Disabled"}[s.Start]
		return c.emit(tabled("Win32_Service", 3, "Name", s.Name, "State", state(s), "StartMode", mode, "PathName", s.Path,
			"DisplayName", s.Display, "Status", "OK"))
	})
}

// isKubeletRestart reports whether a script is the image's own script that restarts the kubelet.
func isKubeletRestart(r *run, file string) bool {
	return strings.EqualFold(file, `C:\k\RestartKubelet.ps1`) && r.m.Root.Exists(file)
}

func (r *run) restartKubelet() error {
	if err := r.m.Services.Restart("kubelet"); err != nil {
		return serviceFault(machine.Service{Name: "kubelet", Display: "kubelet"}, "started", err)
	}
	return nil
}

// eachFeature calls f for each Windows feature. A feature that the image does not have is refused by name.
func (c *call) eachFeature(names []string, f func(name string, installed bool) error) error {
	return every(c, names, func(n string) error {
		known, installed := c.feature(n)
		if !known {
			return lacking("the feature %s", n)
		}
		return f(n, installed)
	})
}

// imageChange returns the result object of a DISM cmdlet that changes the image.
func imageChange(restart bool) *object {
	return tabled("Microsoft.Dism.Commands.ImageObject", 2, "Online", true, "RestartNeeded", restart)
}
