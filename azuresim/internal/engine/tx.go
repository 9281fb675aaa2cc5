package engine

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/value"
)

// Tx is a transaction that reads or changes the store. Changes are made in memory immediately and
// are undone if the transaction fails; no other transaction sees them before its end.
type Tx struct {
	*store
	Server *Server
	Now    time.Time
	// Caller is the object ID of the principal that writes; "" means the local Azure
	// itself.
	Caller string
	// Version is the API version whose form View returns; "" means the newest.
	Version string
	// Local is true if the client uses the local Azure's own address, in contrast to one of Azure's
	// host names.
	Local   bool
	undo    []func()
	docKeys map[string]bool
	opKeys  map[string]bool
	changes []Change
	started []*Operation
	// ended are the operations whose background work is cancelled at the end of the transaction.
	ended []string
	// failed is the error of a document that could not be stored. It makes the transaction fail.
	failed error
}

// Read runs fn while the store is locked for reading.
func (s *Server) Read(fn func(*Tx)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	fn(&Tx{store: s.store, Server: s, Now: s.Clock.Now().UTC()})
}

// Update runs fn while the store is locked for writing. If fn fails, or the changes cannot
// be written to disk, the store stays unchanged. Afterwards subscribers get the changes,
// and operations that fn began start.
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

// revert undoes the transaction's changes.
func (t *Tx) revert() {
	for _, u := range slices.Backward(t.undo) {
		u()
	}
}

// Edit returns a copy of a document to change and Put; nil if the document does not exist.
func (t *Tx) Edit(id string) *Doc {
	d := t.Find(id)
	if d == nil {
		return nil
	}
	c := *d
	c.Body, c.Hidden = value.CloneObject(d.Body), value.CloneObject(d.Hidden)
	return &c
}

// Put stores a document as its resource's new state. The document must not be changed
// afterwards.
func (t *Tx) Put(d *Doc) {
	t.rev++
	d.Rev, d.Changed, d.ETag = t.rev, t.Now, uuid.NewString()
	if d.Created.IsZero() {
		d.Created = t.Now
	}
	value.Props(d.Body)
	for _, field := range []string{"id", "name", "type"} { // which the ID determines
		delete(d.Body, field)
	}
	r, err := d.encode(t.Server.Registry.TypeOf(d.Type))
	if err != nil {
		t.failed = cmp.Or(t.failed, err)
		return
	}
	t.file(r)
}

// file stores a record without changing its revision and times.
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

// Drop removes a document and all documents below it. It does nothing for an empty ID.
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

// Since reports whether the transaction's API version is the given one or newer.
func (t *Tx) Since(version string) bool { return t.Version == "" || t.Version >= version }

// Retired reports whether the day is past since which Azure refuses something. day has the form
// 2006-01-02; "" means never.
func Retired(now time.Time, day string) bool {
	return day != "" && now.UTC().Format(time.DateOnly) >= day
}

// Underway returns the operation in progress on a document, by the document's key, or nil.
func (t *Tx) Underway(key string) *Operation { return t.open[key] }

// operation returns the operation with an ID; nil if it does not exist or is no longer
// kept.
func (t *Tx) operation(id string) *Operation { return t.ops[value.Lower(id)] }

// Taken reports whether a resource other than the one with the key except has an address of
// a subnet.
func (t *Tx) Taken(subnet string, ip netip.Addr, except string) bool {
	return t.subnets[value.Lower(subnet)].holds(ip, except)
}

// Exists reports whether a resource or a part with an ID is stored.
func (t *Tx) Exists(id string) bool {
	if t.Record(id) != nil {
		return true
	}
	_, p := t.Part(id)
	return p != nil
}

// Part returns a child that is a part of its parent's document, with the parent.
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
