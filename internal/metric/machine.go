package metric

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/controller/record"
)

func code(status int) string { return strconv.Itoa(status) }

// phases returns the phases of a boot with the conditions of an AzureMachine that end them; the conditions become true
// one after the other.
func phases() map[string]string {
	return map[string]string{
		infrav1.NetworkInterfaceReadyCondition: "network-interface",
		infrav1.VMRunningCondition:             "vm-running",
		infrav1.BootstrapSucceededCondition:    "bootstrap-succeeded",
	}
}

// follow records the phases of boots when they end.
func (m *Metrics) follow(ctx context.Context, c cache.Cache) error {
	informer, err := c.GetInformer(ctx, &infrav1.AzureMachine{})
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
		b, ok := before.(*infrav1.AzureMachine)
		a, also := after.(*infrav1.AzureMachine)
		if ok && also {
			m.transition(b, a)
		}
	}})
	if err != nil {
		return err
	}
	machines, err := c.GetInformer(ctx, &clusterv1.Machine{})
	if err != nil {
		return err
	}
	_, err = machines.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
		b, ok := before.(*clusterv1.Machine)
		a, also := after.(*clusterv1.Machine)
		if ok && also {
			m.joined(ctx, b, a)
		}
	}})
	return err
}

// phaseJoined is the end of a boot without a bootstrap report: the node has registered.
const phaseJoined = "node-joined"

// joins reports whether a machine's node appeared between two states of the machine.
func joins(before, after *clusterv1.Machine) bool {
	return after.Spec.InfrastructureRef.Kind == "AzureMachine" && !before.Status.NodeRef.IsDefined() && after.Status.NodeRef.IsDefined()
}

// joined records that a machine's node has registered. The time is counted from the creation of the
// Machine, which is created together with its AzureMachine.
func (m *Metrics) joined(ctx context.Context, before, after *clusterv1.Machine) {
	if !joins(before, after) {
		return
	}
	machine := &infrav1.AzureMachine{}
	if err := m.objects.reader.Get(ctx,
		client.ObjectKey{Namespace: after.Namespace, Name: after.Spec.InfrastructureRef.Name},
		machine); err != nil {
		return // the machine is being deleted
	}
	m.boot.WithLabelValues(osOf(machine), phaseJoined).Observe(time.Since(after.CreationTimestamp.Time).Seconds())
}

// transition records each phase that ended between two states of a machine. It ignores a condition that becomes true a
// second time.
func (m *Metrics) transition(before, after *infrav1.AzureMachine) {
	for condition, phase := range phases() {
		now := meta.FindStatusCondition(after.GetConditions(), condition)
		if now == nil || now.Status != metav1.ConditionTrue || wasSettled(before, condition) {
			continue
		}
		took := now.LastTransitionTime.Sub(after.CreationTimestamp.Time)
		m.boot.WithLabelValues(osOf(after), phase).Observe(max(0, took).Seconds())
	}
}

// wasSettled reports whether a condition is true or was true before: the machine of a false condition may have been
// running already.
func wasSettled(m *infrav1.AzureMachine, condition string) bool {
	return meta.IsStatusConditionTrue(m.GetConditions(), condition) || m.Status.Ready && condition != infrav1.BootstrapSucceededCondition
}

func osOf(m *infrav1.AzureMachine) string {
	return strings.ToLower(cmp.Or(m.Spec.OSDisk.OSType, "Linux"))
}

// Phases of machines, in addition to the reasons why a VM is not running yet.
const (
	phaseDeleting = "Deleting"
	phaseFailed   = "Failed"
	phasePending  = "Pending"
	phaseRunning  = "Running"
)

// phaseOf returns the state of a machine as one word: Deleting, Failed, Running, or the reason why its VM is not running.
func phaseOf(m *infrav1.AzureMachine) string {
	vm := meta.FindStatusCondition(m.GetConditions(), infrav1.VMRunningCondition)
	switch {
	case !m.DeletionTimestamp.IsZero():
		return phaseDeleting
	case m.Status.FailureReason != nil:
		return phaseFailed
	case vm == nil:
		return phasePending
	case vm.Status == metav1.ConditionTrue:
		return phaseRunning
	}
	return vm.Reason
}

// objects collects the objects in the manager's caches at the time of a scrape.
type objects struct {
	reader     client.Reader
	machines   *prometheus.Desc
	operations *prometheus.Desc
}

func newObjects(reader client.Reader) *objects {
	return &objects{
		reader: reader,
		machines: prometheus.NewDesc("casement_machines",
			"AzureMachines by phase: Deleting, Failed, Running, Pending, or the reason why the virtual machine does not run.",
			[]string{"namespace", "cluster", "os", "phase"}, nil),
		operations: prometheus.NewDesc("casement_arm_operations_in_flight",
			"Long-running operations of Azure that were begun and have not been seen to end.",
			[]string{"kind", "verb", "resource_type"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (o *objects) Describe(ch chan<- *prometheus.Desc) {
	ch <- o.machines
	ch <- o.operations
}

// scrapeTimeout is the timeout of the reads of a scrape, which only read memory.
const scrapeTimeout = 5 * time.Second

// Collect implements prometheus.Collector.
func (o *objects) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	var machines infrav1.AzureMachineList
	var clusters infrav1.AzureClusterList
	var pools infrav1.AzureMachinePoolList
	for _, list := range []client.ObjectList{&machines, &clusters, &pools} {
		if err := o.reader.List(ctx, list); err != nil {
			ch <- prometheus.NewInvalidMetric(o.machines, err)
			return
		}
	}
	count, operations := tally(machines.Items, clusters.Items, pools.Items)
	for labels, n := range count {
		ch <- prometheus.MustNewConstMetric(o.machines, prometheus.GaugeValue, float64(n), labels[:]...)
	}
	for labels, n := range operations {
		ch <- prometheus.MustNewConstMetric(o.operations, prometheus.GaugeValue, float64(n), labels[:]...)
	}
}

// tally counts machines by namespace, cluster, operating system and phase, and
// operations by kind, verb and resource type.
func tally(machines []infrav1.AzureMachine, clusters []infrav1.AzureCluster,
	pools []infrav1.AzureMachinePool) (map[[4]string]int, map[[3]string]int) {
	count, operations := map[[4]string]int{}, map[[3]string]int{}
	begun := func(kind string, states []infrav1.LongRunningOperationState) {
		for _, t := range record.Underway(states) {
			operations[[3]string{kind, strings.ToLower(string(t.Verb)), strings.ToLower(arm.TypeOf(t.ID))}]++
		}
	}
	for i := range machines {
		m := &machines[i]
		count[[4]string{m.Namespace, m.Labels[clusterv1.ClusterNameLabel], osOf(m), phaseOf(m)}]++
		begun("AzureMachine", m.Status.LongRunningOperationStates)
	}
	for _, c := range clusters {
		begun("AzureCluster", c.Status.LongRunningOperationStates)
	}
	for _, p := range pools {
		begun("AzureMachinePool", p.Status.LongRunningOperationStates)
	}
	return count, operations
}
