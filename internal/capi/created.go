package capi

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unseenTime is for how long an object is added to lists whose cache does not have it. An object that another
// client deletes before the cache has it is in the lists until then.
const unseenTime = time.Minute

// doubtTime is for how long a creation that had no answer may still be under way. The API server hears at once that the
// client has given its request up, and ends it; on a busy machine that takes a moment.
const doubtTime = 5 * time.Second

// unseen are the objects that a client created and that its cache may not have yet. A control plane whose list
// lacks its first machine creates another first one, and a MachineSet one machine too many. Upstream
// makes the next pass wait for the cache, by the gate ReconcilerRateLimiting, which is off here.
type unseen struct {
	mu      sync.Mutex
	objects map[writtenKey]unseenObject
}

type unseenObject struct {
	client.Object
	until time.Time
	// doubtful is set where it is not known whether the object was created.
	doubtful bool
}

// add notes that an object was created.
func (u *unseen) add(k writtenKey, obj client.Object) {
	u.put(k, unseenObject{Object: obj, until: time.Now().Add(unseenTime)})
}

// doubt notes that an object may have been created.
func (u *unseen) doubt(k writtenKey, obj client.Object) {
	u.put(k, unseenObject{obj, time.Now().Add(doubtTime), true})
}

func (u *unseen) put(k writtenKey, o unseenObject) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.objects == nil {
		u.objects = map[writtenKey]unseenObject{}
	}
	u.objects[k] = o
}

// remove notes that the cache has an object, or that the client deleted it.
func (u *unseen) remove(k writtenKey) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.objects, k)
}

// of returns the objects of a kind, and forgets those whose time is over.
func (u *unseen) of(kind string, group string) map[writtenKey]unseenObject {
	u.mu.Lock()
	defer u.mu.Unlock()
	objects, now := map[writtenKey]unseenObject{}, time.Now()
	for k, o := range u.objects {
		switch {
		case now.After(o.until):
			delete(u.objects, k)
		case k.kind.Kind == kind && k.kind.Group == group:
			objects[k] = o
		}
	}
	return objects
}

// get returns an object.
func (u *unseen) get(k writtenKey) (unseenObject, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	o, ok := u.objects[k]
	return o, ok
}

// List implements client.Reader: objects that this client created are in it before the cache has them. While the API
// server may still create one of them it is an error, and the caller asks again.
func (f *fresh) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := f.list(ctx, list, opts...)
	if id := f.id(ctx); err != nil && id != "" {
		f.blind.Add(id, true)
	}
	return err
}

// list is List without a note of its failure.
func (f *fresh) list(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	kind, err := f.GroupVersionKindFor(list)
	if err != nil {
		return f.Client.List(ctx, list, opts...) // of no known kind, so without objects of this client
	}
	// The objects are looked up before the cache is: a list that begins later may see that the cache has one of them,
	// which is unseen no more, and this list was made without it.
	noted := f.unseen.of(strings.TrimSuffix(kind.Kind, "List"), kind.Group)
	if err := f.Client.List(ctx, list, opts...); err != nil {
		return err
	}
	var missing []client.Object
	options := (&client.ListOptions{}).ApplyOptions(opts)
	keys := slices.SortedFunc(maps.Keys(noted), func(a, b writtenKey) int { return strings.Compare(a.name.String(), b.name.String()) })
	for _, k := range keys {
		if err := f.settle(ctx, k, options); err != nil {
			return err
		}
		obj, err := f.lacking(ctx, k, noted[k].Object)
		if err != nil {
			return err
		}
		if obj != nil && selected(obj, options) {
			missing = append(missing, obj)
		}
	}
	return appendMissing(list, missing)
}

// settle asks the API server whether there is an object whose creation had no answer, if a list's options select it.
func (f *fresh) settle(ctx context.Context, k writtenKey, options *client.ListOptions) error {
	o, ok := f.unseen.get(k)
	if !ok || !o.doubtful || !selected(o.Object, options) {
		return nil
	}
	live, _ := reflect.New(reflect.TypeOf(o.Object).Elem()).Interface().(client.Object)
	err := f.live.Get(ctx, k.name, live)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("the creation of %s %s had no answer, and may be under way until %s",
			k.kind.Kind, k.name, o.until.Format(time.TimeOnly))
	}
	if err != nil {
		return err
	}
	f.unseen.add(k, live)
	return nil
}

// lacking returns an object that was created, as it was written last, or nil if nothing is known of it any more. An
// object that the cache has by now may have come after the list, and is returned once more. of is the object as it was
// noted before the list.
func (f *fresh) lacking(ctx context.Context, k writtenKey, of client.Object) (client.Object, error) {
	noted, still := f.unseen.get(k)
	if still && noted.doubtful {
		return nil, nil //nolint:nilnil // there is no such object, which is no error
	}
	cached, _ := reflect.New(reflect.TypeOf(of).Elem()).Interface().(client.Object)
	err := f.Client.Get(ctx, k.name, cached)
	if err == nil {
		f.unseen.remove(k)
		return cached, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, err
	}
	if !still {
		return nil, nil //nolint:nilnil // it was deleted
	}
	created := noted.Object
	if value, ok := f.written.Get(k); ok {
		if last, ok := value.(client.Object); ok && last.GetUID() == created.GetUID() {
			created = last
		}
	}
	return created.DeepCopyObject().(client.Object), nil
}

// selected reports whether a list's options select an object. One with a field selector, which is an index of the
// cache, selects none.
func selected(obj client.Object, o *client.ListOptions) bool {
	return (o.Namespace == "" || o.Namespace == obj.GetNamespace()) && (o.FieldSelector == nil || o.FieldSelector.Empty()) &&
		(o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(obj.GetLabels())))
}

// appendMissing adds objects to a list of their type that has none of their names.
func appendMissing(list client.ObjectList, missing []client.Object) error {
	if len(missing) == 0 {
		return nil
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	has := map[client.ObjectKey]bool{}
	for _, item := range items {
		if o, ok := item.(client.Object); ok {
			has[client.ObjectKeyFromObject(o)] = true
		}
	}
	added := false
	for _, o := range missing {
		if has[client.ObjectKeyFromObject(o)] || !holds(list, o) {
			continue
		}
		items, added = append(items, runtime.Object(o)), true
	}
	if !added {
		return nil
	}
	return meta.SetList(list, items)
}

// holds reports whether a list's items are of an object's type.
func holds(list client.ObjectList, obj client.Object) bool {
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return false
	}
	element := reflect.TypeOf(items).Elem().Elem()
	return element == reflect.TypeOf(obj).Elem() || element == reflect.TypeOf(obj)
}

// Delete implements client.Writer.
func (f *fresh) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if err := f.seeing(ctx); err != nil {
		return err
	}
	err := f.Client.Delete(ctx, obj, opts...)
	if k, ok := f.key(obj); ok && client.IgnoreNotFound(err) == nil {
		f.unseen.remove(k)
	}
	return err
}
