package pass

import (
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/controller/cloud"
)

// Held keeps statuses that passes did not write, for later passes over the same object until one writes: to write that an
// operation of a second has begun is a write in five, and triggers passes of all that watch the object. A controller that is started
// again does not have them; it reads from Azure what its operations have done. It is safe for concurrent use. The zero
// value and nil hold nothing.
type Held struct {
	mu      sync.Mutex
	objects map[types.UID]client.Object
}

// keep holds the status of an object.
func (h *Held) keep(o client.Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.objects == nil {
		h.objects = map[types.UID]client.Object{}
	}
	h.objects[o.GetUID()] = cloud.Copy(o)
}

// resume gives an object the status that is held for it. No other controller writes the status of casement's kinds.
func (h *Held) resume(o client.Object) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if held, ok := h.objects[o.GetUID()]; ok {
		status(o).Set(status(cloud.Copy(held)))
	}
}

// written forgets the status of an object, which was written.
func (h *Held) written(o client.Object) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.objects, o.GetUID())
}

// status returns the field of an object's status.
func status(o client.Object) reflect.Value { return reflect.ValueOf(o).Elem().FieldByName("Status") }
