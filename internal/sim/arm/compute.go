package arm

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"time"
)

// Types of the compute provider, and those of others that machines point at.
const (
	typeVM   = "Microsoft.Compute/virtualMachines"
	typeExt  = "Microsoft.Compute/virtualMachines/extensions"
	typeDisk = "Microsoft.Compute/disks"
	typeSet  = "Microsoft.Compute/availabilitySets"

	foreignNIC      = "Microsoft.Network/networkInterfaces"
	foreignSubnet   = "Microsoft.Network/virtualNetworks/subnets"
	foreignNSG      = "Microsoft.Network/networkSecurityGroups"
	foreignBalancer = "Microsoft.Network/loadBalancers"
)

const computeSpace = "Microsoft.Compute"

// compute is what the provider keeps for a server.
type compute struct {
	host  Machines
	begun launches
	// passwords are those that VMAccess is to set, by the extension's key, until it
	// has: they are in no store. A restart in between loses them.
	passwords sync.Map
	blobKey   [32]byte // signs addresses of storage
}

func computeOf(s *Server) *compute { return stateOf[*compute](s, computeSpace) }

// hostOf runs the machines of a server; nil if nothing does.
func hostOf(s *Server) Machines { return computeOf(s).host }

// computeProvider is Microsoft.Compute. host runs the machines; without one each
// succeeds and never boots.
func computeProvider(host Machines) Provider {
	state := &compute{host: host}
	_, _ = rand.Read(state.blobKey[:]) // never fails (crypto/rand)
	return Provider{
		Namespace: computeSpace,
		Versions:  []string{"2025-04-01", "2024-11-01", "2024-07-01", "2024-03-01", "2023-09-01", "2022-11-01", "2022-08-01", "2021-07-01", "2020-06-01", "2019-12-01"},
		State:     state,
		Types:     append(append(machineTypes(), scaleSetTypes()...), galleryTypes()...),
		Routes: []Route{
			{Method: http.MethodGet, Path: "skus", Serve: listSKUs},
			{Method: http.MethodGet, Path: "locations/usages", Serve: listUsages},
			{Method: http.MethodGet, Path: "locations/vmsizes", Serve: listSizes},
			{Method: http.MethodGet, Path: "locations/runcommands", Serve: serveRunCommands},
			{Method: http.MethodGet, Path: "locations/communitygalleries/*", Serve: serveCommunityGallery},
			{Method: http.MethodGet, Path: "locations/communitygalleries", Serve: serveCommunityGallery},
			{Method: http.MethodGet, Path: "locations/publishers/*", Serve: serveMarketplace},
			{Method: http.MethodGet, Path: "locations/publishers", Serve: serveMarketplace},
		},
		CheckName: checkComputeName,
		Budget:    computeBudget,
		Front:     serveBlob,
		Start:     startMachines,
		Clear:     clearMachines,
	}
}

// machineTypes are the rows of single machines and of what belongs to them.
func machineTypes() []Type {
	disks := []Reference{{Path: "storageProfile.osDisk.managedDisk", To: typeDisk, As: asVirtualMachine}, {Path: "storageProfile.dataDisks.managedDisk", To: typeDisk, As: asVirtualMachine}}
	return []Type{
		{Name: typeVM, Style: styleCompute, Takes: 30 * time.Second, Supersedes: true, Prepare: prepareVM, Rests: restsVM, View: viewVM, Filter: filterMembers, Uses: usesOfVM, Power: powerOf,
			Put: Work{Name: "vm.create", Run: runCreateVM}, Update: Work{Name: "vm.update"}, Delete: vmDelete(),
			Refs: append(disks, Reference{Path: "networkProfile.networkInterfaces", To: foreignNIC, As: asVirtualMachine}, Reference{Path: "availabilitySet", To: typeSet, As: asVirtualMachine}),
			Actions: []Action{
				{Name: "start", Takes: 30 * time.Second, Begin: beginStart("start"), Work: Work{Name: "vm.start", Run: runStartVM, Finish: finishPower("running")}},
				{Name: "restart", Takes: 30 * time.Second, Begin: beginStart("restart"), Work: Work{Name: "vm.restart", Run: runRestartVM, Finish: finishPower("running")}},
				{Name: "poweroff", Takes: 20 * time.Second, Begin: beginAction, Work: Work{Name: "vm.stop", Run: runStopVM, Finish: finishPower("stopped")}},
				{Name: "deallocate", Takes: 40 * time.Second, Begin: beginAction, Work: vmDeallocate()},
				{Name: "redeploy", Takes: 60 * time.Second, Begin: beginAction, Work: Work{Name: "vm.redeploy", Run: runRestartVM, Finish: finishPower("running")}},
				{Name: "reapply", Takes: 10 * time.Second, Begin: beginAction, Work: Work{Name: "vm.touch"}},
				{Name: "runcommand", Takes: 10 * time.Second, Begin: beginScript, Work: Work{Name: "vm.run", Run: runScript, Finish: finishNothing}},
				{Name: "generalize", Serve: generalize},
				{Name: "simulateeviction", Serve: simulateEviction},
				{Name: "retrievebootdiagnosticsdata", Serve: serveBootDiagnostics},
				{Name: "instanceview", Method: http.MethodGet, Serve: getInstanceView},
				{Name: "vmsizes", Method: http.MethodGet, Serve: func(c *call, _ resourceID) *Error { return listSizes(c) }},
			}},
		{Name: typeExt, Style: styleCompute, Takes: 10 * time.Second, Put: extensionPut(), Update: extensionPut(), Prepare: prepareExtension},
		{Name: typeDisk, Style: styleCompute, Takes: 3 * time.Second, Created: http.StatusAccepted, Prepare: prepareDisk, Guard: guardDisk, View: viewDisk},
		{Name: typeSet, Sync: true, Created: http.StatusOK, Guard: guardSet, View: viewSet},
	}
}

// vmDelete ends a machine; an eviction does too.
func vmDelete() Work { return Work{Name: "vm.delete", Run: runDeleteVM, Finish: finishDeleteVM} }

// vmDeallocate takes a machine's host away; an eviction does too.
func vmDeallocate() Work {
	return Work{Name: "vm.deallocate", Run: runStopVM, Finish: finishPower("deallocated")}
}

func extensionPut() Work { return Work{Name: "ext.put", Run: runExtension} }

// computeName is the rule for names.
// Source: https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules.
var computeName = regexp.MustCompile(`^[\p{L}\p{N}]([\p{L}\p{N}_.-]{0,78}[\p{L}\p{N}_])?$`)

// checkComputeName refuses a name. Scale sets and galleries have rules of their own.
func checkComputeName(id resourceID) *Error {
	of := lower(id.Types[0])
	if len(id.Types) == 1 && of != "virtualmachinescalesets" && of != "galleries" && !computeName.MatchString(id.name()) {
		return errName("name")
	}
	return nil
}

// errName is Compute's refusal of a name.
func errName(entity string) *Error {
	return invalid(entity, "The entity name '%s' is invalid according to its validation rule: ^[^_\\W][\\w-._]{0,79}(?<![-.])$.", entity)
}

// invalid is Compute's answer to a value it does not take; target is the
// property's path.
func invalid(target, format string, args ...any) *Error {
	e := badRequest("InvalidParameter", format, args...)
	e.Target = target
	return e
}

// startMachines starts the machines that ran.
func startMachines(s *Server) {
	h := hostOf(s)
	if h == nil {
		return
	}
	var vms []VM
	s.read(func(t *tx) { vms = t.poweredOn() })
	for _, vm := range vms {
		h.Start(vm)
	}
}

// clearMachines ends the guests of the state that goes.
func clearMachines(t *tx) func() error {
	s, guests := t.s, t.poweredOn()
	return func() error {
		computeOf(s).begun.clear()
		if h := hostOf(s); h != nil {
			for _, vm := range guests {
				if err := h.Delete(s.ctx, vm.ID); err != nil {
					return fmt.Errorf("end the guest of %s: %w", vm.ID, err)
				}
			}
		}
		return nil
	}
}
