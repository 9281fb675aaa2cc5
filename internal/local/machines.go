package local

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"

	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/sim/fabric"
	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/sim/standin"
	"casement.dev/casement/internal/windows"
)

// machines boots a guest for each VM of the local Azure. It implements
// host.Host.
type machines struct {
	dir     Dir
	fabric  *fabric.Fabric
	log     logr.Logger
	changed func(id string) // set before ready is closed
	ready   chan struct{}
	ctx     context.Context
	stop    context.CancelFunc
	work    sync.WaitGroup

	// faults are the local Azure's.
	faults *fault.Set
	// cloud is how the cloud provider's stand-in reaches the local Azure.
	cloud standin.Azure
	// identity is the token endpoint of the machine's identities, roots the CA that
	// guests trust Azure by.
	identity func(w http.ResponseWriter, r *http.Request, assigned []string)
	roots    *x509.CertPool

	mu       sync.Mutex
	byID     map[string]*machine
	clusters map[string]*standin.Cluster
	pools    map[string]*podPool

	// suspects has one place, for the guest that boots with the mark of a conductor
	// that died from within.
	suspects chan struct{}

	// elections are by cluster, held the guests of an earlier run whose turn has not come.
	elections map[string]*election
	held      []*machine
}

func newMachines(dir Dir, log logr.Logger) *machines {
	ctx, stop := context.WithCancel(context.Background())
	return &machines{dir: dir, log: log, ready: make(chan struct{}), ctx: ctx, stop: stop, byID: map[string]*machine{}, clusters: map[string]*standin.Cluster{}, pools: map[string]*podPool{}, elections: map[string]*election{}, suspects: make(chan struct{}, 1)}
}

// open lets the guests run, as soon as what they need stands; those of an earlier run
// wait for resume.
func (m *machines) open(changed func(id string)) {
	m.mu.Lock()
	m.changed = changed
	m.mu.Unlock()
	close(m.ready)
}

// close ends all guests; their disks stay.
func (m *machines) close() {
	m.stop()
	m.work.Wait()
}

func machineKey(id string) string { return strings.ToLower(id) }

// home is the directory of a VM: its resource group and its name. An instance of a
// scale set is there as "set@number", which is no name of a VM.
func (m *machines) home(id string) string {
	parts := strings.Split(strings.Trim(machineKey(id), "/"), "/") // subscriptions/S/resourcegroups/G/providers/NS/type/name[/type/name]
	if len(parts) < 8 {
		return m.dir.Path("vms", "-", path.Base(machineKey(id)))
	}
	name := parts[7]
	if len(parts) > 9 {
		name += "@" + parts[9]
	}
	return m.dir.Path("vms", parts[3], name)
}

// find is the machine of a VM, nil for none.
func (m *machines) find(id string) *machine {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byID[machineKey(id)]
}

func (m *machines) has(id string) bool { return m.find(id) != nil }

// body is the guest of a VM that has one by now.
func (m *machines) body(id string) (*guest.Guest, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.byID[machineKey(id)]; g != nil && g.guest != nil {
		return g.guest, nil
	}
	return nil, fmt.Errorf("the VM has no running guest")
}

// Start implements host.Host.
func (m *machines) Start(vm host.VM) {
	m.Stop(vm.ID)
	select {
	case <-m.ready: // a user's wish, and no guest of an earlier run
		m.forgive(vm.ID)
	default:
	}
	ctx, cancel := context.WithCancel(m.ctx)
	g := &machine{vm: vm, cancel: cancel, done: make(chan struct{}), ailing: map[string]bool{}}
	m.mu.Lock()
	m.byID[machineKey(vm.ID)] = g
	if m.changed == nil {
		g.turn = newTurn()
		m.held = append(m.held, g)
	}
	m.mu.Unlock()
	m.work.Go(func() {
		defer close(g.done)
		defer g.booted()
		select {
		case <-m.ready:
		case <-ctx.Done():
			return
		}
		if !g.turn.await(ctx) {
			return
		}
		m.runAgain(ctx, g)
		m.changed(vm.ID)
	})
}

// election returns that of a cluster.
func (m *machines) election(key string) *election {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.elections[key] == nil {
		m.elections[key] = &election{}
	}
	return m.elections[key]
}

// pool returns the pod addresses of a cluster.
func (m *machines) pool(key string) *podPool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pools[key] == nil {
		m.pools[key] = &podPool{used: map[netip.Addr]bool{}}
	}
	return m.pools[key]
}

// cluster returns the programs of a cluster.
func (m *machines) cluster(key, vnet string) *standin.Cluster {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clusters[key] == nil {
		m.clusters[key] = standin.New(standin.Config{Key: key, VNetID: vnet, Fabric: m.fabric, Azure: m.cloud, Log: slog.New(logr.ToSlogHandler(m.log))})
	}
	return m.clusters[key]
}

// Stop implements host.Host.
func (m *machines) Stop(id string) {
	if g := m.find(id); g != nil {
		g.cancel()
		<-g.done
	}
}

// Delete implements host.Host.
func (m *machines) Delete(ctx context.Context, id string) error {
	if g := m.find(id); g != nil {
		g.cancel()
		select {
		case <-g.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	m.mu.Lock()
	delete(m.byID, machineKey(id))
	m.mu.Unlock()
	return os.RemoveAll(m.home(id))
}

// View implements host.Host.
func (m *machines) View(id string) host.View {
	m.mu.Lock()
	g := m.byID[machineKey(id)]
	if g == nil || g.guest == nil || broken(g.err) {
		defer m.mu.Unlock()
		if g != nil && g.err != nil {
			return host.View{Provisioned: host.ProvisioningFailed, Message: g.err.Error()}
		}
		return host.View{}
	}
	body := g.guest
	m.mu.Unlock()
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
func (m *machines) Broken(id string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.byID[machineKey(id)]; g != nil && broken(g.err) {
		return g.err.Error()
	}
	return ""
}

// Run implements host.Host.
func (m *machines) Run(ctx context.Context, id, script string) (code int, stdout, stderr string, err error) {
	body, err := m.body(id)
	if err != nil {
		return 0, "", "", err
	}
	var out, errOut bytes.Buffer
	code = body.Exec(ctx, script, strings.NewReader(""), &out, &errOut)
	return code, out.String(), errOut.String(), nil
}

// SetPassword implements host.PasswordSetter. What it says on the console is who
// had a password set, and not which.
func (m *machines) SetPassword(_ context.Context, id, user, password string) error {
	body, err := m.body(id)
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
func (m *machines) Console(id string) []byte {
	data, err := os.ReadFile(filepath.Join(m.home(id), "console.log"))
	if err != nil {
		return nil // it has not booted
	}
	return data
}

// describe lists the guests by name.
func (m *machines) describe() []Guest {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Guest
	for _, key := range slices.Sorted(maps.Keys(m.byID)) {
		g := m.byID[key]
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
		if g.err != nil {
			d.Phase, d.Message = "Failed", g.err.Error()
		}
		if contents, ok := windows.ParseImage(imageName(g.vm.Image)); ok {
			d.Asked = contents.KubernetesVersion
		}
		out = append(out, d)
	}
	return out
}

func describeListener(l fabric.Listener) Listener {
	d := Listener{Owner: l.What, Address: l.Address, Healthy: l.Healthy}
	if l.Actual != "" && l.Actual != l.Address {
		d.Address, d.Instead = l.Actual, l.Address
	}
	return d
}
