package rules

import (
	"fmt"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

// linuxDrivers are CSI drivers without a node plugin for Windows.
var linuxDrivers = []string{"blob.csi.azure.com", "nfs.csi.k8s.io"}

// linuxFileSystems are what Windows cannot format.
var linuxFileSystems = []string{"ext2", "ext3", "ext4", "xfs", "btrfs"}

// claims are the rules about storage that Windows pods claim.
func claims() []lint.Rule {
	return []lint.Rule{
		{
			ID: "WIN320", Severity: lint.Error, Title: "A CSI driver without Windows", Oracle: lint.Unit,
			Doc: "blob.csi.azure.com and nfs.csi.k8s.io have no node plugin for Windows, and file.csi.azure.com with `protocol: nfs` needs an NFS client. Use SMB. Source: kubernetes-sigs/blob-csi-driver issue 473, kubernetes-csi/csi-driver-nfs issue 287, azurefile-csi-driver docs/driver-parameters.md.",
			Bad: claimed("blob.csi.azure.com", ""), Good: claimed("file.csi.azure.com", ""),
			Pod: eachVolume(func(p *lint.Pass, pod *lint.Pod, v lint.Value) {
				if driver := v.At("csi", "driver"); slices.Contains(linuxDrivers, driver.Str()) {
					p.Report(pod.Object, driver, driver.Str()+" has no node plugin for Windows", say("a driver for SMB, such as file.csi.azure.com"))
				}
			}),
			Check: eachBacking(func(p *lint.Pass, pod *lint.Pod, o *lint.Object, driver, parameters lint.Value) {
				switch v := parameters.At("protocol"); {
				case slices.Contains(linuxDrivers, driver.Str()):
					p.Report(o, driver, fmt.Sprintf("%s has no node plugin for Windows, and %s claims it", driver.Str(), pod.Object), say("a driver for SMB, such as file.csi.azure.com"))
				case driver.Str() == "file.csi.azure.com" && v.Str() == "nfs":
					p.Report(o, v, fmt.Sprintf("Windows has no NFS client, and %s claims it", pod.Object), say("protocol: smb"))
				}
			}),
		},
		{
			ID: "WIN321", Severity: lint.Error, Title: "A file system of Linux", Oracle: lint.Unit,
			Doc: "Windows formats NTFS, ReFS, exFAT and FAT; with ext4, xfs or btrfs in a StorageClass or volume the disk is not mounted (some drivers take ntfs instead). Leave it out: the driver takes what the node can. Source: kubernetes-sigs/azuredisk-csi-driver issue 561.",
			Bad: claimed("disk.csi.azure.com", "parameters:\n  fsType: ext4\n"), Good: claimed("disk.csi.azure.com", ""),
			Pod: eachVolume(func(p *lint.Pass, pod *lint.Pod, volume lint.Value) {
				for _, kind := range []string{"csi", "azureDisk"} {
					if v := volume.At(kind, "fsType"); slices.Contains(linuxFileSystems, v.Str()) {
						p.Report(pod.Object, v, "Windows cannot format "+v.Str(), say("leave it out"))
					}
				}
			}),
			Check: eachBacking(func(p *lint.Pass, pod *lint.Pod, o *lint.Object, _, parameters lint.Value) {
				for _, v := range []lint.Value{parameters.At("fsType"), parameters.At("fstype"), parameters.At("csi.storage.k8s.io/fstype"), o.Root.At("spec", "csi", "fsType")} {
					if slices.Contains(linuxFileSystems, v.Str()) {
						p.Report(o, v, fmt.Sprintf("Windows cannot format %s, and %s claims it", v.Str(), pod.Object), say("leave it out"))
					}
				}
			}),
		},
		{
			ID: "WIN324", Severity: lint.Info, Title: "A volume that shall grow", Oracle: lint.Unit,
			Doc: "Growing a mounted volume is not among what Kubernetes supports on Windows; whether it works depends on the CSI driver. Source: kubernetes.io/docs/concepts/storage/windows-storage.",
			Bad: claimed("disk.csi.azure.com", "allowVolumeExpansion: true\n"), Good: claimed("disk.csi.azure.com", ""),
			Check: eachBacking(func(p *lint.Pass, pod *lint.Pod, o *lint.Object, _, _ lint.Value) {
				if v := o.Root.At("allowVolumeExpansion"); v.True() {
					p.Report(o, v, fmt.Sprintf("growing a mounted volume is not supported on Windows, where %s claims it", pod.Object), say("see your driver's own word"))
				}
			}),
		},
		{
			ID: "WIN325", Severity: lint.Info, Title: "csi-proxy is not there", Oracle: lint.Unit,
			Doc: "A CSI node plugin that talks to the pipes of csi-proxy can do nothing without it. Deploy csi-proxy, label the Cluster `csi-proxy: enabled`, or run the plugin as a HostProcess pod. Source: kubernetes.io/docs/concepts/storage/windows-storage.",
			Bad: csiPlugin(`\\.\pipe\csi-proxy-filesystem-v1`), Good: csiPlugin(`C:\csi`),
			Pod: eachVolume(func(p *lint.Pass, pod *lint.Pod, volume lint.Value) {
				v := volume.At("hostPath", "path")
				if !isPipe(v.Str()) || !strings.Contains(v.Str(), "csi-proxy-") {
					return
				}
				deployed := slices.ContainsFunc(p.Set.Kind("DaemonSet", "Cluster"), func(o *lint.Object) bool {
					return o.Kind == "DaemonSet" && strings.Contains(o.Name, "csi-proxy") || o.OfClusterAPI() && o.Root.At("metadata", "labels", "csi-proxy").Str() == "enabled"
				})
				if !deployed {
					p.Report(pod.Object, v, "nothing here deploys csi-proxy, which this pipe belongs to", say("deploy csi-proxy, or run the plugin as a HostProcess pod"))
				}
			}),
		},
	}
}

// claim is a PersistentVolumeClaim of a pod, and the object that carries it.
type claim struct {
	object *lint.Object
	spec   lint.Value
}

// claimsOf are those of a pod: by name, ephemeral, and from a StatefulSet's templates.
func claimsOf(s *lint.Set, pod *lint.Pod) []claim {
	var out []claim
	for _, v := range pod.Spec.At("volumes").Items() {
		if spec := v.At("ephemeral", "volumeClaimTemplate", "spec"); spec.Exists() {
			out = append(out, claim{pod.Object, spec})
		}
		name := v.At("persistentVolumeClaim", "claimName").Str()
		if name == "" {
			continue
		}
		for _, o := range s.Named("PersistentVolumeClaim", pod.Object.Namespace, name) {
			out = append(out, claim{o, o.Root.At("spec")})
		}
	}
	if pod.Object.Kind == "StatefulSet" {
		for _, t := range pod.Object.Root.At("spec", "volumeClaimTemplates").Items() {
			out = append(out, claim{pod.Object, t.At("spec")})
		}
	}
	return out
}

// eachBacking runs check for the StorageClasses and PersistentVolumes that Windows
// pods claim, once each.
func eachBacking(check func(p *lint.Pass, pod *lint.Pod, o *lint.Object, driver, parameters lint.Value)) func(*lint.Pass) {
	return func(p *lint.Pass) {
		seen := map[*lint.Object]bool{}
		for _, pod := range p.Pods() {
			for _, c := range claimsOf(p.Set, pod) {
				for _, o := range p.Set.Named("StorageClass", "", c.spec.At("storageClassName").Str()) {
					if !seen[o] {
						seen[o] = true
						check(p, pod, o, o.Root.At("provisioner"), o.Root.At("parameters"))
					}
				}
				for _, o := range p.Set.Named("PersistentVolume", "", c.spec.At("volumeName").Str()) {
					if !seen[o] {
						seen[o] = true
						check(p, pod, o, o.Root.At("spec", "csi", "driver"), o.Root.At("spec", "csi", "volumeAttributes"))
					}
				}
			}
		}
	}
}

func claimed(driver, lines string) string {
	return "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata:\n  name: data\nprovisioner: " + driver + "\n" + lines +
		"---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: data\nspec:\n  storageClassName: data\n---\n" + mounted("C:/data", "    persistentVolumeClaim:\n      claimName: data\n")
}

func csiPlugin(path string) string {
	return windowsPod + container + "  volumes:\n  - name: data\n    hostPath:\n      path: '" + path + "'\n"
}
