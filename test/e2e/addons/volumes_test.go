package addons

import (
	"fmt"
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/plane"
)

// classes are StorageClasses of both drivers: one that retains disks, and classes of the in-tree
// plug-ins that the drivers replaced.
const classes = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: keep}
provisioner: disk.csi.azure.com
reclaimPolicy: Retain
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: in-tree-disk}
provisioner: kubernetes.io/azure-disk
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: in-tree-share}
provisioner: kubernetes.io/azure-file
---
`

// claimed returns a PersistentVolumeClaim with a class and an access mode.
func claimed(name, class, mode string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: %s}\nspec: {accessModes: [%s], storageClassName: %s, "+
		"resources: {requests: {storage: 4Gi}}}\n---\n", name, mode, class)
}

// podOf returns a pod that mounts claims on a Windows node other than the node of the pods named
// alone.
func podOf(name string, claims ...string) string {
	var mounts, volumes []string
	for _, c := range claims {
		mounts = append(mounts, fmt.Sprintf(`{name: %s, mountPath: 'C:\%s'}`, c, c))
		volumes = append(volumes, fmt.Sprintf("{name: %s, persistentVolumeClaim: {claimName: %s}}", c, c))
	}
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {volumes: test}}
spec:
  nodeSelector: {kubernetes.io/os: windows}
  tolerations: [{operator: Exists}]
  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
    {labelSelector: {matchLabels: {volumes: test}}, topologyKey: kubernetes.io/hostname}]}}
  containers:
  - {name: c, image: "mcr.microsoft.com/windows/servercore:ltsc2022", command: [powershell, -Command, "Start-Sleep 86400"],
     volumeMounts: [%s]}
  volumes: [%s]
---
`, name, strings.Join(mounts, ", "), strings.Join(volumes, ", "))
}

// volumes compares claims of the drivers with the resources in Azure: class names of the old
// plug-ins, a disk that two nodes request, a share that several machines use, more disks than a VM
// size permits, and a retained disk.
func volumes(t *testing.T, p *plane.Plane, kubectl func(...string) string) {
	apply := func(manifest string) {
		p.Run([]byte(manifest), "kubectl", "--kubeconfig", p.Kubeconfig("demo"), "apply", "-f", "-")
	}
	apply(classes + claimed("kept", "keep", "ReadWriteOnce") + claimed("disk", "in-tree-disk", "ReadWriteOnce") +
		claimed("share", "in-tree-share", "ReadWriteMany") + claimed("shared", "keep", "ReadWriteMany") + podOf("first", "kept", "disk", "share"))
	kubectl("wait", "pod/first", "--for=condition=Ready", "--timeout=3m")
	volume := func(claim string) string { return kubectl("get", "pvc", claim, "-o", "jsonpath={.spec.volumeName}") }
	kept := volume("kept")
	for claim, source := range map[string]string{"kept": "csi", "disk": "azureDisk", "share": "azureFile"} {
		if out := kubectl("get", "pv", volume(claim), "-o", "jsonpath={.spec."+source+"}"); out == "" {
			t.Errorf("the volume of claim %s has no source %s", claim, source)
		}
	}

	t.Log("a disk that another node has")
	apply(podOf("second", "kept"))
	says := func(object, want string) {
		until(t, want, func() bool {
			of := "involvedObject.name=" + object
			return strings.Contains(kubectl("get", "events", "--field-selector", of, "-o", "jsonpath={.items[*].message}"), want)
		})
	}
	says("second", "Volume is already used by pod(s) first")
	if out := p.Everything("why", "pod/second", "--cluster", "demo"); !strings.Contains(out, "VolumeElsewhere") {
		t.Errorf("why says\n%s", out)
	}
	kubectl("delete", "pod", "second", "--now")

	t.Log("a disk for several machines")
	apply(podOf("third", "shared"))
	says("shared", "mountVolume is not supported for access mode: MULTI_NODE_MULTI_WRITER")
	if out := p.Everything("why", "pod/third", "--cluster", "demo"); !strings.Contains(out, "AccessModeUnsupported") {
		t.Errorf("why says\n%s", out)
	}
	kubectl("delete", "pod", "third", "--now")

	t.Log("more disks than the size takes")
	limit := 0
	node := strings.TrimSpace(kubectl("get", "nodes", "-l", "kubernetes.io/os=windows", "-o", "jsonpath={.items[0].metadata.name}"))
	count := kubectl("get", "csinode", node, "-o", `jsonpath={.spec.drivers[?(@.name=="disk.csi.azure.com")].allocatable.count}`)
	if _, err := fmt.Sscan(count, &limit); err != nil {
		t.Fatalf("the node takes %q disks: %v", count, err)
	}
	var manifest strings.Builder
	var all []string
	for i := range limit + 1 {
		all = append(all, fmt.Sprintf("d%d", i))
		manifest.WriteString(claimed(all[i], "keep", "ReadWriteOnce"))
	}
	apply(manifest.String() + podOf("fourth", all...))
	says("fourth", "exceed max volume count")
	if out := p.Everything("why", "pod/fourth", "--cluster", "demo"); !strings.Contains(out, "more data disks") {
		t.Errorf("why says\n%s", out)
	}

	t.Log("a disk that is kept")
	kubectl(append([]string{"delete", "pod", "first", "fourth", "--now"}, "--ignore-not-found")...)
	kubectl(append([]string{"delete", "pvc", "kept", "disk", "share", "shared"}, all...)...)
	until(t, "the volumes that are not kept go", func() bool {
		return strings.TrimSpace(kubectl("get", "pv", "-o", "jsonpath={.items[*].metadata.name}")) == kept
	})
	if phase := kubectl("get", "pv", kept, "-o", "jsonpath={.status.phase}"); phase != "Released" {
		t.Errorf("the kept volume is %s", phase)
	}
	if out := p.Run(nil, "azure", "resources"); !strings.Contains(out, kept) {
		t.Errorf("the kept disk is not in Azure:\n%s", out)
	}
}
