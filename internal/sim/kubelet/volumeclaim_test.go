package kubelet

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	storageclient "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/rest"

	"casement.dev/casement/internal/guestfs"
)

type object = map[string]any

func TestClaims(t *testing.T) {
	claim := object{"kind": "PersistentVolumeClaim", "apiVersion": "v1",
		"spec": object{"volumeName": "pv"}, "status": object{"phase": "Bound"}}
	volume := func(driver string) object {
		return object{"kind": "PersistentVolume", "apiVersion": "v1", "spec": object{"csi": object{"driver": driver, "volumeHandle": "/disk"}}}
	}
	inTree := func(source object) object {
		return object{"kind": "PersistentVolume", "apiVersion": "v1", "spec": source,
			"metadata": object{"annotations": object{"kubernetes.io/azure-file-resource-group": "rg"}}}
	}
	disk := inTree(object{"azureDisk": object{"diskName": "d", "diskURI": "/disk"}})
	share := inTree(object{"azureFile": object{"secretName": "azure-storage-account-acc-secret", "shareName": "s"}})
	named := object{"kind": "PersistentVolume", "apiVersion": "v1", "spec": object{"csi": object{"driver": "file.csi.azure.com",
		"volumeHandle": "rg#acc#s##default", "nodeStageSecretRef": object{"name": "mine", "namespace": "apps"}}}}
	unnamed := object{"kind": "PersistentVolume", "apiVersion": "v1",
		"spec": object{"csi": object{"driver": "file.csi.azure.com", "volumeHandle": "rg#other#s##default"}}}
	secret := object{"kind": "Secret", "apiVersion": "v1", "data": object{"azurestorageaccountkey": []byte("key")}}
	node := object{"kind": "CSINode", "apiVersion": "storage.k8s.io/v1", "spec": object{"drivers": []any{
		object{"name": "disk.csi.azure.com", "nodeID": "n"}, object{"name": "file.csi.azure.com", "nodeID": "n"}}}}
	attached := object{"kind": "VolumeAttachment", "apiVersion": "storage.k8s.io/v1", "status": object{"attached": true}}
	const (
		claimPath  = "/api/v1/namespaces/default/persistentvolumeclaims/data"
		volumePath = "/api/v1/persistentvolumes/pv"
		nodes      = "/apis/storage.k8s.io/v1/csinodes/"
		attachment = "/apis/storage.k8s.io/v1/volumeattachments/"
	)
	for name, test := range map[string]struct {
		claim, volume any
		plugin        bool
		attached      bool
		want          string
	}{
		"mounted":            {claim, volume("disk.csi.azure.com"), true, true, ""},
		"an in-tree disk":    {claim, disk, true, true, ""},
		"an in-tree share":   {claim, share, true, false, ""},
		"a share":            {claim, named, true, false, ""},
		"no Secret":          {claim, unnamed, true, false, "accountName(other) or accountKey is empty"},
		"not attached":       {claim, volume("disk.csi.azure.com"), true, false, errAttaching.Error()},
		"no plug-in":         {claim, volume("disk.csi.azure.com"), false, true, "not found in the list of registered CSI drivers"},
		"another driver":     {claim, volume("ebs.csi.aws.com"), true, true, "only"},
		"a claim that waits": {object{"kind": "PersistentVolumeClaim", "apiVersion": "v1"}, nil, true, true, "PVC is not bound"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := volumePod(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}},
				corev1.VolumeMount{MountPath: "/v"})
			server := objects{claimPath: test.claim, "/api/v1/namespaces/apps/secrets/mine": secret,
				"/api/v1/namespaces/default/secrets/azure-storage-account-acc-secret": secret}
			if test.volume != nil {
				server[volumePath] = test.volume
			}
			w, enter := volumeBench(t, server, pod)
			config := &rest.Config{Host: "https://api", QPS: -1, Transport: server}
			core, err1 := corev1client.NewForConfig(config)
			storage, err2 := storageclient.NewForConfig(config)
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			w.k.api.Store(&client{core: core, storage: storage})
			if test.plugin {
				server[nodes+w.k.nodeName] = node
			}
			if test.attached {
				server[attachment+attachmentName("/disk", "disk.csi.azure.com", w.k.nodeName)] = attached
			}
			disk := guestfs.At(t.TempDir())
			w.k.c.Volume = func(handle, key string) (guestfs.Folder, error) {
				if (handle != "/disk" || key != "") && (handle != "rg#acc#s##default" || key != "key") {
					t.Errorf("the volume is %q, its key %q", handle, key)
				}
				return disk, nil
			}
			err := errors.Join(w.volumes.mount(t.Context(), pod)...)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("mount: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := enter().WriteFile("/v/f", []byte("kept"), 0o644); err != nil {
				t.Fatal(err)
			}
			if data, err := disk.ReadFile("f"); err != nil || string(data) != "kept" {
				t.Errorf("the disk has %q, %v", data, err)
			}
		})
	}
}
