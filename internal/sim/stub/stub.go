// Package stub contains small programs that replace containers that a cluster on the local plane
// needs: kube-proxy, CNI installers, CoreDNS and the Azure cloud provider. They have the same
// observable effects as the real programs (files on the node, annotations, taints, addresses, Azure
// resources), through the same interfaces and with the same identities, and no other effects; the
// log of each states that it is simulated. `casement status` shows the result of List.
//
// It does not know virtual machines, kubelets or the inside of the local Azure: a program's inputs
// are its Env, the network and azure.json. The simulator and internal/plane may import it; the
// provider may not.
package stub

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/sim/fabric"
)

// Program runs in place of a container. Run returns nil when ctx has ended or nothing is left to do
// (exit code 0), or an error (exit code 1).
type Program interface {
	Run(ctx context.Context, env Env) error
	// Ports returns the TCP ports on which the real program answers although its manifests do not
	// declare them.
	Ports() []int32
}

// Env is the environment of a program in its container.
type Env struct {
	Pod       *corev1.Pod
	Container *corev1.Container
	// Vars are the container's environment variables, resolved.
	Vars     map[string]string
	NodeName string
	OS       string
	// InternalIP is the node's address.
	InternalIP netip.Addr
	// Files are the node's files, by the paths that a hostPath volume would use.
	Files *guestfs.Root
	// Config returns a client configuration with the pod's service account, whose token is renewed;
	// NodeConfig returns one with the node's own identity. Both dial through the machine. All users
	// of Config share its token and its connections.
	Config, NodeConfig func(ctx context.Context) (*rest.Config, error)
	// Machine ends with the node's machine, which outlives the container; nil if they end together.
	Machine context.Context
	// Dial opens connections from inside the machine.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// MTU is the MTU of the node's interface; 0 if it is not known.
	MTU int
	// DataDisks is the number of data disks that the node's machine can have.
	DataDisks int
	// Touched notifies the kubelet that files of the node have changed, so that it reads the CNI
	// configuration immediately.
	Touched func()
	// Handle sets the handler of requests over TLS to a port of the pod; nil if ports cannot be
	// opened.
	Handle func(port int32, secure *tls.Config, handler http.Handler)
	// Exec runs a command in the container until it ends, and writes both its streams to out. For
	// containers with OnNode it runs on the node. It may be nil.
	Exec func(ctx context.Context, argv []string, out io.Writer) (code int, err error)
	// Out is the container's log.
	Out io.Writer
}

func (e Env) printf(format string, args ...any) {
	if e.Out != nil {
		fmt.Fprintf(e.Out, format+"\n", args...)
	}
}

func (e Env) touched() {
	if e.Touched != nil {
		e.Touched()
	}
}

// init reports whether the program runs as an init container.
func (e Env) init() bool {
	return e.Pod != nil && e.Container != nil && slices.ContainsFunc(e.Pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == e.Container.Name && (c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways)
	})
}

// args returns the container's command and arguments.
func (e Env) args() []string {
	if e.Container == nil {
		return nil
	}
	return slices.Concat(e.Container.Command, e.Container.Args)
}

// flag returns the value of --name=value.
func (e Env) flag(name string) string {
	for _, a := range e.args() {
		if v, ok := strings.CutPrefix(a, "--"+name+"="); ok {
			return v
		}
	}
	return ""
}

// Config is shared by the programs of one cluster.
type Config struct {
	// Key is the cluster's key in the fabric; VNetID is the ARM ID of the virtual network of its
	// nodes.
	Key, VNetID string
	Fabric      *fabric.Fabric
	// Azure contains the endpoints of the local Azure, which programs call with the identity in
	// azure.json.
	Azure Azure
	// Log receives messages that belong to no container's log; nil discards them.
	Log *slog.Logger
}

// Cluster provides the programs for the containers of one cluster, and contains their shared state,
// such as the list of services.
type Cluster struct {
	c     Config
	log   *slog.Logger
	net   *fabric.Cluster
	watch *serviceWatch
	mu    sync.Mutex
	dns   int // number of running CoreDNS containers
	// added contains the signals of nodeAdded by the node's name.
	added map[string]chan struct{}
	leads map[string]chan struct{} // semaphores of the controllers, by driver
}

// New returns the programs of one cluster.
func New(c Config) *Cluster {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Azure.HTTP == nil {
		c.Azure.HTTP = http.DefaultClient
	}
	s := &Cluster{c: c, log: c.Log, net: c.Fabric.Cluster(c.Key), added: map[string]chan struct{}{}, leads: map[string]chan struct{}{}}
	s.watch = newServiceWatch(s.net, s.log)
	return s
}

// Description describes a stub in the form of `casement status`.
type Description struct {
	Name   string
	Images []string // repositories without registry and tag
	Does   string
}

type entry struct {
	Description
	run func(*Cluster, context.Context, Env) error
	// ports are ports that the real program opens without declaring them in its manifest.
	ports []int32
}

// entries returns the programs. An image belongs to the first entry with a repository with which
// the image's repository ends.
func entries() []entry {
	return []entry{
		{Description{"kube-proxy", []string{"kube-proxy", "kube-proxy-amd64"},
			"opens node ports and accepts load balancer traffic; waits for the CNI on Windows"},
			(*Cluster).kubeProxy, []int32{10249, 10256}},
		{Description{"calico-install", []string{"calico/cni", "calico/cni-windows", "sigwindowstools/calico-install"},
			"writes the CNI configuration"}, (*Cluster).calicoInstall, nil},
		{Description{"calico-node", []string{"calico/node", "calico/node-windows", "calico/windows", "sigwindowstools/calico-node"},
			"writes the CNI configuration where no installer did, and annotates the node"}, (*Cluster).calicoNode, []int32{9099}},
		{Description{"flannel", []string{
			"flannel/flannel", "coreos/flannel", "sigwindowstools/flannel", "rancher/mirrored-flannelcni-flannel",
		},
			"needs the node's pod CIDR; writes the CNI configuration and subnet.env, and annotates the node"}, (*Cluster).flannel, nil},
		{Description{"azure-cni", []string{"containernetworking/azure-cni", "containernetworking/cni-dropgz"},
			"writes the CNI configuration of azure-vnet; pods then have addresses of the node's interface"}, (*Cluster).azureCNI, nil},
		{Description{"cni-plugin", []string{"flannel/flannel-cni-plugin", "rancher/mirrored-flannelcni-flannel-cni-plugin"},
			"copies a CNI binary, and ends"}, (*Cluster).idle, nil},
		{Description{"coredns", []string{"coredns/coredns", "coredns"},
			"resolves services for what dials inside the cluster"}, (*Cluster).coreDNS, []int32{8080, 8181}},
		{Description{"cloud-controller-manager", []string{"azure-cloud-controller-manager"},
			"deletes nodes whose machine is gone; makes load balancers for services in the local Azure"},
			(*Cluster).cloudController, []int32{10258}},
		{Description{"cloud-node-manager", []string{"azure-cloud-node-manager"},
			"initialises the node from the metadata service: provider ID, addresses, labels, taint"}, (*Cluster).nodeManager, nil},
		{Description{"node-problem-detector", []string{"node-problem-detector/node-problem-detector-windows"},
			"keeps its conditions of a Windows node: services that do not run, and what the addon's script says of HNS"},
			(*Cluster).problemDetector, nil},
		{Description{"host-process", []string{hostImage},
			"runs its command on the Windows node, as far as a guest has what it names"}, (*Cluster).hostProcess, nil},
		{Description{
			"windows-exporter", []string{"prometheus-community/windows-exporter"}, "runs and measures nothing",
		}, (*Cluster).idle, nil},
		{Description{"gmsa-webhook", []string{"gmsa-webhook/k8s-gmsa-webhook"},
			"admission: writes credential specs into pods that name them and may use them"}, (*Cluster).gmsaWebhook, nil},
		{Description{"metrics-server", []string{"metrics-server/metrics-server"},
			"answers metrics.k8s.io with what kubelets say of usage, averaged since a container's start"}, (*Cluster).metricsServer, nil},
		{Description{"azuredisk-csi", []string{"azuredisk-csi"},
			"makes disks for claims, attaches them to machines, and deletes them; neither snapshots nor resizes"},
			(*Cluster).azureDiskCSI, nil},
		{Description{"azurefile-csi", []string{"azurefile-csi"},
			"makes file shares for claims, and deletes them; neither snapshots nor resizes"}, (*Cluster).azureFileCSI, nil},
		{Description{"calico-typha", []string{"calico/typha"}, "runs and does nothing"}, (*Cluster).idle, []int32{9098}},
		{Description{"idle", []string{
			"calico/kube-controllers", "calico/csi", "calico/node-driver-registrar", "calico/apiserver", "tigera/operator",
			"sig-windows/csi-proxy", "csi-provisioner", "csi-attacher", "csi-resizer", "csi-snapshotter",
			"csi-node-driver-registrar", "livenessprobe", "networking/ip-masq-agent", "sig-windows/eventflow-logger", "snapshot-controller",
			// A signal ends the program with exit code 0 on both systems. Source: kubernetes
			// build/pause.
			"pause",
		}, "runs and does nothing"}, (*Cluster).idle, nil},
	}
}

// program is the program of an entry in a cluster.
type program struct {
	entry
	c     *Cluster
	image string
}

// Run implements Program.
func (p program) Run(ctx context.Context, env Env) error {
	env.printf("casement: this is a simulated %s standing in for %s", p.Name, p.image)
	return p.run(p.c, ctx, env)
}

// Ports implements Program.
func (p program) Ports() []int32 { return p.ports }

// Find returns the stub for an image; false if there is none.
func (c *Cluster) Find(image string) (Program, bool) {
	e, ok := find(image)
	if !ok {
		return nil, false
	}
	return program{e, c, image}, true
}

// Refused returns an error for a container that must not be simulated: a program on which users
// rely to refuse something would seem to run but refuse nothing.
func Refused(c *corev1.Container) error {
	if slices.Contains(slices.Concat(c.Command, c.Args), "--lint-only") {
		return errors.New("casement: a simulated container does not run the lint webhook, which would let everything pass: check " +
			"manifests with casement lint, or the cluster with casement lint --kubeconfig FILE")
	}
	return nil
}

func find(image string) (entry, bool) {
	repo := repository(image)
	for _, e := range entries() {
		for _, r := range e.Images {
			if repo == r || strings.HasSuffix(repo, "/"+r) {
				return e, true
			}
		}
	}
	return entry{}, false
}

// repository returns an image without digest and tag.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return image
}

// List returns the descriptions of the stubs, sorted by name.
func List() []Description {
	var out []Description
	for _, e := range entries() {
		out = append(out, e.Description)
	}
	slices.SortFunc(out, func(a, b Description) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// origin returns the Origin of connections from a node.
func (c *Cluster) origin(env Env) fabric.Origin {
	return fabric.Origin{VNetID: c.c.VNetID, IP: env.InternalIP, Cluster: c.c.Key}
}

// idle waits until ctx ends; as an init container it ends immediately, because other containers
// wait for its end.
func (c *Cluster) idle(ctx context.Context, env Env) error {
	if env.init() {
		return nil
	}
	<-ctx.Done()
	return nil
}
