package cloud

import (
	"context"
	"fmt"
	"slices"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/plan"
)

// BlockMoveAnnotation on an object makes `clusterctl move` wait, after it has paused
// the cluster, before it copies anything.
// Source: sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3, BlockMoveAnnotation.
const BlockMoveAnnotation = "clusterctl.cluster.x-k8s.io/block-move"

// Underway returns the operations of an object that Azure is at work on.
func Underway(states []infrav1.LongRunningOperationState) []plan.Token {
	return slices.DeleteFunc(Tokens(states), func(t plan.Token) bool { return t.Resume == "" })
}

// blockMove keeps an object where it is as long as Azure is at work for it: a status,
// and so the way to ask for the end of an operation, is not moved. With more an object
// that is kept stays so, because other operations follow; Settle ends it where the
// object is paused before they do.
func blockMove(o client.Object, states []infrav1.LongRunningOperationState, more bool) {
	annotations := o.GetAnnotations()
	if len(Underway(states)) == 0 {
		if !more {
			delete(annotations, BlockMoveAnnotation)
		}
		return
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[BlockMoveAnnotation] = ""
	o.SetAnnotations(annotations)
}

// settleEvery is how often the operations of a paused object are asked for.
const settleEvery = 2 * time.Second

// Settle waits for the end of a paused object's operations, pass by pass, and then
// lets the object be moved. It begins nothing. states are in the object's status.
func (o *Opener) Settle(ctx context.Context, c client.Client, azureCluster *infrav1.AzureCluster,
	object client.Object, states *[]infrav1.LongRunningOperationState) (ctrl.Result, error) {
	if _, held := object.GetAnnotations()[BlockMoveAnnotation]; !held || azureCluster == nil {
		return ctrl.Result{}, nil
	}
	before := Copy(object)
	if len(Underway(*states)) > 0 {
		session, err := o.Open(ctx, azureCluster)
		if err != nil {
			return ctrl.Result{}, fmt.Errorf("wait for the end of the operations of a paused object: %w", err)
		}
		*states = session.settle(ctx, *states)
	}
	result := ctrl.Result{}
	if len(Underway(*states)) > 0 {
		result.RequeueAfter = settleEvery
	}
	return result, client.IgnoreNotFound(Save(ctx, c, before, object, *states, false))
}

// settle polls each operation once and keeps those that go on. Of an operation that
// failed nothing is kept: Azure shows the state of the resource.
func (s *Session) settle(ctx context.Context, states []infrav1.LongRunningOperationState) []infrav1.LongRunningOperationState {
	var open []plan.Token
	for _, t := range Tokens(states) {
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
	return States(open)
}
