package record

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/plan"
)

// BlockMoveAnnotation on an object makes `clusterctl move` wait after it has paused the cluster and before it copies
// objects. Source: sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3, BlockMoveAnnotation.
const BlockMoveAnnotation = "clusterctl.cluster.x-k8s.io/block-move"

// Underway returns the operations of an object that have not ended.
func Underway(states []infrav1.LongRunningOperationState) []plan.Token {
	return slices.DeleteFunc(Tokens(states), func(t plan.Token) bool { return t.Resume == "" })
}

// blockMove prevents the move of an object while an operation on its resources is in progress: a move does not include
// the status, which has the operation's token. With more, the object stays blocked after that too, because other
// operations follow; cloud.Opener.Settle unblocks it if the object is paused before they begin.
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
