package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

// win320: A CSI driver without Windows.
var win320 = lint.Rule{
	ID:       "WIN320",
	Severity: lint.Error,
	Title:    "A CSI driver without Windows",
	Oracle:   lint.Unit,
	Doc: "blob.csi.azure.com and nfs.csi.k8s.io have no node plugin for Windows, and file.csi.azure.com with " +
		"`protocol: nfs` needs an NFS client. Use SMB. Source: kubernetes-sigs/blob-csi-driver issue 473, " +
		"kubernetes-csi/csi-driver-nfs issue 287, azurefile-csi-driver docs/driver-parameters.md.",
	Bad:   claimed("blob.csi.azure.com", ""),
	Good:  claimed("file.csi.azure.com", ""),
	Pod:   eachVolume(checkWIN320),
	Check: eachBacking(checkWIN320b),
}

func checkWIN320(p *lint.Pass, pod *lint.Pod, v lint.Value) {
	if driver := v.At("csi", "driver"); slices.Contains(linuxDrivers, driver.Str()) {
		p.Report(pod.Object, driver, driver.Str()+" has no node plugin for Windows", say("a driver for "+
			"SMB, such as file.csi.azure.com"))
	}
}

func checkWIN320b(p *lint.Pass, pod *lint.Pod, o *lint.Object, driver, parameters lint.Value) {
	switch v := parameters.At("protocol"); {
	case slices.Contains(linuxDrivers, driver.Str()):
		p.Report(o, driver, fmt.Sprintf("%s has no node plugin for Windows, and %s claims "+
			"it", driver.Str(), pod.Object), say("a driver for SMB, such as file.csi.azure.com"))
	case driver.Str() == "file.csi.azure.com" && v.Str() == "nfs":
		p.Report(o, v, fmt.Sprintf("Windows has no NFS client, and %s claims it", pod.Object), say("protocol: smb"))
	}
}

// win321: A file system of Linux.
var win321 = lint.Rule{
	ID:       "WIN321",
	Severity: lint.Error,
	Title:    "A file system of Linux",
	Oracle:   lint.Unit,
	Doc: "Windows formats NTFS, ReFS, exFAT and FAT; with ext4, xfs or btrfs in a StorageClass or volume the disk is " +
		"not mounted (some drivers take ntfs instead). Leave it out: the driver takes what the node can. Source: " +
		"kubernetes-sigs/azuredisk-csi-driver issue 561.",
	Bad:   claimed("disk.csi.azure.com", "parameters:\n  fsType: ext4\n"),
	Good:  claimed("disk.csi.azure.com", ""),
	Pod:   eachVolume(checkWIN321),
	Check: eachBacking(checkWIN321b),
}

func checkWIN321(p *lint.Pass, pod *lint.Pod, volume lint.Value) {
	for _, kind := range []string{"csi", "azureDisk"} {
		if v := volume.At(kind, "fsType"); slices.Contains(linuxFileSystems, v.Str()) {
			p.Report(pod.Object, v, "Windows cannot format "+v.Str(), say("leave it out"))
		}
	}
}

func checkWIN321b(p *lint.Pass, pod *lint.Pod, o *lint.Object, _, parameters lint.Value) {
	for _, v := range []lint.Value{parameters.At("fsType"), parameters.At("fstype"), parameters.At("csi.storage.k8s.io/fstype"),
		o.Root.At("spec", "csi", "fsType")} {
		if slices.Contains(linuxFileSystems, v.Str()) {
			p.Report(o, v, fmt.Sprintf("Windows cannot format %s, and %s claims "+
				"it", v.Str(), pod.Object), say("leave it out"))
		}
	}
}

// win322: A file name that Windows does not accept.
var win322 = lint.Rule{
	ID:       "WIN322",
	Severity: lint.Warning,
	Title:    "A file name that Windows does not take",
	Oracle:   lint.Unit,
	Doc: "Names of files have none of `<>:\"|?*\\`, no dot or space at the end, are no device such as CON, NUL or " +
		"COM1, and differ by more than case: else the file is not made, or one overwrites the other. Rename it by " +
		"`items`. Source: learn.microsoft.com/windows/win32/fileio/naming-a-file.",
	Bad:  mounted("C:/data", "    configMap:\n      name: settings\n      items:\n      - key: a\n        path: nul.txt\n"),
	Good: mounted("C:/data", "    configMap:\n      name: settings\n      items:\n      - key: a\n        path: none.txt\n"),
	Pod:  eachVolume(checkWIN322),
}

func checkWIN322(p *lint.Pass, pod *lint.Pod, volume lint.Value) {
	sources := []lint.Value{volume}
	sources = append(sources, volume.At("projected", "sources").Items()...)
	for _, source := range sources {
		for _, kind := range []string{"configMap", "secret", "downwardAPI"} {
			for o, names := range fileNames(p.Set, pod, source, kind) {
				fileProblems(p, o, names)
			}
		}
	}
}

// win323: FlexVolume.
var win323 = lint.Rule{
	ID:       "WIN323",
	Severity: lint.Warning,
	Title:    "FlexVolume",
	Since:    23,
	Oracle:   lint.Unit,
	Doc:      "FlexVolume is deprecated since 1.23. Use a CSI driver. Source: kubernetes.io/docs/concepts/storage/windows-storage.",
	Bad:      withVolume("    flexVolume:\n      driver: microsoft.com/smb.cmd\n"),
	Good:     withVolume("    emptyDir: {}\n"),
	Pod:      checkWIN323,
}

func checkWIN323(p *lint.Pass, pod *lint.Pod) {
	for _, v := range pod.Spec.At("volumes").Items() {
		if flex := v.At("flexVolume"); flex.Exists() {
			p.Report(pod.Object, flex, "FlexVolume is deprecated", say("use a CSI driver"))
		}
	}
}

// win324: A volume that is to be expanded.
var win324 = lint.Rule{
	ID:       "WIN324",
	Severity: lint.Info,
	Title:    "A volume that shall grow",
	Oracle:   lint.Unit,
	Doc: "Growing a mounted volume is not among what Kubernetes supports on Windows; whether it works depends on the " +
		"CSI driver. Source: kubernetes.io/docs/concepts/storage/windows-storage.",
	Bad:   claimed("disk.csi.azure.com", "allowVolumeExpansion: true\n"),
	Good:  claimed("disk.csi.azure.com", ""),
	Check: eachBacking(checkWIN324),
}

func checkWIN324(p *lint.Pass, pod *lint.Pod, o *lint.Object, _, _ lint.Value) {
	if v := o.Root.At("allowVolumeExpansion"); v.True() {
		p.Report(o, v, fmt.Sprintf("growing a mounted volume is not supported on Windows, where %s claims "+
			"it", pod.Object), say("see your driver's own word"))
	}
}

// win325: csi-proxy is not installed.
var win325 = lint.Rule{
	ID:       "WIN325",
	Severity: lint.Info,
	Title:    "csi-proxy is not there",
	Oracle:   lint.Unit,
	Doc: "A CSI node plugin that talks to the pipes of csi-proxy can do nothing without it. Deploy csi-proxy, label " +
		"the Cluster `csi-proxy: enabled`, or run the plugin as a HostProcess pod. Source: " +
		"kubernetes.io/docs/concepts/storage/windows-storage.",
	Bad:  csiPlugin(`\\.\pipe\csi-proxy-filesystem-v1`),
	Good: csiPlugin(`C:\csi`),
	Pod:  checkWIN325,
}

func checkWIN325(p *lint.Pass, pod *lint.Pod) {
	volumes := pod.Spec.At("volumes").Items()
	first := slices.IndexFunc(volumes, func(volume lint.Value) bool {
		path := volume.At("hostPath", "path").Str()
		return isPipe(path) && strings.Contains(path, "csi-proxy-")
	})
	if first < 0 {
		return
	}
	deployed := slices.ContainsFunc(p.Set.Kind("DaemonSet", "Cluster"), func(o *lint.Object) bool {
		return o.Kind == "DaemonSet" && strings.Contains(o.Name, "csi-proxy") || o.OfClusterAPI() && o.Root.At("metadata", "labels",
			"csi-proxy").Str() == "enabled"
	})
	if !deployed {
		p.Report(pod.Object, volumes[first].At("hostPath", "path"),
			"nothing here deploys csi-proxy, which this pipe belongs to", say("deploy "+
				"csi-proxy, or run the plugin as a HostProcess pod"))
	}
}

// dockerLogs matches Docker's directory with the logs of containers on Windows.
var dockerLogs = regexp.MustCompile(`(?i)^(c:)?[\\/]+programdata[\\/]+docker([\\/]|$)`)

// win326: Docker's directory.
var win326 = lint.Rule{
	ID:       "WIN326",
	Severity: lint.Warning,
	Title:    "Docker's directory",
	Since:    24,
	Oracle:   lint.Unit,
	Doc: "Nodes run containerd: `C:\\ProgramData\\docker` is not there, and an empty directory is made in its place. The " +
		"logs of containers are files below `C:\\var\\log\\pods`, with links in `C:\\var\\log\\containers`. Source: kubernetes " +
		"pkg/kubelet/kuberuntime/kuberuntime_manager.go.",
	Bad:  csiPlugin(`C:\ProgramData\docker\containers`),
	Good: csiPlugin(`C:\var\log\pods`),
	Pod:  eachVolume(checkWIN326),
}

func checkWIN326(p *lint.Pass, pod *lint.Pod, volume lint.Value) {
	if v := volume.At("hostPath", "path"); dockerLogs.MatchString(v.Str()) && !p.Target.Docker {
		p.Report(pod.Object, v, "nodes with containerd have no such directory: the pod sees an empty one",
			say(`C:\var\log\pods for the logs of containers`))
	}
}
