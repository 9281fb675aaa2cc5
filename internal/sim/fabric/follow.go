package fabric

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Cloud provides ARM documents in the form of the API.
type Cloud interface {
	// List returns the documents of one resource type.
	List(resourceType string) []json.RawMessage
	// Get returns one document; ok is false if it does not exist.
	Get(id string) (json.RawMessage, bool)
}

// Follow syncs the fabric with a cloud, now and after each call of changed, until the fabric is
// closed. The arguments of changed name the resource that was written or deleted; changed does not
// block and may be called from any goroutine. Changes during a sync are handled together, and the
// pause between two syncs grows with the size of the model, so that the creation of a thousand
// machines uses a limited share of a core.
func (f *Fabric) Follow(c Cloud) (changed func(resourceType, id string)) {
	w := &watched{cloud: c, lists: map[string][]json.RawMessage{}, interfaces: map[string]Interface{}, wake: make(chan struct{}, 1)}
	for _, t := range types {
		w.readType(t)
	}
	f.Sync(w.model())
	f.spawn(func() {
		for {
			select {
			case <-f.ctx.Done():
				return
			case <-w.wake:
			}
			start := time.Now()
			w.readChanges()
			f.Sync(w.model())
			pause := time.NewTimer(9 * time.Since(start))
			select {
			case <-f.ctx.Done():
			case <-pause.C:
			}
			pause.Stop()
		}
	})
	return w.changed
}

// watched is the copy of a cloud's documents. A change of an interface costs one read, because there are as
// many interfaces as machines; a change of another resource costs a list of its type.
type watched struct {
	cloud      Cloud
	lists      map[string][]json.RawMessage // by type, without interfaces
	interfaces map[string]Interface         // by ID

	wake  chan struct{}
	mu    sync.Mutex
	types map[string]bool // types that changed since the last read
	ids   map[string]bool // interfaces that changed since the last read
}

// changed records a resource that must be read again, and wakes the reader.
func (w *watched) changed(resourceType, id string) {
	i := slices.IndexFunc(types, func(t string) bool { return strings.EqualFold(t, resourceType) })
	if i < 0 {
		return
	}
	w.mu.Lock()
	if isInterface(types[i]) {
		put(&w.ids, fold(id))
	} else {
		put(&w.types, types[i])
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func put(set *map[string]bool, key string) {
	if *set == nil {
		*set = map[string]bool{}
	}
	(*set)[key] = true
}

// readChanges reads the resources that changed since its last call.
func (w *watched) readChanges() {
	w.mu.Lock()
	changedTypes, changedIDs := w.types, w.ids
	w.types, w.ids = nil, nil
	w.mu.Unlock()
	for t := range changedTypes {
		w.readType(t)
	}
	for id := range changedIDs {
		delete(w.interfaces, id)
		if raw, ok := w.cloud.Get(id); ok {
			w.addInterface(raw)
		}
	}
}

func (w *watched) readType(resourceType string) {
	list := w.cloud.List(resourceType)
	if !isInterface(resourceType) {
		w.lists[resourceType] = list
		return
	}
	for _, raw := range list {
		w.addInterface(raw)
	}
}

func (w *watched) addInterface(raw json.RawMessage) {
	var d nicDoc
	if json.Unmarshal(raw, &d) == nil {
		n := d.model()
		w.interfaces[n.ID] = n
	}
}

// model returns a model built from the copied documents; interfaces are sorted by ID.
func (w *watched) model() Model {
	m := Read(func(resourceType string) []json.RawMessage { return w.lists[resourceType] })
	m.Interfaces = slices.SortedFunc(maps.Values(w.interfaces), func(a, b Interface) int { return cmp.Compare(a.ID, b.ID) })
	return m
}
