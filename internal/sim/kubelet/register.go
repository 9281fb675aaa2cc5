package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/clock"
)

// The kubelet's own periods (KubeletConfiguration defaults).
const (
	statusPeriod   = 10 * time.Second // how often the status is computed
	reportPeriod   = 5 * time.Minute  // how often an unchanged status is written
	runtimePeriod  = 2 * time.Second  // how often a missing CNI configuration is looked for
	registerPeriod = 7 * time.Second  // the longest pause between registrations
)

func semanticEqual(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// nodeState is the Node as this kubelet last saw it.
type nodeState struct {
	mu      sync.Mutex
	node    *corev1.Node
	network string // the reason why the network is not ready; "" if it is ready

	// Used only by the goroutine that runs the node.
	reported time.Time // when the status was written last
	written  time.Time // when the API server answered the kubelet's write with node
}

// recently is the time for which the next report uses the Node that a write returned, in place of a
// read. The controller manager changes a kubelet's conditions only after at least 40 s without a
// lease, and the report does not change fields of other clients.
const recently = 10 * time.Second

func newNodeState() *nodeState { return &nodeState{network: networkNotReady} }

func (s *nodeState) get() *corev1.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.node
}

func (s *nodeState) set(n *corev1.Node) {
	n.ManagedFields = nil // this is half of a Node's memory
	s.mu.Lock()
	defer s.mu.Unlock()
	s.node = n
}

// networkProblem returns the reason why pods cannot get a network, "" if they can.
func (s *nodeState) networkProblem() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.network
}

func (k *Kubelet) facts() nodeFacts {
	var images []corev1.ContainerImage
	if k.c.Nodes() <= manyNodes { // each change of the images is a write of the Node
		images = k.runtime.list()
	}
	return nodeFacts{name: k.nodeName, config: &k.c, flags: &k.flags, settings: &k.settings, images: images,
		networkProblem: k.node.networkProblem(), health: k.health(), now: k.c.Clock.Now()}
}

// runNode registers the node once and then updates the lease and the status. Like a real kubelet,
// it does not create the Node again if the Node is deleted while it runs: it continues to renew the
// lease, and status writes fail.
func (k *Kubelet) runNode(ctx context.Context) error {
	k.checkNetwork()
	if k.flags.RegisterNode && (k.settings.RegisterNode == nil || *k.settings.RegisterNode) {
		if err := k.register(ctx); err != nil {
			return err
		}
	}
	close(k.ready)
	lease := nodeLease{k: k}
	lease.renew(ctx)
	if k.node.get() == nil || k.node.reported.IsZero() {
		k.reportStatus(ctx)
	}
	renewal, status := k.c.Clock.NewTimer(k.beat(lease.period())), k.c.Clock.NewTimer(k.beat(statusPeriod))
	defer renewal.Stop()
	defer status.Stop()
	ready := sync.OnceFunc(k.c.OnReady)
	for {
		if k.node.networkProblem() == "" {
			ready()
		}
		// While the network is ready, the status timer checks it often enough.
		var check clock.Timer
		var missing <-chan time.Time
		if k.node.networkProblem() != "" {
			check = k.c.Clock.NewTimer(runtimePeriod)
			missing = check.C()
		}
		select {
		case <-ctx.Done():
		case <-renewal.C():
			lease.renew(ctx)
			renewal.Reset(k.beat(lease.period()))
		case <-status.C():
			k.checkNetwork()
			k.reportStatus(ctx)
			status.Reset(k.beat(statusPeriod))
		case <-k.poke:
			k.checkNetwork()
			k.reportStatus(ctx)
		case <-missing:
			k.lookAtNetwork(ctx)
		}
		if check != nil {
			check.Stop()
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// lookAtNetwork checks the network and, if it has become ready or was lost, reports the status
// immediately.
func (k *Kubelet) lookAtNetwork(ctx context.Context) {
	if k.checkNetwork() {
		k.reportStatus(ctx)
	}
}

// register creates the Node, or adopts an existing Node of the same name: it writes the default
// labels again, but not the taints.
func (k *Kubelet) register(ctx context.Context) error {
	if f := k.facts(); f.flags.CloudProvider == "external" && registersCloudTaint(f.settings) {
		k.log.Info("simulated: the taint of cloud-provider=external is in register-with-taints too; the node "+
			"registers with it once", "taint", cloudTaint)
	}
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, registerPeriod) {
		node, created, err := k.tryRegister(ctx)
		if err == nil {
			k.node.set(node)
			if created {
				k.node.reported = k.c.Clock.Now() // the status was reported a moment ago
				k.node.written = k.node.reported
			}
			k.log.Info("Successfully registered node", "node", k.nodeName)
			return nil
		}
		k.log.Error("Unable to register node with API server", "node", k.nodeName, "err", err)
		if !k.sleep(ctx, wait) {
			return nil
		}
	}
}

// tryRegister makes one attempt to register, and reports whether it created the Node.
func (k *Kubelet) tryRegister(ctx context.Context) (node *corev1.Node, created bool, err error) {
	nodes := k.api.Load().core.Nodes()
	node, err = nodes.Create(ctx, newNode(k.facts(), k.c.Nodes()), metav1.CreateOptions{})
	if err == nil {
		return node, true, nil
	}
	if !apierrors.IsAlreadyExists(err) && !apierrors.IsForbidden(err) {
		return nil, false, err
	}
	have, getErr := nodes.Get(ctx, k.nodeName, metav1.GetOptions{})
	if getErr != nil {
		return nil, false, errors.Join(err, getErr)
	}
	labels := map[string]string{}
	for key, value := range defaultLabels(k.facts()) {
		if have.Labels[key] != value {
			labels[key] = value
		}
	}
	if len(labels) == 0 && have.Annotations[attachDetach] == "true" {
		return have, false, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"labels": labels, "annotations": map[string]string{attachDetach: "true"}}})
	if err != nil {
		return nil, false, err
	}
	node, err = nodes.Patch(ctx, k.nodeName, types.MergePatchType, patch, metav1.PatchOptions{})
	return node, false, err
}

// reportStatus writes the status if it has changed, or every five minutes.
func (k *Kubelet) reportStatus(ctx context.Context) {
	for range 5 {
		err := k.tryReportStatus(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		k.log.Error("Error updating node status", "err", err)
		if apierrors.IsNotFound(err) || !k.sleep(ctx, time.Second) {
			return
		}
	}
}

func (k *Kubelet) tryReportStatus(ctx context.Context) error {
	due := k.c.Clock.Since(k.node.reported) >= reportPeriod
	if last := k.node.get(); last != nil && !due && !statusChanged(last.Status, nodeStatus(k.facts(), last.Status)) {
		return nil // so that an idle node needs no read
	}
	nodes := k.api.Load().core.Nodes()
	old := k.node.get()
	if old == nil || k.c.Clock.Since(k.node.written) > recently {
		var err error
		if old, err = read(ctx, nodes.Get, k.nodeName); err != nil {
			return err
		}
	}
	next := old.DeepCopy()
	next.Status = nodeStatus(k.facts(), old.Status)
	patch, err := statusPatch(old, next)
	if err != nil {
		return err
	}
	updated, err := nodes.Patch(ctx, k.nodeName, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return err
	}
	k.node.set(updated)
	k.node.reported = k.c.Clock.Now()
	k.node.written = k.node.reported
	return nil
}

// statusPatch returns the difference of two Nodes' statuses. Addresses are replaced as a whole,
// because merging by type would mix the kubelet's addresses with a provider's.
func statusPatch(old, next *corev1.Node) ([]byte, error) {
	strip := func(n *corev1.Node) ([]byte, error) {
		return json.Marshal(&corev1.Node{Status: n.Status})
	}
	a, err := strip(old)
	if err != nil {
		return nil, err
	}
	b, err := strip(next)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(a, b, corev1.Node{})
	if err != nil {
		return nil, err
	}
	if semanticEqual(old.Status.Addresses, next.Status.Addresses) {
		return patch, nil
	}
	var doc map[string]any
	if err := json.Unmarshal(patch, &doc); err != nil {
		return nil, err
	}
	status, ok := doc["status"].(map[string]any)
	if !ok {
		return patch, nil
	}
	list := []any{map[string]any{"$patch": "replace"}}
	for _, address := range next.Status.Addresses {
		list = append(list, address)
	}
	status["addresses"] = list
	delete(status, "$setElementOrder/addresses")
	return json.Marshal(doc)
}
