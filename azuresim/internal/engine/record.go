package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/netip"
	"sync/atomic"
	"time"
	"unique"

	"go.etcd.io/bbolt"

	"casement.dev/casement/azuresim/internal/value"
)

// Record is a stored resource: its summary is in memory, its body as JSON is in the database if
// there is one. A record is never changed; a write replaces it by another record.
type Record struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	// Body and Hidden are the encoded fields of the Doc; nil after they are written to the
	// database.
	Body    json.RawMessage `json:"body"`
	Hidden  json.RawMessage `json:"hidden,omitempty"`
	Rev     uint64          `json:"rev"`
	ETag    string          `json:"etag"`
	Created time.Time       `json:"created"`
	Changed time.Time       `json:"changed"`

	Key string
	// size and hidden are the lengths of Body and Hidden.
	size, hidden int
	summary      `json:"-"`
}

// Doc is a decoded resource. A Doc from the store is shared and must not be changed: Edit
// returns a copy, Put stores it.
type Doc struct {
	ID, Type string
	// Body has the fields that clients see, without those that are computed at the time of
	// reading.
	Body value.Object
	// Hidden has secrets and the emulator's own state; clients never see it.
	Hidden           value.Object
	Rev              uint64
	ETag             string
	Created, Changed time.Time

	Parsed ID
	// Version is the API version of the write in progress; it is not stored.
	Version string
	// from is the record that the Doc was decoded from; nil for a new resource.
	from *Record
}

func (d *Doc) Key() string {
	if d.from != nil {
		return d.from.Key
	}
	return value.Lower(d.ID)
}

// MadeBy reports whether the transaction creates the document. That is the case in the transaction
// that prepares the answer to the creating PUT.
func (d *Doc) MadeBy(t *Tx) bool { return t.docKeys[d.Key()] && d.Created.Equal(d.Changed) }

// WrittenBy reports whether the transaction writes the document. That is the case in the
// transaction that prepares the answer to a PUT or PATCH.
func (d *Doc) WrittenBy(t *Tx) bool { return t.docKeys[d.Key()] }

func (d *Doc) Location() string { return Region(value.Str(d.Body, "location")) }
func (d *Doc) State() string    { return value.Str(d.Body, "properties", "provisioningState") }

// summary contains the fields of a document that lookups over many resources need. They are read
// once, when the document is stored: reading them from JSON at each lookup would make a write
// slower with each resource.
type summary struct {
	Location, State, power string
	// scoped is true for extension resources, which belong to another resource.
	scoped bool
	// Refs are the IDs that the body refers to, in lower case.
	Refs []string
	// Configs are the IP configurations of a type that has addresses.
	Configs []ipConfig
	// uses is the quota usage of the resource.
	uses []Use
	// principal is the identity that the resource represents, or nil.
	principal *Principal
}

// ipConfig is one IP configuration of a resource.
type ipConfig struct {
	Name string
	// subnet and refs are in lower case; refs are all IDs that the configuration refers to.
	subnet  string
	Refs    []string
	Address netip.Addr
}

// encode returns the record of a document; k is nil for a type that the server does not
// know.
func (d *Doc) encode(k *Type) (*Record, error) {
	r := &Record{ID: d.ID, Type: d.Type, Rev: d.Rev, ETag: d.ETag, Created: d.Created, Changed: d.Changed, Key: d.Key()}
	var err error
	if r.Body, err = json.Marshal(d.Body); err != nil {
		return nil, fmt.Errorf("encode the resource %s: %w", d.ID, err)
	}
	if len(d.Hidden) > 0 {
		if r.Hidden, err = json.Marshal(d.Hidden); err != nil {
			return nil, fmt.Errorf("encode the hidden state of the resource %s: %w", d.ID, err)
		}
	}
	r.summary, r.size, r.hidden = SummaryOf(k, d), len(r.Body), len(r.Hidden)
	return r, nil
}

// decode returns the document of a record whose body and hidden state are given.
func (r *Record) decode(body, hidden []byte) (*Doc, error) {
	id, err := ParseID(r.ID)
	if err != nil {
		return nil, err
	}
	d := &Doc{ID: r.ID, Type: r.Type, Rev: r.Rev, ETag: r.ETag, Created: r.Created, Changed: r.Changed,
		Hidden: value.Object{}, Parsed: id, from: r}
	if err := json.Unmarshal(body, &d.Body); err != nil {
		return nil, fmt.Errorf("decode the resource %s: %w", r.ID, err)
	}
	if len(hidden) > 0 {
		if err := json.Unmarshal(hidden, &d.Hidden); err != nil {
			return nil, fmt.Errorf("decode the hidden state of the resource %s: %w", r.ID, err)
		}
	}
	if d.Body == nil || d.Hidden == nil {
		return nil, fmt.Errorf("decode the resource %s: its body or hidden state is null", r.ID)
	}
	return d, nil
}

// complete computes the fields of a record that was just read from a file.
func (r *Record) complete(types *registry) error {
	r.Key, r.Type = value.Lower(r.ID), unique.Make(r.Type).Value()
	d, err := r.decode(r.Body, r.Hidden)
	if err != nil {
		return err
	}
	r.summary, r.size, r.hidden = SummaryOf(types.TypeOf(r.Type), d), len(r.Body), len(r.Hidden)
	return nil
}

// compact removes whitespace between JSON tokens, which a file may have.
func (r *Record) compact() (err error) {
	if r.Body, err = json.Marshal(r.Body); err == nil && r.Hidden != nil {
		r.Hidden, err = json.Marshal(r.Hidden)
	}
	return err
}

// Parsed returns the record's parsed ID.
func (r *Record) Parsed() ID {
	id, _ := ParseID(r.ID) // the ID was parsed when the record was stored
	return id
}

// plain returns the body that clients see if the answer contains no fields that are computed at the
// time of reading.
func (st *store) plain(r *Record) (out json.RawMessage, err error) {
	err = st.encoded(r, func(body, _ []byte) error { out = r.named(body); return nil })
	return out, err
}

// named returns a body with the fields that follow from the ID (id, name, type).
func (r *Record) named(body []byte) json.RawMessage {
	head, _ := json.Marshal(struct { // strings always encode
		ID   string `json:"id"`
		Name string `json:"name"`
		Type string `json:"type"`
	}{r.ID, r.Parsed().Name(), r.Type})
	if len(body) <= len("{}") {
		return head
	}
	out := make([]byte, 0, len(head)+len(body)-1)
	out = append(append(out, head[:len(head)-1]...), ',')
	return append(out, body[1:]...)
}

func SummaryOf(k *Type, d *Doc) summary {
	same := func(s string) string { return unique.Make(s).Value() }
	g := summary{Location: same(d.Location()), State: same(d.State()), scoped: d.Parsed.Scope != nil}
	if k == nil {
		k = &Type{}
	}
	if k.Power != nil {
		g.power = same(k.Power(d))
	}
	if !k.Opaque && !k.Kept {
		g.Refs = value.Referenced(d.Body)
	}
	for _, field := range k.Addresses {
		for _, c := range value.Items(d.Body, "properties", field) {
			g.Configs = append(g.Configs, configOf(c))
		}
	}
	if k.Uses != nil {
		g.uses = k.Uses(d)
	}
	if k.Principal != nil {
		g.principal = new(k.Principal(d))
	}
	for i := range g.uses {
		g.uses[i].Name = same(g.uses[i].Name)
	}
	return g
}

// configOf parses an IP configuration.
func configOf(c value.Object) ipConfig {
	config := ipConfig{Name: unique.Make(value.Str(c, "name")).Value(),
		subnet: value.Lower(value.Str(c, "properties", "subnet", "id")),
		Refs:   value.Referenced(value.Sub(c, "properties"))}
	if ip, err := netip.ParseAddr(value.Str(c, "properties", "privateIPAddress")); err == nil {
		config.Address = ip
	}
	return config
}

// recent caches decoded documents. It has a fixed number of slots; a record's slot follows from its
// key, and several records can share a slot.
type recent struct {
	seed  maphash.Seed
	slots [1024]atomic.Pointer[Doc]
}

func newRecent() *recent { return &recent{seed: maphash.MakeSeed()} }

// slot returns the slot of a record.
func (c *recent) slot(r *Record) *atomic.Pointer[Doc] {
	return &c.slots[maphash.String(c.seed, r.Key)%uint64(len(c.slots))]
}

// Doc returns a record's document, from the cache or decoded.
func (st *store) Doc(r *Record) *Doc {
	slot := st.recent.slot(r)
	if d := slot.Load(); d != nil && d.from == r {
		return d
	}
	var d *Doc
	err := st.encoded(r, func(body, hidden []byte) (err error) { d, err = r.decode(body, hidden); return err })
	if err != nil {
		st.log.Error(err, "A resource could not be read", "resource", r.ID)
		d = &Doc{ID: r.ID, Type: r.Type, Body: value.Object{"properties": value.Object{}}, Hidden: value.Object{},
			Parsed: r.Parsed(), from: r}
	}
	slot.Store(d)
	return d
}

// encoded calls use with the encoded body and hidden state of a record, which are valid
// until use returns.
func (st *store) encoded(r *Record, use func(body, hidden []byte) error) error {
	if r.Body != nil {
		return use(r.Body, r.Hidden)
	}
	return st.db.View(func(b *bbolt.Tx) error {
		v := b.Bucket([]byte(bucketDocs)).Get([]byte(r.Key))
		body, rest, ok := after(v, `,"body":`, r.size)
		if !ok {
			return fmt.Errorf("the database has another resource than %s of revision %d", r.ID, r.Rev)
		}
		var hidden []byte
		if r.hidden > 0 {
			if hidden, _, ok = after(rest, `,"hidden":`, r.hidden); !ok {
				return fmt.Errorf("the database has not the hidden state of %s", r.ID)
			}
		}
		return use(body, hidden)
	})
}

// after returns the n bytes after a field's name in an encoded record. The name cannot
// occur earlier, because quotes in the strings before it are escaped.
func after(v []byte, name string, n int) (value, rest []byte, ok bool) {
	i := bytes.Index(v, []byte(name))
	if i < 0 || len(v)-i-len(name) < n {
		return nil, nil, false
	}
	v = v[i+len(name):]
	return v[:n:n], v[n:], true
}
