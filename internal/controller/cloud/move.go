package cloud

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/record"
)

// settleEvery is the interval at which the operations of a paused object are polled.
const settleEvery = 2 * time.Second

// Settle polls a paused object's operations, once per pass, until they have ended, and then allows the move of the
// object. It begins no operation. states are in the object's status; before is the object as it is stored.
func (o *Opener) Settle(ctx context.Context, c client.Client, cluster *clusterv1.Cluster, azureCluster *infrav1.AzureCluster,
	before, object client.Object, states *[]infrav1.LongRunningOperationState) (ctrl.Result, error) {
	given := handOver(object, cluster)
	if _, blocked := object.GetAnnotations()[record.BlockMoveAnnotation]; !given && !blocked || azureCluster == nil {
		return ctrl.Result{}, nil
	}
	if len(record.Underway(*states)) > 0 {
		session, err := o.Open(ctx, azureCluster)
		if err != nil {
			return ctrl.Result{}, fmt.Errorf("wait for the end of the operations of a paused object: %w", err)
		}
		*states = session.settle(ctx, *states)
	}
	result := ctrl.Result{}
	if len(record.Underway(*states)) > 0 {
		result.RequeueAfter = settleEvery
	}
	return result, client.IgnoreNotFound(record.Save(ctx, c, before, object, *states, false))
}

// handOver makes the record of the owner usable for the next Cluster of the same namespace and name while a Cluster is
// paused, as for a move; the move waits for that. It reports whether it changed the record.
func handOver(o client.Object, cluster *clusterv1.Cluster) bool {
	c, ok := o.(*infrav1.AzureCluster)
	if !ok || !ptr.Deref(cluster.Spec.Paused, false) || !Recorded(c, cluster) ||
		c.Annotations[infrav1.OwnerForAnnotation] == handedOver(c.Namespace, cluster.Name) {
		return false
	}
	c.Annotations[infrav1.OwnerForAnnotation] = handedOver(c.Namespace, cluster.Name)
	return true
}

// settle polls each operation once and returns the operations that have not ended. A failed operation is dropped,
// because the resource's state can be read from Azure.
func (s *Session) settle(ctx context.Context, states []infrav1.LongRunningOperationState) []infrav1.LongRunningOperationState {
	var open []plan.Token
	for _, t := range record.Tokens(states) {
		if t.Resume == "" {
			open = append(open, t)
			continue
		}
		result, err := s.client.Poll(ctx, t.Resume)
		switch {
		case err != nil && !arm.OperationEnded(err):
			open = append(open, t)
		case err == nil && result.Operation != nil:
			t.Resume = result.Operation.Token
			open = append(open, t)
		}
		s.Refresh(t.ID)
	}
	return record.States(open)
}
