// Package compute is the resource provider Microsoft.Compute of the local Azure: machines, disks,
// scale sets, images and galleries. A Host runs the machines. It imports no other provider; only
// package azuresim imports it.
package compute

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// Resource types of the compute provider, and types of other providers that machines refer
// to.
const (
	typeVM  = "Microsoft.Compute/virtualMachines"
	typeExt = "Microsoft.Compute/virtualMachines/extensions"
	typeRun = "Microsoft.Compute/virtualMachines/runCommands"

	typeHostGroup = "Microsoft.Compute/hostGroups"

	foreignNIC      = "Microsoft.Network/networkInterfaces"
	foreignSubnet   = "Microsoft.Network/virtualNetworks/subnets"
	foreignNSG      = "Microsoft.Network/networkSecurityGroups"
	foreignBalancer = "Microsoft.Network/loadBalancers"
	foreignSecurity = "Microsoft.Network/applicationSecurityGroups"
	foreignPrefix   = "Microsoft.Network/publicIPPrefixes"
)

const computeSpace = "Microsoft.Compute"

// state is the provider's own state in one server.
type state struct {
	host  host.Host
	begun launches
	// passwords contains the passwords that VMAccess extensions are about to set, by the
	// extension's key. They are not stored: a restart loses them.
	passwords sync.Map
	// gone contains the times of deletion, by key, of resources for which the service itself
	// answers 404 for a time (see goneFor).
	gone    sync.Map
	blobKey [32]byte // signs the URLs of boot diagnostics
}

func computeOf(s *engine.Server) *state { return engine.StateOf[*state](s, computeSpace) }

// hostOf returns the Host that runs a server's machines, or nil.
func hostOf(s *engine.Server) host.Host { return computeOf(s).host }

// New returns the provider Microsoft.Compute. host runs the machines; with a nil host, the
// creation of each machine succeeds and nothing boots.
func New(host host.Host) engine.Provider {
	state := &state{host: host}
	_, _ = rand.Read(state.blobKey[:]) // never fails (crypto/rand)
	return engine.Provider{
		Namespace: computeSpace,
		State:     state,
		Types:     slices.Concat(machineTypes(), diskTypes(), scaleSetTypes(), galleryTypes(), reservationTypes(), keptTypes()),
		Routes: []engine.Route{
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
		NotFound:  state.notFound,
		Budget:    computeBudget,
		Front:     serveBlob,
		Start:     startMachines,
		Clear:     clearMachines,
	}
}

// machineTypes returns the resource types of single machines and of the resources that belong to
// machines.
func machineTypes() []engine.Type {
	disks := []engine.Reference{
		{Path: "storageProfile.osDisk.managedDisk", To: typeDisk, As: engine.AsVirtualMachine},
		{Path: "storageProfile.dataDisks.managedDisk", To: typeDisk, As: engine.AsVirtualMachine},
	}
	return []engine.Type{
		{Name: typeVM, Style: engine.StyleCompute, ETag: engine.EtagCount, Takes: 30 * time.Second, Supersedes: true, Prepare: prepareVM,
			Rests: restsVM, View: viewVM, Filter: filterMembers, Uses: usesOfVM, Power: powerOf,
			Put: engine.Work{Name: "vm.create", Run: runCreateVM}, Update: engine.Work{Name: "vm.update", Silent: true}, Delete: vmDelete(),
			Refs: slices.Concat(disks, modelRefs(""), []engine.Reference{
				{Path: "networkProfile.networkInterfaces", To: foreignNIC, As: engine.AsVirtualMachine},
				{Path: "availabilitySet", To: typeSet, As: engine.AsVirtualMachine},
				{Path: "proximityPlacementGroup", To: typeProximityGroup}, {Path: "host", To: typeHostGroup + "/hosts"},
				{Path: "hostGroup", To: typeHostGroup},
			}),
			Actions: []engine.Action{
				{Name: "start", Takes: 30 * time.Second, Begin: beginStart("start"),
					Work: engine.Work{Name: "vm.start", Run: runStartVM, Finish: finishPower("running")}},
				{Name: "restart", Takes: 30 * time.Second, Begin: beginStart("restart"),
					Work: engine.Work{Name: "vm.restart", Run: runRestartVM, Finish: finishPower("running")}},
				{Name: "poweroff", Takes: 20 * time.Second, Begin: beginAction,
					Work: engine.Work{Name: "vm.stop", Run: runStopVM, Finish: finishPower("stopped")}},
				{Name: "deallocate", Takes: 40 * time.Second, Begin: beginAction, Work: vmDeallocate()},
				{Name: "redeploy", Takes: 60 * time.Second, Begin: beginAction,
					Work: engine.Work{Name: "vm.redeploy", Run: runRestartVM, Finish: finishPower("running")}},
				{Name: "reapply", Takes: 10 * time.Second, Begin: beginAction, Work: engine.Work{Name: "vm.touch"}},
				{Name: "runcommand", Takes: 10 * time.Second, Begin: beginScript,
					Work: engine.Work{Name: "vm.run", Run: runScript, Finish: engine.FinishNothing}},
				{Name: "generalize", Serve: generalize},
				{Name: "simulateeviction", Serve: simulateEviction},
				{Name: "retrievebootdiagnosticsdata", Serve: serveBootDiagnostics},
				{Name: "instanceview", Method: http.MethodGet, Serve: getInstanceView},
				{Name: "vmsizes", Method: http.MethodGet,
					Serve: func(c *engine.Request, _ engine.ID) *engine.Error { return listSizes(c) }},
			}},
		{Name: typeExt, Style: engine.StyleCompute, Takes: 10 * time.Second, Put: extensionPut(),
			Update: extensionPut(), Delete: goneDelete(), Prepare: prepareExtension},
		{Name: typeRun, Style: engine.StyleCompute, Takes: 10 * time.Second, Put: managedRunPut(),
			Update: managedRunPut(), Delete: goneDelete(), Prepare: prepareManagedRun, View: viewManagedRun},
		availabilitySetType(),
		proximityGroupType(),
	}
}

// modelRefs returns the references of a machine or of a scale set's model; at is the path of the
// model.
func modelRefs(at string) []engine.Reference {
	refs := []engine.Reference{{Path: at + "capacityReservation.capacityReservationGroup", To: typeReservationGroup}}
	for _, disk := range []string{"osDisk", "dataDisks"} {
		for _, of := range []string{"", "securityProfile."} {
			path := at + "storageProfile." + disk + ".managedDisk." + of + "diskEncryptionSet"
			refs = append(refs, engine.Reference{Path: path, To: typeEncryptionSet})
		}
	}
	return refs
}

// diskTypes returns the resource types of disks and of the resources that belong to disks.
func diskTypes() []engine.Type {
	return []engine.Type{diskType(), snapshotType(), diskAccessType(), encryptionSetType()}
}

// vmDelete returns the work that deletes a machine; an eviction uses it too.
func vmDelete() engine.Work {
	return engine.Work{Name: "vm.delete", Run: runDeleteVM, Finish: finishDeleteVM}
}

// vmDeallocate returns the work that deallocates a machine; an eviction uses it too.
func vmDeallocate() engine.Work {
	return engine.Work{Name: "vm.deallocate", Run: runStopVM, Finish: finishPower("deallocated")}
}

func extensionPut() engine.Work { return engine.Work{Name: "ext.put", Run: runExtension, Silent: true} }

// computeName is the rule for names.
// Source: https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules.
var computeName = regexp.MustCompile(`^[\p{L}\p{N}]([\p{L}\p{N}_.-]{0,78}[\p{L}\p{N}_])?$`)

// checkComputeName returns an error for a name that Compute does not allow. Scale sets and
// galleries have other rules.
func checkComputeName(id engine.ID) *engine.Error {
	of := value.Lower(id.Types[0])
	if len(id.Types) == 1 && of != "virtualmachinescalesets" && of != "galleries" && !computeName.MatchString(id.Name()) {
		return errName("name")
	}
	return nil
}

// errName returns Compute's error for an invalid name.
func errName(entity string) *engine.Error {
	return invalid(entity, "The entity name '%s' is invalid according to its validation rule: ^[^_\\W][\\w-._]{0,79}(?<![-.])$.", entity)
}

// invalid returns Compute's error for an invalid value; target is the property's path.
func invalid(target, format string, args ...any) *engine.Error {
	e := engine.BadRequest("InvalidParameter", format, args...)
	e.Target = target
	return e
}

// startMachines starts the machines that were running when the state was saved.
func startMachines(s *engine.Server) {
	h := hostOf(s)
	if h == nil {
		return
	}
	var vms []host.VM
	var all []string
	s.Read(func(t *engine.Tx) {
		vms = poweredOn(t)
		for _, d := range slices.Concat(t.All(typeVM, ""), t.All(typeInstance, "")) {
			all = append(all, d.ID)
		}
	})
	if k, ok := h.(host.Keeper); ok {
		if err := k.Keep(all); err != nil {
			s.Log.Error(err, "what is left of VMs that were deleted stays")
		}
	}
	for _, vm := range vms {
		h.Start(vm)
	}
}

// clearMachines returns a function that stops the guests of the replaced state.
func clearMachines(t *engine.Tx) func() error {
	s, guests := t.Server, poweredOn(t)
	return func() error {
		computeOf(s).begun.clear()
		if h := hostOf(s); h != nil {
			for _, vm := range guests {
				if err := h.Delete(s.Life, vm.ID); err != nil {
					return fmt.Errorf("end the guest of %s: %w", vm.ID, err)
				}
			}
		}
		return nil
	}
}
