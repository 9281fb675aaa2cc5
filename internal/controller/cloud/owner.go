package cloud

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/record"
)

// moving is the prefix of OwnerForAnnotation while the Cluster is paused.
const moving = "moving:"

// OwnerPause is the pause before the next check whether a resource in Azure still belongs to another owner, which may
// be deleted meanwhile.
const OwnerPause = time.Minute

// OwnershipError is the reason why a cluster cannot take over the resources of another one.
type OwnershipError struct{ Message string }

func (e *OwnershipError) Error() string { return e.Message }

// handedOver returns the value of OwnerForAnnotation of a paused Cluster.
func handedOver(namespace, clusterName string) string { return moving + namespace + "/" + clusterName }

// Recorded reports whether an AzureCluster's record of the owner was made for this object, and not for another object
// of which it is a copy or a restored backup.
func Recorded(c *infrav1.AzureCluster, cluster *clusterv1.Cluster) bool {
	of := c.Annotations[infrav1.OwnerForAnnotation]
	return c.Annotations[infrav1.OwnerAnnotation] != "" && of != "" &&
		(of == string(clusterUID(c, cluster)) || of == handedOver(c.Namespace, cluster.Name))
}

// clusterUID returns the UID of a Cluster, even after the Cluster was deleted.
func clusterUID(c *infrav1.AzureCluster, cluster *clusterv1.Cluster) types.UID {
	if cluster.UID != "" {
		return cluster.UID
	}
	for _, ref := range c.OwnerReferences {
		if ref.Kind == "Cluster" && ref.Name == cluster.Name {
			return ref.UID
		}
	}
	return ""
}

// Own writes the record of the owner of a cluster's resources before the first of them is created. The owner is the one
// that was handed over or that the user takes over, otherwise a new one. Afterwards c and before (the object at the
// start of the pass) both have the record. The error is an *OwnershipError if the user has to decide first.
func (o *Opener) Own(ctx context.Context, before client.Object, c *infrav1.AzureCluster, cluster *clusterv1.Cluster) error {
	uid := string(clusterUID(c, cluster))
	taken := c.Annotations[infrav1.TakeOverAnnotation]
	if !c.DeletionTimestamp.IsZero() {
		taken = "" // the former owner is no longer relevant
	}
	if taken == "" && Recorded(c, cluster) && c.Annotations[infrav1.OwnerForAnnotation] == uid || uid == "" {
		return nil
	}
	mark := c.Annotations[infrav1.OwnerAnnotation]
	switch {
	case taken != "":
		if holder, err := o.holder(ctx, c, taken); err != nil || holder != "" {
			return cmp.Or(err, error(&OwnershipError{fmt.Sprintf("annotation %s: %s is the owner of AzureCluster %s, which exists: "+
				"remove the annotation, and give this cluster another spec.resourceGroup", infrav1.TakeOverAnnotation, taken, holder)}))
		}
		mark = taken
	case !Recorded(c, cluster):
		var err error
		if mark, err = o.newMark(ctx, c, cluster.Name, uid); err != nil {
			return err
		}
	}
	return o.record(ctx, before, c, map[string]string{infrav1.OwnerAnnotation: mark, infrav1.OwnerForAnnotation: uid})
}

// record writes the record, and removes the annotation that requests a takeover.
func (o *Opener) record(ctx context.Context, before client.Object, c *infrav1.AzureCluster, marks map[string]string) error {
	base, updated := record.Copy(c), record.Copy(c)
	annotations := maps.Clone(c.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, marks)
	delete(annotations, infrav1.TakeOverAnnotation)
	annotations[record.BlockMoveAnnotation] = "" // until the record is handed over
	updated.SetAnnotations(annotations)
	if err := o.client.Patch(ctx, updated, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("record the owner of the resources of AzureCluster %s: %w", c.Name, err)
	}
	for _, state := range []client.Object{before, c} {
		state.SetAnnotations(maps.Clone(annotations))
		state.SetResourceVersion(updated.GetResourceVersion())
	}
	return nil
}

// newMark returns the owner's mark of a new cluster: a hash that no other cluster has and, for readers, the cluster's
// namespace and name.
func (o *Opener) newMark(ctx context.Context, c *infrav1.AzureCluster, clusterName, uid string) (string, error) {
	management := &corev1.Namespace{}
	// The UID of this namespace identifies the Kubernetes cluster, which has no UID of its own.
	if err := o.client.Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, management); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read the UID of the management cluster: %w", err)
	}
	sum := sha256.Sum256([]byte(string(management.UID) + "/" + uid))
	return hex.EncodeToString(sum[:8]) + ":" + c.Namespace + "/" + clusterName, nil
}

// holder returns the name of the other AzureCluster that has an owner's mark, or "".
func (o *Opener) holder(ctx context.Context, c *infrav1.AzureCluster, mark string) (string, error) {
	var all infrav1.AzureClusterList
	if err := o.client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("find the AzureCluster that owns %s: %w", mark, err)
	}
	for i := range all.Items {
		if other := &all.Items[i]; other.UID != c.UID && other.Annotations[infrav1.OwnerAnnotation] == mark {
			return client.ObjectKeyFromObject(other).String(), nil
		}
	}
	return "", nil
}

// owner returns the tags that identify the resources of a cluster. A resource without a mark is claimed by the oldest
// of the clusters that may have created it.
func (o *Opener) owner(c *infrav1.AzureCluster) plan.Owner {
	return plan.Owner{
		Mark: plan.Mark{Key: desired.OwnerTag, Value: c.Annotations[infrav1.OwnerAnnotation]},
		Claims: func(ctx context.Context) bool {
			var all infrav1.AzureClusterList
			if o.client.List(ctx, &all, client.UnsafeDisableDeepCopy) != nil {
				return false
			}
			for i := range all.Items {
				if other := &all.Items[i]; other.UID != c.UID && desired.Namesakes(c, other) && record.Older(other, c) {
					return false
				}
			}
			return true
		},
	}
}

// Explain returns a message, with the remedy, about a resource that belongs to another owner; what names the resource.
func (o *Opener) Explain(ctx context.Context, c *infrav1.AzureCluster, what, other string) string {
	if !strings.Contains(other, ":") && strings.Contains(other, "/") {
		return fmt.Sprintf("%s belongs to %s, and is neither changed nor deleted: delete this object and create it with another name",
			what, other)
	}
	said := fmt.Sprintf("%s belongs to another cluster, %s, and is neither changed nor deleted: ", what, other)
	if holder, err := o.holder(ctx, c, other); err == nil && holder != "" {
		return said + fmt.Sprintf("AzureCluster %s made it; delete this cluster and create it with another name or another "+
			"spec.resourceGroup", holder)
	}
	if !strings.Contains(other, ":") {
		return said + "delete this cluster and create it with another name or another spec.resourceGroup"
	}
	return said + fmt.Sprintf("no AzureCluster that this manager sees made it; create this cluster with another name or another "+
		"spec.resourceGroup or, if that cluster is gone for good, such as after a restore from a backup, "+
		"annotate this AzureCluster with %s=%s", infrav1.TakeOverAnnotation, other)
}
