package capi

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ownWrites is a client whose cached reads wait until the cache contains everything that the client itself has written:
// if a list of a control plane's machines lacked the first machine, another first machine would be created. Upstream's
// gate ReconcilerRateLimiting waits for the same, but permits one pass over an object per second and one over a machine
// in five seconds, which would be most of the time that a small cluster needs here.
//
// A read waits until its context ends, which is the context of a pass, so that the pass can write nothing after it.
// Writes of others are visible when the cache receives them, as upstream.
type ownWrites struct {
	client.Client
	live client.Reader

	mu      sync.Mutex
	written map[schema.GroupKind]map[types.NamespacedName]write
}

// write is the last write of an object.
type write struct {
	uid     types.UID
	version string // the object's resource version after the write
	created bool   // the cache may not contain the object yet
	deleted bool   // the object is deleted, or marked for deletion
}

// newOwnWrites returns a client that writes with c and reads from c's cache. It reads an object that does not appear in
// the cache from the API server with live.
func newOwnWrites(c client.Client, live client.Reader) *ownWrites {
	return &ownWrites{Client: c, live: live, written: map[schema.GroupKind]map[types.NamespacedName]write{}}
}

// note remembers a write of an object, if the cache keeps complete objects of its kind: those of custom resources.
func (o *ownWrites) note(obj client.Object, w write) {
	kind, err := o.GroupVersionKindFor(obj)
	_, metadata := obj.(*metav1.PartialObjectMetadata)
	if err != nil || kind.Group == "" || metadata || obj.GetUID() == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	of := o.written[kind.GroupKind()]
	if of == nil {
		of = map[types.NamespacedName]write{}
		o.written[kind.GroupKind()] = of
	}
	key := client.ObjectKeyFromObject(obj)
	w.uid, w.version = obj.GetUID(), obj.GetResourceVersion()
	w.created = w.created || of[key].created && of[key].uid == w.uid
	w.deleted = w.deleted || !obj.GetDeletionTimestamp().IsZero() && len(obj.GetFinalizers()) == 0
	of[key] = w
}

// last returns the last remembered write of an object.
func (o *ownWrites) last(kind schema.GroupKind, key types.NamespacedName) (w write, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w, ok = o.written[kind][key]
	return w, ok
}

// keys returns the objects of a kind whose last write the cache may lack.
func (o *ownWrites) keys(kind schema.GroupKind) (keys []types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key := range o.written[kind] {
		keys = append(keys, key)
	}
	return keys
}

// forget drops a remembered write, unless another one followed.
func (o *ownWrites) forget(kind schema.GroupKind, key types.NamespacedName, w write) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.written[kind][key] == w {
		delete(o.written[kind], key)
	}
}

// wait waits until the cache contains the last write of an object.
func (o *ownWrites) wait(ctx context.Context, kind schema.GroupVersionKind, key types.NamespacedName) error {
	w, ok := o.last(kind.GroupKind(), key)
	if !ok {
		return nil
	}
	object, err := o.Scheme().New(kind)
	if err != nil {
		return nil // the cache does not have this type
	}
	cached, ok := object.(client.Object)
	if !ok {
		return nil
	}
	began := time.Now()
	err = wait.PollUntilContextCancel(ctx, pollCache, true, func(ctx context.Context) (bool, error) {
		err := o.Client.Get(ctx, key, cached)
		switch {
		case err == nil:
			return w.seen(cached), nil
		case !apierrors.IsNotFound(err):
			return false, err
		case !w.created || w.deleted:
			return true, nil // the object was in the cache and has been removed from it
		case time.Since(began) < askAfter:
			return false, nil
		}
		began = time.Now()
		return apierrors.IsNotFound(o.live.Get(ctx, key, cached)), nil // another client may have deleted it
	})
	if err != nil {
		return fmt.Errorf("wait until the cache has the last write of %s %s: %w", kind.Kind, key, err)
	}
	o.forget(kind.GroupKind(), key, w)
	return nil
}

// pollCache is the interval at which a waiting read checks the cache, which receives most writes within a few
// milliseconds.
const pollCache = 5 * time.Millisecond

// askAfter is the time after which a read that waits for a new object asks the API server whether the object is gone.
const askAfter = time.Second

// seen reports whether a cached object includes a write.
func (w write) seen(cached client.Object) bool {
	if w.deleted {
		return cached.GetUID() != w.uid || !cached.GetDeletionTimestamp().IsZero()
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), w.version)
	return err != nil || order >= 0
}

// Get implements client.Reader.
func (o *ownWrites) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if kind, err := o.GroupVersionKindFor(obj); err == nil {
		if w, ok := o.last(kind.GroupKind(), key); ok && !w.deleted {
			if err := o.wait(ctx, kind, key); err != nil {
				return err
			}
		}
	}
	return o.Client.Get(ctx, key, obj, opts...)
}

// List implements client.Reader.
func (o *ownWrites) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if kind, err := o.GroupVersionKindFor(list); err == nil {
		kind.Kind = strings.TrimSuffix(kind.Kind, "List")
		for _, key := range o.keys(kind.GroupKind()) {
			if err := o.wait(ctx, kind, key); err != nil {
				return err
			}
		}
	}
	return o.Client.List(ctx, list, opts...)
}

// Create implements client.Writer.
func (o *ownWrites) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	err := o.Client.Create(ctx, obj, opts...)
	if err == nil && len((&client.CreateOptions{}).ApplyOptions(opts).DryRun) == 0 {
		o.note(obj, write{created: true})
	}
	return err
}

// Update implements client.Writer.
func (o *ownWrites) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	err := o.Client.Update(ctx, obj, opts...)
	if err == nil && len((&client.UpdateOptions{}).ApplyOptions(opts).DryRun) == 0 {
		o.note(obj, write{})
	}
	return err
}

// Patch implements client.Writer.
func (o *ownWrites) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	err := o.Client.Patch(ctx, obj, patch, opts...)
	if err == nil && len((&client.PatchOptions{}).ApplyOptions(opts).DryRun) == 0 {
		o.note(obj, write{})
	}
	return err
}

// Apply implements client.Writer.
func (o *ownWrites) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	err := o.Client.Apply(ctx, obj, opts...)
	if applied, ok := obj.(runtime.Unstructured); ok && err == nil && len((&client.ApplyOptions{}).ApplyOptions(opts).DryRun) == 0 {
		o.note(&unstructured.Unstructured{Object: applied.UnstructuredContent()}, write{created: true})
	}
	return err
}

// Delete implements client.Writer.
func (o *ownWrites) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	err := o.Client.Delete(ctx, obj, opts...)
	if err == nil && len((&client.DeleteOptions{}).ApplyOptions(opts).DryRun) == 0 {
		o.note(obj, write{deleted: true})
	}
	return err
}

// Status implements client.StatusClient.
func (o *ownWrites) Status() client.SubResourceWriter { return ownStatus{o.Client.Status(), o} }

// ownStatus writes statuses.
type ownStatus struct {
	client.SubResourceWriter
	of *ownWrites
}

// Update implements client.SubResourceWriter.
func (s ownStatus) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	err := s.SubResourceWriter.Update(ctx, obj, opts...)
	if err == nil {
		s.of.note(obj, write{})
	}
	return err
}

// Patch implements client.SubResourceWriter.
func (s ownStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	err := s.SubResourceWriter.Patch(ctx, obj, patch, opts...)
	if err == nil {
		s.of.note(obj, write{})
	}
	return err
}
