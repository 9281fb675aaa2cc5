package stub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// csiDriver is a simulated CSI driver of Azure, with the sidecars of its pods: the provisioner, the
// attacher and the registrar.
type csiDriver struct {
	name string
	// inTree is the in-tree plug-in of Kubernetes that the driver replaces.
	inTree string
	// disk is set if volumes are disks, which are attached to one machine; otherwise they are
	// shares.
	disk bool
}

var (
	azureDisk = csiDriver{"disk.csi.azure.com", "kubernetes.io/azure-disk", true}
	azureFile = csiDriver{"file.csi.azure.com", "kubernetes.io/azure-file", false}
)

// The resource types of volumes.
const (
	diskType  = "Microsoft.Compute/disks"
	shareType = "Microsoft.Storage/storageAccounts/fileServices/shares"
)

// diskZone is the label of nodes with the zone for disks; it is empty in regions without zones.
const diskZone = "topology.disk.csi.azure.com/zone"

func (c *Cluster) azureDiskCSI(ctx context.Context, env Env) error { return c.csi(ctx, env, azureDisk) }
func (c *Cluster) azureFileCSI(ctx context.Context, env Env) error { return c.csi(ctx, env, azureFile) }

// csi runs a driver: the node plug-in if its arguments name a node, otherwise the controller.
func (c *Cluster) csi(ctx context.Context, env Env, d csiDriver) error {
	if env.init() { // real ones only create a folder
		return nil
	}
	if env.flag("nodeid") != "" {
		return retry(ctx, env, "register the driver", func() error { return d.register(ctx, env) })
	}
	file := cmp.Or(env.Vars["AZURE_CREDENTIAL_FILE"], "/etc/kubernetes/azure.json")
	data, err := env.Files.ReadFile(file)
	if err != nil {
		return fmt.Errorf("no cloud config provided: %s is not on the node", file)
	}
	config, err := ReadAzureConfig(data)
	if err != nil {
		return err
	}
	lead := c.lead(d.name)
	select { // replicas wait until the leader ends, as with a lease
	case lead <- struct{}{}:
		defer func() { <-lead }()
	case <-ctx.Done():
		return nil
	}
	rest, err := env.Config(ctx)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return err
	}
	p := &provisioner{csiDriver: d, env: env, client: client,
		arm: &arm{azure: c.c.Azure, c: config, metadata: env.askMetadata}}
	return p.run(ctx)
}

// lead returns the semaphore that only one of a driver's controllers in the cluster can hold.
func (c *Cluster) lead(driver string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leads[driver] == nil {
		c.leads[driver] = make(chan struct{}, 1)
	}
	return c.leads[driver]
}

// retry repeats do until it succeeds, and then waits until ctx ends.
func retry(ctx context.Context, env Env, what string, do func() error) error {
	for last := ""; ; {
		err := do()
		if err == nil {
			<-ctx.Done()
			return nil
		}
		if err.Error() != last {
			last = err.Error()
			env.printf("%s: %s", what, last)
		}
		if !pause(ctx, time.Second) {
			return nil
		}
	}
}

// register registers the driver on the node, as the kubelet does for the registrar, with the number
// of disks that the machine can have.
func (d csiDriver) register(ctx context.Context, env Env) error {
	config, err := env.NodeConfig(ctx)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	node, err := client.CoreV1().Nodes().Get(ctx, env.NodeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	row := storagev1.CSINodeDriver{Name: d.name, NodeID: env.NodeName}
	if d.disk {
		instance, err := env.metadata(ctx) // the node's labels may be set later
		if err != nil {
			return fmt.Errorf("ask the metadata service: %w", err)
		}
		zone := instance.Zone
		if _, number, ok := strings.Cut(zone, "-"); !ok || number == "" {
			zone = "" // a fault domain is not a zone
		}
		if have, ok := node.Labels[diskZone]; !ok || have != zone {
			fresh := node.DeepCopy()
			fresh.Labels[diskZone] = zone
			if _, err := client.CoreV1().Nodes().Update(ctx, fresh, metav1.UpdateOptions{}); err != nil {
				return err
			}
		}
		row.TopologyKeys = []string{diskZone}
		row.Allocatable = &storagev1.VolumeNodeResources{Count: new(int32(env.DataDisks))}
	}
	nodes := client.StorageV1().CSINodes()
	have, err := nodes.Get(ctx, env.NodeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = nodes.Create(ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: env.NodeName,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
			Annotations:     map[string]string{"storage.alpha.kubernetes.io/migrated-plugins": azureDisk.inTree + "," + azureFile.inTree}},
			Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{row}}}, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	fresh := have.DeepCopy()
	fresh.Spec.Drivers = slices.DeleteFunc(fresh.Spec.Drivers, func(o storagev1.CSINodeDriver) bool { return o.Name == d.name })
	fresh.Spec.Drivers = append(fresh.Spec.Drivers, row)
	_, err = nodes.Update(ctx, fresh, metav1.UpdateOptions{})
	return err
}

// provisioner creates, attaches and deletes the volumes of a driver.
type provisioner struct {
	csiDriver
	env    Env
	client kubernetes.Interface
	arm    *arm
	failed sync.Map // the last error of each object, by name
}

func (p *provisioner) run(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(p.client, 0, informers.WithTransform(slim))
	claims, volumes := factory.Core().V1().PersistentVolumeClaims(), factory.Core().V1().PersistentVolumes()
	attachments := factory.Storage().V1().VolumeAttachments()
	changed := make(chan struct{}, 1)
	notify := func(any) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: notify, DeleteFunc: notify, UpdateFunc: func(_, o any) { notify(o) }}
	for _, i := range []cache.SharedIndexInformer{claims.Informer(), volumes.Informer(), attachments.Informer()} {
		if _, err := i.AddEventHandler(handler); err != nil {
			return err
		}
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	factory.WaitForCacheSync(ctx.Done())
	for ctx.Err() == nil {
		wait := 5 * time.Minute
		each := func(name string, err error) {
			if err == nil || ctx.Err() != nil {
				p.failed.Delete(name)
				return
			}
			wait = 5 * time.Second
			if last, _ := p.failed.Swap(name, err.Error()); last != err.Error() {
				p.env.printf("%s: %v", name, err)
			}
		}
		for _, o := range claims.Informer().GetStore().List() {
			claim := o.(*corev1.PersistentVolumeClaim)
			each("claim "+claim.Namespace+"/"+claim.Name, p.provision(ctx, claim))
		}
		for _, o := range attachments.Informer().GetStore().List() {
			a := o.(*storagev1.VolumeAttachment)
			if p.disk && a.Spec.Attacher == p.name {
				each("attachment "+a.Name, p.attachment(ctx, a))
			}
		}
		for _, o := range volumes.Informer().GetStore().List() {
			pv := o.(*corev1.PersistentVolume)
			each("volume "+pv.Name, p.reclaim(ctx, pv))
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-changed:
			pause(ctx, settle)
		case <-t.C:
		}
		t.Stop()
	}
	return nil
}

// Annotations of claims and volumes. Source: k8s.io/component-helpers/storage/volume.
const (
	provisionerAnnotation = "volume.kubernetes.io/storage-provisioner"
	migratedAnnotation    = "volume.kubernetes.io/migrated-to"
	selectedNode          = "volume.kubernetes.io/selected-node"
	provisionedBy         = "pv.kubernetes.io/provisioned-by"
	migratedVolume        = "pv.kubernetes.io/migrated-to"
	volumeFinalizer       = "external-provisioner.volume.kubernetes.io/finalizer"
	attachFinalizer       = "external-attacher/disk-csi-azure-com"
)

// provision creates the volume of a claim that waits for one.
func (p *provisioner) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	by := cmp.Or(claim.Annotations[migratedAnnotation], claim.Annotations[provisionerAnnotation])
	if claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil || by != p.name || claim.Spec.StorageClassName == nil {
		return nil
	}
	class, err := p.client.StorageV1().StorageClasses().Get(ctx, *claim.Spec.StorageClassName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var node *corev1.Node
	if class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer {
		name := claim.Annotations[selectedNode]
		if name == "" {
			return nil // the scheduler has not chosen a node yet
		}
		if node, err = p.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
	}
	if claim.Spec.DataSource != nil || claim.Spec.DataSourceRef != nil {
		return p.recordFailure(ctx, claim, errors.New("simulated: volumes with a data source are not made"))
	}
	for _, mode := range claim.Spec.AccessModes {
		if name, shared := sharedModes[mode]; p.disk && shared {
			return p.recordFailure(ctx, claim, sharedRefused(claim, name, class.Parameters["maxShares"]))
		}
	}
	pv, err := p.create(ctx, claim, class, node)
	if err != nil {
		return p.recordFailure(ctx, claim, err)
	}
	if _, err = p.client.CoreV1().PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err == nil {
		p.env.printf("simulated: made %s for claim %s/%s", pv.Name, claim.Namespace, claim.Name)
	}
	return err
}

// sharedModes maps the access modes that share a volume among machines to their names in CSI.
var sharedModes = map[corev1.PersistentVolumeAccessMode]string{
	corev1.ReadWriteMany: "MULTI_NODE_MULTI_WRITER", corev1.ReadOnlyMany: "MULTI_NODE_READER_ONLY",
}

// sharedRefused returns the error of a disk driver for a claim that several machines share, with
// the message of azuredisk-csi-driver's IsValidVolumeCapabilities.
func sharedRefused(claim *corev1.PersistentVolumeClaim, mode, maxShares string) error {
	block := claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == corev1.PersistentVolumeBlock
	switch {
	case !block:
		return fmt.Errorf("rpc error: code = InvalidArgument desc = mountVolume is not supported for access mode: %s", mode)
	case maxShares == "" || maxShares == "1":
		return fmt.Errorf("rpc error: code = InvalidArgument desc = access mode: %s is not supported for non-shared disk", mode)
	}
	return errors.New("simulated: shared disks are not made")
}

// recordFailure writes the event of a claim for which no volume could be created, and returns the error.
func (p *provisioner) recordFailure(ctx context.Context, claim *corev1.PersistentVolumeClaim, why error) error {
	if last, _ := p.failed.Load("claim " + claim.Namespace + "/" + claim.Name); last == why.Error() {
		return why
	}
	now := metav1.Now()
	_, err := p.client.CoreV1().Events(claim.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: claim.Name + ".", Namespace: claim.Namespace},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace,
			Name: claim.Name, UID: claim.UID},
		Type: corev1.EventTypeWarning, Reason: "ProvisioningFailed", FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Message: fmt.Sprintf("failed to provision volume with StorageClass %q: %v", *claim.Spec.StorageClassName, why),
		Source:  corev1.EventSource{Component: p.name + "_" + p.env.NodeName},
	}, metav1.CreateOptions{})
	return errors.Join(why, err)
}

// create creates the disk or share of a volume in Azure, and returns the volume.
func (p *provisioner) create(ctx context.Context, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass,
	node *corev1.Node) (*corev1.PersistentVolume, error) {
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	gib := max((size.Value()+1<<30-1)>>30, 1)
	size.Set(gib << 30)
	options := map[string]string{}
	for key, v := range class.Parameters {
		options[strings.ToLower(key)] = v
	}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(claim.UID),
		Annotations: map[string]string{provisionedBy: class.Provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: size}, AccessModes: claim.Spec.AccessModes,
			VolumeMode: claim.Spec.VolumeMode, StorageClassName: class.Name, MountOptions: class.MountOptions,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef: &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace,
				Name: claim.Name, UID: claim.UID},
		}}
	if class.ReclaimPolicy != nil {
		pv.Spec.PersistentVolumeReclaimPolicy = *class.ReclaimPolicy
	}
	if pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
		pv.Finalizers = []string{volumeFinalizer}
	}
	if class.Provisioner != p.name {
		pv.Annotations[migratedVolume] = p.name
	}
	if p.disk {
		return pv, p.createDisk(ctx, pv, class.Provisioner, options, gib, node)
	}
	return pv, p.createShare(ctx, pv, class.Provisioner, options, gib)
}

func (p *provisioner) createDisk(ctx context.Context, pv *corev1.PersistentVolume, provisioner string, options map[string]string,
	gib int64, node *corev1.Node) error {
	body := document{"location": p.arm.c.Location,
		"sku": document{"name": cmp.Or(options["skuname"], options["storageaccounttype"], "StandardSSD_LRS")},
		"tags": document{"k8s-azure-created-by": "kubernetes-azure-dd", "kubernetes.io-created-for-pv-name": pv.Name,
			"kubernetes.io-created-for-pvc-name": pv.Spec.ClaimRef.Name, "kubernetes.io-created-for-pvc-namespace": pv.Spec.ClaimRef.Namespace},
		"properties": document{"creationData": document{"createOption": "Empty"}, "diskSizeGB": gib}}
	zone := ""
	if node != nil {
		zone = node.Labels[diskZone]
	}
	if i := strings.LastIndexByte(zone, '-'); i >= 0 {
		body["zones"] = []string{zone[i+1:]}
	}
	path := p.arm.compute() + "disks/" + pv.Name
	made, err := p.arm.put(ctx, path, body)
	if err != nil {
		return err
	}
	id, _ := made["id"].(string)
	// The translation to the in-tree plug-in keeps the zones. Source: k8s.io/csi-translation-lib,
	// TranslateCSIPVToInTree.
	pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: diskZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}}}}}}
	if provisioner == p.inTree {
		kind, caching := corev1.AzureManagedDisk, corev1.AzureDataDiskCachingReadOnly
		pv.Spec.AzureDisk = &corev1.AzureDiskVolumeSource{DiskName: pv.Name, DataDiskURI: id, Kind: &kind, CachingMode: &caching}
		return nil
	}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: p.name, VolumeHandle: id, FSType: options["fstype"],
		VolumeAttributes: map[string]string{"requestedsizegib": fmt.Sprint(gib)}}
	return nil
}

// createShare creates a file share in the storage account that the cluster has for the SKU.
func (p *provisioner) createShare(ctx context.Context, pv *corev1.PersistentVolume, provisioner string, options map[string]string,
	gib int64) error {
	sku := cmp.Or(options["skuname"], options["storageaccounttype"], "Standard_LRS")
	if strings.HasPrefix(sku, "StandardSSD_") { // a SKU of disks, which the driver treats like this one
		sku = "Standard_" + strings.TrimPrefix(sku, "StandardSSD_")
	}
	kind := "StorageV2"
	if strings.HasPrefix(sku, "Premium") {
		kind = "FileStorage"
		gib = max(gib, 100) // the smallest size of a premium share
	}
	account := cmp.Or(options["storageaccount"], accountOf(p.arm.c.SubscriptionID+p.arm.c.ResourceGroup+sku))
	share := Share{p.arm.c.ResourceGroup, account, pv.Name}
	base := share.AccountID(p.arm.c.SubscriptionID)
	if !hasType(base, "Microsoft.Storage/storageAccounts") {
		return fmt.Errorf("storageAccount %q is no name of a storage account", account)
	}
	if err := p.arm.call(ctx, http.MethodGet, base, nil, nil); isNotFound(err) {
		_, err = p.arm.put(ctx, base, document{"location": p.arm.c.Location, "kind": kind, "sku": document{"name": sku},
			"tags": document{"k8s-azure-created-by": "azure"}, "properties": document{"supportsHttpsTrafficOnly": true}})
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	_, err := p.arm.put(ctx, share.ID(p.arm.c.SubscriptionID), document{"properties": document{"shareQuota": gib}})
	if err != nil {
		return err
	}
	secret := corev1.SecretReference{Name: share.secret(), Namespace: pv.Spec.ClaimRef.Namespace}
	if err := p.keepKey(ctx, secret, base, account); err != nil {
		return err
	}
	if provisioner == p.inTree {
		pv.Annotations[shareGroup] = p.arm.c.ResourceGroup
		pv.Spec.AzureFile = &corev1.AzureFilePersistentVolumeSource{SecretName: secret.Name, SecretNamespace: &secret.Namespace,
			ShareName: pv.Name}
		return nil
	}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: p.name,
		NodeStageSecretRef: &secret, // the kubelet may read only Secrets that a volume names
		VolumeHandle:       share.handle(pv.Spec.ClaimRef.Namespace),
		VolumeAttributes:   map[string]string{"storageAccount": account, "shareName": pv.Name, "skuName": sku}}
	return nil
}

// keepKey creates the Secret with the key of an account, as the driver does unless storeAccountKey
// is false. Like the driver it keeps an existing Secret.
func (p *provisioner) keepKey(ctx context.Context, ref corev1.SecretReference, id, account string) error {
	var answer struct{ Keys []struct{ Value string } }
	if err := p.arm.call(ctx, http.MethodPost, id+"/listKeys", nil, &answer); err != nil {
		return fmt.Errorf("list the keys of %s: %w", id, err)
	}
	if len(answer.Keys) == 0 {
		return fmt.Errorf("list the keys of %s: it has none", id)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: ref.Name, Namespace: ref.Namespace}, Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{"azurestorageaccountname": []byte(account), ShareKey: []byte(answer.Keys[0].Value)}}
	_, err := p.client.CoreV1().Secrets(ref.Namespace).Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// handle returns the handle of a volume of this driver; "" for other volumes.
func (p *provisioner) handle(pv *corev1.PersistentVolume) string {
	switch {
	case pv.Spec.CSI != nil && pv.Spec.CSI.Driver == p.name:
		return pv.Spec.CSI.VolumeHandle
	case pv.Spec.AzureDisk != nil && p.disk:
		return pv.Spec.AzureDisk.DataDiskURI
	case pv.Spec.AzureFile != nil && !p.disk:
		return ShareHandle(pv)
	}
	return ""
}

// reclaim deletes a volume that its claim has released, if the volume's policy requires it.
func (p *provisioner) reclaim(ctx context.Context, pv *corev1.PersistentVolume) error {
	handle := p.handle(pv)
	by := pv.Annotations[provisionedBy]
	if handle == "" || by != p.name && by != p.inTree || pv.Status.Phase == corev1.VolumeBound && pv.DeletionTimestamp == nil ||
		pv.Status.Phase != corev1.VolumeReleased && pv.DeletionTimestamp == nil {
		return nil
	}
	if pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
		if pv.Status.Phase == corev1.VolumeBound {
			return nil // the volume was deleted before its claim, which must be deleted first
		}
		path, kind := handle, diskType
		if !p.disk {
			share, _ := ParseShare(handle) // a handle that names no share yields an ID that does not exist
			path, kind = share.ID(p.arm.c.SubscriptionID), shareType
		}
		if !hasType(path, kind) {
			return fmt.Errorf("the handle %q of volume %s names no resource of type %s; nothing is deleted", handle, pv.Name, kind)
		}
		if err := p.arm.delete(ctx, path); err != nil {
			return err // for example because the disk is still attached
		}
		volumes := p.client.CoreV1().PersistentVolumes()
		if err := volumes.Delete(ctx, pv.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return p.dropFinalizer(ctx, pv.Name)
}

func (p *provisioner) dropFinalizer(ctx context.Context, name string) error {
	volumes := p.client.CoreV1().PersistentVolumes()
	pv, err := volumes.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || !slices.Contains(pv.Finalizers, volumeFinalizer) {
		return err
	}
	pv.Finalizers = slices.DeleteFunc(pv.Finalizers, func(f string) bool { return f == volumeFinalizer })
	_, err = volumes.Update(ctx, pv, metav1.UpdateOptions{})
	return err
}

// attachment attaches a disk to the machine of a node, or detaches it.
func (p *provisioner) attachment(ctx context.Context, a *storagev1.VolumeAttachment) error {
	if a.Spec.Source.PersistentVolumeName == nil {
		return errors.New("simulated: inline volumes are not attached")
	}
	if a.Status.Attached == (a.DeletionTimestamp == nil) {
		return nil
	}
	attachments := p.client.StorageV1().VolumeAttachments()
	if a.DeletionTimestamp != nil && !slices.Contains(a.Finalizers, attachFinalizer) {
		return nil
	}
	if a.DeletionTimestamp == nil && !slices.Contains(a.Finalizers, attachFinalizer) {
		fresh := a.DeepCopy()
		fresh.Finalizers = append(fresh.Finalizers, attachFinalizer)
		var err error
		if a, err = attachments.Update(ctx, fresh, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	lun, failed := p.move(ctx, a)
	fresh := a.DeepCopy()
	now := metav1.Now()
	switch {
	case failed != nil && a.DeletionTimestamp != nil:
		fresh.Status.DetachError = &storagev1.VolumeError{Time: now, Message: failed.Error()}
	case failed != nil:
		fresh.Status.AttachError = &storagev1.VolumeError{Time: now, Message: failed.Error()}
	case a.DeletionTimestamp != nil:
		fresh.Status = storagev1.VolumeAttachmentStatus{}
	default:
		fresh.Status = storagev1.VolumeAttachmentStatus{Attached: true, AttachmentMetadata: map[string]string{"LUN": fmt.Sprint(lun)}}
	}
	fresh, err := attachments.UpdateStatus(ctx, fresh, metav1.UpdateOptions{})
	if err != nil || failed != nil {
		return errors.Join(failed, ignoreNotFound(err))
	}
	if fresh.DeletionTimestamp != nil {
		fresh.Finalizers = slices.DeleteFunc(fresh.Finalizers, func(f string) bool { return f == attachFinalizer })
		_, err = attachments.Update(ctx, fresh, metav1.UpdateOptions{})
	}
	return ignoreNotFound(err)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// move changes the data disks of a machine, and returns the LUN of a disk on it.
func (p *provisioner) move(ctx context.Context, a *storagev1.VolumeAttachment) (lun int, err error) {
	attach := a.DeletionTimestamp == nil
	pv, err := p.client.CoreV1().PersistentVolumes().Get(ctx, *a.Spec.Source.PersistentVolumeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && !attach {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	disk := p.handle(pv)
	if !hasType(disk, diskType) {
		return 0, fmt.Errorf("invalid DiskURI: %s, correct format: "+ // message of azuredisk-csi-driver
			"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}", disk)
	}
	node, err := p.client.CoreV1().Nodes().Get(ctx, a.Spec.NodeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && !attach {
		return 0, nil // the machine does not exist any more, so the disk is detached
	}
	if err != nil {
		return 0, err
	}
	vm := strings.TrimPrefix(node.Spec.ProviderID, "azure://")
	if !hasType(vm, machineTypes...) {
		return 0, fmt.Errorf("the provider ID %q of node %s names no virtual machine", node.Spec.ProviderID, node.Name)
	}
	var doc document
	if err := p.arm.call(ctx, http.MethodGet, vm, nil, &doc); isNotFound(err) && !attach {
		return 0, nil
	} else if err != nil {
		return 0, fmt.Errorf("get %s: %w", vm, err)
	}
	properties, _ := doc["properties"].(document)
	storage, _ := properties["storageProfile"].(document)
	disks, _ := storage["dataDisks"].([]any)
	taken := map[int]bool{}
	var rest []any
	found := false
	for _, one := range disks {
		d, _ := one.(document)
		managed, _ := d["managedDisk"].(document)
		id, _ := managed["id"].(string)
		n, _ := d["lun"].(float64)
		if strings.EqualFold(id, disk) {
			found, lun = true, int(n)
			continue
		}
		taken[int(n)] = true
		rest = append(rest, one)
	}
	if found == attach {
		return lun, nil
	}
	if attach {
		for lun = 0; taken[lun]; lun++ {
		}
		rest = append(rest, document{"lun": lun, "createOption": "Attach", "caching": "ReadOnly", "managedDisk": document{"id": disk}})
	}
	if rest == nil {
		rest = []any{}
	}
	return lun, p.arm.disks(ctx, vm, rest)
}
