package ui

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
	"casement.dev/casement/internal/ui"
	"casement.dev/casement/internal/ui/model"
)

const (
	machines = 500
	// updates is the number of changes over which the page is measured; warm is the number of
	// changes before the measurement.
	updates, warm = 30, 5
	// maxScript is the time in seconds that one update may take in the page's thread; maxGrowth is
	// the permitted growth of the page's memory, in bytes.
	maxScript, maxGrowth = 0.1, 4 << 20
)

// fleet is a model source with one cluster of many machines. Each reading changes some machines,
// which a seed selects.
type fleet struct {
	mu      sync.Mutex
	random  *rand.Rand
	cluster model.Cluster
}

func newFleet(n int) *fleet {
	begin := time.Now().Add(-time.Hour)
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "default", Name: name, CreationTimestamp: metav1.NewTime(begin)}
	}
	s := &facts.Snapshot{Cluster: &clusterv1.Cluster{ObjectMeta: meta("many")},
		AzureMachines: map[string]*infrav1.AzureMachine{}, Nodes: map[string]*corev1.Node{}}
	s.AzureCluster = &infrav1.AzureCluster{ObjectMeta: meta("many"), Spec: infrav1.AzureClusterSpec{ResourceGroup: "many"}}
	s.AzureCluster.Spec.NetworkSpec.Vnet.Name = "many-vnet"
	s.AzureCluster.Spec.NetworkSpec.Subnets = []infrav1.SubnetSpec{{SubnetClassSpec: infrav1.SubnetClassSpec{
		Name: "node-subnet", Role: infrav1.SubnetNode, CIDRBlocks: []string{"10.1.0.0/16"},
	}}}
	for i := range n {
		name := fmt.Sprintf("many-md-win-%04d", i)
		m := clusterv1.Machine{ObjectMeta: meta(name), Spec: clusterv1.MachineSpec{ClusterName: "many"}}
		m.Labels = map[string]string{clusterv1.MachineDeploymentNameLabel: "many-md-win"}
		m.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{Kind: "AzureMachine", Name: name}
		m.Status.NodeRef.Name = name
		m.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineReadyCondition, Status: metav1.ConditionTrue, Reason: "Ready"}}
		m.Status.Phase = string(clusterv1.MachinePhaseRunning)
		s.Machines = append(s.Machines, m)
		a := &infrav1.AzureMachine{ObjectMeta: meta(name)}
		a.Spec.ProviderID = new("azure:///subscriptions/s/resourceGroups/many/providers/Microsoft.Compute/virtualMachines/" + name)
		a.Status.Conditions = []metav1.Condition{{Type: infrav1.VMRunningCondition, Status: metav1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(begin.Add(time.Duration(60+i%90) * time.Second))}}
		s.AzureMachines[name] = a
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(begin.Add(3 * time.Minute))}}
		node.Status.NodeInfo = corev1.NodeSystemInfo{OperatingSystem: "windows",
			OSImage: "Windows Server 2022 Datacenter", KernelVersion: fmt.Sprintf("10.0.20348.%d", 2700+i%3),
			KubeletVersion: "v1.36.3", ContainerRuntimeVersion: "containerd://2.3.2"}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(begin.Add(4 * time.Minute))}}
		s.Nodes[name] = node
	}
	return &fleet{random: rand.New(rand.NewPCG(1, 2)),
		cluster: model.Cluster{Snapshot: s, Answer: walk.Answer{Healthy: true},
			Deployments: []clusterv1.MachineDeployment{{ObjectMeta: meta("many-md-win")}}}}
}

// Read returns the model; from the second reading on, a twentieth of the machines change.
func (f *fleet) Read(context.Context) model.Model {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.cluster.Snapshot
	for range len(s.Machines) / 20 {
		m := &s.Machines[f.random.IntN(len(s.Machines))]
		ready, node := &m.Status.Conditions[0], s.Nodes[m.Name]
		if ready.Status == metav1.ConditionTrue {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "NotReady",
				fmt.Sprintf("kubelet stopped at %d", f.random.Int())
			node.Status.Conditions[0].Status, node.Status.Conditions[0].Reason = corev1.ConditionFalse, "KubeletNotReady"
		} else {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionTrue, "Ready", ""
			node.Status.Conditions[0].Status = corev1.ConditionTrue
		}
	}
	return model.Build(model.Input{Now: time.Now(), Meta: model.Meta{Source: "500 machines"}, Clusters: []model.Cluster{f.cluster}})
}

func (f *fleet) Why(context.Context, ui.Selection) (walk.Answer, error) {
	return walk.Answer{Healthy: true, Object: "it"}, nil
}

func (f *fleet) Account(context.Context) (model.Account, error) { return model.Account{}, nil }

func (f *fleet) Show(context.Context, ui.Selection, string, io.Writer) error { return nil }

func (f *fleet) Console(context.Context, ui.Selection, bool, io.Writer) error { return nil }

// TestManyMachines checks that the page follows 500 machines, of which 25 change at a time, within
// its limits of script time and memory, in every view.
func TestManyMachines(t *testing.T) {
	b := newBrowser(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all := newFleet(machines)
	server := ui.New(func(string) (ui.Source, bool) { return all, true }, l.Addr())
	go func() { _ = server.Serve(t.Context(), l) }()
	b.open(server.Address())
	b.text("#counts", "500 machines", time.Minute)
	// The counter counts each event that the page gets, with a listener like the page's own.
	b.js(`window.seen = 0; new EventSource("events").onmessage = () => { window.seen++; }; 0`)
	for _, view := range []string{"azure", "nodes", "boot"} {
		b.tab(view)
		b.wait(warm)
		script, heap := b.metric("ScriptDuration")+b.metric("LayoutDuration"), b.heap()
		b.wait(updates / 3)
		per := (b.metric("ScriptDuration") + b.metric("LayoutDuration") - script) / (updates / 3)
		grown := b.heap() - heap
		t.Logf("%s: %.1f ms of script and layout an update, %+.0f KiB of memory over %d updates", view, per*1000, grown/1024, updates/3)
		if per > maxScript {
			t.Errorf("%s: an update takes %.0f ms of script and layout", view, per*1000)
		}
		if grown > maxGrowth {
			t.Errorf("%s: the page's memory has grown by %.1f MiB", view, grown/(1<<20))
		}
		for _, scheme := range []string{"light", "dark"} {
			b.emulate(1280, scheme)
			b.shot("many-" + view + "-" + scheme)
		}
	}
	if *full {
		b.flat(10 * time.Minute)
	}
	b.clean()
}

// flat logs the page's memory every minute for a while, with the view of nodes open.
func (b *browser) flat(length time.Duration) {
	b.t.Helper()
	b.tab("nodes")
	b.wait(warm)
	first, begin := b.heap(), time.Now()
	next, updates := begin, 0
	for now := begin; now.Sub(begin) < length; now = time.Now() {
		if now.After(next) {
			b.t.Logf("after %.0f s and %d updates: %.1f MiB", now.Sub(begin).Seconds(), updates, b.heap()/(1<<20))
			next = next.Add(time.Minute)
		}
		b.wait(1)
		updates++
	}
	last := b.heap()
	b.t.Logf("after %.0f s and %d updates: %.1f MiB, %+.0f KiB in all", time.Since(begin).Seconds(), updates,
		last/(1<<20), (last-first)/1024)
	if last-first > maxGrowth {
		b.t.Errorf("the page's memory has grown from %.1f to %.1f MiB in %s", first/(1<<20), last/(1<<20), length)
	}
}

// wait waits for a number of updates.
func (b *browser) wait(n int) {
	b.t.Helper()
	seen, err := eval[int](b, `window.seen`, time.Minute)
	if err != nil {
		b.t.Fatal(err)
	}
	b.until(fmt.Sprintf("%d updates", n), fmt.Sprintf(`window.seen >= %d`, seen+n), 5*time.Minute)
}

// heap returns the page's memory in bytes after a garbage collection.
func (b *browser) heap() float64 {
	call(b, heapprofiler.CollectGarbage, cdp.Empty{})
	return b.metric("JSHeapUsedSize")
}
