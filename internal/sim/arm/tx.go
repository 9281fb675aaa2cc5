package arm

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// tx is one look at the store, or one change of it. Changes are made in memory
// at once and undone if the transaction fails; nobody else sees them meanwhile.
type tx struct {
	*store
	s       *Server
	now     time.Time
	undo    []func()
	docKeys map[string]bool
	opKeys  map[string]bool
	changes []Change
	started []*operation
	// ended are the operations whose driving ends with the transaction.
	ended []string
	// failed is why a document could not be filed; it undoes the transaction.
	failed error
}

// read runs fn with the store held for reading.
func (s *Server) read(fn func(*tx)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	fn(&tx{store: s.store, s: s, now: s.clock.Now().UTC()})
}

// update runs fn with the store held for writing. If fn fails, or the change
// cannot be written to disk, nothing has happened. After it, subscribers hear
// of the changes and the operations begun are driven.
func (s *Server) update(fn func(*tx) error) error {
	s.mu.Lock()
	t := &tx{store: s.store, s: s, now: s.clock.Now().UTC(), docKeys: map[string]bool{}, opKeys: map[string]bool{}}
	err := cmp.Or(s.try(t, fn), t.failed)
	if err == nil && len(t.docKeys)+len(t.opKeys) > 0 {
		if err = s.store.save(t.docKeys, t.opKeys); err != nil {
			s.log.Error(err, "The state could not be written")
			err = refuse(500, "InternalServerError", "The state of the local Azure could not be written.")
		}
	}
	if err != nil {
		t.revert()
		s.mu.Unlock()
		return err
	}
	s.feed.add(t.changes)
	s.mu.Unlock()
	for _, id := range t.ended {
		s.running.cancel(id)
	}
	for _, op := range t.started {
		s.drive(op)
	}
	return nil
}

// revert takes back what the transaction changed.
func (t *tx) revert() {
	for _, u := range slices.Backward(t.undo) {
		u()
	}
}

// edit returns a copy of a document to be changed and put; nil if there is none.
func (t *tx) edit(id string) *doc {
	d := t.find(id)
	if d == nil {
		return nil
	}
	c := *d
	c.Body, c.Hidden = cloneObject(d.Body), cloneObject(d.Hidden)
	return &c
}

// put files a document as its resource's new state. It is not to be changed
// after that.
func (t *tx) put(d *doc) {
	t.rev++
	d.Rev, d.Changed, d.ETag = t.rev, t.now, t.s.guid()
	if d.Created.IsZero() {
		d.Created = t.now
	}
	props(d.Body)
	for _, field := range []string{"id", "name", "type"} { // which are the ID's
		delete(d.Body, field)
	}
	r, err := d.rest(t.s.registry.typeOf(d.Type))
	if err != nil {
		t.failed = cmp.Or(t.failed, err)
		return
	}
	t.file(r)
}

// file puts a record as it is, its revision and times included.
func (t *tx) file(r *record) {
	old := t.records[r.key]
	t.rev = max(t.rev, r.Rev)
	t.insert(r)
	t.undo = append(t.undo, func() {
		t.remove(r.key)
		if old != nil {
			t.insert(old)
		}
	})
	t.docKeys[r.key] = true
	t.changes = append(t.changes, Change{ID: r.ID, Type: r.Type})
}

// drop removes a document and everything below it.
func (t *tx) drop(id string) {
	key := lower(id)
	for _, r := range t.below(key) {
		t.dropOne(r.key)
	}
	t.dropOne(key)
}

func (t *tx) dropOne(k string) {
	old := t.records[k]
	if old == nil {
		return
	}
	t.rev++
	t.remove(k)
	t.undo = append(t.undo, func() { t.insert(old) })
	t.docKeys[k] = true
	t.changes = append(t.changes, Change{ID: old.ID, Type: old.Type, Deleted: true})
}

func (t *tx) putOp(op *operation) {
	old := t.ops[op.ID]
	t.insertOp(op)
	t.undo = append(t.undo, func() {
		t.removeOp(op.ID)
		if old != nil {
			t.insertOp(old)
		}
	})
	t.opKeys[op.ID] = true
}

func (t *tx) dropOp(id string) {
	old := t.ops[id]
	if old == nil {
		return
	}
	t.removeOp(id)
	t.undo = append(t.undo, func() { t.insertOp(old) })
	t.opKeys[id] = true
}

// underway is the operation in progress on a document, by its key; nil for none.
func (t *tx) underway(key string) *operation { return t.open[key] }

// operation is the one with an ID, nil if there is none or it is forgotten.
func (t *tx) operation(id string) *operation { return t.ops[lower(id)] }

// taken says whether another than the resource with a key has an address of a
// subnet.
func (t *tx) taken(subnet string, ip netip.Addr, except string) bool {
	return t.subnets[lower(subnet)].holds(ip, except)
}

// exists says whether an ID names a stored resource or a part of one.
func (t *tx) exists(id string) bool {
	if t.record(id) != nil {
		return true
	}
	_, p := t.part(id)
	return p != nil
}

// part finds a child that lives inside its parent's document.
func (t *tx) part(id string) (*doc, object) {
	r, err := parseID(id)
	if err != nil {
		return nil, nil
	}
	parent, ok := r.parent()
	if !ok {
		return nil, nil
	}
	d := t.find(parent.key())
	if d == nil {
		return nil, nil
	}
	return d, partOf(d.Body, r.Types[len(r.Types)-1], r.name())
}

func partOf(body object, field, name string) object {
	p := sub(body, "properties")
	for k := range p {
		if strings.EqualFold(k, field) {
			for _, e := range items(p, k) {
				if strings.EqualFold(str(e, "name"), name) {
					return e
				}
			}
		}
	}
	return nil
}
