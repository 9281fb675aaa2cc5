package integration

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/testing/emulator"
)

// azure is the local Azure, with helpers for tests.
type azure struct {
	*emulator.Azure
	// client is the test's own client of Azure.
	client *arm.Client
	// started contains the IDs of the machines that have started a guest.
	started *sync.Map
	booted  *booted
}

func newAzure(dir string) (*azure, error) {
	a := &azure{started: &sync.Map{}, booted: &booted{dir: filepath.Join(dir, "guests"), consoles: map[string]*console{}}}
	var err error
	if a.Azure, err = emulator.Start(azuresim.Config{
		Dir: dir, Subscriptions: subscriptions(), TenantID: tenant, Host: guests{a.started, a.booted},
	}); err != nil {
		return nil, err
	}
	a.client, err = a.Client(tenant, subscription)
	return a, err
}

// mark returns the current position in the log of calls.
func (a *azure) mark() uint64 {
	if recent := a.CallLog().Recent; len(recent) > 0 {
		return recent[len(recent)-1].Number
	}
	return 0
}

// poll is the prefix that method all gives to calls that poll an operation.
const poll = "POLL"

// since returns the requests about resources after a mark, without the polls of operations.
func (a *azure) since(mark uint64) []string {
	return slices.DeleteFunc(a.all(mark), func(call string) bool { return strings.HasPrefix(call, poll) })
}

// all returns the requests about resources after a mark, including the polls of operations.
func (a *azure) all(mark uint64) []string {
	var calls []string
	for _, c := range a.CallsAfter(mark) {
		if c.Type == "operations" {
			c.Method = poll
		}
		if strings.HasPrefix(c.Path, "/subscriptions/") {
			calls = append(calls, c.Method+" "+c.Path)
		}
	}
	return calls
}

// writes counts the writes to a resource group after a mark, by verb and type. Reads of a console
// are not counted although they are POSTs: casement makes one for a machine that has no node after
// a minute, which happens if the test runs slowly.
func (a *azure) writes(mark uint64, group string) map[string]int {
	counts := map[string]int{}
	for _, call := range a.since(mark) {
		verb, path, _ := strings.Cut(call, " ")
		if verb == "GET" || strings.HasSuffix(path, "/retrieveBootDiagnosticsData") ||
			!strings.Contains(strings.ToLower(path)+"/", "/resourcegroups/"+group+"/") {
			continue
		}
		parts := strings.Split(path, "/")
		kind := parts[len(parts)-2]
		if verb == "POST" { // an action on a resource
			kind = parts[len(parts)-3] + "/" + parts[len(parts)-1]
		}
		counts[verb+" "+kind]++
	}
	return counts
}

// left returns the IDs of the resources in a group.
func (a *azure) left(group string) []string {
	var ids []string
	for _, id := range a.Resources() {
		if strings.Contains(strings.ToLower(id)+"/", "/resourcegroups/"+group+"/") {
			ids = append(ids, id)
		}
	}
	return ids
}

// brokenVM is the name prefix of machines whose guests never boot, and of scale sets whose instance
// number 1 never boots.
const brokenVM = "broken-"

// guests boots every VM immediately, except those with the prefix brokenVM.
type guests struct {
	started *sync.Map
	booted  *booted
}

func (guests) View(id string) host.View {
	set, instance := strings.Contains(strings.ToLower(id), "/virtualmachinescalesets/"+brokenVM), id[strings.LastIndex(id, "/")+1:]
	if strings.HasPrefix(instance, brokenVM) || set && instance == "1" {
		return host.View{Provisioned: host.ProvisioningFailed, Message: "the guest reported that its custom data cannot be read"}
	}
	return host.View{Provisioned: host.ProvisioningReady, AgentReady: true}
}

func (g guests) Start(vm host.VM) {
	g.started.Store(vm.ID, vm)
	if strings.HasPrefix(vm.Name, bootedVM) {
		g.booted.boot(vm)
	}
}

func (guests) Stop(string)                          {}
func (guests) Delete(context.Context, string) error { return nil }
func (g guests) Console(id string) []byte           { return g.booted.console(id) }

func (guests) Run(context.Context, string, string) (code int, stdout, stderr string, err error) {
	return 0, "", "", nil
}
