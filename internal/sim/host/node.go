package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/process"
	"casement.dev/casement/internal/sim/fabric"
	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/sim/kubelet"
	"casement.dev/casement/internal/sim/logfile"
	"casement.dev/casement/internal/sim/pull"
	"casement.dev/casement/internal/sim/stub"
)

// node contains the parts that make a VM a Kubernetes node: its kubelet service, the static pods
// that run as processes, and kubeadm.
type node struct {
	vm       host.VM
	socket   string // the egress socket
	body     *guest.Guest
	home     string
	loopback netip.Addr
	origin   fabric.Origin
	net      *fabric.Fabric
	cluster  *stub.Cluster
	podIPs   *nodePodIPs
	cloud    stub.Azure
	election *election       // the cluster's election; nil makes each instance a candidate
	records  process.Records // records of its processes
	volume   func(vm host.VM, handle, key string) (guestfs.Folder, error)
	images   pull.Policy
	console  io.Writer
	runtime  *kubelet.Runtime
	folders  *kubelet.Folders
	ctx      context.Context
	web      *http.Transport // transport for the machine's programs
	work     sync.WaitGroup
	nodes    func() int // returns the approximate number of the cluster's nodes
	ready    func()     // called when the node is ready for the first time

	mu        sync.Mutex
	kubelet   *kubelet.Kubelet
	stop      context.CancelFunc // ends the running kubelet
	ended     chan struct{}
	processes map[processKey]*staticProcess
}

// Guest paths that exist after kubeadm has configured the kubelet.
const (
	kubeletConfig = "/var/lib/kubelet/config.yaml"
	kubeletFlags  = "/var/lib/kubelet/kubeadm-flags.env"
)

// service reacts to an action of the guest on its kubelet service, such as a start.
func (n *node) service(name string, action guest.Action) {
	if name != "kubelet" {
		n.observe()
		return
	}
	if action == guest.Started {
		n.startKubelet()
	} else {
		n.stopKubelet()
	}
}

// startKubelet starts the simulated kubelet. Without a configuration the kubelet ends immediately,
// as the real kubelet does before kubeadm has run.
func (n *node) startKubelet() {
	if !n.body.Machine().Root.Exists(kubeletConfig) || len(n.lacksKubelet()) > 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stop != nil {
		return
	}
	config := n.kubeletConfig()
	file, err := n.kubeletLog()
	if err != nil {
		fmt.Fprintf(n.console, "kubelet: it keeps no log of its own: %v\n", err)
	} else {
		config.Log = io.MultiWriter(n.console, file)
	}
	k, err := kubelet.New(config)
	if err != nil {
		file.Close()
		fmt.Fprintf(n.console, "kubelet: %v\n", err)
		return
	}
	ctx, stop := context.WithCancel(n.ctx)
	ended := make(chan struct{})
	n.stop, n.ended, n.kubelet = stop, ended, k
	config.Wall.Go(nil, "kubelet", func() {
		defer close(ended)
		defer file.Close()
		n.supervise(ctx, k, config)
	})
}

// kubeletRestart is the time after which systemd restarts a kubelet that has ended (RestartSec of
// kubeadm's unit).
const kubeletRestart = 10 * time.Second

// supervise runs a kubelet, and restarts it when it ends by itself, until ctx ends.
func (n *node) supervise(ctx context.Context, k *kubelet.Kubelet, config kubelet.Config) {
	for {
		err := k.Run(ctx)
		if ctx.Err() != nil {
			return
		}
		fmt.Fprintf(n.console, "kubelet: %v\n", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(kubeletRestart):
		}
		if k, err = kubelet.New(config); err != nil {
			fmt.Fprintf(n.console, "kubelet: %v\n", err)
			return
		}
		n.mu.Lock()
		n.kubelet = k
		n.mu.Unlock()
	}
}

// kubeletLog opens the file in which the guest's own tools expect the kubelet's log.
func (n *node) kubeletLog() (*logfile.File, error) {
	m := n.body.Machine()
	return logfile.Open(m.Root.Appender(m.UnitLog("kubelet"), 0o644))
}

func (n *node) stopKubelet() {
	n.mu.Lock()
	stop, ended := n.stop, n.ended
	n.stop, n.kubelet = nil, nil
	n.mu.Unlock()
	if stop != nil {
		stop()
		<-ended
	}
}

// hasKubelet reports whether a kubelet is running.
func (n *node) hasKubelet() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.kubelet != nil
}

// close ends the kubelet, the containers and the static pods.
func (n *node) close(ctx context.Context, ended func()) {
	n.stopKubelet()
	n.runtime.Close()
	ended()
	n.stopProcesses(ctx)
	n.work.Wait()
}

func (n *node) kubeletConfig() kubelet.Config {
	m := n.body.Machine()
	var args []string
	if env, err := m.Root.ReadFile(kubeletFlags); err == nil {
		args = kubelet.EnvArgs(env)
	}
	build := ""
	if n.vm.OS == "Windows" {
		build = strings.Join(strings.SplitN(m.Image.Build, ".", 4)[:3], ".")
	}
	return kubelet.Config{
		Files: m.Root, OS: strings.ToLower(n.vm.OS),
		Release:  kubelet.Release{OSImage: m.Image.Name, KernelVersion: m.Image.Build, Build: build},
		Hostname: n.vm.ComputerName, InternalIP: n.origin.IP,
		Listen: func() (net.Listener, error) {
			return n.net.Listen(n.origin.VNetID, n.origin.IP, 10250, "kubelet "+n.vm.Name)
		},
		Version: m.Image.KubernetesVersion, RuntimeVersion: m.Image.Runtime + "://" + m.Image.RuntimeVersion, Args: args,
		Cores: n.vm.Cores, MemoryMiB: n.vm.MemoryMiB, DiskGiB: max(n.vm.OSDiskGiB, 30), BootID: "1",
		Cloud: kubelet.Cloud{ProviderID: stub.ProviderID(n.vm.ID), InstanceType: n.vm.Size,
			Region: n.vm.Location, Zone: stub.ZoneLabel(n.vm.Location, n.vm.Zone)},
		DataDisks: n.vm.DataDiskLimit, MTU: func() int { return m.Pulse.Get().MTU },
		Volume:    func(handle, key string) (guestfs.Folder, error) { return n.volume(n.vm, handle, key) },
		Dial:      n.dial,
		Processes: n,
		Programs:  n.cluster.Find,
		Images:    n.images,
		Exec:      n.exec,
		Network:   n.net.Cluster(n.origin.Cluster),
		PodIPs:    n.podIPs,
		Runtime:   n.runtime,
		Folders:   n.folders,
		Health:    n.health,
		Identity:  n.containerIdentity,
		Nodes:     n.nodes,
		OnReady:   n.ready,
		Wall:      m.Wall,
		Log:       n.console,
	}
}

// exec runs a command in a container of this machine.
func (n *node) exec(ctx context.Context, e kubelet.ExecSpec) (int, error) {
	image, way := n.body.Machine().Image, n.ofPod(e)
	if kubelet.HostProcess(e.Pod) && stub.OnNode(e.Container.Image) {
		return n.body.HostProcess(ctx, guest.HostProcess{Command: e.Command, Env: e.Vars, Mounts: e.Mounts, Web: n.webOf(way),
			Stdin: e.Stdin, Stdout: e.Stdout, Stderr: cmp.Or(e.Stderr, e.Stdout)})
	}
	c, err := guest.NewContainer(guest.ContainerSpec{
		Folder: e.Folder, Mounts: e.Mounts, OS: n.vm.OS, Build: image.Build, Image: e.Container.Image,
		Hostname: n.hostnameOf(e), User: userOf(e),
		Env: e.Vars, WorkingDir: e.Container.WorkingDir, IPs: e.IPs, Range: n.podRange(e.IPs),
		DNS: e.DNS.Servers, Search: e.DNS.Search, Dots: e.DNS.Dots, Network: way, Web: n.webOf(way),
		OnPanic: n.body.Machine().Wall.Report, Usage: n.body.Machine().Usage,
	})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return c.Exec(ctx, e.Command, e.Stdin, e.Stdout, e.Stderr, e.TTY)
}

// podRange returns the node's range of pods that contains one of the addresses; it is not valid for
// an address of the virtual network.
func (n *node) podRange(ips []netip.Addr) netip.Prefix {
	for _, r := range (nodePods{n}).Ranges() {
		if len(ips) > 0 && r.Contains(ips[0]) {
			return r
		}
	}
	return netip.Prefix{}
}

// hostnameOf returns the host name that a container's programs see; in a HostProcess container it
// is the node's.
func (n *node) hostnameOf(e kubelet.ExecSpec) string {
	if kubelet.HostProcess(e.Pod) {
		return n.vm.ComputerName
	}
	return cmp.Or(e.Pod.Spec.Hostname, e.Pod.Name)
}

// userOf returns the user of a container on Windows from its runAsUserName; "" for the image's own
// user. The image's user manager knows the accounts of the image; a HostProcess container has the
// node's accounts. Source:
// https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod.
func userOf(e kubelet.ExecSpec) string {
	name := kubelet.RunAsUserName(e.Pod, e.Container)
	if own := strings.EqualFold(name, "ContainerUser") || strings.EqualFold(name, "ContainerAdministrator"); own {
		return `User Manager\` + name
	}
	return name
}

func (n *node) dial(ctx context.Context, network, address string) (net.Conn, error) {
	// Components on this machine use the loopback address for the machine's own sockets.
	host, _, err := net.SplitHostPort(address)
	if own := err == nil && host == n.loopback.String(); !own && !n.body.Machine().Pulse.Get().Network {
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("%s: i/o timeout", address)}
	}
	return n.net.Dial(ctx, n.origin, network, address)
}

// serveEgress serves the egress socket through which the API server of this machine connects to
// nodes, pods and services.
func (n *node) serveEgress(ctx context.Context) error {
	if err := os.WriteFile(filepath.Join(n.home, "egress.yaml"), fabric.EgressConfig(n.socket, true), 0o600); err != nil {
		return err
	}
	if err := os.Remove(n.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return n.net.ServeEgress(ctx, n.socket, n.origin)
}
