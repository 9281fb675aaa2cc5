package capi

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// batcher is a client that sends the conditions of an object together with the rest of its status.
// Cluster API's patch helper patches the conditions, then spec and metadata, then the
// status, and in most passes both parts of the status have changed.
//
// It keeps a patch of conditions while the controller of that kind has a pass over the object, and
// sends it at the next write of the object or when the pass ends; the pacer calls flush then. Where
// many objects are reconciled it is kept for longer, for some seconds if a condition gets another status
// and else for reasonsWait, and so is what a machine says before it has a virtual machine. Reads return the
// object with what is kept: most passes that change conditions alone are followed by one that changes them
// again. If somebody else writes the object meanwhile, the pass that this triggers computes them again, as
// the first one after a start does.
//
// A status says the generation that a write of the spec in the same pass made: Cluster API writes the status
// once more for it.
type batcher struct {
	client.Client
	pacer *pacer

	mu          sync.Mutex
	pending     map[pass]pendingPatch // by the pass over their object
	generations map[pass]generations
}

// pendingPatch is a patch of conditions that was not sent yet.
type pendingPatch struct {
	object client.Object
	patch  map[string]any
	opts   []client.SubResourcePatchOption
	// until is when it is sent at the latest; zero during the pass that made it.
	until time.Time
	// seen is the object with the patch, in the type that was read last; nil before it is read.
	seen client.Object
}

// generations are those of an object before and after a write of its spec in a pass.
type generations struct{ before, after int64 }

// flushTime bounds the write at the end of a pass.
const flushTime = 30 * time.Second

// newBatcher returns a batcher that writes by a client, for controllers whose queues are the pacer's.
func newBatcher(c client.Client, p *pacer) *batcher {
	b := &batcher{Client: c, pacer: p, pending: map[pass]pendingPatch{}, generations: map[pass]generations{}}
	p.ends(b.flush)
	return b
}

// passOver returns the pass over an object of the controller of its kind, which is named after the kind; ok
// is false for an object of no known kind.
func (b *batcher) passOver(obj client.Object) (over pass, ok bool) {
	kind, err := b.GroupVersionKindFor(obj)
	return pass{strings.ToLower(kind.Kind), client.ObjectKeyFromObject(obj)}, err == nil
}

// take returns the patch that is pending for a running pass, which is not pending any more.
func (b *batcher) take(over pass) (pending pendingPatch, ok bool) {
	b.pacer.during(over, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		pending, ok = b.pending[over]
		delete(b.pending, over)
	})
	return pending, ok
}

// reasonsWait is how long a status with other reasons and messages waits for the status of a condition to change
// too, where many objects are reconciled.
const reasonsWait = 2 * longestTurn

// flush sends what a pass has left, or returns after which time another pass is to follow, which will.
func (b *batcher) flush(ended pass) (again time.Duration, err error) {
	turn, now := b.pacer.turn(), time.Now()
	b.mu.Lock()
	pending, ok := b.pending[ended]
	changed := b.generations[ended]
	delete(b.pending, ended)
	delete(b.generations, ended)
	b.mu.Unlock()
	if !ok {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if turn > 0 && pending.object.GetDeletionTimestamp().IsZero() {
		turns, first := b.compare(ctx, pending)
		first = first && pending.until.IsZero() // else the next pass has been made
		wait := reasonsWait
		if turns {
			wait = turn
		}
		if until := now.Add(wait); pending.until.IsZero() || until.Before(pending.until) {
			pending.until = until
		}
		if again = pending.until.Sub(now); again > 0 {
			changed.update(pending.patch, pending.object)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.pending[ended] = pending
			if first {
				again = min(again, turn)
			}
			return again, nil
		}
	}
	return 0, client.IgnoreNotFound(b.send(ctx, pending, changed))
}

// compare compares a patch with the cached object. turns reports whether it gives a condition another status, and not early
// in the object's life. first reports whether it says for the first time that the object is not paused, which counts as no
// other status: Cluster API ends a pass with that, for the write to trigger the next one.
func (b *batcher) compare(ctx context.Context, pending pendingPatch) (turns, first bool) {
	status, _ := pending.patch["status"].(map[string]any)
	cached, ok := pending.object.DeepCopyObject().(conditions.Getter)
	object, isObject := cached.(client.Object)
	if !ok || !isObject || b.Client.Get(ctx, client.ObjectKeyFromObject(pending.object), object) != nil {
		return !early(status), false
	}
	was := map[string]metav1.ConditionStatus{}
	for _, c := range cached.GetConditions() {
		was[c.Type] = c.Status
	}
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		fields, _ := c.(map[string]any)
		conditionType, _ := fields["type"].(string)
		is, _ := fields["status"].(string)
		switch before := was[conditionType]; {
		case before == metav1.ConditionStatus(is):
		case conditionType == clusterv1.PausedCondition && before == "" && is == string(metav1.ConditionFalse):
			first = true
		default:
			turns = true
		}
	}
	return turns && !early(status), first
}

// Get implements client.Reader: what is held counts as written.
func (b *batcher) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := b.Client.Get(ctx, key, obj, opts...)
	over, known := b.passOver(obj)
	if _, metadata := obj.(*metav1.PartialObjectMetadata); !known || metadata || err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	over.name = key
	b.mu.Lock()
	defer b.mu.Unlock()
	pending, ok := b.pending[over]
	if !ok || pending.until.IsZero() {
		return err
	}
	if err != nil || obj.GetUID() != pending.object.GetUID() || obj.GetResourceVersion() != pending.version() {
		delete(b.pending, over)
		return err
	}
	if seen := pending.seen; seen != nil && reflect.TypeOf(seen) == reflect.TypeOf(obj) {
		replace(obj, seen.DeepCopyObject().(client.Object))
		return nil
	}
	if err := overlay(obj, pending.patch); err != nil {
		return err
	}
	pending.seen = obj.DeepCopyObject().(client.Object)
	b.pending[over] = pending
	return nil
}

// replace gives an object the content of another one of its type, but its own kind, which typed objects lose.
func replace(obj, by client.Object) {
	kind := obj.GetObjectKind().GroupVersionKind()
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(by).Elem())
	obj.GetObjectKind().SetGroupVersionKind(kind)
}

// overlay changes an object as a merge patch of its status does.
func overlay(obj client.Object, patch map[string]any) error {
	was, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(was, &fields); err != nil {
		return err
	}
	is, err := json.Marshal(joined(fields, map[string]any{"status": patch["status"]}))
	if err != nil {
		return err
	}
	kind := obj.GetObjectKind().GroupVersionKind()
	reflect.ValueOf(obj).Elem().SetZero()
	if err := json.Unmarshal(is, obj); err != nil {
		return err
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return nil
}

func (b *batcher) send(ctx context.Context, pending pendingPatch, changed generations) error {
	changed.update(pending.patch, pending.object)
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
	return b.send(ctx, pending, b.changed(over))
}

// changed returns the generations of an object of which the running pass has written the spec.
func (b *batcher) changed(over pass) generations {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.generations[over]
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
	was := obj.GetGeneration()
	defer func() { b.pacer.during(over, func() { b.wrote(over, was, obj.GetGeneration()) }) }()
	pending, ok := b.take(over)
	if !ok {
		return b.Client.Patch(ctx, obj, patch, opts...)
	}
	fields, isMerge := mergePatch(patch, obj)
	version := versionOf(pending.patch)
	if !isMerge || version == "" || !b.delay(over, pending) {
		if err := b.send(ctx, pending, b.changed(over)); err != nil {
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

// wrote records the generations of an object before and after a write. If they follow each other, nothing but the
// write has changed the spec.
func (b *batcher) wrote(over pass, before, after int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last, ok := b.generations[over]
	switch {
	case after == before: // only metadata has changed
	case after != before+1:
		delete(b.generations, over)
	case ok && last.after == before:
		b.generations[over] = generations{last.before, after}
	default:
		b.generations[over] = generations{before, after}
	}
}

// update lets a patch of an object's status say the generation after the write, where the status says the one before.
func (g generations) update(patch map[string]any, obj client.Object) {
	status, _ := patch["status"].(map[string]any)
	list, ok := status["conditions"].([]any)
	if g.after == 0 || !ok {
		return // a status without conditions is followed by one with them
	}
	for _, c := range list {
		g.replace(c)
	}
	if _, ok := status["observedGeneration"]; !ok {
		status["observedGeneration"] = observedGeneration(obj)
	}
	g.replace(status)
	if status["observedGeneration"] == nil {
		delete(status, "observedGeneration")
	}
}

// replace replaces the generation before the write in the field observedGeneration of an object.
func (g generations) replace(object any) {
	fields, _ := object.(map[string]any)
	if seen, ok := fields["observedGeneration"].(float64); ok && int64(seen) == g.before {
		fields["observedGeneration"] = float64(g.after)
	}
}

// observedGeneration returns the generation that an object's status says, as JSON has it, or nil.
func observedGeneration(obj client.Object) any {
	var object struct {
		Status struct {
			ObservedGeneration any `json:"observedGeneration"`
		} `json:"status"`
	}
	data, err := json.Marshal(obj)
	if err == nil {
		err = json.Unmarshal(data, &object)
	}
	if err != nil {
		return nil
	}
	return object.Status.ObservedGeneration
}

// version returns the version of the object that a patch is for.
func (p pendingPatch) version() string {
	return cmp.Or(versionOf(p.patch), p.object.GetResourceVersion())
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
	pending, ok := s.b.take(over)
	if ok {
		fields, opts = joined(pending.patch, fields), append(pending.opts, opts...)
	}
	whole := pendingPatch{object: obj, patch: fields, opts: opts, until: pending.until}
	if onlyConditions(fields) && s.b.delay(over, whole) {
		return nil
	}
	return s.b.send(ctx, whole, s.b.changed(over))
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

// onlyConditions reports whether a patch changes the conditions of a status, of whatever version, or says that an
// object is early in its life, and nothing else.
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
		case name != "status" || !conditionsAlone(fields) && !early(fields):
			return false
		}
	}
	return patch["status"] != nil
}

// early reports whether a status says that a machine has no virtual machine yet, and no more. Nothing waits for that,
// and of many machines that are created at once each has one within seconds. Clusters and MachinePools have these phases
// too.
func early(status map[string]any) bool {
	rest := maps.Clone(status)
	phase, _ := rest["phase"].(string)
	for _, name := range []string{"phase", "lastUpdated", "observedGeneration"} {
		delete(rest, name)
	}
	if reflect.DeepEqual(rest["initialization"], map[string]any{"bootstrapDataSecretCreated": true}) {
		delete(rest, "initialization")
	}
	return slices.Contains([]string{string(clusterv1.MachinePhasePending), string(clusterv1.MachinePhaseProvisioning)}, phase) &&
		conditionsAlone(rest)
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
