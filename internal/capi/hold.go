package capi

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// holder is a client that sends the conditions of an object together with the rest of its status.
// Cluster API's patch helper patches the conditions, then spec and metadata, then the
// status, and in most passes both parts of the status have changed.
//
// It holds a patch of conditions only while a pass over an object of that name is running, and sends
// it at the next write of the object or when the pass ends; the pacer calls flush then.
type holder struct {
	client.Client
	pacer *pacer

	mu   sync.Mutex
	held map[writtenKey]heldPatch
}

// heldPatch is a patch of conditions that was not sent yet.
type heldPatch struct {
	object client.Object
	patch  map[string]any
	opts   []client.SubResourcePatchOption
}

// flushTime bounds the write at the end of a pass.
const flushTime = 30 * time.Second

// newHolder returns a holder that writes by a client, for controllers whose queues are the pacer's.
func newHolder(c client.Client, p *pacer) *holder {
	h := &holder{Client: c, pacer: p, held: map[writtenKey]heldPatch{}}
	p.ends(h.flush)
	return h
}

// key returns the key of an object; ok is false for one of no known kind.
func (h *holder) key(obj client.Object) (key writtenKey, ok bool) {
	kind, err := h.GroupVersionKindFor(obj)
	return writtenKey{kind.GroupKind(), client.ObjectKeyFromObject(obj)}, err == nil
}

// take returns the held patch of an object, which is not held any more.
func (h *holder) take(obj client.Object) (heldPatch, bool) {
	key, ok := h.key(obj)
	if !ok {
		return heldPatch{}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	held, ok := h.held[key]
	delete(h.held, key)
	return held, ok
}

// flush sends the patches of objects of a name.
func (h *holder) flush(name types.NamespacedName) error {
	var due []heldPatch
	h.mu.Lock()
	for key, held := range h.held {
		if key.name == name {
			due = append(due, held)
			delete(h.held, key)
		}
	}
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	for _, held := range due {
		if err := h.send(ctx, held); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func (h *holder) send(ctx context.Context, held heldPatch) error {
	data, err := json.Marshal(held.patch)
	if err != nil {
		return err
	}
	return h.Client.Status().Patch(ctx, held.object, client.RawPatch(types.MergePatchType, data), held.opts...)
}

// sendHeld sends the held patch of an object before another write of it.
func (h *holder) sendHeld(ctx context.Context, obj client.Object) error {
	held, ok := h.take(obj)
	if !ok {
		return nil
	}
	return h.send(ctx, held)
}

// Update implements client.Writer.
func (h *holder) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	if err := h.sendHeld(ctx, obj); err != nil {
		return err
	}
	return h.Client.Update(ctx, obj, opts...)
}

// Patch implements client.Writer.
func (h *holder) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if err := h.sendHeld(ctx, obj); err != nil {
		return err
	}
	return h.Client.Patch(ctx, obj, patch, opts...)
}

// Delete implements client.Writer.
func (h *holder) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if err := h.sendHeld(ctx, obj); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return err
	}
	return h.Client.Delete(ctx, obj, opts...)
}

// Status implements client.StatusClient.
func (h *holder) Status() client.SubResourceWriter { return heldStatus{h.Client.Status(), h} }

// heldStatus writes statuses.
type heldStatus struct {
	client.SubResourceWriter
	h *holder
}

// Update implements client.SubResourceWriter.
func (s heldStatus) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	if err := s.h.sendHeld(ctx, obj); err != nil {
		return err
	}
	return s.SubResourceWriter.Update(ctx, obj, opts...)
}

// Patch implements client.SubResourceWriter.
func (s heldStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	fields, ok := mergePatch(patch, obj)
	if !ok {
		if err := s.h.sendHeld(ctx, obj); err != nil {
			return err
		}
		return s.SubResourceWriter.Patch(ctx, obj, patch, opts...)
	}
	if held, ok := s.h.take(obj); ok {
		return s.h.send(ctx, heldPatch{obj, joined(held.patch, fields), append(held.opts, opts...)})
	}
	if key, ok := s.h.key(obj); ok && onlyConditions(fields) && s.h.hold(key, heldPatch{obj, fields, opts}) {
		return nil
	}
	return s.SubResourceWriter.Patch(ctx, obj, patch, opts...)
}

// hold keeps a patch, if a pass will end that flushes it.
func (h *holder) hold(key writtenKey, patch heldPatch) bool {
	return h.pacer.during(key.name, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.held[key] = patch
	})
}

// mergePatch returns the content of a JSON merge patch, and false for another one.
func mergePatch(patch client.Patch, obj client.Object) (fields map[string]any, ok bool) {
	if patch.Type() != types.MergePatchType {
		return nil, false
	}
	data, err := patch.Data(obj)
	if err != nil || json.Unmarshal(data, &fields) != nil {
		return nil, false
	}
	return fields, true
}

// onlyConditions reports whether a patch changes the conditions of a status, of whatever version, and
// nothing else.
func onlyConditions(patch map[string]any) bool {
	for name, value := range patch {
		fields, ok := value.(map[string]any)
		switch {
		case !ok:
			return false
		case name == "metadata":
			if _, version := fields["resourceVersion"]; !version || len(fields) != 1 {
				return false
			}
		case name != "status" || !conditionsAlone(fields):
			return false
		}
	}
	return patch["status"] != nil
}

func conditionsAlone(status map[string]any) bool {
	for name, value := range status {
		if name == "conditions" {
			continue
		}
		// deprecated.v1beta1 and v1beta2 have those of other versions.
		fields, ok := value.(map[string]any)
		if !ok || name != "deprecated" && name != "v1beta1" && name != "v1beta2" || !conditionsAlone(fields) {
			return false
		}
	}
	return true
}

// joined adds the fields of a merge patch to those of another one.
func joined(a, b map[string]any) map[string]any {
	for name, value := range b {
		ours, ok1 := a[name].(map[string]any)
		theirs, ok2 := value.(map[string]any)
		if ok1 && ok2 {
			value = joined(ours, theirs)
		}
		a[name] = value
	}
	return a
}
