package kubelet

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// leaseSeconds is nodeLeaseDurationSeconds of the KubeletConfiguration's defaults.
	leaseSeconds = int32(40)
	// renewals is the number of renewals of a kubelet's lease within the lease's duration. A real
	// kubelet renews it four times (kubelet.go, nodeLeaseRenewIntervalFraction). Two are enough for
	// the controller manager's grace period of 40 or 50 seconds, and renewals are most of the work
	// of an idle plane with many nodes. After a failure the next renewal follows in half the time.
	renewals = 2
	// beats is the number of moments in a period at which nodes do their periodic work.
	beats = 5
)

// beat returns the time until the node's next periodic work. Each node has one of the period's
// beats and shares it with many others: their requests arrive together, so that the API server,
// etcd and their watchers wake up once for all of them. There are several beats, so that a thousand
// nodes do not write at the same moment.
func (k *Kubelet) beat(period time.Duration) time.Duration {
	now := k.c.Clock.Now()
	own := time.Duration(hash32(k.nodeName)%beats) * period / beats
	return now.Add(-own).Truncate(period).Add(period + own).Sub(now)
}

// nodeLease is the lease of the node as the API server last returned it; nil if it is not known.
// Only runNode uses it.
type nodeLease struct {
	k      *Kubelet
	last   *coordinationv1.Lease
	failed bool // the last renewal failed
}

// period is the time between two renewals.
func (l *nodeLease) period() time.Duration {
	p := time.Duration(l.k.settings.NodeLeaseDurationSeconds) * time.Second / renewals
	if l.failed {
		return p / 2
	}
	return p
}

// renew creates or renews the lease.
func (l *nodeLease) renew(ctx context.Context) {
	err := l.write(ctx)
	if l.last == nil && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)) {
		err = l.write(ctx) // another client has written or deleted it
	}
	l.failed = err != nil
	if l.failed && ctx.Err() == nil {
		l.k.log.Error("Failed to renew the node lease", "err", err)
	}
}

// write sends the whole lease once, because a patch costs the API server more. It drops the record
// of the writers of each field (managedFields), which the API server would compute at each renewal.
func (l *nodeLease) write(ctx context.Context) (err error) {
	leases := l.k.api.Load().coord.Leases(corev1.NamespaceNodeLease)
	if l.last == nil {
		if l.last, err = leases.Create(ctx, l.next(), metav1.CreateOptions{}); err == nil {
			return nil
		}
		l.last = nil
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		have, err := leases.Get(ctx, l.k.nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		l.last = have
	}
	written, err := leases.Update(ctx, l.next(), metav1.UpdateOptions{})
	switch {
	case err == nil:
		l.last = written
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		l.last = nil
	}
	return err
}

// next returns the lease to write.
func (l *nodeLease) next() *coordinationv1.Lease {
	n := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: l.k.nodeName, Namespace: corev1.NamespaceNodeLease}}
	if l.last != nil {
		n = l.last.DeepCopy()
		if len(n.ManagedFields) > 0 {
			n.ManagedFields = []metav1.ManagedFieldsEntry{{}} // the API server deletes them and records no more
		}
	}
	now := metav1.NewMicroTime(l.k.c.Clock.Now())
	n.Spec.HolderIdentity, n.Spec.LeaseDurationSeconds, n.Spec.RenewTime = &l.k.nodeName, &l.k.settings.NodeLeaseDurationSeconds, &now
	if node := l.k.node.get(); node != nil && len(n.OwnerReferences) == 0 {
		n.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	}
	return n
}
