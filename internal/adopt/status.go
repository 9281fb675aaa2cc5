package adopt

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// blockMove is an annotation that CAPZ sets while it runs and that remains if CAPZ ends while the cluster is not
// paused. Source: sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3, BlockMoveAnnotation.
const blockMove = "clusterctl.cluster.x-k8s.io/block-move"

// tidy lists the fields of an object's metadata and status that only CAPZ writes. ours is true if casement already
// manages the cluster: casement then removes the annotation that blocks a move itself.
func (a Adopter) tidy(o *unstructured.Unstructured, ours bool) []Change {
	var out []Change
	add := func(does, why string, apply func(context.Context) error) {
		out = append(out, Change{Object: name(o.GetKind(), o), Does: does, Why: why, apply: apply})
	}
	if _, ok := o.GetAnnotations()[blockMove]; ok && !ours {
		add("remove the annotation "+blockMove, "its holder is gone, and clusterctl move would never end", func(ctx context.Context) error {
			return a.patch(ctx, o, false, func(live *unstructured.Unstructured) {
				annotations := live.GetAnnotations()
				delete(annotations, blockMove)
				live.SetAnnotations(annotations)
			})
		})
	}
	if bad := oldConditions(o); len(bad) > 0 {
		add("drop the conditions "+strings.Join(bad, ", "),
			"they have the form of the v1beta1 contract, which the kind refuses now; casement sets its own",
			func(ctx context.Context) error {
				return a.patch(ctx, o, true, dropConditions)
			})
	}
	if n := len(foreignOperations(o)); n > 0 {
		add("drop the record of operations under way",
			"their tokens are CAPZ's own; Azure goes on, and casement reads what became of it",
			func(ctx context.Context) error {
				return a.patch(ctx, o, true, dropOperations)
			})
	}
	if _, old, _ := unstructured.NestedMap(o.Object, "status", "failureDomains"); old {
		add("drop status.failureDomains", "it has the form of the v1beta1 contract, a map, which Cluster API "+
			"cannot read now; casement writes the list", func(ctx context.Context) error {
			return a.patch(ctx, o, true, func(live *unstructured.Unstructured) {
				unstructured.RemoveNestedField(live.Object, "status", "failureDomains")
			})
		})
	}
	if ready, _, _ := unstructured.NestedBool(o.Object, "status", "ready"); ready && o.GetKind() != "AzureMachinePoolMachine" {
		if done, _, _ := unstructured.NestedBool(o.Object, "status", "initialization", "provisioned"); !done {
			add("set status.initialization.provisioned",
				"the v1beta2 contract reads this where v1beta1 read status.ready", func(ctx context.Context) error {
					return a.patch(ctx, o, true, func(live *unstructured.Unstructured) {
						// On a status that is not a map nothing can be set, and the patch is empty.
						_ = unstructured.SetNestedField(live.Object, true, "status", "initialization", "provisioned")
					})
				})
		}
	}
	return out
}

// patch changes the newest version of an object, or its status.
func (a Adopter) patch(ctx context.Context, o *unstructured.Unstructured, status bool, change func(*unstructured.Unstructured)) error {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(o.GroupVersionKind())
	if err := a.Client.Get(ctx, client.ObjectKeyFromObject(o), live); err != nil {
		return client.IgnoreNotFound(err)
	}
	before := live.DeepCopy()
	change(live)
	if status {
		return a.Client.Status().Patch(ctx, live, client.MergeFrom(before))
	}
	return a.Client.Patch(ctx, live, client.MergeFrom(before))
}

// isOld reports whether a condition does not satisfy the v1beta2 contract, which requires a
// reason and has no severity.
func isOld(c any) bool {
	m, ok := c.(map[string]any)
	if !ok {
		return true
	}
	reason, _ := m["reason"].(string)
	_, message := m["message"]
	_, severity := m["severity"]
	return reason == "" || !message || severity
}

func conditionsOf(o *unstructured.Unstructured) []any {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return list
}

func oldConditions(o *unstructured.Unstructured) []string {
	var out []string
	for _, c := range conditionsOf(o) {
		if isOld(c) {
			m, _ := c.(map[string]any)
			kind, _ := m["type"].(string)
			out = append(out, kind)
		}
	}
	return out
}

func dropConditions(o *unstructured.Unstructured) {
	kept := slices.DeleteFunc(conditionsOf(o), isOld)
	_ = unstructured.SetNestedSlice(o.Object, kept, "status", "conditions") // status is a map, because it had conditions
}

func operationsOf(o *unstructured.Unstructured) []any {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "longRunningOperationStates")
	return list
}

func isForeign(operation any) bool {
	m, _ := operation.(map[string]any)
	return m["serviceName"] != infrav1.OperationService
}

func foreignOperations(o *unstructured.Unstructured) []any {
	return slices.DeleteFunc(operationsOf(o), func(op any) bool { return !isForeign(op) })
}

func dropOperations(o *unstructured.Unstructured) {
	kept := slices.DeleteFunc(operationsOf(o), isForeign)
	_ = unstructured.SetNestedSlice(o.Object, kept, "status", "longRunningOperationStates") // as above
}
