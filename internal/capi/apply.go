package capi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rememberedIntents is the number of intents that an applier remembers: three for each machine
// of a MachineSet.
const rememberedIntents = 1 << 15

// applier is a client that sends no write which would change nothing. Cluster API applies
// metadata to a machine, its infrastructure and its bootstrap config in each pass of their
// MachineSet unless their resource versions are those of the last pass, and they change some
// thirty times until the node is ready.
//
// An apply changes nothing if its manager has applied the same intent before and still owns
// the same fields: whoever changes the value of a field takes it from the managers that
// applied it. Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts.
// Of an intent that has labels and annotations alone the object itself says so, and nothing is remembered.
type applier struct {
	client.Client
	intents *lru.Cache // intentKey to intent
	created *lru.Cache // UIDs of the objects that a MachineSet has just created
}

// intentKey is an object and a field manager that applied to it.
type intentKey struct {
	uid     types.UID
	manager string
}

// intent is what a manager applied, and the fields that it owned then.
type intent struct {
	sum   [sha256.Size]byte
	owned []byte
}

// newApplier returns an applier that reads and writes by a client, whose cache keeps managed fields.
func newApplier(c client.Client) *applier {
	return &applier{Client: c, intents: lru.New(rememberedIntents), created: lru.New(rememberedWrites)}
}

// Patch implements client.Writer. A merge patch that changes nothing is not sent: the reconciler
// of ClusterResourceSets ends each pass with one.
func (a *applier) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if patch.Type() == types.MergePatchType {
		data, err := patch.Data(obj)
		if err != nil {
			return err
		}
		if empty(data) || a.deferred(obj, data) {
			return nil
		}
		if with := a.handOver(ctx, obj, data); with != nil {
			err := a.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, with), opts...)
			if !apierrors.IsConflict(err) {
				return err
			}
		}
	}
	return a.Client.Patch(ctx, obj, patch, opts...)
}

// empty reports whether a merge patch changes nothing: it has at most the resource version that it
// is for.
func empty(patch []byte) bool {
	var fields, metadata map[string]json.RawMessage
	if json.Unmarshal(patch, &fields) != nil {
		return false
	}
	if raw, ok := fields["metadata"]; ok {
		if json.Unmarshal(raw, &metadata) != nil || metadata == nil {
			return false
		}
		delete(metadata, "resourceVersion")
		delete(fields, "metadata")
	}
	return len(fields) == 0 && len(metadata) == 0
}

// Apply implements client.Writer.
func (a *applier) Apply(ctx context.Context, configuration runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	o, ok := configuration.(runtime.Unstructured)
	if !ok {
		return a.Client.Apply(ctx, configuration, opts...)
	}
	options := (&client.ApplyOptions{}).ApplyOptions(opts)
	wanted := &unstructured.Unstructured{Object: o.UnstructuredContent()}
	labels := onlyLabels(wanted)
	var next intent
	if !labels {
		var err error
		if next.sum, err = sumOf(wanted); err != nil {
			return err
		}
	}
	if len(options.DryRun) == 0 {
		if now := a.unchanged(ctx, wanted, options.FieldManager, next); now != nil {
			o.SetUnstructuredContent(now)
			return nil
		}
	}
	creates := wanted.GetUID() == "" && options.FieldManager == machineSetManager
	if err := a.Client.Apply(ctx, configuration, opts...); err != nil || len(options.DryRun) > 0 {
		return err
	}
	applied := &unstructured.Unstructured{Object: o.UnstructuredContent()}
	if !labels {
		next.owned = owned(applied.GetManagedFields(), options.FieldManager)
		a.intents.Add(intentKey{applied.GetUID(), options.FieldManager}, next)
	}
	if creates {
		a.created.Add(applied.GetUID(), true)
	}
	return nil
}

// sumOf returns the hash of an intent, without the UID: that of a creation has none.
func sumOf(wanted *unstructured.Unstructured) (sum [sha256.Size]byte, err error) {
	fields, metadata := maps.Clone(wanted.Object), map[string]any{}
	if m, ok := fields["metadata"].(map[string]any); ok {
		metadata = maps.Clone(m)
	}
	delete(metadata, "uid")
	fields["metadata"] = metadata
	data, err := json.Marshal(fields)
	return sha256.Sum256(data), err
}

// unchanged returns the object if applying an intent would not change it, or nil.
func (a *applier) unchanged(ctx context.Context, wanted *unstructured.Unstructured, manager string, next intent) map[string]any {
	kept, ok := a.intents.Get(intentKey{wanted.GetUID(), manager})
	last, _ := kept.(intent)
	same := func(o client.Object) bool { return bytes.Equal(owned(o.GetManagedFields(), manager), last.owned) }
	switch {
	case wanted.GetUID() == "":
		return nil
	case onlyLabels(wanted):
		same = func(o client.Object) bool { return owns(o, manager, wanted) }
	case !ok || last.sum != next.sum || len(last.owned) == 0:
		return nil
	}
	object, err := a.read(ctx, wanted)
	if err != nil || object.GetUID() != wanted.GetUID() || !same(object) {
		return nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil
	}
	now := &unstructured.Unstructured{Object: content}
	now.SetGroupVersionKind(wanted.GroupVersionKind())
	return now.Object
}

// read reads an object by its type, if the scheme has it: an unstructured read would make
// another cache of the kind.
func (a *applier) read(ctx context.Context, of *unstructured.Unstructured) (client.Object, error) {
	var object client.Object = &unstructured.Unstructured{Object: map[string]any{}}
	if typed, err := a.Scheme().New(of.GroupVersionKind()); err == nil {
		if o, ok := typed.(client.Object); ok {
			object = o
		}
	}
	object.GetObjectKind().SetGroupVersionKind(of.GroupVersionKind())
	return object, a.Get(ctx, client.ObjectKeyFromObject(of), object)
}

// owned returns the fields that a manager owns by applying, with sorted keys, or nil.
func owned(fields []metav1.ManagedFieldsEntry, manager string) []byte {
	i, set := appliedBy(fields, manager)
	if i < 0 {
		return nil
	}
	sorted, _ := json.Marshal(set) // maps of strings and maps always encode
	return sorted
}
