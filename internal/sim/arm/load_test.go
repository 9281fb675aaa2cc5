package arm

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

var lives = flag.Int("lives", 2, "how many times TestLoad starts the local Azure on the same state; make e2e-az has 12")

// TestLoad has many clients at once, some of which bend their requests, and ends
// the local Azure amid the operations they began; it is for the race detector.
// Clients share groups, so that they meet.
func TestLoad(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), Latency: 0.001, Machines: quickGuests{}}
	for life := range *lives {
		a := start(t, cfg)
		a.consistent()
		var clients sync.WaitGroup
		for client := range 12 {
			clients.Go(func() { a.client(rand.New(rand.NewPCG(uint64(client), uint64(life))), client) })
		}
		clients.Wait()
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	a := start(t, cfg)
	defer a.Close()
	a.settle()
	a.consistent()
	a.whole()
}

// client sends what works, some of it bent, and reads what there is.
func (a *azure) client(random *rand.Rand, number int) {
	group := fmt.Sprintf("/resourceGroups/%c", 'g'+rune(number%3))
	for range 3 {
		for _, s := range samples() {
			path, body := strings.Replace(s.path, "/resourceGroups/g", group, 1), strings.ReplaceAll(s.body, "/resourceGroups/g/", group+"/")
			switch random.IntN(6) {
			case 0:
				path = twist(random, path)
			case 1: // one that no other client has
				own := fmt.Sprintf("/own%d-%d", number, random.IntN(4))
				path += own[:min(len(own), 1+random.IntN(len(own)))]
			}
			if _, problem := a.ask(s.method, path+"?api-version=2024-01-01", "", "", body); problem != "" {
				a.t.Errorf("%s %s: %s", s.method, path, problem)
			}
		}
		if err := a.Snapshot(io.Discard); err != nil {
			a.t.Error(err)
		}
		a.Inventory()
		a.CallLog()
	}
}

// settle waits until nothing is under way.
func (a *azure) settle() {
	a.t.Helper()
	for {
		var open []string
		a.read(func(t *tx) {
			for _, op := range t.open {
				open = append(open, op.ID)
			}
		})
		if len(open) == 0 {
			return
		}
		for _, id := range open {
			if e := a.awaitEnd(a.t.Context(), id); e != nil {
				a.t.Fatal(e)
			}
		}
	}
}

// consistent checks what the store keeps beside the documents against them.
func (a *azure) consistent() {
	a.t.Helper()
	a.read(func(t *tx) {
		again, held, given := newIndex(), 0, 0
		for r := range ascend(t.order, "") {
			d := t.doc(r)
			fresh, err := d.rest(t.s.registry.typeOf(d.Type))
			if err != nil {
				a.t.Fatal(err)
			}
			if got, want := r.gist, fresh.gist; !reflect.DeepEqual(got, want) {
				a.t.Errorf("%s: the gist is %+v, of the document %+v", r.ID, got, want)
			}
			again.insert(fresh)
			for _, c := range r.configs {
				if c.subnet != "" && c.address.IsValid() {
					given++
				}
			}
			if t.types[lower(r.Type)].Has(r) != true || t.records[r.key] != r {
				a.t.Errorf("%s is not found by its type or key", r.ID)
			}
		}
		if got, want := len(t.records), len(again.records); got != want {
			a.t.Errorf("%d records by key, %d in order", got, want)
		}
		if got, want := usersOf(&t.index), usersOf(&again); !maps.EqualFunc(got, want, slices.Equal) {
			a.t.Errorf("what points where:\n%v\nby the documents:\n%v", got, want)
		}
		if got, want := nonzero(t.used), nonzero(again.used); !reflect.DeepEqual(got, want) {
			a.t.Errorf("quota in use %v, by the documents %v", got, want)
		}
		for subnet, addrs := range t.subnets {
			held += len(addrs.owner)
			for prefix, low := range addrs.low {
				for ip := addrs.first(prefix); ip.Less(low); ip = ip.Next() {
					if addrs.owner[ip] == nil {
						a.t.Errorf("%s of %s is free but looked for from %s", ip, subnet, low)
					}
				}
			}
		}
		if held != given {
			a.t.Errorf("%d addresses in use, %d IP configurations have one", held, given)
		}
	})
}

func usersOf(x *index) map[string][]string {
	out := map[string][]string{}
	for id, t := range x.targets {
		for _, r := range t.users {
			out[id] = append(out[id], r.key)
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

// whole checks that nothing is left half-made when nothing is under way.
func (a *azure) whole() {
	a.t.Helper()
	a.read(func(t *tx) {
		for r := range ascend(t.order, "") {
			if r.state != "" && r.state != statusSucceeded && r.state != statusFailed && r.state != statusCanceled {
				a.t.Errorf("%s is %s though nothing is under way", r.ID, r.state)
			}
			for _, id := range r.refs {
				if strings.Contains(id, "/providers/microsoft.network/") && !t.exists(id) && r.Type == typeNIC {
					a.t.Errorf("%s points at %s, which is not there", r.ID, id)
				}
			}
		}
	})
}
