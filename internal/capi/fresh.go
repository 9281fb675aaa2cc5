package capi

import (
	"context"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rememberedWrites is the number of objects whose last write a fresh client remembers.
const rememberedWrites = 1 << 13

// fresh is a client whose cached reads return at least what it wrote itself. On a busy
// machine the watch that feeds the cache is late, and a pass that reads the state from before its
// last write repeats that write, or meets a conflict and asks again.
type fresh struct {
	client.Client
	written *lru.Cache // writtenKey to client.Object
	unseen  unseen
}

// writtenKey is an object of a kind.
type writtenKey struct {
	kind schema.GroupKind
	name types.NamespacedName
}

// newFresh returns a fresh client that writes by a client and reads from that client's cache.
func newFresh(c client.Client) *fresh {
	return &fresh{Client: c, written: lru.New(rememberedWrites)}
}

// Get implements client.Reader.
func (f *fresh) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := f.Client.Get(ctx, key, obj, opts...); err != nil {
		return err
	}
	k, ok := f.key(obj)
	if !ok {
		return nil
	}
	value, ok := f.written.Get(k)
	last, _ := value.(client.Object)
	if !ok || reflect.TypeOf(last) != reflect.TypeOf(obj) {
		return nil
	}
	if last.GetUID() != obj.GetUID() || !newer(last, obj) {
		f.written.Remove(k)
		return nil
	}
	replace(obj, last.DeepCopyObject().(client.Object))
	return nil
}

// newer reports whether one state of an object is of a later resource version than another.
func newer(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}

// key returns the key of an object, and whether writes of it are remembered: those of custom
// resources are, whole.
func (f *fresh) key(obj client.Object) (writtenKey, bool) {
	kind, err := f.GroupVersionKindFor(obj)
	_, metadata := obj.(*metav1.PartialObjectMetadata)
	return writtenKey{kind.GroupKind(), client.ObjectKeyFromObject(obj)}, err == nil && kind.Group != "" && !metadata
}

// remember keeps the state of an object that the API server answered a write with, in the type
// that readers use.
func (f *fresh) remember(obj client.Object) {
	k, ok := f.key(obj)
	if !ok || obj.GetResourceVersion() == "" {
		return
	}
	object, _ := obj.DeepCopyObject().(client.Object)
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if typed, err := f.Scheme().New(u.GroupVersionKind()); err == nil {
			o, ok := typed.(client.Object)
			if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o) != nil {
				return
			}
			object = o
		}
	}
	f.written.Add(k, object)
}

// created notes an object that a write may have created, if the cache does not have it.
func (f *fresh) created(ctx context.Context, obj client.Object) {
	k, ok := f.key(obj)
	if !ok {
		return
	}
	value, _ := f.written.Get(k)
	written, ok := value.(client.Object)
	if _, raw := written.(*unstructured.Unstructured); !ok || raw {
		return
	}
	cached, _ := reflect.New(reflect.TypeOf(written).Elem()).Interface().(client.Object)
	if apierrors.IsNotFound(f.Client.Get(ctx, k.name, cached)) {
		f.unseen.add(k, written)
	}
}

// Create implements client.Writer.
func (f *fresh) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	err := f.Client.Create(ctx, obj, opts...)
	if err == nil && len((&client.CreateOptions{}).ApplyOptions(opts).DryRun) == 0 {
		f.remember(obj)
		f.created(ctx, obj)
	}
	return err
}

// Update implements client.Writer.
func (f *fresh) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	err := f.Client.Update(ctx, obj, opts...)
	if err == nil && len((&client.UpdateOptions{}).ApplyOptions(opts).DryRun) == 0 {
		f.remember(obj)
	}
	return err
}

// Patch implements client.Writer.
func (f *fresh) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	err := f.Client.Patch(ctx, obj, patch, opts...)
	if err == nil && len((&client.PatchOptions{}).ApplyOptions(opts).DryRun) == 0 {
		f.remember(obj)
	}
	return err
}

// Apply implements client.Writer.
func (f *fresh) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	err := f.Client.Apply(ctx, obj, opts...)
	if o, ok := obj.(runtime.Unstructured); ok && err == nil && len((&client.ApplyOptions{}).ApplyOptions(opts).DryRun) == 0 {
		applied := &unstructured.Unstructured{Object: o.UnstructuredContent()}
		f.remember(applied)
		f.created(ctx, applied)
	}
	return err
}

// Status implements client.StatusClient.
func (f *fresh) Status() client.SubResourceWriter { return freshStatus{f.Client.Status(), f} }

// freshStatus writes statuses.
type freshStatus struct {
	client.SubResourceWriter
	f *fresh
}

// Update implements client.SubResourceWriter.
func (s freshStatus) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	err := s.SubResourceWriter.Update(ctx, obj, opts...)
	if err == nil {
		s.f.remember(obj)
	}
	return err
}

// Patch implements client.SubResourceWriter.
func (s freshStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	err := s.SubResourceWriter.Patch(ctx, obj, patch, opts...)
	if err == nil {
		s.f.remember(obj)
	}
	return err
}
