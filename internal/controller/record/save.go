// Package record writes the changes that casement's controllers make to a Kubernetes object, in at most two patches:
// with the tokens of its operations in Azure, and with the annotation that blocks a move while they are in progress.
//
// It does not call Azure. The controllers, the packages that they share and package metric import it.
package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// Copy returns a deep copy of an object.
func Copy(o client.Object) client.Object {
	// a copy has the type of the original
	return o.DeepCopyObject().(client.Object)
}

// Save writes the changes of an object since before, and blockMove for its operations: at most one patch of its
// metadata and spec and one of its status. It fails with a conflict if the object has been written since the pass read
// it: the pass may have begun with an outdated copy, and fields that it did not set would keep their newer values. It
// is no error if an object that is being deleted does not exist any more. Afterwards o has the resource version of the
// write.
func Save(ctx context.Context, c client.Client, before, o client.Object, states []infrav1.LongRunningOperationState, more bool) error {
	blockMove(o, states, more)
	main, status, err := changes(before, o)
	if err != nil {
		return fmt.Errorf("save %s: %w", o.GetName(), err)
	}
	saved := Copy(o)
	var errs []error
	if main != nil {
		errs = append(errs, patch(ctx, c, saved, o.GetResourceVersion(), main))
		if status != nil && saved.GetGeneration() != o.GetGeneration() {
			// The conditions apply to the current spec: without this, the next pass would write their generation and
			// nothing else.
			if status, err = observed(before, o, saved.GetGeneration()); err != nil {
				return fmt.Errorf("save %s: %w", o.GetName(), err)
			}
		}
	}
	if status != nil {
		version := saved.GetResourceVersion()
		saved = Copy(o)
		errs = append(errs, patch(ctx, c.Status(), saved, version, status))
	}
	o.SetResourceVersion(saved.GetResourceVersion())
	if !o.GetDeletionTimestamp().IsZero() {
		for i := range errs {
			errs[i] = client.IgnoreNotFound(errs[i])
		}
	}
	return errors.Join(errs...)
}

// patch sends a merge patch that requires a resource version, and reads the response into o.
func patch[O any](ctx context.Context, c interface {
	Patch(context.Context, client.Object, client.Patch, ...O) error
}, o client.Object, version string, fields map[string]any) error {
	metadata, _ := fields["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["resourceVersion"], fields["metadata"] = version, metadata
	data, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("save %s: %w", o.GetName(), err)
	}
	return c.Patch(ctx, o, client.RawPatch(types.MergePatchType, data))
}

// observed returns the merge patch of the status between before and o. Conditions with o's current generation are
// recorded with the given generation.
func observed(before, o client.Object, generation int64) (map[string]any, error) {
	setter, ok := o.(conditions.Setter)
	if ok {
		list := setter.GetConditions()
		for i := range list {
			if list[i].ObservedGeneration == o.GetGeneration() {
				list[i].ObservedGeneration = generation
			}
		}
		setter.SetConditions(list)
	}
	_, status, err := changes(before, o)
	return status, err
}

// changes returns the merge patches between before and after, of the status and of the other fields; nil if nothing changed.
func changes(before, after client.Object) (main, status map[string]any, err error) {
	data, err := client.MergeFrom(before).Data(after)
	if err != nil {
		return nil, nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&main); err != nil {
		return nil, nil, err
	}
	if of, ok := main["status"]; ok {
		status = map[string]any{"status": of}
		delete(main, "status")
	}
	if len(main) == 0 {
		main = nil
	}
	return main, status, nil
}
