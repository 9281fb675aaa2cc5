package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
)

// TestOverview reads unchanged resources every ten minutes until one of them changes.
func TestOverview(t *testing.T) {
	const all = "GET loadBalancers, GET publicIPAddresses, GET resources"
	for _, test := range []struct {
		name   string
		happen func(*azure)
		// calls are the calls of the pass after the change, after are those of the next pass.
		calls, after string
	}{
		{"nothing", func(*azure) {}, "GET resources", "GET resources"},
		{"somebody changes one", func(a *azure) { a.touch(nets + "publicIPAddresses/a") },
			"GET publicIPAddresses, GET resources", "GET resources"},
		{"somebody deletes one", func(a *azure) { a.drop(nets + "publicIPAddresses/b") },
			"GET publicIPAddresses, GET resources, PUT b", "GET publicIPAddresses, GET resources"},
		{
			"an overview without times confirms nothing",
			func(a *azure) { clear(a.changed) },
			all, all,
		},
		{
			"a refused overview is not asked for again within the hour",
			func(a *azure) {
				a.refuse["GET resources"] = []answer{refusal(403, "AuthorizationFailed", "no right to list resources")}
			},
			all, "GET loadBalancers, GET publicIPAddresses",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				a := newAzure()
				p := newPlanner(t, a)
				in := Input{Owner: owner, Resources: []desired.Resource{
					managed(nets+"publicIPAddresses/a", nil), managed(nets+"publicIPAddresses/b", nil),
					managed(nets+"loadBalancers/lb", nil, nets+"publicIPAddresses/a"),
				}}
				observe := func() string {
					later(10 * time.Minute)
					if out := p.Apply(t.Context(), in); out.State != Done {
						t.Fatalf("%+v", out)
					}
					return a.took()
				}
				p.Apply(t.Context(), in)
				a.took()
				expect(t, "the first look reads all", observe(), all)
				expect(t, "nothing changes", observe(), "GET resources")
				test.happen(a)
				expect(t, "after it", observe(), test.calls)
				expect(t, "and then", observe(), test.after)
			})
		})
	}
}

// TestOverviewOfNewGroup: resources that casement created in a new group are read only after a change by
// another program, at any interval of passes.
func TestOverviewOfNewGroup(t *testing.T) {
	for _, pause := range []time.Duration{90 * time.Second, 4 * time.Minute, 10 * time.Minute} {
		t.Run(pause.String(), func(t *testing.T) { overviewOfNewGroup(t, pause) })
	}
}

func overviewOfNewGroup(t *testing.T, pause time.Duration) {
	for _, test := range []struct {
		name   string
		happen func(*azure)
		calls  string
	}{
		{"nothing", func(*azure) {}, "GET resources"},
		{"somebody changes one", func(a *azure) { later(time.Second); a.touch(nets + "publicIPAddresses/a") },
			"GET publicIPAddresses, GET resources"},
		{"somebody adds one", func(a *azure) {
			a.keep(arm.Key(nets+"publicIPAddresses/c"), map[string]any{"id": nets + "publicIPAddresses/c"})
		}, "GET publicIPAddresses, GET resources"},
		{"somebody deletes one", func(a *azure) { a.drop(nets + "publicIPAddresses/a") }, "GET publicIPAddresses, GET resources, PUT a"},
		{"the group cannot be listed", func(a *azure) {
			a.refuse["GET resources"] = []answer{refusal(403, "AuthorizationFailed", "no right to list resources")}
		}, "GET g, GET loadBalancers, GET publicIPAddresses, GET resources"},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				a := newAzure()
				p := newPlanner(t, a)
				in := Input{Owner: owner, Resources: []desired.Resource{
					managed(group, nil), managed(nets+"publicIPAddresses/a", nil, group), managed(nets+"loadBalancers/lb", nil, group),
				}}
				p.Apply(t.Context(), in)
				a.took()
				test.happen(a)
				later(pause)
				if out := p.Apply(t.Context(), in); out.State != Done {
					t.Fatalf("%+v", out)
				}
				expect(t, "the first look", a.took(), test.calls)
			})
		})
	}
}

// TestOverviewServesEvents: passes that events trigger share an overview for five minutes, unless casement
// has written something meanwhile.
func TestOverviewServesEvents(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		p := newPlanner(t, a)
		in := Input{Owner: owner, Resources: []desired.Resource{
			managed(group, nil), managed(nets+"publicIPAddresses/a", nil, group), managed(nets+"loadBalancers/lb", nil, group),
		}}
		observe := func(after time.Duration) string {
			later(after)
			if out := p.Apply(t.Context(), in); out.State != Done {
				t.Fatalf("%+v", out)
			}
			return a.took()
		}
		observe(0)
		expect(t, "the first look", observe(10*time.Minute), "GET resources")
		expect(t, "an event", observe(90*time.Second), "")
		expect(t, "another", observe(2*time.Minute), "")
		expect(t, "one after five minutes", observe(2*time.Minute), "GET resources")
		a.touch(nets + "publicIPAddresses/a")
		expect(t, "a change of another is not seen at once", observe(2*time.Minute), "")
		expect(t, "but soon", observe(4*time.Minute), "GET publicIPAddresses, GET resources")
		in.Resources = append(in.Resources, managed(nets+"publicIPAddresses/b", nil, group))
		if calls := observe(2 * time.Minute); !strings.Contains(calls, "PUT b") {
			t.Errorf("casement does not write: %s", calls)
		}
		if calls := observe(2 * time.Minute); !strings.Contains(calls, "GET resources") || strings.Contains(calls, "PUT") {
			t.Errorf("its own change is confirmed by an overview from before it: %s", calls)
		}
		expect(t, "all rests again", observe(10*time.Minute), "GET resources")
	})
}

// TestOverviewReadsListsInTurn: unchanged lists that are due to be read again are not all read in one pass.
func TestOverviewReadsListsInTurn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		p := newPlanner(t, a)
		in := Input{Owner: owner, Resources: []desired.Resource{
			managed(group, nil), managed(nets+"publicIPAddresses/a", nil,
				group), managed(nets+"loadBalancers/lb", nil, group), managed(nets+"natGateways/n", nil, group),
		}}
		p.Apply(t.Context(), in)
		a.took()
		read := map[string]int{}
		for range 24 * 6 {
			later(10 * time.Minute)
			p.Apply(t.Context(), in)
			calls := strings.Split(a.took(), ", ")
			if len(calls) > 2 && !slices.Contains(calls, "GET g") || len(calls) > 3 {
				t.Errorf("one look made %v", calls)
			}
			for _, call := range calls {
				read[call]++
			}
		}
		for _, list := range []string{"GET publicIPAddresses", "GET loadBalancers", "GET natGateways", "GET g"} {
			if read[list] < 3 || read[list] > 4 {
				t.Errorf("%s %d times in a day, want one each %v", list, read[list], trusted)
			}
		}
	})
}

// TestOverviewIsNotTrustedForLong: the lists are read again from time to time.
func TestOverviewIsNotTrustedForLong(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		p := newPlanner(t, a)
		in := Input{Owner: owner, Resources: []desired.Resource{managed(nets+"publicIPAddresses/a", nil)}}
		lists := 0
		for range 24 * 6 {
			p.Apply(t.Context(), in)
			if calls := a.took(); calls == "GET publicIPAddresses, GET resources" {
				lists++
			}
			later(10 * time.Minute)
		}
		if lists != 4 {
			t.Errorf("%d lists in a day, want one each %v", lists, trusted)
		}
	})
}

// TestOverviewReadsNoChildren: an overview has no entries for child resources.
func TestOverviewReadsNoChildren(t *testing.T) {
	for id, want := range map[string]bool{
		nets + "virtualNetworks": true, vms[:len(vms)-1]: true,
		nets + "privateDnsZones/z/A": false, group: false, "/subscriptions/s/resourceGroups": false,
	} {
		if got := inOverview(id); got != want {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
	if complete(map[string]mark{"/a": {"t", "Updating"}}, map[string]json.RawMessage{"/a": nil}) {
		t.Error("what is being changed counts as settled")
	}
}

// touch is a write by another program that changes no field that casement reads.
func (a *azure) touch(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed[arm.Key(id)] = time.Now().Format(time.RFC3339Nano)
}

// drop is a deletion by another program.
func (a *azure) drop(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.docs, arm.Key(id))
}
