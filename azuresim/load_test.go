package azuresim

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"casement.dev/casement/azuresim/internal/engine"
)

var lives = flag.Int("lives", 2, "how many times TestLoad starts the local Azure on the same state; make e2e-az has 12")

// TestLoad runs many clients at the same time, some of which send invalid requests, and
// closes the local Azure during their operations; it is for the race detector. Clients
// share groups, so that their requests conflict.
func TestLoad(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), Latency: 0.001, Host: quickGuests{}}
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

// client sends valid requests, some of them randomly changed, and reads.
func (a *azure) client(random *rand.Rand, number int) {
	group := fmt.Sprintf("/resourceGroups/%c", 'g'+rune(number%3))
	for range 3 {
		for _, s := range samples() {
			path, body := strings.Replace(s.path, "/resourceGroups/g", group, 1),
				strings.ReplaceAll(s.body, "/resourceGroups/g/", group+"/")
			switch random.IntN(6) {
			case 0:
				path = twist(random, path)
			case 1: // a resource that no other client uses
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

// settle waits until no operation is in progress.
func (a *azure) settle() {
	a.t.Helper()
	for {
		var open []string
		a.Read(func(t *engine.Tx) {
			for _, op := range t.OpenOperations() {
				open = append(open, op.ID)
			}
		})
		if len(open) == 0 {
			return
		}
		for _, id := range open {
			if e := a.AwaitEnd(a.t.Context(), id); e != nil {
				a.t.Fatal(e)
			}
		}
	}
}

// consistent compares the store's indexes with the documents.
func (a *azure) consistent() {
	a.t.Helper()
	for _, problem := range a.Verify() {
		a.t.Error(problem)
	}
}

// whole checks that no resource is incomplete when no operation is in progress.
func (a *azure) whole() {
	a.t.Helper()
	a.Read(func(t *engine.Tx) {
		for r := range engine.Ascend(t.Order, "") {
			if r.State != "" && r.State != engine.StatusSucceeded && r.State != engine.StatusFailed && r.State != engine.StatusCanceled {
				a.t.Errorf("%s is %s though nothing is under way", r.ID, r.State)
			}
			for _, id := range r.Refs {
				if strings.Contains(id, "/providers/microsoft.network/") && !t.Exists(id) &&
					r.Type == "Microsoft.Network/networkInterfaces" {
					a.t.Errorf("%s points at %s, which is not there", r.ID, id)
				}
			}
		}
	})
}
