package local

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"casement.dev/casement/internal/sim/arm"
	"casement.dev/casement/internal/sim/fabric"
	"casement.dev/casement/internal/sim/fault"
	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/sim/kubelet"
	"casement.dev/casement/internal/sim/standin"
	"casement.dev/casement/internal/windows"
)

// machines boots a guest for each VM of the local Azure. It implements
// arm.Machines.
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
}

// machine is one VM that has a guest.
type machine struct {
	vm       arm.VM
	guest    *guest.Guest
	node     *node
	loopback netip.Addr
	cancel   context.CancelFunc
	done     chan struct{}
	err      error
	// ailing holds the fault rules that have struck the guest.
	ailing map[string]bool
}

func newMachines(dir Dir, log logr.Logger) *machines {
	ctx, stop := context.WithCancel(context.Background())
	return &machines{dir: dir, log: log, ready: make(chan struct{}), ctx: ctx, stop: stop, byID: map[string]*machine{}, clusters: map[string]*standin.Cluster{}, pools: map[string]*podPool{}}
}

// open lets the guests run, as soon as what they need stands.
func (m *machines) open(changed func(id string)) {
	m.changed = changed
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

func (m *machines) has(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byID[machineKey(id)] != nil
}

// Start implements arm.Machines.
func (m *machines) Start(vm arm.VM) {
	m.Stop(vm.ID)
	ctx, cancel := context.WithCancel(m.ctx)
	g := &machine{vm: vm, cancel: cancel, done: make(chan struct{}), ailing: map[string]bool{}}
	m.mu.Lock()
	m.byID[machineKey(vm.ID)] = g
	m.mu.Unlock()
	m.work.Go(func() {
		defer close(g.done)
		select {
		case <-m.ready:
		case <-ctx.Done():
			return
		}
		if err := m.run(ctx, g); err != nil && ctx.Err() == nil {
			m.mu.Lock()
			g.err = err
			m.mu.Unlock()
			m.log.Error(err, "a guest failed", "vm", vm.Name)
		}
		m.changed(vm.ID)
	})
}

// run boots a guest and serves its SSH port until ctx ends.
func (m *machines) run(ctx context.Context, g *machine) error {
	if err := os.MkdirAll(m.home(g.vm.ID), 0o700); err != nil {
		return err
	}
	spec, err := m.spec(g.vm)
	if err != nil {
		return err
	}
	ailments := m.spoilers(g)
	for _, a := range ailments {
		spec.CustomData = a.Spoil(spec.CustomData)
	}
	vnet, _, _ := strings.Cut(g.vm.NICs[0].SubnetID, "/subnets/")
	loopback, err := m.fabric.Loopback(vnet, spec.IPs[0])
	if err != nil {
		return fmt.Errorf("find a loopback address for %s: %w", g.vm.Name, err)
	}
	console, err := os.OpenFile(filepath.Join(m.home(g.vm.ID), "console.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer console.Close()
	name := clusterName(g.vm)
	n := &node{
		vm: g.vm, socket: m.socket(g.vm.ID), home: m.home(g.vm.ID), loopback: loopback, net: m.fabric, cloud: m.cloud, console: console, runtime: kubelet.NewRuntime(), ctx: ctx, processes: map[string]*staticProcess{},
		origin: fabric.Origin{VNetID: vnet, IP: spec.IPs[0], Cluster: g.vm.ResourceGroup + "/" + name}, cluster: m.cluster(g.vm.ResourceGroup+"/"+name, vnet),
	}
	body, err := guest.New(guest.Config{
		Machine: spec, Log: console, Commands: map[string]guest.Command{"kubeadm": n.kubeadm}, HTTP: spoiling{m.web(n.origin), ailments},
		OnChange: func(guest.Status) { m.changed(g.vm.ID) }, OnService: func(name string, action guest.Action) { n.service(name, action) },
	})
	if err != nil {
		return err
	}
	defer body.Close()
	n.body, n.podIPs = body, newNodePodIPs(m.pool(n.origin.Cluster), g.vm, body.Path)
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		n.close(end)
	}()
	m.mu.Lock()
	g.guest, g.node, g.loopback = body, n, loopback
	m.mu.Unlock()
	m.afflict(g, m.faults.List()...)
	listener, err := m.fabric.Listen(vnet, spec.IPs[0], 22, "ssh "+g.vm.Name)
	if err != nil {
		return err
	}
	var services sync.WaitGroup
	defer services.Wait()
	if g.vm.OS == guest.Windows {
		desktop, err := m.fabric.Listen(vnet, spec.IPs[0], 3389, "rdp "+g.vm.Name)
		if err != nil {
			return err
		}
		services.Go(func() {
			if err := body.ServeRDP(ctx, desktop); err != nil && ctx.Err() == nil {
				m.log.Error(err, "Remote Desktop ended", "vm", g.vm.Name)
			}
		})
	}
	services.Go(func() {
		dial := func(ctx context.Context, address string) (net.Conn, error) {
			return m.fabric.Dial(ctx, n.origin, "tcp", address)
		}
		if err := body.ServeSSH(ctx, listener, dial); err != nil && ctx.Err() == nil {
			m.log.Error(err, "sshd ended", "vm", g.vm.Name)
		}
	})
	services.Go(func() {
		if err := n.serveEgress(ctx); err != nil && ctx.Err() == nil {
			m.log.Error(err, "the egress socket ended", "vm", g.vm.Name)
		}
	})
	if err := body.Boot(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// web carries what a guest asks by HTTP.
func (m *machines) web(from fabric.Origin) http.RoundTripper {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return m.fabric.Dial(ctx, from, network, address)
		},
		TLSClientConfig:   &tls.Config{RootCAs: m.roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}
}

// stopTimeout bounds the end of a VM's processes.
const stopTimeout = 10 * time.Second

// clusterName is the cluster that a VM belongs to, by the tag that its provider
// marks it with.
func clusterName(vm arm.VM) string {
	const tag = "sigs.k8s.io_cluster-api-provider-azure_cluster_"
	for name := range vm.Tags {
		if cluster, ok := strings.CutPrefix(name, tag); ok {
			return cluster
		}
	}
	return vm.ResourceGroup
}

// socket is the egress socket of a VM; its path must be short.
func (m *machines) socket(id string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(machineKey(id))) // never fails (hash.Hash)
	return m.dir.Path("egress", fmt.Sprintf("%016x.sock", h.Sum64()))
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

func (m *machines) spec(vm arm.VM) (guest.Machine, error) {
	contents, known := windows.ParseImage(imageName(vm.Image))
	if !known {
		if contents, known = plainContents(vm); known && contents.OS == windows.OSWindows {
			vm.CustomData = nil // no cloudbase-init on it: Windows only writes it to a file
		}
	}
	if !known {
		return guest.Machine{}, fmt.Errorf("VM %s: what the image %s holds is not known here", vm.Name, imageName(vm.Image))
	}
	spec := guest.Machine{
		ID: vm.ID, Dir: m.home(vm.ID), OS: vm.OS, ComputerName: vm.ComputerName, AdminUsername: vm.AdminUsername,
		CustomData: vm.CustomData, SSHPublicKeys: vm.SSHPublicKeys,
		Image: guest.Image{
			Name: contents.OSImage, Release: contents.Distribution, Build: contents.KernelVersion, KubernetesVersion: contents.KubernetesVersion,
			Runtime: contents.Runtime, RuntimeVersion: contents.RuntimeVersion, ServiceManager: guest.NSSM,
		},
	}
	if contents.Release.Name != "" {
		spec.Image.Release = contents.Release.Name
	}
	if contents.KubeletService {
		spec.Image.ServiceManager = guest.WindowsService
	}
	for _, nic := range vm.NICs {
		for _, text := range nic.PrivateIPs {
			ip, err := netip.ParseAddr(text)
			if err != nil {
				return spec, fmt.Errorf("VM %s: address of %s: %w", vm.Name, nic.ID, err)
			}
			spec.IPs = append(spec.IPs, ip)
		}
	}
	for _, d := range vm.DataDisks {
		spec.DataDisks = append(spec.DataDisks, guest.DataDisk{LUN: d.LUN, SizeGB: d.SizeGiB})
	}
	return spec, nil
}

func imageName(i arm.Image) string {
	if i.Source != "" {
		return i.Source
	}
	if i.ID != "" {
		return i.ID
	}
	return strings.Join([]string{i.Publisher, i.Offer, i.SKU, i.Version}, ":")
}

// Stop implements arm.Machines.
func (m *machines) Stop(id string) {
	m.mu.Lock()
	g := m.byID[machineKey(id)]
	m.mu.Unlock()
	if g != nil {
		g.cancel()
		<-g.done
	}
}

// Delete implements arm.Machines.
func (m *machines) Delete(ctx context.Context, id string) error {
	m.mu.Lock()
	g := m.byID[machineKey(id)]
	m.mu.Unlock()
	if g != nil {
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

// View implements arm.Machines.
func (m *machines) View(id string) arm.View {
	m.mu.Lock()
	g := m.byID[machineKey(id)]
	if g == nil || g.guest == nil {
		defer m.mu.Unlock()
		if g != nil && g.err != nil {
			return arm.View{Provisioned: arm.ProvisioningFailed, Message: g.err.Error()}
		}
		return arm.View{}
	}
	body := g.guest
	m.mu.Unlock()
	s := body.Status()
	view := arm.View{Message: s.Message, AgentReady: s.Phase == guest.PhaseRunning}
	switch s.Provisioned {
	case guest.ProvisionedReady:
		view.Provisioned = arm.ProvisioningReady
	case guest.ProvisionedFailed:
		view.Provisioned = arm.ProvisioningFailed
	}
	return view
}

// Run implements arm.Machines.
func (m *machines) Run(ctx context.Context, id, script string) (code int, stdout, stderr string, err error) {
	m.mu.Lock()
	g := m.byID[machineKey(id)]
	m.mu.Unlock()
	if g == nil || g.guest == nil {
		return 0, "", "", fmt.Errorf("the VM has no running guest")
	}
	var out, errOut bytes.Buffer
	code = g.guest.Exec(ctx, script, strings.NewReader(""), &out, &errOut)
	return code, out.String(), errOut.String(), nil
}

// SetPassword implements arm.PasswordSetter. What it says on the console is who
// had a password set, and not which.
func (m *machines) SetPassword(_ context.Context, id, user, password string) error {
	m.mu.Lock()
	g := m.byID[machineKey(id)]
	m.mu.Unlock()
	if g == nil || g.guest == nil {
		return fmt.Errorf("the VM has no running guest")
	}
	if err := g.guest.Machine().SetPassword(user, password); err != nil {
		return err
	}
	fmt.Fprintf(g.guest.Machine().Console, "guest: VMAccess set the password of user %s\n", user)
	if row, ok := g.guest.Services().Get("TermService"); ok && !row.Running {
		return g.guest.Services().Start("TermService")
	}
	return nil
}

// Console implements arm.Machines.
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
