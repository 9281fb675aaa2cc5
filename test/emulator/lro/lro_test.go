package lro

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

var (
	rounds = flag.Int("rounds", 2, "how many times to kill the local Azure; make e2e has 10")
	seed   = flag.Uint64("seed", 20348, "of the moments")
)

// operation is one long-running operation.
type operation struct {
	method, id, action, body string
	// token resumes the operation; it is "" if the operation was not acknowledged.
	token string
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirEnv); dir != "" {
		if err := serve(dir, os.Getenv(addressEnv)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestKilledAmidOperations(t *testing.T) {
	a := newAzure(t)
	a.start()
	random := rand.New(rand.NewPCG(*seed, 0))
	a.must(http.MethodPut, group, `{"location":"westeurope"}`)
	a.must(http.MethodPut, vnet, `{"location":"westeurope",`+
		`"properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/8"]},"subnets":[{"name":"s",`+
		`"properties":{"addressPrefix":"10.1.0.0/16"}}]}}`)
	for round := range *rounds {
		all := a.operations(round)
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		after := 1 + random.IntN(len(all))
		begun := a.begin(all, after)
		a.start()
		if begun < after {
			t.Fatalf("round %d: %d operations began, want %d before the end", round, begun, after)
		}
		a.settle(all)
		a.whole()
		t.Logf("round %d: killed when %d of %d operations had been acknowledged, of which %d were in the "+
			"client's hands", round, after, len(all), begun)
	}
}

// operations prepares and returns a hundred operations of all kinds.
func (a *azure) operations(round int) []*operation {
	var before, all []*operation
	name := func(kind string, i int) string { return fmt.Sprintf("%s-%d-%d", kind, round, i) }
	put := func(id, body string) *operation { return &operation{method: http.MethodPut, id: id, body: body} }
	for i := range 50 {
		before = append(before, put(nicID(name("vm", i)), nicBody()))
	}
	a.parallel(before)
	before = nil
	for i := range 50 {
		vm := put(vmID(name("vm", i)), vmBody(name("vm", i)))
		switch {
		case i < 20:
			all = append(all, vm)
		case i < 35:
			before = append(before, vm)
			all = append(all, &operation{method: http.MethodDelete, id: vm.id})
		default:
			before = append(before, vm)
			all = append(all, &operation{method: http.MethodPost, id: vm.id, action: "/deallocate"})
		}
	}
	for i := range 5 {
		g := subscription + "/resourceGroups/" + name("g", i)
		a.must(http.MethodPut, g, `{"location":"westeurope"}`)
		before = append(before, put(g+"/providers/Microsoft.Compute/disks/d", diskBody),
			put(g+"/providers/Microsoft.Network/publicIPAddresses/p", ipBody))
		all = append(all, &operation{method: http.MethodDelete, id: g})
	}
	a.parallel(before)
	for i := range 15 {
		all = append(all, put(group+"/providers/Microsoft.Compute/disks/"+name("disk", i), diskBody))
		all = append(all, put(group+"/providers/Microsoft.Network/virtualNetworks/"+name("v", i),
			`{"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},"subnets":[]}}`))
	}
	for i := range 10 {
		all = append(all, put(group+"/providers/Microsoft.Network/publicIPAddresses/"+name("ip", i), ipBody))
	}
	for i := range 5 {
		all = append(all, put(group+"/providers/Microsoft.Network/privateDnsZones/"+name("z", i)+".test", `{"location":"global"}`))
	}
	return all
}

// parallel runs operations concurrently until all have ended.
func (a *azure) parallel(all []*operation) {
	a.t.Helper()
	var wg sync.WaitGroup
	for _, op := range all {
		wg.Go(func() { a.must(op.method, op.id, op.body) })
	}
	wg.Wait()
	if a.t.Failed() {
		a.t.FailNow()
	}
}

// begin sends all operations concurrently and kills the server when kill of them have been
// acknowledged. It returns the number of acknowledgements that arrived.
func (a *azure) begin(all []*operation, kill int) (begun int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, op := range all {
		wg.Go(func() {
			poller, err := a.send(op)
			if err == nil && !poller.Done() {
				op.token, err = poller.ResumeToken()
			}
			mu.Lock()
			defer mu.Unlock()
			if refused, ok := errors.AsType[*azcore.ResponseError](err); ok {
				a.t.Errorf("%s %s was refused: %s", op.method, op.id, refused.ErrorCode)
			}
			if err == nil {
				if begun++; begun == kill {
					a.kill()
				}
			}
		})
	}
	wg.Wait()
	return begun
}

// settle resumes all acknowledged operations, waits for their ends and checks their results.
func (a *azure) settle(all []*operation) {
	var wg sync.WaitGroup
	for _, op := range all {
		wg.Go(func() {
			if op.token == "" {
				return // whole checks it with all other resources
			}
			poller, err := runtime.NewPollerFromResumeToken[document](op.token, a.pipeline, nil)
			if err == nil {
				_, err = poller.PollUntilDone(a.t.Context(), frequency)
			}
			if err != nil {
				a.t.Errorf("%s %s%s did not succeed: %v", op.method, op.id, op.action, err)
				return
			}
			status, body := a.get(op.id + a.expand(op))
			switch op.method {
			case http.MethodPut:
				if status != http.StatusOK || state(body) != "Succeeded" {
					a.t.Errorf("after PUT of %s: %d, %s", op.id, status, state(body))
				}
			case http.MethodDelete:
				if status != http.StatusNotFound {
					a.t.Errorf("after DELETE of %s: %d, %s", op.id, status, state(body))
				}
			default:
				if !strings.Contains(fmt.Sprint(body), "PowerState/deallocated") {
					a.t.Errorf("after deallocate, %s is not deallocated", op.id)
				}
			}
		})
	}
	wg.Wait()
}

// expand returns the suffix of the URL that returns the power state, for operations that change it.
func (a *azure) expand(op *operation) string {
	if op.method == http.MethodPost {
		return "/instanceView"
	}
	return ""
}

// whole checks that no resource is incomplete: every operation ends, and no resource refers to one
// that does not exist.
func (a *azure) whole() {
	ids := a.resources()
	there := map[string]bool{}
	for _, id := range ids {
		there[strings.ToLower(id)] = true
	}
	gone := map[string]bool{}
	for _, id := range ids {
		status, body := a.rest(id)
		switch {
		case status == http.StatusNotFound:
			gone[strings.ToLower(id)] = true
			continue // the deletion was completed
		case state(body) != "Succeeded":
			a.t.Errorf("%s is %s", id, state(body))
		}
		for _, ref := range references(body) {
			if owner := ownerOf(ref); !there[strings.ToLower(owner)] {
				a.t.Errorf("%s points at %s, which is not there", id, ref)
			}
		}
		if strings.Contains(id, "/disks/vm-") && !strings.Contains(fmt.Sprint(body), "managedBy") {
			a.t.Errorf("%s is left of a machine", id)
		}
	}
	for id := range gone {
		if status, _ := a.get(id); status != http.StatusNotFound {
			a.t.Errorf("%s was gone and is back: %d", id, status)
		}
	}
}
