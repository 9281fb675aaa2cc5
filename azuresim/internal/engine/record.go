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

// Record is a resource as stored: its summary in memory, its body as JSON, which is
// in the database where there is one. What a record says is never changed; a write
// files another one.
type Record struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	// Body and Hidden are those of the doc, encoded; nil once they lie in the
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

// Doc is a resource taken apart to be read or changed. One that came from the
// store is shared and never changed: edit gives a copy, put files it.
type Doc struct {
	ID, Type string
	// Body is what clients see, without what is computed on reading.
	Body value.Object
	// Hidden never leaves the emulator: secrets and its own state.
	Hidden           value.Object
	Rev              uint64
	ETag             string
	Created, Changed time.Time

	Parsed ID
	// from is the record that the doc was read from; nil for a new resource.
	from *Record
}

func (d *Doc) Key() string {
	if d.from != nil {
		return d.from.Key
	}
	return value.Lower(d.ID)
}

// MadeBy says whether a transaction makes the document, as that does whose answer to
// a PUT is put together.
func (d *Doc) MadeBy(t *Tx) bool { return t.docKeys[d.Key()] && d.Created.Equal(d.Changed) }

// WrittenBy says whether a transaction writes the document, as that does whose answer
// to a PUT or PATCH is put together.
func (d *Doc) WrittenBy(t *Tx) bool { return t.docKeys[d.Key()] }

func (d *Doc) Location() string { return Region(value.Str(d.Body, "location")) }
func (d *Doc) State() string    { return value.Str(d.Body, "properties", "provisioningState") }

// summary is what is read out of a document once, when it is filed, for scans over
// many resources: reading it from the JSON each time would make a write slower
// with each machine there is.
type summary struct {
	Location, State, power string
	// scoped resources hang on another one.
	scoped bool
	// refs are the IDs that the body points at, in lower case.
	Refs []string
	// configs are the IP configurations, of types that have addresses.
	Configs []ipConfig
	// uses is what the resource takes of the quota.
	uses []Use
}

// ipConfig is an IP configuration of a resource.
type ipConfig struct {
	Name string
	// subnet is in lower case, as are refs, all that the configuration points at.
	subnet  string
	Refs    []string
	Address netip.Addr
}

// rest encodes a document of a type; nil is a type that is not known.
func (d *Doc) rest(k *Type) (*Record, error) {
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

// wake decodes a record whose body and hidden state are given.
func (r *Record) wake(body, hidden []byte) (*Doc, error) {
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

// complete works out what a record just read from a file lacks.
func (r *Record) complete(types *registry) error {
	r.Key, r.Type = value.Lower(r.ID), unique.Make(r.Type).Value()
	d, err := r.wake(r.Body, r.Hidden)
	if err != nil {
		return err
	}
	r.summary, r.size, r.hidden = SummaryOf(types.TypeOf(r.Type), d), len(r.Body), len(r.Hidden)
	return nil
}

// compact takes out the blanks that a file may have.
func (r *Record) compact() (err error) {
	if r.Body, err = json.Marshal(r.Body); err == nil && r.Hidden != nil {
		r.Hidden, err = json.Marshal(r.Hidden)
	}
	return err
}

// Parsed is the record's ID taken apart.
func (r *Record) Parsed() ID {
	id, _ := ParseID(r.ID) // it was parsed when the record was filed
	return id
}

// plain is the record as clients see it where nothing is computed on reading.
func (st *store) plain(r *Record) (out json.RawMessage, err error) {
	err = st.rested(r, func(body, _ []byte) error { out = r.named(body); return nil })
	return out, err
}

// named is a body with the fields that come from the ID.
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
	for i := range g.uses {
		g.uses[i].Name = same(g.uses[i].Name)
	}
	return g
}

// configOf reads an IP configuration.
func configOf(c value.Object) ipConfig {
	config := ipConfig{Name: unique.Make(value.Str(c, "name")).Value(),
		subnet: value.Lower(value.Str(c, "properties", "subnet", "id")),
		Refs:   value.Referenced(value.Sub(c, "properties"))}
	if ip, err := netip.ParseAddr(value.Str(c, "properties", "privateIPAddress")); err == nil {
		config.Address = ip
	}
	return config
}

// recent keeps the documents that were read last, so that one that is read again
// is not decoded again. Each record has one place, which it shares with others.
type recent struct {
	seed  maphash.Seed
	slots [1024]atomic.Pointer[Doc]
}

func newRecent() *recent { return &recent{seed: maphash.MakeSeed()} }

// slot is the place of a record.
func (c *recent) slot(r *Record) *atomic.Pointer[Doc] {
	return &c.slots[maphash.String(c.seed, r.Key)%uint64(len(c.slots))]
}

// Doc decodes a record, or finds it decoded.
func (st *store) Doc(r *Record) *Doc {
	slot := st.recent.slot(r)
	if d := slot.Load(); d != nil && d.from == r {
		return d
	}
	var d *Doc
	err := st.rested(r, func(body, hidden []byte) (err error) { d, err = r.wake(body, hidden); return err })
	if err != nil {
		st.log.Error(err, "A resource could not be read", "resource", r.ID)
		d = &Doc{ID: r.ID, Type: r.Type, Body: value.Object{"properties": value.Object{}}, Hidden: value.Object{},
			Parsed: r.Parsed(), from: r}
	}
	slot.Store(d)
	return d
}

// rested calls use with the body and the hidden state of a record, which may be
// read until use returns.
func (st *store) rested(r *Record, use func(body, hidden []byte) error) error {
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

// after cuts n bytes out of an encoded record, behind a field's name. The name
// cannot occur before: quotes in the strings before it are escaped.
func after(v []byte, name string, n int) (value, rest []byte, ok bool) {
	i := bytes.Index(v, []byte(name))
	if i < 0 || len(v)-i-len(name) < n {
		return nil, nil, false
	}
	v = v[i+len(name):]
	return v[:n:n], v[n:], true
}
