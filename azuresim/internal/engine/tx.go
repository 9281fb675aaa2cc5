package engine

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/value"
)

// Tx is one look at the store, or one change of it. Changes are made in memory
// at once and undone if the transaction fails; no other transaction sees them meanwhile.
type Tx struct {
	*store
	Server *Server
	Now    time.Time
	// Caller is the object ID of who asks for a write; "" is the local Azure itself.
	Caller string
	// Version is the API version that views are for, "" for the newest.
	Version string
	// Local: views are for a client that asks the local Azure by its own address, and
	// not by one of Azure's names.
	Local   bool
	undo    []func()
	docKeys map[string]bool
	opKeys  map[string]bool
	changes []Change
	started []*Operation
	// ended are the operations whose driving ends with the transaction.
	ended []string
	// failed is why a document could not be filed; it undoes the transaction.
	failed error
}

// Read runs fn with the store held for reading.
func (s *Server) Read(fn func(*Tx)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	fn(&Tx{store: s.store, Server: s, Now: s.Clock.Now().UTC()})
}

// Update runs fn with the store held for writing. If fn fails, or the change
// cannot be written to disk, nothing has happened. After it, subscribers hear
// of the changes and the operations begun are driven.
func (s *Server) Update(fn func(*Tx) error) error {
	s.mu.Lock()
	t := &Tx{store: s.store, Server: s, Now: s.Clock.Now().UTC(), docKeys: map[string]bool{}, opKeys: map[string]bool{}}
	err := cmp.Or(s.try(t, fn), t.failed)
	if err == nil && len(t.docKeys)+len(t.opKeys) > 0 {
		if err = s.store.save(t.docKeys, t.opKeys); err != nil {
			s.Log.Error(err, "The state could not be written")
			err = Refuse(500, "InternalServerError", "The state of the local Azure could not be written.")
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
func (t *Tx) revert() {
	for _, u := range slices.Backward(t.undo) {
		u()
	}
}

// Edit returns a copy of a document to be changed and put; nil if there is none.
func (t *Tx) Edit(id string) *Doc {
	d := t.Find(id)
	if d == nil {
		return nil
	}
	c := *d
	c.Body, c.Hidden = value.CloneObject(d.Body), value.CloneObject(d.Hidden)
	return &c
}

// Put files a document as its resource's new state. It is not to be changed
// after that.
func (t *Tx) Put(d *Doc) {
	t.rev++
	d.Rev, d.Changed, d.ETag = t.rev, t.Now, t.Server.GUID()
	if d.Created.IsZero() {
		d.Created = t.Now
	}
	value.Props(d.Body)
	for _, field := range []string{"id", "name", "type"} { // which are the ID's
		delete(d.Body, field)
	}
	r, err := d.rest(t.Server.Registry.TypeOf(d.Type))
	if err != nil {
		t.failed = cmp.Or(t.failed, err)
		return
	}
	t.file(r)
}

// file puts a record as it is, its revision and times included.
func (t *Tx) file(r *Record) {
	old := t.records[r.Key]
	t.rev = max(t.rev, r.Rev)
	t.insert(r)
	t.undo = append(t.undo, func() {
		t.remove(r.Key)
		if old != nil {
			t.insert(old)
		}
	})
	t.docKeys[r.Key] = true
	t.changes = append(t.changes, Change{ID: r.ID, Type: r.Type})
}

// Drop removes a document and everything below it; nothing for an empty ID, below which
// everything is.
func (t *Tx) Drop(id string) {
	key := value.Lower(id)
	if key == "" {
		return
	}
	for _, r := range t.Below(key) {
		t.DropOne(r.Key)
	}
	t.DropOne(key)
}

func (t *Tx) DropOne(k string) {
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

func (t *Tx) putOp(op *Operation) {
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

func (t *Tx) dropOp(id string) {
	old := t.ops[id]
	if old == nil {
		return
	}
	t.removeOp(id)
	t.undo = append(t.undo, func() { t.insertOp(old) })
	t.opKeys[id] = true
}

// Since says whether what is looked at is of an API version or a newer one.
func (t *Tx) Since(version string) bool { return t.Version == "" || t.Version >= version }

// Underway is the operation in progress on a document, by its key; nil for none.
func (t *Tx) Underway(key string) *Operation { return t.open[key] }

// operation is the one with an ID, nil if there is none or it is forgotten.
func (t *Tx) operation(id string) *Operation { return t.ops[value.Lower(id)] }

// Taken says whether another than the resource with a key has an address of a
// subnet.
func (t *Tx) Taken(subnet string, ip netip.Addr, except string) bool {
	return t.subnets[value.Lower(subnet)].holds(ip, except)
}

// Exists says whether an ID names a stored resource or a part of one.
func (t *Tx) Exists(id string) bool {
	if t.Record(id) != nil {
		return true
	}
	_, p := t.Part(id)
	return p != nil
}

// Part finds a child that lives inside its parent's document.
func (t *Tx) Part(id string) (*Doc, value.Object) {
	r, err := ParseID(id)
	if err != nil {
		return nil, nil
	}
	parent, ok := r.Parent()
	if !ok {
		return nil, nil
	}
	d := t.Find(parent.Key())
	if d == nil {
		return nil, nil
	}
	return d, PartOf(d.Body, r.Types[len(r.Types)-1], r.Name())
}

func PartOf(body value.Object, field, name string) value.Object {
	p := value.Sub(body, "properties")
	for k := range p {
		if strings.EqualFold(k, field) {
			for _, e := range value.Items(p, k) {
				if strings.EqualFold(value.Str(e, "name"), name) {
					return e
				}
			}
		}
	}
	return nil
}
