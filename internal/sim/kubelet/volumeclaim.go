package kubelet

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/sim/stub"
)

// drivers contains the CSI drivers that the plane simulates; the value says whether their volumes
// are attached to the machine.
var drivers = map[string]bool{"disk.csi.azure.com": true, "file.csi.azure.com": false}

// errAttaching means that the volume is not attached to the machine yet. The attacher reports why
// it does not come.
var errAttaching = errors.New("the volume is not attached yet")

// claimOf returns the name of a volume's claim, or "".
func claimOf(pod *corev1.Pod, v *corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return pod.Name + "-" + v.Name
	}
	return ""
}

// claim returns the folder of the volume to which a claim of a pod is bound, if it is attached to
// this machine. Its errors are a kubelet's, which tries again.
func (w *worker) claim(ctx context.Context, pod *corev1.Pod, v *corev1.Volume) (guestfs.Folder, error) {
	var none guestfs.Folder
	refuse := func(format string, a ...any) (guestfs.Folder, error) {
		return none, fmt.Errorf("MountVolume.MountDevice failed for volume %q : "+format, append([]any{v.Name}, a...)...)
	}
	core := w.k.api.Load().core
	name := claimOf(pod, v)
	unbound := func(err error) (guestfs.Folder, error) { // the messages are those of kubernetes pkg/kubelet/volumemanager
		return none, fmt.Errorf("%s: unmounted volumes=[%s], unattached volumes=[], failed to process volumes=[%s]: "+
			"error processing PVC %s/%s: %w", "Unable to attach or mount volumes", v.Name, v.Name, w.namespace, name, err)
	}
	pvc, err := readPermitted(ctx, w.k, core.PersistentVolumeClaims(w.namespace).Get, name)
	switch {
	case err != nil:
		return unbound(fmt.Errorf("failed to fetch PVC from API server: %w", err))
	case pvc.DeletionTimestamp != nil && pvc.Spec.VolumeName == "":
		return unbound(errors.New("PVC is being deleted"))
	case pvc.Spec.VolumeName == "" || pvc.Status.Phase != corev1.ClaimBound:
		return unbound(errors.New("PVC is not bound"))
	}
	pv, err := readPermitted(ctx, w.k, core.PersistentVolumes().Get, pvc.Spec.VolumeName)
	if err != nil {
		return unbound(fmt.Errorf("failed to fetch PV %s from API server: %w", pvc.Spec.VolumeName, err))
	}
	driver, handle := volumeOf(pv)
	attached, known := drivers[driver]
	if !known || w.k.c.Volume == nil {
		return refuse("this node is simulated and mounts volumes of disk.csi.azure.com and file.csi.azure.com only")
	}
	if !w.k.hasDriver(ctx, driver) {
		return refuse("kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name %s "+
			"not found in the list of registered CSI drivers", driver)
	}
	if attached {
		attachment, err := w.k.api.Load().storage.VolumeAttachments().Get(ctx, attachmentName(handle, driver, w.k.nodeName), metav1.GetOptions{})
		if err != nil || !attachment.Status.Attached {
			return none, errAttaching
		}
	}
	key := ""
	if !attached {
		if key, err = w.shareKey(ctx, pv); err != nil {
			share, _ := stub.ParseShare(handle)
			return refuse("rpc error: code = Internal desc = accountName(%s) or accountKey is empty: %w", share.Account, err)
		}
	}
	folder, err := w.k.c.Volume(handle, key)
	if err != nil {
		return refuse("rpc error: code = Internal desc = %w", err)
	}
	return folder, nil
}

// shareKey returns the key of a share's account from the Secret that its volume names. A kubelet may read such a Secret;
// the driver's plug-in, which is simulated here, may read others too.
func (w *worker) shareKey(ctx context.Context, pv *corev1.PersistentVolume) (string, error) {
	ref := stub.ShareSecret(pv)
	secret, err := readPermitted(ctx, w.k, w.k.api.Load().core.Secrets(ref.Namespace).Get, ref.Name)
	if err != nil {
		return "", err
	}
	return string(secret.Data[stub.ShareKey]), nil
}

// hasDriver reports whether a CSI driver has registered on this node.
func (k *Kubelet) hasDriver(ctx context.Context, name string) bool {
	node, err := k.api.Load().storage.CSINodes().Get(ctx, k.nodeName, metav1.GetOptions{})
	return err == nil && slices.ContainsFunc(node.Spec.Drivers, driverNamed(name))
}

// checkDriver refuses the inline volume of a CSI driver that this node does not have.
func (k *Kubelet) checkDriver(ctx context.Context, name string) error {
	if k.hasDriver(ctx, name) {
		return nil
	}
	return fmt.Errorf("kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name %s not found in the list of "+
		"registered CSI drivers", name)
}

// volumeOf returns the driver and the handle of a volume; for an in-tree plug-in, those of the CSI
// driver that replaces it.
func volumeOf(pv *corev1.PersistentVolume) (driver, handle string) {
	switch {
	case pv.Spec.CSI != nil:
		return pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle
	case pv.Spec.AzureDisk != nil:
		return "disk.csi.azure.com", pv.Spec.AzureDisk.DataDiskURI
	case pv.Spec.AzureFile != nil:
		return "file.csi.azure.com", stub.ShareHandle(pv)
	}
	return "", ""
}

// attachmentName returns the name of a VolumeAttachment. Source: kubernetes
// pkg/volume/csi/csi_attacher.go, getAttachmentName.
func attachmentName(handle, driver, node string) string {
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(handle+driver+node)))
}

func driverNamed(name string) func(storagev1.CSINodeDriver) bool {
	return func(d storagev1.CSINodeDriver) bool { return d.Name == name }
}
