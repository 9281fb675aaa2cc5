package pass

import (
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/controller/cloud"
)

// Unwritten keeps statuses that passes did not write, for later passes over the same object until one writes: to write that an
// operation of a second has begun is a write in five, and triggers passes of all that watch the object. A controller that is started
// again does not have them; it reads from Azure what its operations have done. It is safe for concurrent use. The zero
// value and nil keep nothing.
type Unwritten struct {
	mu      sync.Mutex
	objects map[types.UID]client.Object
}

// keep keeps the status of an object.
func (u *Unwritten) keep(o client.Object) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.objects == nil {
		u.objects = map[types.UID]client.Object{}
	}
	u.objects[o.GetUID()] = cloud.Copy(o)
}

// resume gives an object the status that is kept for it, and reports whether there is one. No other controller writes the
// status of casement's kinds.
func (u *Unwritten) resume(o client.Object) bool {
	if u == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	kept, ok := u.objects[o.GetUID()]
	if ok {
		status(o).Set(status(cloud.Copy(kept)))
	}
	return ok
}

// written forgets the status of an object, which was written.
func (u *Unwritten) written(o client.Object) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.objects, o.GetUID())
}

// status returns the field of an object's status.
func status(o client.Object) reflect.Value { return reflect.ValueOf(o).Elem().FieldByName("Status") }
