// Package host runs the machines of the local Azure. It implements Host of azuresim with a guest
// for each VM, its kubelet, the processes of its static pods, kubeadm, SSH and Remote Desktop, and
// the metadata service. Guests of an earlier run start again in turns, and a guest whose boot ended
// an earlier process is quarantined.
//
// It does not know the plane: its inputs are a directory, a network and the answers of the local
// Azure, and it has no management cluster. Only internal/plane, internal/cli and tests may import
// it.
package host

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"

	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/contain"
	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/process"
	"casement.dev/casement/internal/sim/domain"
	"casement.dev/casement/internal/sim/fabric"
	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/sim/kubelet"
	"casement.dev/casement/internal/sim/pull"
	"casement.dev/casement/internal/sim/stub"
)

// Host boots a guest for each VM of the local Azure. It implements host.Host,
// host.Breaker and host.PasswordSetter of azuresim.
type Host struct {
	config  Config
	azure   Azure           // set before ready is closed
	changed func(id string) // set before ready is closed
	ready   chan struct{}
	ctx     context.Context
	stop    context.CancelFunc
	work    sync.WaitGroup

	mu       sync.Mutex
	byID     map[string]*machine
	clusters map[string]*stub.Cluster
	folders  *kubelet.Folders // watches the static pods of all machines; set before ready is closed
	pools    map[string]*podPool

	// suspects is a semaphore with one place. A guest that may have ended an earlier supervisor
	// occupies it for suspectLead when it boots, so that such guests boot one after another.
	suspects chan struct{}
	seats    seats
	// wall recovers panics in work for all guests.
	wall *contain.Wall
	// crash is the file to which the Go runtime writes the cause of this process's death.
	crash string
	// panics counts the panics of this process in the code of guests, by the place of the panic.
	panics map[string]met

	// elections contains the leader elections by cluster; waiting contains the guests of an earlier
	// run that have not started yet.
	elections map[string]*election
	waiting   []*machine
}

// Config is the configuration of a Host.
type Config struct {
	// Dir contains a folder for each machine below vms, and below egress the sockets through which
	// API servers connect to their nodes.
	Dir string
	// Images decides which container images nodes can pull.
	Images pull.Policy
	// Route returns the address on this computer that replaces an address outside the guests'
	// networks, or "" if there is none; nil means that there is none for any address.
	Route func(address string) string
	// Directory contains the simulated domains that machines can join; nil means none.
	Directory *domain.Directory
	// Records is the place where the processes of the machines are recorded.
	Records process.Records
	// OnPanic is called for the first panic of each cause and machine, with the machine's resource ID, from
	// the goroutine that panicked; it may be nil.
	OnPanic func(id string, p *contain.Panic)
	Log     logr.Logger
}

// Azure contains the parts of the local Azure and its network that machines use.
type Azure struct {
	Network *fabric.Fabric
	// Faults are the rules with faults of guests.
	Faults *fault.Set
	// Cloud is the connection of the cloud provider's stub to ARM.
	Cloud stub.Azure
	// Identity serves the token endpoint of a machine's identities.
	Identity func(w http.ResponseWriter, r *http.Request, assigned []string)
	// Roots are the CAs with which guests verify Azure's certificates.
	Roots *x509.CertPool
	// Resource returns a resource by its ID, as clients see it.
	Resource func(id string) (json.RawMessage, bool)
	// TakesKey reports whether the storage account with an ID accepts a key.
	TakesKey func(account, key string) bool
}

// New returns a Host whose machines wait for Open.
func New(config Config) *Host {
	ctx, stop := context.WithCancel(context.Background())
	m := &Host{
		config: config, panics: map[string]met{}, ready: make(chan struct{}), ctx: ctx, stop: stop, byID: map[string]*machine{},
		clusters: map[string]*stub.Cluster{},
		pools:    map[string]*podPool{}, elections: map[string]*election{}, suspects: make(chan struct{}, 1),
		seats: newSeats(runtime.NumCPU(), limit.Files(), limit.Sockets()),
	}
	m.crash = m.recordCrash()
	m.wall = &contain.Wall{Report: m.panicked("", "")}
	return m
}

// Open lets new guests run; guests of an earlier run wait for Resume. changed is called
// with the ID of a VM when its View changes. Open is called once.
func (h *Host) Open(azure Azure, changed func(id string)) {
	h.mu.Lock()
	h.azure, h.changed, h.folders = azure, changed, kubelet.NewFolders()
	h.mu.Unlock()
	close(h.ready)
}

// Close ends all guests; their disks remain.
func (h *Host) Close() {
	h.stop()
	h.work.Wait()
	h.endCrash()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.folders != nil {
		h.folders.Close()
	}
}

func machineKey(id string) string { return strings.ToLower(id) }

// home returns the directory of a VM: its resource group and its name. For an instance of a
// scale set the last part is "set@number", which cannot be the name of a VM.
func (h *Host) home(id string) string {
	parts := strings.Split(strings.Trim(machineKey(id), "/"), "/") // subscriptions/S/resourcegroups/G/providers/NS/type/name[/type/name]
	if len(parts) < 8 {
		return filepath.Join(h.config.Dir, "vms", "-", path.Base(machineKey(id)))
	}
	name := parts[7]
	if len(parts) > 9 {
		name += "@" + parts[9]
	}
	return filepath.Join(h.config.Dir, "vms", parts[3], name)
}

// find returns the machine of a VM, or nil.
func (h *Host) find(id string) *machine {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byID[machineKey(id)]
}

// Has reports whether the Host has a machine for a VM.
func (h *Host) Has(id string) bool { return h.find(id) != nil }

// body returns the guest of a VM, or an error while the VM has none.
func (h *Host) body(id string) (*guest.Guest, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.byID[machineKey(id)]; g != nil && g.guest != nil {
		return g.guest, nil
	} else if g != nil && g.err != nil {
		return nil, fmt.Errorf("the VM has no running guest: %w", g.err)
	}
	return nil, fmt.Errorf("the VM has no running guest")
}

// Start implements host.Host.
func (h *Host) Start(vm host.VM) {
	h.Stop(vm.ID)
	select {
	case <-h.ready: // a user starts it, and it is no guest of an earlier run
		h.endQuarantine(vm.ID)
	default:
	}
	ctx, cancel := context.WithCancel(h.ctx)
	g := &machine{vm: vm, cancel: cancel, done: make(chan struct{}), injected: map[string]bool{}}
	h.mu.Lock()
	h.byID[machineKey(vm.ID)] = g
	if h.changed == nil {
		g.turn = newTurn()
		h.waiting = append(h.waiting, g)
	}
	h.mu.Unlock()
	h.wall.Go(&h.work, "guest "+vm.Name, func() {
		defer close(g.done)
		defer g.booted()
		select {
		case <-h.ready:
		case <-ctx.Done():
			return
		}
		if !g.turn.await(ctx) {
			return
		}
		runLabelled(ctx, vm.ID, func(ctx context.Context) { h.runAgain(ctx, g) })
		h.changed(vm.ID)
	})
}

// election returns the leader election of a cluster.
func (h *Host) election(key string) *election {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.elections[key] == nil {
		h.elections[key] = &election{}
	}
	return h.elections[key]
}

// pool returns the pod addresses of a cluster.
func (h *Host) pool(key string) *podPool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pools[key] == nil {
		h.pools[key] = &podPool{used: map[netip.Addr]bool{}, blocks: map[netip.Prefix]string{}}
	}
	return h.pools[key]
}

// nodes returns the number of machines of a cluster that have booted.
func (h *Host) nodes(cluster string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.byID {
		if g.node != nil && g.node.origin.Cluster == cluster {
			n++
		}
	}
	return n
}

// cluster returns the programs of a cluster.
func (h *Host) cluster(key, vnet string) *stub.Cluster {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clusters[key] == nil {
		h.clusters[key] = stub.New(stub.Config{Key: key, VNetID: vnet, Fabric: h.azure.Network,
			Azure: h.azure.Cloud, Log: slog.New(logr.ToSlogHandler(h.config.Log))})
	}
	return h.clusters[key]
}

// Stop implements host.Host.
func (h *Host) Stop(id string) {
	if g := h.find(id); g != nil {
		g.cancel()
		<-g.done
	}
}

// Delete implements host.Host.
func (h *Host) Delete(ctx context.Context, id string) error {
	if g := h.find(id); g != nil {
		g.cancel()
		select {
		case <-g.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	h.mu.Lock()
	delete(h.byID, machineKey(id))
	h.mu.Unlock()
	return os.RemoveAll(h.home(id))
}

// View implements host.Host.
func (h *Host) View(id string) host.View {
	h.mu.Lock()
	g := h.byID[machineKey(id)]
	if g == nil || g.guest == nil || broken(g.err) {
		defer h.mu.Unlock()
		if g != nil && g.err != nil {
			if _, is := errors.AsType[unknownImage](g.err); is {
				return host.View{Provisioned: host.ProvisioningReady, Message: g.err.Error(), Empty: true}
			}
			return host.View{Provisioned: host.ProvisioningFailed, Message: g.err.Error()}
		}
		return host.View{}
	}
	body := g.guest
	h.mu.Unlock()
	s := body.Status()
	view := host.View{Message: s.Message, AgentReady: s.Phase == guest.PhaseRunning}
	switch s.Provisioned {
	case guest.ProvisionedReady:
		view.Provisioned = host.ProvisioningReady
	case guest.ProvisionedFailed:
		view.Provisioned = host.ProvisioningFailed
	}
	return view
}

// Broken implements host.Breaker.
func (h *Host) Broken(id string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.byID[machineKey(id)]; g != nil && broken(g.err) {
		return g.err.Error()
	}
	return ""
}

// Run implements host.Host.
func (h *Host) Run(ctx context.Context, id, script string) (code int, stdout, stderr string, err error) {
	body, err := h.body(id)
	if err != nil {
		return 0, "", "", err
	}
	var out, errOut bytes.Buffer
	runLabelled(ctx, id, func(ctx context.Context) { code = body.Exec(ctx, script, strings.NewReader(""), &out, &errOut) })
	if body.Machine().TakeReboot() {
		return h.restarted(id, out.String(), errOut.String())
	}
	return code, out.String(), errOut.String(), nil
}

// restarted restarts a VM at the request of a script, which ends the script and the agent that ran
// it.
func (h *Host) restarted(id, out, errOut string) (int, string, string, error) {
	if g := h.find(id); g != nil {
		fmt.Fprintf(g.guest.Machine().Console, "guest: a script restarts the machine\n")
		h.Start(g.vm)
	}
	return -1, out, errOut, errors.New("the machine restarted while the script ran")
}

// SetPassword implements host.PasswordSetter. It writes only the user's name to the console, never
// the password.
func (h *Host) SetPassword(_ context.Context, id, user, password string) error {
	body, err := h.body(id)
	if err != nil {
		return err
	}
	if err := body.Machine().SetPassword(user, password); err != nil {
		return err
	}
	fmt.Fprintf(body.Machine().Console, "guest: VMAccess set the password of user %s\n", user)
	if row, ok := body.Services().Get("TermService"); ok && !row.Running {
		return body.Services().Start("TermService")
	}
	return nil
}

// Console implements host.Host.
func (h *Host) Console(id string) []byte {
	data, err := os.ReadFile(filepath.Join(h.home(id), "console.log"))
	if err == nil {
		return data
	}
	if v := h.View(id); v.Empty { // nothing boots, and the console contains the reason
		return []byte("simulated: " + v.Message + "\n")
	}
	return nil // the VM has not booted yet
}

// Guest is one simulated VM.
type Guest struct {
	// ID is the VM's ARM resource ID.
	ID       string `json:"id"`
	Name     string `json:"name"`
	OS       string `json:"os"`
	Phase    string `json:"phase"`
	Message  string `json:"message,omitempty"`
	Address  string `json:"address"`
	Loopback string `json:"loopback"`
	// Asked is the Kubernetes version in the VM's image; Runs is the version of the control plane
	// processes on the VM, with emulation noted.
	Asked string `json:"asked,omitempty"`
	Runs  string `json:"runs,omitempty"`
}

// List returns the guests, sorted by ID.
func (h *Host) List() []Guest {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []Guest
	for _, key := range slices.Sorted(maps.Keys(h.byID)) {
		g := h.byID[key]
		d := Guest{ID: g.vm.ID, Name: g.vm.Name, OS: g.vm.OS, Phase: "Starting"}
		if len(g.vm.NICs) > 0 && len(g.vm.NICs[0].PrivateIPs) > 0 {
			d.Address = g.vm.NICs[0].PrivateIPs[0]
		}
		if g.loopback.IsValid() {
			d.Loopback = g.loopback.String()
		}
		if g.guest != nil {
			d.Runs = g.node.runs()
			s := g.guest.Status()
			d.Phase, d.Message = string(s.Phase), s.Message
		}
		if g.turn.waits() {
			d.Message = "it waits for its turn: guests of an earlier run start a few at a time"
		}
		if why := g.waits.Load(); why != nil {
			d.Message = *why
		}
		if g.err != nil {
			d.Phase, d.Message = "Failed", g.err.Error()
		}
		if c, _, _, err := contents(g.vm); err == nil {
			d.Asked = c.KubernetesVersion
		}
		if g.guest != nil {
			d.Asked = g.guest.Machine().Image.KubernetesVersion
		}
		out = append(out, d)
	}
	return out
}
