package arm

import (
	"iter"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/utils/third_party/forked/golang/btree"
)

// index finds records: by key, in the order of their keys, by type, by what they
// point at, by address, and what they take of the quota. No question costs more
// with each resource that it is not about.
type index struct {
	records map[string]*record
	order   *ordered
	types   map[string]*ordered
	// targets are the IDs that records point at, resources or parts of one.
	targets map[string]*target
	subnets map[string]*addresses
	used    map[quotaPlace]map[string]int
}

func newIndex() index {
	return index{records: map[string]*record{}, order: newOrdered(), types: map[string]*ordered{},
		targets: map[string]*target{}, subnets: map[string]*addresses{}, used: map[quotaPlace]map[string]int{}}
}

// ordered holds records by key.
type ordered = btree.BTree[*record]

func newOrdered() *ordered {
	return btree.New(32, func(a, b *record) bool { return a.key < b.key })
}

// ascend goes over the records below a scope ("" for all), by key.
func ascend(o *ordered, scope string) iter.Seq[*record] {
	return func(yield func(*record) bool) {
		switch {
		case o == nil:
		case scope == "":
			o.Ascend(yield)
		default:
			o.AscendRange(&record{key: scope + "/"}, &record{key: scope + "0"}, yield) // '0' follows '/'
		}
	}
}

// target is what records point at.
type target struct {
	id    string
	users []*record
}

// quotaPlace is where uses are counted.
type quotaPlace struct{ subscription, location string }

// insert files a record in the place of the one with its key.
func (x *index) insert(r *record) {
	x.remove(r.key)
	x.records[r.key] = r
	x.order.ReplaceOrInsert(r)
	typ := lower(r.Type)
	if x.types[typ] == nil {
		x.types[typ] = newOrdered()
	}
	x.types[typ].ReplaceOrInsert(r)
	for i, id := range r.refs {
		t := x.targets[id]
		if t == nil {
			t = &target{id: id}
			x.targets[id] = t
		}
		r.refs[i] = t.id // one string for all that point there
		t.users = append(t.users, r)
	}
	for i := range r.configs {
		x.take(r, &r.configs[i])
	}
	x.count(r, 1)
}

func (x *index) remove(key string) {
	r := x.records[key]
	if r == nil {
		return
	}
	delete(x.records, key)
	x.order.Delete(r)
	x.types[lower(r.Type)].Delete(r)
	for _, id := range r.refs {
		t := x.targets[id]
		if i := slices.Index(t.users, r); i >= 0 {
			last := len(t.users) - 1
			t.users[i], t.users[last] = t.users[last], nil
			t.users = t.users[:last]
		}
		if len(t.users) == 0 {
			delete(x.targets, id)
		}
	}
	for _, c := range r.configs {
		if a := x.subnets[c.subnet]; a != nil && a.release(r, c.address) {
			delete(x.subnets, c.subnet)
		}
	}
	x.count(r, -1)
}

// take files an address, and lets the configuration share the strings of what it
// points at.
func (x *index) take(r *record, c *ipConfig) {
	for i, id := range c.refs {
		if t := x.targets[id]; t != nil {
			c.refs[i] = t.id
		}
	}
	if c.subnet == "" || !c.address.IsValid() {
		return
	}
	if t := x.targets[c.subnet]; t != nil {
		c.subnet = t.id
	}
	a := x.subnets[c.subnet]
	if a == nil {
		a = &addresses{owner: map[netip.Addr]*record{}, low: map[netip.Prefix]netip.Addr{}}
		x.subnets[c.subnet] = a
	}
	a.owner[c.address] = r
}

// count adds what a resource takes of the quota n times.
func (x *index) count(r *record, n int) {
	if len(r.uses) == 0 {
		return
	}
	_, rest, _ := strings.Cut(r.key, "/subscriptions/")
	subscription, _, _ := strings.Cut(rest, "/")
	p := quotaPlace{subscription, r.location}
	if x.used[p] == nil {
		x.used[p] = map[string]int{}
	}
	for _, u := range r.uses {
		x.used[p][u.Name] += n * u.N
	}
}

// addresses are those of a subnet that are in use.
type addresses struct {
	owner map[netip.Addr]*record
	// low is, for each prefix asked, an address below which none is free.
	low map[netip.Prefix]netip.Addr
}

// holds says whether another than the resource with a key has an address.
func (a *addresses) holds(ip netip.Addr, except string) bool {
	if a == nil {
		return false
	}
	r := a.owner[ip]
	return r != nil && r.key != except
}

// release gives back an address; it says whether that was the last one.
func (a *addresses) release(r *record, ip netip.Addr) bool {
	if a.owner[ip] == r {
		delete(a.owner, ip)
	}
	for prefix, low := range a.low {
		if prefix.Contains(ip) && ip.Less(low) {
			a.low[prefix] = ip
		}
	}
	return len(a.owner) == 0
}

// first is the lowest address of a prefix that may be given: the first four and
// the last are Azure's own.
func (a *addresses) first(prefix netip.Prefix) netip.Addr {
	ip := prefix.Masked().Addr()
	for range 4 {
		ip = ip.Next()
	}
	return ip
}

// free is the lowest address of a prefix that neither a resource has nor given
// holds. It remembers how far it looked, hence wants the store held for writing.
func (a *addresses) free(prefix netip.Prefix, given map[netip.Addr]bool) (netip.Addr, bool) {
	ip := a.first(prefix)
	if a != nil && a.low[prefix].IsValid() {
		ip = a.low[prefix]
	}
	all := true
	for ; prefix.Contains(ip) && prefix.Contains(ip.Next()); ip = ip.Next() {
		if a.holds(ip, "") {
			continue
		}
		if a != nil && all {
			a.low[prefix], all = ip, false
		}
		if !given[ip] {
			return ip, true
		}
	}
	return netip.Addr{}, false
}

// record is the record of an ID, nil if there is none.
func (t *tx) record(id string) *record { return t.records[lower(id)] }

// find is the document of an ID, nil if there is none. It is shared: edit gives
// one to change.
func (t *tx) find(id string) *doc {
	if r := t.record(id); r != nil {
		return t.doc(r)
	}
	return nil
}

// below lists the records whose ID begins with key, by key.
func (t *tx) below(key string) []*record { return slices.Collect(ascend(t.order, key)) }

// scan goes over the records of a type below a scope ("" for everywhere), by ID.
func (t *tx) scan(typ, scope string) iter.Seq[*record] {
	return ascend(t.types[lower(typ)], lower(scope))
}

// all lists the documents of a type below a scope ("" for everywhere), by ID.
func (t *tx) all(typ, scope string) []*doc {
	var out []*doc
	for r := range t.scan(typ, scope) {
		out = append(out, t.doc(r))
	}
	return out
}

// users lists the records of one type that point at an ID, by ID. An empty type
// stands for all.
func (t *tx) users(id, typ string) []*record {
	to := t.targets[lower(id)]
	if to == nil {
		return nil
	}
	var out []*record
	for _, r := range to.users {
		if typ == "" || strings.EqualFold(r.Type, typ) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *record) int { return strings.Compare(a.key, b.key) })
	return out
}

// sources are the documents of users.
func (t *tx) sources(id, typ string) []*doc {
	var out []*doc
	for _, r := range t.users(id, typ) {
		out = append(out, t.doc(r))
	}
	return out
}

// usersAs lists the records that point at an ID and declare that they are
// something for it, by type and ID.
func (t *tx) usersAs(id, as string) []*record {
	out := t.users(id, "")
	order := func(r *record) int { return t.s.registry.typeOf(r.Type).order }
	out = slices.DeleteFunc(out, func(r *record) bool { return !t.s.registry.typeOf(r.Type).is(as) })
	slices.SortStableFunc(out, func(a, b *record) int { return order(a) - order(b) })
	return out
}

// usersBelow says which resource points at a part of a resource, or at what is
// below it, and declares that it is something for it; nil for none.
func (t *tx) usersBelow(id, as string) *record {
	below := lower(id) + "/"
	for _, p := range t.s.registry.providers {
		for i := range p.Types {
			if !p.Types[i].is(as) {
				continue
			}
			for r := range t.scan(p.Types[i].Name, "") {
				if slices.ContainsFunc(r.refs, func(ref string) bool { return strings.HasPrefix(ref, below) }) {
					return r
				}
			}
		}
	}
	return nil
}

// usedOf is how much of one thing a subscription has in a location.
func (t *tx) usedOf(subscription, location string) map[string]int {
	return t.index.used[quotaPlace{lower(subscription), location}]
}

// free is the lowest free address of a family in a subnet, "" if there is none.
// given are addresses that are no longer free though no record says so.
func (t *tx) free(subnet string, v6 bool, given map[netip.Addr]bool) string {
	_, s := t.part(subnet)
	for _, prefix := range prefixes(sub(s, "properties")) {
		if prefix.Addr().Is6() != v6 {
			continue
		}
		if ip, ok := t.subnets[lower(subnet)].free(prefix, given); ok {
			return ip.String()
		}
	}
	return ""
}
