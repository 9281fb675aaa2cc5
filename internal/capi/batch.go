package capi

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// batcher is a client that sends the conditions of an object together with the rest of its status.
// Cluster API's patch helper patches the conditions, then spec and metadata, then the
// status, and in most passes both parts of the status have changed.
//
// It keeps a patch of conditions only while the controller of that kind has a pass over the object, and
// sends it at the next write of the object or when the pass ends; the pacer calls flush then.
type batcher struct {
	client.Client
	pacer *pacer

	mu      sync.Mutex
	pending map[pass]pendingPatch // by the pass over their object
}

// pendingPatch is a patch of conditions that was not sent yet.
type pendingPatch struct {
	object client.Object
	patch  map[string]any
	opts   []client.SubResourcePatchOption
}

// flushTime bounds the write at the end of a pass.
const flushTime = 30 * time.Second

// newBatcher returns a batcher that writes by a client, for controllers whose queues are the pacer's.
func newBatcher(c client.Client, p *pacer) *batcher {
	b := &batcher{Client: c, pacer: p, pending: map[pass]pendingPatch{}}
	p.ends(b.flush)
	return b
}

// passOver returns the pass over an object of the controller of its kind, which is named after the kind; ok
// is false for an object of no known kind.
func (b *batcher) passOver(obj client.Object) (over pass, ok bool) {
	kind, err := b.GroupVersionKindFor(obj)
	return pass{strings.ToLower(kind.Kind), client.ObjectKeyFromObject(obj)}, err == nil
}

// take returns the patch that a pass has left, which is not pending any more.
func (b *batcher) take(over pass) (pendingPatch, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	pending, ok := b.pending[over]
	delete(b.pending, over)
	return pending, ok
}

// flush sends what a pass has left.
func (b *batcher) flush(ended pass) error {
	pending, ok := b.take(ended)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	return client.IgnoreNotFound(b.send(ctx, pending))
}

func (b *batcher) send(ctx context.Context, pending pendingPatch) error {
	data, err := json.Marshal(pending.patch)
	if err != nil {
		return err
	}
	return b.Client.Status().Patch(ctx, pending.object, client.RawPatch(types.MergePatchType, data), pending.opts...)
}

// sendPending sends the pending patch of an object before another write of it.
func (b *batcher) sendPending(ctx context.Context, obj client.Object) error {
	over, ok := b.passOver(obj)
	if !ok {
		return nil
	}
	pending, ok := b.take(over)
	if !ok {
		return nil
	}
	return b.send(ctx, pending)
}

// Update implements client.Writer.
func (b *batcher) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	if err := b.sendPending(ctx, obj); err != nil {
		return err
	}
	return b.Client.Update(ctx, obj, opts...)
}

// Patch implements client.Writer. Conditions that are pending stay so: the patch is sent on their condition, that
// no other controller has written the object since, and they wait for the version that it makes.
func (b *batcher) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	over, known := b.passOver(obj)
	if !known {
		return b.Client.Patch(ctx, obj, patch, opts...)
	}
	pending, ok := b.take(over)
	if !ok {
		return b.Client.Patch(ctx, obj, patch, opts...)
	}
	fields, isMerge := mergePatch(patch, obj)
	version := versionOf(pending.patch)
	if !isMerge || version == "" || !b.delay(over, pending) {
		if err := b.send(ctx, pending); err != nil {
			return err
		}
		return b.Client.Patch(ctx, obj, patch, opts...)
	}
	data, err := json.Marshal(joined(fields, versioned(version)))
	if err != nil {
		return err
	}
	if err := b.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, data), opts...); err != nil {
		return err // the conditions are sent when the pass ends
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if pending, ok := b.pending[over]; ok {
		joined(pending.patch, versioned(obj.GetResourceVersion()))
	}
	return nil
}

// versionOf returns the version of an object on which a patch is conditional, or "".
func versionOf(patch map[string]any) string {
	metadata, _ := patch["metadata"].(map[string]any)
	version, _ := metadata["resourceVersion"].(string)
	return version
}

// versioned returns a patch that is conditional on a version and changes nothing.
func versioned(version string) map[string]any {
	return map[string]any{"metadata": map[string]any{"resourceVersion": version}}
}

// Delete implements client.Writer.
func (b *batcher) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if err := b.sendPending(ctx, obj); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return err
	}
	return b.Client.Delete(ctx, obj, opts...)
}

// Status implements client.StatusClient.
func (b *batcher) Status() client.SubResourceWriter { return batchStatus{b.Client.Status(), b} }

// batchStatus writes statuses.
type batchStatus struct {
	client.SubResourceWriter
	b *batcher
}

// Update implements client.SubResourceWriter.
func (s batchStatus) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	if err := s.b.sendPending(ctx, obj); err != nil {
		return err
	}
	return s.SubResourceWriter.Update(ctx, obj, opts...)
}

// Patch implements client.SubResourceWriter.
func (s batchStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	fields, isMerge := mergePatch(patch, obj)
	over, known := s.b.passOver(obj)
	if !isMerge || !known {
		if err := s.b.sendPending(ctx, obj); err != nil {
			return err
		}
		return s.SubResourceWriter.Patch(ctx, obj, patch, opts...)
	}
	if pending, ok := s.b.take(over); ok {
		return s.b.send(ctx, pendingPatch{obj, joined(pending.patch, fields), append(pending.opts, opts...)})
	}
	if onlyConditions(fields) && s.b.delay(over, pendingPatch{obj, fields, opts}) {
		return nil
	}
	return s.SubResourceWriter.Patch(ctx, obj, patch, opts...)
}

// delay keeps a patch, if there is a pass whose end flushes it.
func (b *batcher) delay(over pass, patch pendingPatch) bool {
	return b.pacer.during(over, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.pending[over] = patch
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
