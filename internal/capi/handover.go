package capi

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A MachineSet creates an infrastructure machine and a bootstrap config with one field manager, gives their labels and
// annotations up in a second write, and takes them with another manager in a third, so that a label that it drops
// later is removed. The applier leaves the second write out. It hands the labels over with the write that makes the
// machine the owner of the object, after which the third would change nothing and is left out too. Which labels those
// are, the machine says: its MachineSet applies the same labels to all three. Where the MachineSet comes before the
// machine, it migrates the object as it does those of Cluster API before v1.12.
// Source: sigs.k8s.io/cluster-api/internal/util/ssa, RemoveManagedFieldsForLabelsAndAnnotations and MigrateManagedFields.

// The field managers of a MachineSet: the one that creates the objects, and that of their labels and annotations.
const (
	machineSetManager = "capi-machineset"
	metadataManager   = "capi-machineset-metadata"
)

// deferred reports whether a merge patch gives up fields of an object that was just created, which a later write does.
func (a *applier) deferred(obj client.Object, patch []byte) bool {
	_, created := a.created.Get(obj.GetUID())
	if !created || !onlyManagedFields(patch) {
		return false
	}
	a.created.Remove(obj.GetUID())
	return true
}

// onlyManagedFields reports whether a merge patch writes managed fields and nothing else.
func onlyManagedFields(patch []byte) bool {
	var object, metadata map[string]json.RawMessage
	if json.Unmarshal(patch, &object) != nil || len(object) != 1 || json.Unmarshal(object["metadata"], &metadata) != nil {
		return false
	}
	list := metadata["managedFields"]
	delete(metadata, "managedFields")
	delete(metadata, "resourceVersion")
	return len(metadata) == 0 && len(list) > 0
}

// handOver returns a merge patch with which an object's labels and annotations get their manager too, if the object is a
// machine's and the manager that created it still owns them; else nil.
func (a *applier) handOver(ctx context.Context, obj client.Object, patch []byte) []byte {
	owner := metav1.GetControllerOf(obj)
	if owner == nil || owner.Kind != "Machine" || onlyManagedFields(patch) {
		return nil
	}
	created, all := appliedBy(obj.GetManagedFields(), machineSetManager)
	labels, rest := split(all)
	if len(labels) == 0 || len(rest) == 0 {
		return nil
	}
	machine := &clusterv1.Machine{}
	key := client.ObjectKey{Namespace: obj.GetNamespace(), Name: owner.Name}
	if a.Get(ctx, key, machine) != nil || machine.UID != owner.UID {
		return nil
	}
	_, ofMachine := appliedBy(machine.GetManagedFields(), machineSetManager)
	applied, _ := split(ofMachine)
	var with map[string]any
	if len(applied) == 0 || json.Unmarshal(patch, &with) != nil {
		return nil
	}
	fields := slices.Clone(obj.GetManagedFields())
	taken := fields[created]
	fields[created].FieldsV1 = fieldsOf(rest)
	taken.Manager, taken.FieldsV1 = metadataManager, fieldsOf(applied)
	fields = append(fields, taken)
	data, err := json.Marshal(joined(with, map[string]any{"metadata": map[string]any{
		"managedFields": fields, "resourceVersion": obj.GetResourceVersion(),
	}}))
	if err != nil {
		return nil
	}
	return data
}

// appliedBy returns which entry has the fields that a manager owns by applying, and the fields; -1 if none has.
func appliedBy(entries []metav1.ManagedFieldsEntry, manager string) (i int, set map[string]any) {
	i = slices.IndexFunc(entries, func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == manager && f.Operation == metav1.ManagedFieldsOperationApply && f.Subresource == "" && f.FieldsV1 != nil
	})
	if i < 0 || json.Unmarshal(entries[i].FieldsV1.GetRawBytes(), &set) != nil {
		return -1, nil
	}
	return i, set
}

// split returns a set's fields of labels and annotations, and the other ones, both without empty parts.
func split(set map[string]any) (labels, rest map[string]any) {
	rest = maps.Clone(set)
	metadata, _ := set["f:metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	own := map[string]any{}
	for _, name := range []string{"f:labels", "f:annotations"} {
		if fields, ok := metadata[name].(map[string]any); ok && len(fields) > 0 {
			own[name] = fields
		}
		delete(metadata, name)
	}
	delete(rest, "f:metadata")
	if len(metadata) > 0 {
		rest["f:metadata"] = metadata
	}
	if len(own) == 0 {
		return nil, rest
	}
	return map[string]any{"f:metadata": own}, rest
}

// fieldsOf returns a set as an object has it.
func fieldsOf(set map[string]any) *metav1.FieldsV1 {
	data, _ := json.Marshal(set) // maps of strings and maps always encode
	return metav1.NewFieldsV1(string(data))
}

// owns reports whether a manager owns just the labels and annotations of an intent, which has nothing else, and they
// have its values: then applying it changes nothing.
func owns(object client.Object, manager string, wanted *unstructured.Unstructured) bool {
	_, set := appliedBy(object.GetManagedFields(), manager)
	labels, rest := split(set)
	intended, _ := split(map[string]any{"f:metadata": map[string]any{
		"f:labels": leaves(wanted.GetLabels()), "f:annotations": leaves(wanted.GetAnnotations()),
	}})
	return len(labels) > 0 && len(rest) == 0 && reflect.DeepEqual(labels, intended) &&
		contains(object.GetLabels(), wanted.GetLabels()) && contains(object.GetAnnotations(), wanted.GetAnnotations())
}

// onlyLabels reports whether an intent has labels and annotations and nothing else.
func onlyLabels(wanted *unstructured.Unstructured) bool {
	for name := range wanted.Object {
		if name != "apiVersion" && name != "kind" && name != "metadata" {
			return false
		}
	}
	metadata, _ := wanted.Object["metadata"].(map[string]any)
	for name := range metadata {
		if !slices.Contains([]string{"name", "namespace", "uid", "labels", "annotations"}, name) {
			return false
		}
	}
	return true
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
