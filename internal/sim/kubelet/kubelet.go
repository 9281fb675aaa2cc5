// Package kubelet is a simulated kubelet and container runtime: it bootstraps a client certificate,
// registers its Node, renews the lease and the status, runs the pods bound to it by stages, runs
// static pods as processes of its host and serves the kubelet's HTTPS API. To the API server it is
// a kubelet of the configured OS, version and build, and it refuses the same requests as that
// kubelet or containerd.
//
// Containers are simulated, and their logs and pages say so. A container answers on its TCP ports
// with a page that names it; the rules in script.go decide the effect of its command. Nothing is
// ever executed here: real processes (static pods) and the stubs for the cluster's own programs
// come from callbacks.
//
// The simulator and internal/plane may import it, the provider may not. It opens no socket itself:
// Listen and Dial do.
package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"casement.dev/casement/internal/contain"
	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/sim/pull"
	"casement.dev/casement/internal/sim/stub"
)

// Config describes a machine to its kubelet.
type Config struct {
	// Files are the machine's files. Paths are POSIX paths on Windows too ("/etc/kubernetes" is on
	// C:).
	Files *guestfs.Root
	// OS is "linux" or "windows".
	OS string
	// Release is the operating system that the node's info shows.
	Release Release
	// Hostname is the computer name. In lower case it is the name of the node, unless NodeName or
	// --hostname-override sets another.
	Hostname string
	NodeName string
	// InternalIP is the machine's address in its virtual network.
	InternalIP netip.Addr
	// Listen opens the machine's port 10250 for the HTTPS API.
	Listen func() (net.Listener, error)
	// Version is the kubelet's version ("v1.34.2"); RuntimeVersion is the container runtime's
	// ("containerd://2.1.4", "docker://20.10.14").
	Version        string
	RuntimeVersion string
	// Args are the service's arguments that are not part of the image's fixed command line. See
	// EnvArgs for kubeadm-flags.env.
	Args []string
	// Cores, MemoryMiB and DiskGiB are the resources of the machine.
	Cores, MemoryMiB, DiskGiB int
	// DataDisks is the number of data disks that the machine can have.
	DataDisks int
	// MTU returns the MTU of the node's interface; nil means that it is not known.
	MTU func() int
	// BootID changes when the machine reboots; its containers then start again.
	BootID string
	// Cloud is the data that the in-tree Azure provider of old kubelets writes to the Node.
	Cloud Cloud
	// Dial opens connections from inside the machine.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Processes runs static pods; with nil they are refused.
	Processes Processes
	// Programs returns the stub for an image; nil means that there are no stubs.
	Programs func(image string) (stub.Program, bool)
	// Images decides which images exist; the zero value refuses the images that its table marks as missing.
	Images pull.Policy
	// Exec runs a command in a simulated container and returns its exit code; with nil, commands
	// are refused.
	Exec func(ctx context.Context, spec ExecSpec) (int, error)
	// Network makes pod addresses reachable; with nil they are unreachable.
	Network Network
	// PodIPs allocates addresses if the Node has no podCIDR; with nil the kubelet waits for a
	// podCIDR.
	PodIPs PodIPs
	// Volume returns the folder of a volume by its CSI handle; key is the account's key for a file
	// share, "" for a disk. nil means that there are no volumes.
	Volume func(handle, key string) (guestfs.Folder, error)
	// Runtime contains the containers, which outlive the kubelet; with nil they end with the
	// kubelet.
	Runtime *Runtime
	// Folders notifies of changes in the folder of static pods; with nil the kubelet creates one
	// for itself.
	Folders *Folders
	// Health returns the problems of the machine; nil means none. It is called before each
	// status and each new pod, and must not block.
	Health func() Health
	// Identity logs in the account that a container's credential spec names, on Windows, and
	// returns it as DOMAIN\ACCOUNT$. With nil every spec is refused. Its error is the runtime's.
	Identity func(ctx context.Context, container, credentialSpec string) (string, error)
	// Nodes returns the approximate number of the cluster's nodes, including this one; nil means
	// one.
	Nodes func() int
	// Wall recovers panics: a panic in the kubelet ends the kubelet, and a panic in a pod ends only
	// the pod's work.
	Wall *contain.Wall
	// OnReady is called when the node becomes ready for the first time since New, after its
	// registration; nil does nothing. It must not block.
	OnReady func()
	// Clock is the clock of all periods and times; nil means the real clock.
	Clock clock.WithTicker
	// Log receives the kubelet's log; nil discards it. No secret is written to it.
	Log io.Writer
}

// Release is the operating system as a Node shows it.
type Release struct {
	OSImage       string // "Windows Server 2022 Datacenter"
	KernelVersion string // "10.0.20348.2700", "6.8.0-1017-azure"
	// Build is the Windows build in three parts, "10.0.20348"; "" on Linux.
	Build string
}

// Cloud is the identity of a machine in its cloud.
type Cloud struct {
	ProviderID, InstanceType, Region, Zone string
}

// Health contains the faults of its machine that a kubelet detects.
type Health struct {
	// RuntimeDown is set if the container runtime does not answer.
	RuntimeDown bool
	// DiskFull is set if the disk is fuller than the eviction threshold.
	DiskFull bool
	// MemoryCommitted is set if the committed memory of programs leaves less than the eviction threshold.
	MemoryCommitted bool
	// Sandbox is the runtime's error for every new sandbox, "" for none.
	Sandbox string
	// ShimHangs is set if ending pods do not end, because their shim does not answer.
	ShimHangs bool
	// PodsCutOff is set if no pod with its own address can be reached.
	PodsCutOff bool
}

// Processes runs the containers of static pods as real processes. A process outlives Run, as
// containers outlive a kubelet: a start with the ID and Hash of a running process returns that
// process. The implementation stops the processes when the machine stops.
type Processes interface {
	StartProcess(ctx context.Context, spec ProcessSpec) (Process, error)
}

// ProcessSpec describes one container of a static pod, as in the manifest.
type ProcessSpec struct {
	// ID is namespace/pod/container, unique on the machine.
	ID string
	// Hash changes with the manifest.
	Hash      string
	Pod       *corev1.Pod
	Container corev1.Container
	// Output is the container's log, open for appending until StartProcess returns.
	Output *os.File
	// LastLine returns the last line of the container's log, or "".
	LastLine func() string
}

// Process is a started container.
type Process interface {
	// Done is closed when the process has ended.
	Done() <-chan struct{}
	// ExitCode is valid after Done.
	ExitCode() int
	// Stop asks the process to end, kills it when ctx has ended, and returns after the process has ended.
	Stop(ctx context.Context) error
}

// Network makes pods reachable.
type Network interface {
	// AddPod makes the TCP ports of a pod's address reachable. serve handles one connection and returns
	// when the connection has ended.
	AddPod(namespace, name string, ip netip.Addr, ports []int32, serve func(port int32, conn net.Conn))
	// RemovePod removes the address and ends its connections.
	RemovePod(namespace, name string, ip netip.Addr)
}

// PodIPs allocates pod addresses for clusters whose controller manager does not assign CIDRs to
// nodes.
type PodIPs interface {
	Allocate(ctx context.Context, node, namespace, name string) (netip.Addr, error)
	Release(node string, ip netip.Addr)
	// Keep reserves the address that a pod has from an earlier run.
	Keep(node string, ip netip.Addr)
}

// Kubelet is one node's agent.
type Kubelet struct {
	// apiVars are the variables of the API server's Service, after they were read.
	apiVars  atomic.Pointer[map[string]string]
	c        Config
	flags    Flags
	settings settings
	nodeName string
	log      *slog.Logger

	runtime       *Runtime
	identity      *identity              // client certificate and connection
	api           atomic.Pointer[client] // nil until the TLS bootstrap has succeeded
	folders       *Folders
	podConnection podConnection
	node          *nodeState
	cni           cniFile // used only by runNode
	pods          *podManager
	asked         probeCounts
	began         time.Time
	ready         chan struct{}     // closed when the node is registered
	poke          chan struct{}     // the node's files may have changed
	refused       map[string]string // the error of each refused manifest of a static pod, by file name
}

// New reads the kubelet's own configuration from the machine's files. It fails where the real
// program exits: for flags that its version does not have, and for a configuration that it cannot
// read.
func New(c Config) (*Kubelet, error) {
	if c.Files == nil || c.Hostname == "" {
		return nil, errors.New("kubelet: Files and Hostname are required")
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	if c.OnReady == nil {
		c.OnReady = func() {}
	}
	if c.Nodes == nil {
		c.Nodes = func() int { return 1 }
	}
	if c.Health == nil {
		c.Health = func() Health { return Health{} }
	}
	if c.Dial == nil {
		c.Dial = func(_ context.Context, network, address string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("network is unreachable")}
		}
	}
	flags, err := parseFlags(c.Args, c.Version, c.OS)
	if err != nil {
		return nil, err
	}
	k := &Kubelet{
		c: c, flags: flags, began: c.Clock.Now(),
		log:   slog.New(slog.NewTextHandler(c.Log, nil)),
		ready: make(chan struct{}), poke: make(chan struct{}, 1), refused: map[string]string{},
	}
	if k.settings, err = k.readSettings(); err != nil {
		return nil, err
	}
	k.nodeName = strings.ToLower(c.Hostname)
	if name := c.NodeName; name != "" {
		k.nodeName = name
	}
	if name := flags.HostnameOverride; name != "" {
		k.nodeName = strings.ToLower(name)
	}
	if k.runtime = c.Runtime; k.runtime == nil {
		k.runtime = NewRuntime()
	}
	k.identity = newIdentity(k)
	k.node = newNodeState()
	k.pods = newPodManager(k)
	return k, nil
}

// NodeName returns the name with which this kubelet registers.
func (k *Kubelet) NodeName() string { return k.nodeName }

// Run runs the kubelet. It returns when ctx ends, or with the error with which a real kubelet would
// exit. Static pods start before the API server can be reached, because the API server may be one
// of them.
func (k *Kubelet) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	listener, err := k.c.Listen()
	if err != nil {
		return fmt.Errorf("kubelet %s: listen: %w", k.nodeName, err)
	}
	k.log.Info("Starting simulated kubelet", "node", k.nodeName, "version", k.c.Version, "os", k.c.OS)
	var loops sync.WaitGroup
	loop := func(f func(context.Context) error) {
		k.c.Wall.Go(&loops, "kubelet", func() {
			var err error
			if p := k.c.Wall.Call("kubelet", func() { err = f(ctx) }); p != nil {
				err = p
			}
			if err != nil && ctx.Err() == nil {
				stop(err)
			}
		})
	}
	if k.folders = k.c.Folders; k.folders == nil {
		k.folders = NewFolders()
		defer k.folders.Close()
	}
	loop(func(ctx context.Context) error { return k.serve(ctx, listener) })
	loop(k.runStaticPods)
	loop(func(ctx context.Context) error {
		if err := k.identity.bootstrap(ctx); err != nil {
			return err
		}
		loop(k.identity.rotate)
		loop(k.pods.watch)
		return k.runNode(ctx)
	})
	<-ctx.Done()
	loops.Wait()
	k.pods.wait()
	if k.c.Runtime == nil {
		k.runtime.Close()
	}
	k.identity.close()
	k.podConnection.close()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Observe makes the kubelet examine its machine immediately, after a change of the machine.
func (k *Kubelet) Observe() {
	k.touched()
	k.pods.wakeAll()
}

// touched requests an early check of the machine's files.
func (k *Kubelet) touched() {
	select {
	case k.poke <- struct{}{}:
	default:
	}
}

// sleep waits on the kubelet's clock and reports whether the time has passed; false means that ctx
// has ended.
func (k *Kubelet) sleep(ctx context.Context, d time.Duration) bool {
	t := k.c.Clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C():
		return true
	}
}
