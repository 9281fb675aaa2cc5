package rules

import (
	"casement.dev/casement/internal/lint"
)

// linuxDrivers are CSI drivers without a node plugin for Windows.
var linuxDrivers = []string{"blob.csi.azure.com", "nfs.csi.k8s.io"}

// linuxFileSystems are file systems that Windows cannot format.
var linuxFileSystems = []string{"ext2", "ext3", "ext4", "xfs", "btrfs"}

// claim is a PersistentVolumeClaim of a pod, and the object that contains it.
type claim struct {
	object *lint.Object
	spec   lint.Value
}

// claimsOf returns the claims of a pod: by name, ephemeral, and from a StatefulSet's templates.
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
		"---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: data\nspec:\n  storageClassName: data\n---\n" +
		mounted("C:/data", "    persistentVolumeClaim:\n      claimName: data\n")
}

func csiPlugin(path string) string {
	return windowsPod + container + "  volumes:\n  - name: data\n    hostPath:\n      path: '" + path + "'\n"
}
