package capi

import (
	"context"
	"errors"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// rememberedWrites is the number of objects whose last write a fresh client remembers.
const rememberedWrites = 1 << 13

// fresh is a client whose cached reads return at least what it wrote itself. On a busy
// machine the watch that feeds the cache is late, and a pass that reads the state from before its
// last write repeats that write, or meets a conflict and asks again.
type fresh struct {
	client.Client
	live    client.Reader
	written *lru.Cache // writtenKey to client.Object
	unseen  unseen
	// blind are the passes in which a list failed, by the ID that the context of a pass has.
	blind *lru.Cache
	id    func(context.Context) types.UID
}

// writtenKey is an object of a kind.
type writtenKey struct {
	kind schema.GroupKind
	name types.NamespacedName
}

// newFresh returns a fresh client that writes by a client and reads from that client's cache, and from the API server
// itself where a write has had no answer.
func newFresh(c client.Client, live client.Reader) *fresh {
	return &fresh{Client: c, live: live, written: lru.New(rememberedWrites), blind: lru.New(rememberedWrites),
		id: controller.ReconcileIDFromContext}
}

// seeing returns an error in a pass in which a list failed. The reconciler of MachineSets goes on after that as if there
// were no machines: it deletes the infrastructure of those that there are, and creates all of them once more.
func (f *fresh) seeing(ctx context.Context) error {
	if _, failed := f.blind.Get(f.id(ctx)); failed {
		return errors.New("a list failed in this pass, which therefore creates and deletes nothing; the next one will")
	}
	return nil
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
	if object := f.typed(obj); object != nil {
		f.written.Add(k, object)
	}
}

// typed returns a copy of an object in the type that readers use, or nil where it does not have its fields.
func (f *fresh) typed(obj client.Object) client.Object {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if typed, err := f.Scheme().New(u.GroupVersionKind()); err == nil {
			o, ok := typed.(client.Object)
			if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o) != nil {
				return nil
			}
			return o
		}
	}
	object, _ := obj.DeepCopyObject().(client.Object)
	return object
}

// doubt notes an object whose creation ended with an error that leaves open whether it was created.
func (f *fresh) doubt(obj client.Object, err error) {
	if k, ok := f.key(obj); ok && unanswered(err) {
		object := f.typed(obj)
		if _, raw := object.(*unstructured.Unstructured); object != nil && !raw {
			f.unseen.doubt(k, object)
		}
	}
}

// unsent is in the error of a request that the client's own rate limit kept until its context was over (client-go's
// rest.Request).
const unsent = "client rate limiter Wait returned an error"

// unanswered reports whether a write with this error may have been carried out all the same.
func unanswered(err error) bool {
	if strings.Contains(err.Error(), unsent) {
		return false
	}
	status := apierrors.APIStatus(nil)
	if errors.As(err, &status) {
		return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
	}
	return !utilnet.IsConnectionRefused(err)
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
	if err := f.seeing(ctx); err != nil {
		return err
	}
	err := f.Client.Create(ctx, obj, opts...)
	switch {
	case len((&client.CreateOptions{}).ApplyOptions(opts).DryRun) != 0:
	case err != nil:
		f.doubt(obj, err)
	default:
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
	if err := f.seeing(ctx); err != nil {
		return err
	}
	err := f.Client.Apply(ctx, obj, opts...)
	o, ok := obj.(runtime.Unstructured)
	if !ok || len((&client.ApplyOptions{}).ApplyOptions(opts).DryRun) != 0 {
		return err
	}
	applied := &unstructured.Unstructured{Object: o.UnstructuredContent()}
	if err != nil {
		f.doubt(applied, err)
		return err
	}
	f.remember(applied)
	f.created(ctx, applied)
	return nil
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
