package engine

import (
	"iter"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/utils/third_party/forked/golang/btree"

	"casement.dev/casement/azuresim/internal/value"
)

// index finds records by key, in the order of their keys, by type, by the resources that they refer
// to and by IP address, and sums up their quota usage. The time of a lookup depends only on the
// size of its answer.
type index struct {
	records map[string]*Record
	Order   *ordered
	types   map[string]*ordered
	// targets has the IDs of resources and parts that records refer to.
	targets map[string]*target
	subnets map[string]*addresses
	used    map[quotaPlace]map[string]int
}

func newIndex() index {
	return index{records: map[string]*Record{}, Order: newOrdered(), types: map[string]*ordered{},
		targets: map[string]*target{}, subnets: map[string]*addresses{}, used: map[quotaPlace]map[string]int{}}
}

// ordered has records in the order of their keys.
type ordered = btree.BTree[*Record]

func newOrdered() *ordered {
	return btree.New(32, func(a, b *Record) bool { return a.Key < b.Key })
}

// Ascend iterates over the records whose keys begin with scope ("" for all), in the order of their
// keys.
func Ascend(o *ordered, scope string) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		switch {
		case o == nil:
		case scope == "":
			o.Ascend(yield)
		default:
			o.AscendRange(&Record{Key: scope + "/"}, &Record{Key: scope + "0"}, yield) // '0' follows '/'
		}
	}
}

// target is a resource or part that records refer to.
type target struct {
	id    string
	users []*Record
}

// quotaPlace is a subscription and a location, the place where Azure counts the use of quotas.
type quotaPlace struct{ subscription, location string }

// insert adds a record and removes the record that had its key before.
func (x *index) insert(r *Record) {
	x.remove(r.Key)
	x.records[r.Key] = r
	x.Order.ReplaceOrInsert(r)
	typ := value.Lower(r.Type)
	if x.types[typ] == nil {
		x.types[typ] = newOrdered()
	}
	x.types[typ].ReplaceOrInsert(r)
	for i, id := range r.Refs {
		t := x.targets[id]
		if t == nil {
			t = &target{id: id}
			x.targets[id] = t
		}
		r.Refs[i] = t.id // one string is shared by all references to the target
		t.users = append(t.users, r)
	}
	for i := range r.Configs {
		x.take(r, &r.Configs[i])
	}
	x.count(r, 1)
}

func (x *index) remove(key string) {
	r := x.records[key]
	if r == nil {
		return
	}
	delete(x.records, key)
	x.Order.Delete(r)
	x.types[value.Lower(r.Type)].Delete(r)
	for _, id := range r.Refs {
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
	for _, c := range r.Configs {
		if a := x.subnets[c.subnet]; a != nil && a.release(r, c.Address) {
			delete(x.subnets, c.subnet)
		}
	}
	x.count(r, -1)
}

// take marks an address as used by a record. The configuration's strings are replaced by equal
// ones of the index, which saves memory.
func (x *index) take(r *Record, c *ipConfig) {
	for i, id := range c.Refs {
		if t := x.targets[id]; t != nil {
			c.Refs[i] = t.id
		}
	}
	if c.subnet == "" || !c.Address.IsValid() {
		return
	}
	if t := x.targets[c.subnet]; t != nil {
		c.subnet = t.id
	}
	a := x.subnets[c.subnet]
	if a == nil {
		a = &addresses{owner: map[netip.Addr]*Record{}, low: map[netip.Prefix]netip.Addr{}}
		x.subnets[c.subnet] = a
	}
	a.owner[c.Address] = r
}

// count adds n times the quota usage of a resource to the sums.
func (x *index) count(r *Record, n int) {
	if len(r.uses) == 0 {
		return
	}
	_, rest, _ := strings.Cut(r.Key, "/subscriptions/")
	subscription, _, _ := strings.Cut(rest, "/")
	p := quotaPlace{subscription, r.Location}
	if x.used[p] == nil {
		x.used[p] = map[string]int{}
	}
	for _, u := range r.uses {
		x.used[p][u.Name] += n * u.N
	}
}

// addresses are the IP addresses of a subnet that are in use.
type addresses struct {
	owner map[netip.Addr]*Record
	// low has for each prefix an address below which no address is free.
	low map[netip.Prefix]netip.Addr
}

// holds reports whether an address is in use by another resource than the one with the key except.
func (a *addresses) holds(ip netip.Addr, except string) bool {
	if a == nil {
		return false
	}
	r := a.owner[ip]
	return r != nil && r.Key != except
}

// release removes a record's address and reports whether the subnet has no address in use any
// more.
func (a *addresses) release(r *Record, ip netip.Addr) bool {
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

// first returns the lowest address of a prefix that a resource can have: Azure keeps the first four
// addresses and the last one for itself.
func (a *addresses) first(prefix netip.Prefix) netip.Addr {
	ip := prefix.Masked().Addr()
	for range 4 {
		ip = ip.Next()
	}
	return ip
}

// free returns the lowest address of a prefix that is neither in use nor in given. It remembers the
// end of its search, so the caller must have locked the store for writing.
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

// Record returns the record with an ID, or nil.
func (t *Tx) Record(id string) *Record { return t.records[value.Lower(id)] }

// Find returns the document with an ID, or nil. The document is shared and must not be changed;
// Edit returns a copy for changes.
func (t *Tx) Find(id string) *Doc {
	if r := t.Record(id); r != nil {
		return t.Doc(r)
	}
	return nil
}

// Below returns the records whose keys begin with key, in the order of their keys.
func (t *Tx) Below(key string) []*Record { return slices.Collect(Ascend(t.Order, key)) }

// Scan iterates over the records of a type below a scope ("" for all), in the order of their IDs.
func (t *Tx) Scan(typ, scope string) iter.Seq[*Record] {
	return Ascend(t.types[value.Lower(typ)], value.Lower(scope))
}

// All returns the documents of a type below a scope ("" for all), in the order of their IDs.
func (t *Tx) All(typ, scope string) []*Doc {
	var out []*Doc
	for r := range t.Scan(typ, scope) {
		out = append(out, t.Doc(r))
	}
	return out
}

// Users returns the records of a type that refer to an ID, in the order of their IDs. An empty
// type means any type.
func (t *Tx) Users(id, typ string) []*Record {
	to := t.targets[value.Lower(id)]
	if to == nil {
		return nil
	}
	var out []*Record
	for _, r := range to.users {
		if typ == "" || strings.EqualFold(r.Type, typ) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *Record) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// Sources returns the documents of the records that Users returns.
func (t *Tx) Sources(id, typ string) []*Doc {
	var out []*Doc
	for _, r := range t.Users(id, typ) {
		out = append(out, t.Doc(r))
	}
	return out
}

// UsersAs returns the records that refer to an ID by a reference declared with the role as,
// ordered by type and ID.
func (t *Tx) UsersAs(id, as string) []*Record {
	out := t.Users(id, "")
	order := func(r *Record) int { return t.Server.Registry.TypeOf(r.Type).order }
	out = slices.DeleteFunc(out, func(r *Record) bool { return !t.Server.Registry.TypeOf(r.Type).Is(as) })
	slices.SortStableFunc(out, func(a, b *Record) int { return order(a) - order(b) })
	return out
}

// UsersBelow returns a record that refers to a part of a resource, or to anything below that part,
// by a reference declared with the role as; nil if there is none.
func (t *Tx) UsersBelow(id, as string) *Record {
	below := value.Lower(id) + "/"
	for _, p := range t.Server.Registry.providers {
		for i := range p.Types {
			if !p.Types[i].Is(as) {
				continue
			}
			for r := range t.Scan(p.Types[i].Name, "") {
				if slices.ContainsFunc(r.Refs, func(ref string) bool { return strings.HasPrefix(ref, below) }) {
					return r
				}
			}
		}
	}
	return nil
}

// UsedOf returns the usage of each quota by a subscription in a location.
func (t *Tx) UsedOf(subscription, location string) map[string]int {
	return t.index.used[quotaPlace{value.Lower(subscription), location}]
}

// FreeAddress returns the lowest free IP address of a family in a subnet, or "" if none is free.
// Addresses in given count as used although no record has them yet.
func (t *Tx) FreeAddress(subnet string, v6 bool, given map[netip.Addr]bool) string {
	_, s := t.Part(subnet)
	for _, prefix := range Prefixes(value.Sub(s, "properties")) {
		if prefix.Addr().Is6() != v6 {
			continue
		}
		if ip, ok := t.subnets[value.Lower(subnet)].free(prefix, given); ok {
			return ip.String()
		}
	}
	return ""
}
