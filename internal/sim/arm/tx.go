package arm

import (
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
	err := s.try(t, fn)
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

func (t *tx) find(id string) *doc { return t.docs[lower(id)] }

// edit returns a copy of a document to be changed and put; nil if there is none.
func (t *tx) edit(id string) *doc {
	d := t.find(id)
	if d == nil {
		return nil
	}
	c := *d
	c.Body, c.Hidden, c.refs = cloneObject(d.Body), cloneObject(d.Hidden), nil
	return &c
}

func (t *tx) put(d *doc) {
	k := d.key()
	old := t.docs[k]
	t.rev++
	d.Rev, d.Changed = t.rev, t.now
	d.ETag = t.s.guid()
	if old == nil && d.Created.IsZero() {
		d.Created = t.now
	}
	t.insert(d)
	t.undo = append(t.undo, func() {
		t.remove(k)
		if old != nil {
			t.insert(old)
		}
	})
	t.docKeys[k] = true
	t.changes = append(t.changes, Change{ID: d.ID, Type: d.Type})
}

// file puts a document as it is, its revision and times included.
func (t *tx) file(d *doc) {
	k := d.key()
	old := t.docs[k]
	t.rev = max(t.rev, d.Rev)
	t.insert(d)
	t.undo = append(t.undo, func() {
		t.remove(k)
		if old != nil {
			t.insert(old)
		}
	})
	t.docKeys[k] = true
	t.changes = append(t.changes, Change{ID: d.ID, Type: d.Type})
}

// drop removes a document and everything below it.
func (t *tx) drop(id string) {
	key := lower(id)
	for _, k := range t.below(key) {
		t.dropOne(k)
	}
	t.dropOne(key)
}

// below lists the keys of the documents whose ID begins with key, sorted.
func (t *tx) below(key string) []string {
	var out []string
	for k := range t.docs {
		if strings.HasPrefix(k, key+"/") {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

func (t *tx) dropOne(k string) {
	old := t.docs[k]
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

// all lists the documents of a type below a scope ("" for everywhere), by ID.
func (t *tx) all(typ, scope string) []*doc {
	scope = lower(scope)
	var out []*doc
	for k, d := range t.byType[lower(typ)] {
		if scope == "" || strings.HasPrefix(k, scope+"/") {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b *doc) int { return strings.Compare(a.key(), b.key()) })
	return out
}

// sources lists the documents of one type that point at an ID, by ID. An empty
// type stands for all.
func (t *tx) sources(target, typ string) []*doc {
	var out []*doc
	for k := range t.refs[lower(target)] {
		if d := t.docs[k]; d != nil && (typ == "" || strings.EqualFold(d.Type, typ)) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b *doc) int { return strings.Compare(a.key(), b.key()) })
	return out
}

// exists says whether an ID names a stored resource or a part of one.
func (t *tx) exists(id string) bool {
	if t.find(id) != nil {
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
	d := t.docs[parent.key()]
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
