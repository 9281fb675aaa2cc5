package host

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/sim/fabric"
	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/sim/kubelet"
	"casement.dev/casement/internal/sim/logfile"
)

// machine is one VM that has a guest.
type machine struct {
	vm       host.VM
	guest    *guest.Guest
	node     *node
	loopback netip.Addr
	cancel   context.CancelFunc
	done     chan struct{}
	err      error
	turn     *turn // only for a guest of an earlier run
	// waits is the reason why the guest waits for a seat; nil if it does not wait.
	waits atomic.Pointer[string]
	// injected contains the fault rules that have matched the guest.
	injected map[string]bool
}

// run boots a guest and serves its network services until ctx ends.
func (h *Host) run(ctx context.Context, g *machine) error {
	if err := os.MkdirAll(h.home(g.vm.ID), 0o700); err != nil {
		return err
	}
	if err := h.seats.running.wait(ctx, g); err != nil {
		return err
	}
	defer h.seats.running.free()
	leave, err := h.seats.take(ctx, g)
	if err != nil {
		return err
	}
	defer leave()
	booted, err := h.beginBoot(ctx, g.vm.ID)
	if err != nil {
		return err
	}
	booted = sync.OnceFunc(booted)
	defer booted()
	spec, err := h.spec(g.vm)
	if err != nil {
		return err
	}
	faults := h.bootFaults(g)
	for _, a := range faults {
		spec.CustomData = a.Corrupt(spec.CustomData)
	}
	vnet, _, _ := strings.Cut(g.vm.NICs[0].SubnetID, "/subnets/")
	loopback, err := h.azure.Network.Loopback(vnet, spec.IPs[0])
	if err != nil {
		return fmt.Errorf("find a loopback address for %s: %w", g.vm.Name, err)
	}
	console, err := logfile.Open(logfile.At(filepath.Join(h.home(g.vm.ID), "console.log"), 0o600))
	if err != nil {
		return err
	}
	defer console.Close()
	name := clusterName(g.vm)
	n := &node{
		vm: g.vm, socket: h.socket(g.vm.ID), home: h.home(g.vm.ID), loopback: loopback, net: h.azure.Network,
		cloud: h.azure.Cloud, console: console, runtime: kubelet.NewRuntime(), ctx: ctx,
		processes: map[processKey]*staticProcess{},
		origin:    fabric.Origin{VNetID: vnet, IP: spec.IPs[0], Cluster: g.vm.ResourceGroup + "/" + name},
		cluster:   h.cluster(g.vm.ResourceGroup+"/"+name, vnet), folders: h.folders,
		election: h.election(g.vm.ResourceGroup + "/" + name), records: h.config.Records, images: h.config.Images,
		ready: leave, volume: h.volume,
	}
	n.nodes = func() int { return h.nodes(n.origin.Cluster) }
	n.web = h.web(n.origin)
	spec.Network, spec.Pods = n.ofMachine(), nodePods{n}
	body, err := guest.New(guest.Config{
		Machine: spec, Log: console, Commands: map[string]guest.Command{"kubeadm": n.kubeadm},
		HTTP:     depot{corrupting{n.web, faults}},
		OnPanic:  h.panicked(g.vm.ID, g.vm.Name),
		OnChange: func(guest.Status) { h.changed(g.vm.ID) }, OnService: func(name string, action guest.Action) { n.service(name, action) },
	})
	if err != nil {
		return err
	}
	defer body.Close()
	lift := body.Machine().Root.Until(ctx)
	defer lift()
	n.body, n.podIPs = body, newNodePodIPs(h.pool(n.origin.Cluster), g.vm, body.Machine().Root)
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		n.close(end, lift)
	}()
	h.mu.Lock()
	g.guest, g.node, g.loopback = body, n, loopback
	h.mu.Unlock()
	h.inject(g, h.azure.Faults.List()...)
	var services sync.WaitGroup
	defer services.Wait()
	if err := h.serve(ctx, n, &services); err != nil {
		return err
	}
	if err := body.Boot(ctx); err != nil {
		return err
	}
	booted()
	g.booted()
	if !n.hasKubelet() {
		leave()
	}
	<-ctx.Done()
	return nil
}

// serve starts a machine's servers: SSH, Remote Desktop on Windows, and on Linux the egress socket
// for its API server's connections. All of them end with ctx.
func (h *Host) serve(ctx context.Context, n *node, services *sync.WaitGroup) error {
	begin := func(what string, run func() error) {
		n.body.Machine().Wall.Go(services, what, func() {
			if err := run(); err != nil && ctx.Err() == nil {
				h.config.Log.Error(err, what+" ended", "vm", n.vm.Name)
			}
		})
	}
	shell, err := h.azure.Network.Listen(n.origin.VNetID, n.origin.IP, 22, "ssh "+n.vm.Name)
	if err != nil {
		return err
	}
	if n.vm.OS == guest.Windows {
		desktop, err := h.azure.Network.Listen(n.origin.VNetID, n.origin.IP, 3389, "rdp "+n.vm.Name)
		if err != nil {
			return err
		}
		begin("Remote Desktop", func() error { return n.body.ServeRDP(ctx, desktop) })
	} else {
		begin("the egress socket", func() error { return n.serveEgress(ctx) })
	}
	begin("sshd", func() error {
		return n.body.ServeSSH(ctx, shell, func(ctx context.Context, address string) (net.Conn, error) {
			return h.azure.Network.Dial(ctx, n.origin, "tcp", address)
		})
	})
	return nil
}

// web returns the transport for a guest's HTTP requests.
func (h *Host) web(from fabric.Origin) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return h.azure.Network.Dial(ctx, from, network, address)
		},
		TLSClientConfig:   &tls.Config{RootCAs: h.azure.Roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}
}

// stopTimeout is the time in which a VM's processes must end.
const stopTimeout = 10 * time.Second

// clusterName returns the cluster of a VM, from the tag that its provider sets.
func clusterName(vm host.VM) string {
	const tag = "sigs.k8s.io_cluster-api-provider-azure_cluster_"
	for name := range vm.Tags {
		if cluster, ok := strings.CutPrefix(name, tag); ok {
			return cluster
		}
	}
	return vm.ResourceGroup
}

// socket returns the egress socket of a VM; its path must be short.
func (h *Host) socket(id string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(machineKey(id))) // never fails (hash.Hash)
	return filepath.Join(h.config.Dir, "egress", fmt.Sprintf("%016x.sock", sum.Sum64()))
}

func (h *Host) spec(vm host.VM) (guest.Machine, error) {
	contents, captured, plain, err := contents(vm)
	if err != nil {
		return guest.Machine{}, err
	}
	spec := guest.Machine{
		ID: vm.ID, Dir: h.home(vm.ID), OS: vm.OS, ComputerName: vm.ComputerName, AdminUsername: vm.AdminUsername,
		CustomData: vm.CustomData, SSHPublicKeys: vm.SSHPublicKeys, Directory: h.config.Directory,
		Image: guest.Image{
			Name: contents.OSImage, Release: contents.Distribution, Build: contents.KernelVersion,
			KubernetesVersion: contents.KubernetesVersion,
			Runtime:           contents.Runtime, RuntimeVersion: contents.RuntimeVersion, ServiceManager: guest.NSSM,
			Ignition: contents.Ignition, Plain: plain, Captured: captured,
		},
	}
	if contents.Release.Name != "" {
		spec.Image.Release = contents.Release.Name
	}
	if contents.KubeletService {
		spec.Image.ServiceManager = guest.WindowsService
	}
	if len(vm.NICs) > 0 {
		spec.DNS = vm.NICs[0].DNSServers
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

// imageName returns the name of an image, with the exact version in place of latest.
func imageName(i host.Image) string {
	if i.Source != "" {
		return i.Source
	}
	if latest := "/latest"; i.ID != "" && i.ExactVersion != "" && strings.HasSuffix(strings.ToLower(i.ID), latest) {
		return i.ID[:len(i.ID)-len(latest)] + "/" + i.ExactVersion
	}
	if i.ID != "" {
		return i.ID
	}
	return strings.Join([]string{i.Publisher, i.Offer, i.SKU, cmp.Or(i.ExactVersion, i.Version)}, ":")
}
