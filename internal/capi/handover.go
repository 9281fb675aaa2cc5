package capi

import (
	"context"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A MachineSet creates an infrastructure machine and a bootstrap config with one field manager, gives their labels and
// annotations up in a second write, and takes them with another manager in a third, so that a label that it drops
// later is removed. The applier leaves the second write out. Cluster API then sees an object as its versions before
// v1.12 made them and migrates it right before the third write; those two are sent as one, with the same result.
// Source: sigs.k8s.io/cluster-api/internal/util/ssa, RemoveManagedFieldsForLabelsAndAnnotations and MigrateManagedFields.

// machineSetManager is the manager that creates the objects.
const machineSetManager = "capi-machineset"

// seed is what the manager of labels and annotations owns after the migration and before its first apply.
const seed = `{"f:metadata":{"f:name":{}}}`

// migration is a migration of managed fields that is sent with the apply that follows.
type migration struct {
	to      string // the manager of labels and annotations
	version string // of the object that was migrated
	fields  []metav1.ManagedFieldsEntry
}

// deferred reports whether a merge patch gives fields up or migrates them, which a later apply does.
func (a *applier) deferred(obj client.Object, patch []byte) bool {
	fields, ok := onlyManagedFields(patch)
	if !ok {
		return false
	}
	i := slices.IndexFunc(fields, func(f metav1.ManagedFieldsEntry) bool {
		return f.FieldsV1 != nil && string(f.FieldsV1.GetRawBytes()) == seed
	})
	if i >= 0 {
		a.migrations.Add(obj.GetUID(), migration{fields[i].Manager, obj.GetResourceVersion(), fields})
		return true
	}
	_, created := a.created.Get(obj.GetUID())
	a.created.Remove(obj.GetUID())
	return created
}

// onlyManagedFields returns the managed fields that a merge patch writes; ok is false if it writes something else.
func onlyManagedFields(patch []byte) (fields []metav1.ManagedFieldsEntry, ok bool) {
	var object map[string]json.RawMessage
	var metadata map[string]json.RawMessage
	if json.Unmarshal(patch, &object) != nil || len(object) != 1 || json.Unmarshal(object["metadata"], &metadata) != nil {
		return nil, false
	}
	list := metadata["managedFields"]
	delete(metadata, "managedFields")
	delete(metadata, "resourceVersion")
	return fields, len(metadata) == 0 && len(list) > 0 && json.Unmarshal(list, &fields) == nil
}

// handOver sends a deferred migration and an apply of labels and annotations as one write, and returns the object; nil if
// there is none, or if the apply has to follow because it changes the object.
func (a *applier) handOver(ctx context.Context, wanted *unstructured.Unstructured, manager string, next intent) (map[string]any, error) {
	value, ok := a.migrations.Get(wanted.GetUID())
	m, _ := value.(migration)
	if !ok || m.to != manager {
		return nil, nil
	}
	a.migrations.Remove(wanted.GetUID())
	object, err := a.read(ctx, wanted)
	if err != nil {
		return nil, err
	}
	has := object.GetResourceVersion() == m.version && contains(object.GetLabels(), wanted.GetLabels()) &&
		contains(object.GetAnnotations(), wanted.GetAnnotations())
	fields := m.fields
	if has {
		fields = m.handedOver(object, wanted)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"managedFields": fields, "resourceVersion": m.version}})
	if err != nil {
		return nil, err
	}
	if err := a.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil || !has {
		return nil, err
	}
	next.owned = owned(object.GetManagedFields(), manager)
	a.intents.Add(intentKey{object.GetUID(), manager}, next)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	now := &unstructured.Unstructured{Object: content}
	now.SetGroupVersionKind(wanted.GroupVersionKind())
	return now.Object, nil
}

// handedOver returns the managed fields after a migration and the apply that follows it: the creating manager keeps what
// it owns beside labels and annotations.
func (m migration) handedOver(object client.Object, wanted *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	fields := slices.Clone(m.fields)
	for i, f := range fields {
		if f.Manager == m.to && f.FieldsV1 != nil && string(f.FieldsV1.GetRawBytes()) == seed {
			fields[i].FieldsV1 = fieldsOf(map[string]any{"f:metadata": map[string]any{
				"f:labels": leaves(wanted.GetLabels()), "f:annotations": leaves(wanted.GetAnnotations()),
			}})
		}
	}
	for _, f := range object.GetManagedFields() {
		var set map[string]any
		if f.Manager != machineSetManager || f.Operation != metav1.ManagedFieldsOperationApply || f.Subresource != "" ||
			f.FieldsV1 == nil || json.Unmarshal(f.FieldsV1.GetRawBytes(), &set) != nil {
			continue
		}
		if metadata, ok := set["f:metadata"].(map[string]any); ok {
			delete(metadata, "f:labels")
			delete(metadata, "f:annotations")
		}
		f.FieldsV1 = fieldsOf(set)
		fields = append(fields, f)
	}
	return fields
}

// fieldsOf returns a set of fields without the parts that have none.
func fieldsOf(set map[string]any) *metav1.FieldsV1 {
	if metadata, ok := set["f:metadata"].(map[string]any); ok {
		for name, part := range metadata {
			if fields, ok := part.(map[string]any); ok && len(fields) == 0 && (name == "f:labels" || name == "f:annotations") {
				delete(metadata, name)
			}
		}
		if len(metadata) == 0 {
			delete(set, "f:metadata")
		}
	}
	data, _ := json.Marshal(set) // maps of strings and maps always encode
	return metav1.NewFieldsV1(string(data))
}

// leaves returns the fields of the keys of a map.
func leaves(of map[string]string) map[string]any {
	out := map[string]any{}
	for key := range of {
		out["f:"+key] = map[string]any{}
	}
	return out
}

// contains reports whether a map has all that another one has.
func contains(all, some map[string]string) bool {
	for key, value := range some {
		if has, ok := all[key]; !ok || has != value {
			return false
		}
	}
	return true
}
