package stub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
)

// CloudController is the cloud-controller-manager of a cluster: in its own container, or in old
// clusters as a part of the kube-controller-manager.
type CloudController struct {
	// Kubernetes is the connection to the cluster.
	Kubernetes *rest.Config
	// Azure and Config are the connection to the cloud; Config is the parsed azure.json.
	Azure  Azure
	Config AzureConfig
	// Metadata gets the token of the machine's identity from the metadata service (see the function
	// Metadata); nil if Config contains a secret.
	Metadata func(ctx context.Context, path string, into any) error
	// ClusterName is the value of --cluster-name, which names the load balancers.
	ClusterName string
	// Identity identifies this candidate in the election: the node's name.
	Identity string
	// Added is called with the name of each new node; nil ignores them.
	Added func(name string)
	// Out is the log.
	Out io.Writer
}

// The durations of the lease are longer than the real defaults (15, 10 and 2 seconds), so that the
// lease is not lost on a computer that is busy with other work. A leader renews it each
// retryPeriod.
const (
	leaseDuration = 40 * time.Second
	renewDeadline = 30 * time.Second
	retryPeriod   = 10 * time.Second
)

// Run takes part in the election of a leader and works while it leads, until ctx
// ends.
func (c CloudController) Run(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.Kubernetes)
	if err != nil {
		return err
	}
	c.Azure.HTTP = cmp.Or(c.Azure.HTTP, http.DefaultClient)
	c.ClusterName = cmp.Or(c.ClusterName, "kubernetes")
	var leading sync.Mutex // locked during the work, for which Run waits
	for ctx.Err() == nil {
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "cloud-controller-manager"},
				Client:     client.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: c.Identity},
			},
			LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) {
					leading.Lock()
					defer leading.Unlock()
					c.lead(ctx, client)
				},
				OnStoppedLeading: func() {},
			},
		})
		if err != nil {
			return fmt.Errorf("cloud controller: %w", err)
		}
		elector.Run(ctx)
		leading.Lock()   // waits until the work has ended
		leading.Unlock() //lint:ignore SA2001 the wait is the point
	}
	return nil
}

func (c CloudController) printf(format string, args ...any) {
	if c.Out != nil {
		fmt.Fprintf(c.Out, format+"\n", args...)
	}
}

// controller is the state of a CloudController while it leads.
type controller struct {
	CloudController
	client   kubernetes.Interface
	arm      *arm
	nodes    corelisters.NodeLister
	services corelisters.ServiceLister
	events   record.EventRecorder
	applied  map[string]string // body of the last PUT by load balancer name
	failures map[types.UID]failure
	ignored  map[string]bool // annotations about which an event was written
	failed   string          // the last printed error
	nodesDue time.Time       // time of the next check of the nodes
}

// lead follows services and nodes until ctx ends.
func (c CloudController) lead(ctx context.Context, client kubernetes.Interface) {
	c.printf("leading as %s", c.Identity)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(slim))
	events := record.NewBroadcaster(record.WithContext(ctx))
	defer events.Shutdown()
	events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	k := &controller{
		CloudController: c, client: client,
		events: events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "service-controller"}),
		arm:    &arm{azure: c.Azure, c: c.Config, metadata: c.Metadata},
		nodes:  factory.Core().V1().Nodes().Lister(), services: factory.Core().V1().Services().Lister(),
		applied: map[string]string{}, failures: map[types.UID]failure{}, ignored: map[string]bool{},
	}
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	nodes, services := factory.Core().V1().Nodes().Informer(), factory.Core().V1().Services().Informer()
	_, err1 := nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) {
			if c.Added != nil {
				c.Added(added.(*corev1.Node).Name)
			}
			notify()
		},
		DeleteFunc: func(any) { notify() },
		UpdateFunc: func(old, new any) {
			if affectsCloud(old.(*corev1.Node), new.(*corev1.Node)) {
				notify()
			}
		},
	})
	_, err2 := services.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() },
	})
	if err := errors.Join(err1, err2); err != nil {
		c.printf("watch: %v", err)
		return
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	factory.WaitForCacheSync(ctx.Done())
	for ctx.Err() == nil {
		began := time.Now()
		wait := k.pass(ctx)
		rest := max(settle, restFactor*time.Since(began))
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-changed:
			pause(ctx, rest)
		case <-t.C:
		}
		t.Stop()
	}
}

// affectsCloud reports whether a change of a node may require a change in the cloud.
func affectsCloud(old, new *corev1.Node) bool {
	return isReady(old) != isReady(new) || backend(old) != backend(new) || internalIP(old) != internalIP(new) ||
		old.Spec.ProviderID != new.Spec.ProviderID
}

// Pauses between passes when nothing changes.
const (
	lifecyclePeriod = 5 * time.Second
	retryAfterError = time.Second
	// restFactor is the ratio of the pause after a pass to the pass's duration: with more nodes, a
	// pass takes longer and nodes change more often.
	restFactor = 5
)

// pass reconciles everything once and returns the time until the next pass.
func (c *controller) pass(ctx context.Context) time.Duration {
	err := errors.Join(c.reconcileNodes(ctx), c.reconcileServices(ctx))
	if ctx.Err() != nil {
		return 0
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != c.failed && text != "" {
		c.printf("error: %s", text)
	}
	c.failed = text
	if err != nil {
		return retryAfterError
	}
	return lifecyclePeriod
}

// reconcileNodes deletes the nodes that are not ready and whose machine no longer exists, once in
// each lifecyclePeriod. It lists the cloud's machines only if a node is not ready.
func (c *controller) reconcileNodes(ctx context.Context) error {
	if time.Now().Before(c.nodesDue) {
		return nil
	}
	c.nodesDue = time.Now().Add(lifecyclePeriod)
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		return err
	}
	nodes = slices.DeleteFunc(nodes, func(n *corev1.Node) bool {
		return isReady(n) || n.Spec.ProviderID != "" && !c.ours(n.Spec.ProviderID)
	})
	if len(nodes) == 0 {
		return nil
	}
	sets := c.scaleSets(nodes)
	if slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return n.Spec.ProviderID == "" }) {
		all, err := c.arm.scaleSets(ctx)
		if err != nil {
			return err
		}
		sets = append(sets, all...)
	}
	machines, err := c.arm.machines(ctx, sets)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		// A node that was never initialised is identified by its name, as in the real provider.
		if machines[strings.ToLower(cmp.Or(n.Spec.ProviderID, n.Name))] {
			continue
		}
		err := c.client.CoreV1().Nodes().Delete(ctx, n.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &n.UID}})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		c.printf("deleted node %s: its virtual machine is gone", n.Name)
	}
	return nil
}

// ours reports whether a provider ID names a virtual machine in the cluster's resource group, or an
// instance of a scale set in it.
func (c *controller) ours(providerID string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(providerID), c.compute())
	return ok && (strings.HasPrefix(rest, "virtualmachines/") || strings.HasPrefix(rest, scaleSetsType))
}

const scaleSetsType = "virtualmachinescalesets/"

// compute returns the prefix, in lower case, of the provider IDs of the group's machines.
func (c *controller) compute() string {
	return strings.ToLower(fmt.Sprintf("azure:///subscriptions/%s/resourceGroups/%s/providers/Microsoft.Compute/",
		c.Config.SubscriptionID, c.Config.ResourceGroup))
}

// scaleSets returns the scale sets of which nodes are instances.
func (c *controller) scaleSets(nodes []*corev1.Node) []string {
	var out []string
	for _, n := range nodes {
		if rest, ok := strings.CutPrefix(strings.ToLower(n.Spec.ProviderID), c.compute()+scaleSetsType); ok {
			name, _, _ := strings.Cut(rest, "/")
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func isReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// backend reports whether a node takes part in load balancing.
func backend(n *corev1.Node) bool {
	_, excluded := n.Labels[corev1.LabelNodeExcludeBalancers]
	return !excluded && n.DeletionTimestamp == nil && !slices.ContainsFunc(n.Spec.Taints, isCloudTaint)
}

func internalIP(n *corev1.Node) string {
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}

// cloudController runs the stub of the cloud-controller-manager.
func (c *Cluster) cloudController(ctx context.Context, env Env) error {
	file := cmp.Or(env.flag("cloud-config"), "/etc/kubernetes/azure.json")
	data, err := env.Files.ReadFile(file)
	if err != nil {
		return fmt.Errorf("couldn't open cloud provider configuration %s: the file is not on the node", file)
	}
	config, err := ReadAzureConfig(data)
	if err != nil {
		return err
	}
	kubernetes, err := env.Config(ctx)
	if err != nil {
		return err
	}
	return CloudController{
		Kubernetes: kubernetes, Azure: c.c.Azure, Config: config, Metadata: env.askMetadata,
		ClusterName: env.flag("cluster-name"), Identity: env.NodeName, Added: c.nodeAdded, Out: env.Out,
	}.Run(ctx)
}
