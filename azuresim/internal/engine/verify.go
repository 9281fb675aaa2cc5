package engine

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"casement.dev/casement/azuresim/internal/value"
)

// Verify compares the indexes of the store with its documents and returns the differences.
// It is for tests.
func (s *Server) Verify() (problems []string) {
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	s.Read(func(t *Tx) {
		again, taken, given := newIndex(), 0, 0
		for r := range Ascend(t.Order, "") {
			d := t.Doc(r)
			fresh, err := d.encode(t.Server.Registry.TypeOf(d.Type))
			if err != nil {
				wrong("%v", err)
				continue
			}
			if got, want := r.summary, fresh.summary; !reflect.DeepEqual(got, want) {
				wrong("%s: the summary is %+v, of the document %+v", r.ID, got, want)
			}
			again.insert(fresh)
			for _, c := range r.Configs {
				if c.subnet != "" && c.Address.IsValid() {
					given++
				}
			}
			if !t.types[value.Lower(r.Type)].Has(r) || t.records[r.Key] != r {
				wrong("%s is not found by its type or key", r.ID)
			}
		}
		if got, want := len(t.records), len(again.records); got != want {
			wrong("%d records by key, %d in order", got, want)
		}
		if got, want := usersOf(&t.index), usersOf(&again); !maps.EqualFunc(got, want, slices.Equal) {
			wrong("what points where:\n%v\nby the documents:\n%v", got, want)
		}
		if got, want := nonzero(t.used), nonzero(again.used); !reflect.DeepEqual(got, want) {
			wrong("quota in use %v, by the documents %v", got, want)
		}
		for subnet, addrs := range t.subnets {
			taken += len(addrs.owner)
			for prefix, low := range addrs.low {
				for ip := addrs.first(prefix); ip.Less(low); ip = ip.Next() {
					if addrs.owner[ip] == nil {
						wrong("%s of %s is free but looked for from %s", ip, subnet, low)
					}
				}
			}
		}
		if taken != given {
			wrong("%d addresses in use, %d IP configurations have one", taken, given)
		}
	})
	return problems
}

func usersOf(x *index) map[string][]string {
	out := map[string][]string{}
	for id, t := range x.targets {
		for _, r := range t.users {
			out[id] = append(out[id], r.Key)
		}
		slices.Sort(out[id])
	}
	return out
}

func nonzero(used map[quotaPlace]map[string]int) map[quotaPlace]map[string]int {
	out := map[quotaPlace]map[string]int{}
	for p, counts := range used {
		for name, n := range counts {
			if n != 0 {
				if out[p] == nil {
					out[p] = map[string]int{}
				}
				out[p][name] = n
			}
		}
	}
	return out
}
