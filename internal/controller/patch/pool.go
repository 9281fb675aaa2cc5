package patch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/patchday"
)

// pool is a MachineDeployment or MachinePool with the objects that belong to it.
type pool struct {
	kind   string
	object condition.Object
	plan   patchday.Pool
	image  *infrav1.Image
	// nodes are the names of the machines' Nodes, by the machines' names.
	nodes map[string]string
	// said is the condition ImageUpToDate as it was read.
	said *metav1.Condition
	// topology is the pool's name in the topology that creates it, or "".
	topology string
	// deployment and template are set for a MachineDeployment; machinePool and azure are set for a MachinePool.
	deployment  *clusterv1.MachineDeployment
	template    *infrav1.AzureMachineTemplate
	machinePool *clusterv1.MachinePool
	azure       *infrav1.AzureMachinePool
	cluster     *clusterv1.Cluster
}

// read returns the pools of a cluster that follow a channel or are moving, and the versions that failed in the namespace.
func (r *Reconciler) read(ctx context.Context, cluster *clusterv1.Cluster) ([]*pool, map[string]patchday.Failed, error) {
	var deployments clusterv1.MachineDeploymentList
	var machinePools clusterv1.MachinePoolList
	for _, list := range []client.ObjectList{&deployments, &machinePools} {
		if err := r.Client.List(ctx, list, client.InNamespace(cluster.Namespace)); err != nil {
			return nil, nil, fmt.Errorf("list the pools of Cluster %s: %w", cluster.Name, err)
		}
	}
	var pools []*pool
	failed := map[string]patchday.Failed{}
	add := func(p *pool, of string) error {
		state := patchday.State{}
		if text := p.object.GetAnnotations()[infrav1.PatchStateAnnotation]; text != "" {
			if err := json.Unmarshal([]byte(text), &state); err != nil {
				return fmt.Errorf("annotation %s of %s %s: %w; remove it", infrav1.PatchStateAnnotation, p.kind, p.object.GetName(), err)
			}
		}
		p.plan.Name, p.plan.State = p.kind+"/"+p.object.GetName(), state
		if of != cluster.Name {
			for version, why := range state.Refused {
				failed[patchday.Key(state.Line, version)] = patchday.Failed{Pool: p.plan.Name + " of Cluster " + of, Reason: why}
			}
			return nil
		}
		policy, err := patchday.Read(cluster.Annotations, p.object.GetAnnotations())
		p.plan.Policy = policy
		if err != nil {
			p.plan.Invalid = strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		if err == nil && policy.Channel == infrav1.ImageChannelNone && state.Phase == "" && state.Was == nil ||
			!p.object.GetDeletionTimestamp().IsZero() || annotations.HasPaused(p.object) {
			return nil
		}
		p.said = conditions.Get(p.object, infrav1.ImageUpToDateCondition)
		pools = append(pools, p)
		return nil
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		p := &pool{kind: "MachineDeployment", object: d, deployment: d, cluster: cluster,
			topology: d.Labels[clusterv1.ClusterTopologyMachineDeploymentNameLabel]}
		if err := add(p, d.Spec.ClusterName); err != nil {
			return nil, nil, err
		}
	}
	for i := range machinePools.Items {
		m := &machinePools.Items[i]
		p := &pool{kind: "MachinePool", object: m, machinePool: m, cluster: cluster,
			topology: m.Labels[clusterv1.ClusterTopologyMachinePoolNameLabel]}
		if err := add(p, m.Spec.ClusterName); err != nil {
			return nil, nil, err
		}
	}
	if len(pools) == 0 {
		return nil, nil, nil
	}
	var known []*pool
	for _, p := range pools {
		ok, err := r.complete(ctx, cluster, p)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p.plan.Name, err)
		}
		if ok {
			known = append(known, p)
		}
	}
	return known, failed, nil
}

// complete reads the objects that belong to a pool. ok is false for a pool that is not casement's, or that
// has neither an annotation for patch day nor a move in progress.
func (r *Reconciler) complete(ctx context.Context, cluster *clusterv1.Cluster, p *pool) (ok bool, err error) {
	if p.plan.State.Phase != "" { // the pass acts on the current state, which the cache may not contain yet
		fresh, _ := p.object.DeepCopyObject().(client.Object)
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(p.object), fresh); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		if fresh.GetAnnotations()[infrav1.PatchStateAnnotation] != p.object.GetAnnotations()[infrav1.PatchStateAnnotation] {
			return false, nil // the change of the missing object triggers another pass
		}
	}
	machines, err := r.machines(ctx, p)
	if err != nil {
		return false, err
	}
	if p.deployment != nil {
		ok, err = r.completeDeployment(ctx, p)
	} else {
		ok, err = r.completePool(ctx, p)
	}
	if err != nil || !ok {
		return false, err
	}
	var current string
	p.plan.Line, current, p.plan.Unversioned = split(p.image)
	p.plan.Current = current
	if p.plan.Unversioned != "" && p.object.GetAnnotations()[infrav1.ImageChannelAnnotation] == "" && p.plan.State.Phase == "" {
		return false, nil // the cluster's channel applies only to pools that can follow it
	}
	if p.topology != "" && p.plan.Policy.Variable == "" && p.plan.Invalid == "" {
		p.plan.Invalid = "a topology makes the pool: name the variable with its image's version by the annotation " +
			infrav1.PatchVariableAnnotation
	}
	if err := r.describe(ctx, p, machines); err != nil {
		return false, err
	}
	if p.plan.Unversioned == "" && p.plan.State.Phase == "" && p.plan.Policy.Channel != infrav1.ImageChannelNone {
		p.plan.Newest, p.plan.Unknown, err = r.newest(ctx, cluster, p.image, p.plan.Policy.Channel)
	}
	return err == nil, err
}

// machines returns the Machines of a pool.
func (r *Reconciler) machines(ctx context.Context, p *pool) ([]clusterv1.Machine, error) {
	label := clusterv1.MachineDeploymentNameLabel
	if p.machinePool != nil {
		label = clusterv1.MachinePoolNameLabel
	}
	var list clusterv1.MachineList
	err := r.Client.List(ctx, &list, client.InNamespace(p.object.GetNamespace()),
		client.MatchingLabels{clusterv1.ClusterNameLabel: p.cluster.Name, label: labelValue(p.object.GetName())})
	return list.Items, err
}

// completeDeployment reads the template of a MachineDeployment.
func (r *Reconciler) completeDeployment(ctx context.Context, p *pool) (bool, error) {
	d := p.deployment
	ref := d.Spec.Template.Spec.InfrastructureRef
	if ref.Kind != "AzureMachineTemplate" {
		return false, nil
	}
	p.template = &infrav1.AzureMachineTemplate{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: ref.Name}, p.template); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	p.image, p.plan.Replicas = p.template.Spec.Template.Spec.Image, int(ptr.Deref(d.Spec.Replicas, 1))
	if n, own := p.own(); own == 0 {
		p.plan.Most = n
	}
	switch {
	case d.Spec.Rollout.Strategy.Type == clusterv1.OnDeleteMachineDeploymentStrategyType:
		p.plan.Unsettled = "its strategy is OnDelete, which replaces nothing by itself"
	case ptr.Deref(d.Spec.Paused, false):
		p.plan.Unsettled = "its rollout is paused"
	case d.Status.ObservedGeneration != 0 && d.Status.ObservedGeneration != d.Generation:
		p.plan.Unsettled = "its controller has not seen its last change"
	case conditions.IsTrue(d, clusterv1.MachineDeploymentRollingOutCondition):
		p.plan.Unsettled = "a rollout of its own goes on"
	}
	return true, nil
}

// completePool reads the AzureMachinePool of a MachinePool.
func (r *Reconciler) completePool(ctx context.Context, p *pool) (bool, error) {
	ref := p.machinePool.Spec.Template.Spec.InfrastructureRef
	if ref.Kind != "AzureMachinePool" {
		return false, nil
	}
	p.azure = &infrav1.AzureMachinePool{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: p.machinePool.Namespace, Name: ref.Name}, p.azure); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	p.image, p.plan.Replicas = p.azure.Spec.Template.Image, int(ptr.Deref(p.machinePool.Spec.Replicas, 1))
	if most, surge := p.own(); surge == 0 || p.topology != "" { // a topology has no rollout strategy of its pools
		p.plan.Most = max(most, surge, 1)
	}
	if conditions.IsFalse(p.azure, infrav1.ScaleSetModelUpdatedCondition) {
		p.plan.Unsettled = "a rollout of its own goes on"
	}
	return true, nil
}

// own returns the number of machines of a pool that may be unavailable, and the number beyond its replicas, according
// to its own strategy.
func (p *pool) own() (unavailable, surge int) {
	s := p.settings()
	if p.plan.State.Was != nil {
		s = *p.plan.State.Was
	}
	n := func(text string, otherwise int, up bool) int {
		if text == "" {
			return otherwise
		}
		v := intstr.Parse(text)
		got, err := intstr.GetScaledValueFromIntOrPercent(&v, p.plan.Replicas, up)
		if err != nil {
			return otherwise
		}
		return got
	}
	unavailable, surge = n(s.MaxUnavailable, 0, false), n(s.MaxSurge, 1, true)
	if unavailable == 0 && surge == 0 {
		surge = 1 // as in Cluster API and the pools: otherwise no machine could ever be replaced
	}
	return unavailable, surge
}

// describe sets the nodes of a pool.
func (r *Reconciler) describe(ctx context.Context, p *pool, machines []clusterv1.Machine) error {
	infra, err := r.infra(ctx, p)
	if err != nil {
		return err
	}
	p.nodes = map[string]string{}
	staying := 0
	for i := range machines {
		m := &machines[i]
		side := infra[m.Spec.InfrastructureRef.Name]
		n := patchday.Node{Name: m.Name, Fits: side.fits, Leaving: !m.DeletionTimestamp.IsZero(), Lost: side.lost != ""}
		if m.Status.NodeInfo != nil {
			n.Build = m.Status.NodeInfo.KernelVersion
		}
		health := conditions.Get(m, clusterv1.MachineNodeHealthyCondition)
		if m.Status.NodeRef.IsDefined() && health != nil {
			p.nodes[m.Name] = m.Status.NodeRef.Name
			switch health.Status {
			case metav1.ConditionTrue:
				n.Health = patchday.Good
			case metav1.ConditionFalse:
				n.Health, n.Why = patchday.Bad, firstLine(health.Message)
			}
		}
		if side.lost != "" {
			n.Health, n.Why = patchday.Bad, firstLine(side.lost)
		}
		if n.Why == "" && n.Health != patchday.Good {
			n.Why = firstLine(waits(m, side.why))
		}
		if !n.Leaving {
			staying++
		}
		p.plan.Nodes = append(p.plan.Nodes, n)
	}
	if p.plan.Unsettled == "" && staying != p.plan.Replicas {
		p.plan.Unsettled = fmt.Sprintf("it has %d of %d machines", staying, p.plan.Replicas)
	}
	if p.plan.State.Phase == patchday.Canary && p.plan.Policy.Job != "" {
		r.results(ctx, p)
	}
	return nil
}

// waits returns, for a message, the reason why a machine has no healthy node yet.
func waits(m *clusterv1.Machine, infra string) string {
	if infra != "" {
		return infra
	}
	if c := conditions.Get(m, clusterv1.ReadyCondition); c != nil && c.Message != "" {
		return c.Message
	}
	return "it has no healthy node yet"
}

func firstLine(s string) string {
	s = strings.TrimLeft(s, "* ")
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// side is the state of a machine in Azure.
type side struct {
	fits bool
	// lost is the reason if Azure or the bootstrap has given up the machine; why is the reason why it waits.
	lost, why string
}

// infra returns the Azure states of a pool's machines, by the machines' names.
func (r *Reconciler) infra(ctx context.Context, p *pool) (map[string]side, error) {
	want := p.plan.Current
	switch s := p.plan.State; s.Phase {
	case patchday.Canary, patchday.Rolling:
		want = s.To
	case patchday.RollingBack:
		want = s.From
	}
	is := func(image *infrav1.Image) bool {
		line, version, _ := split(image)
		return strings.EqualFold(line, p.plan.Line) && version == want
	}
	lost := func(reason, message *string) string {
		if reason == nil {
			return ""
		}
		return *reason + ": " + ptr.Deref(message, "")
	}
	in := []client.ListOption{client.InNamespace(p.object.GetNamespace()), client.MatchingLabels{clusterv1.ClusterNameLabel: p.cluster.Name}}
	out := map[string]side{}
	if p.deployment != nil {
		var list infrav1.AzureMachineList
		if err := r.Client.List(ctx, &list, in...); err != nil {
			return nil, err
		}
		for i := range list.Items {
			m := &list.Items[i]
			out[m.Name] = side{is(m.Spec.Image), lost(m.Status.FailureReason, m.Status.FailureMessage), message(m)}
		}
		return out, nil
	}
	var list infrav1.AzureMachinePoolMachineList
	if err := r.Client.List(ctx, &list, in...); err != nil {
		return nil, err
	}
	for i := range list.Items {
		m := &list.Items[i]
		out[m.Name] = side{m.Status.LatestModelApplied && is(p.azure.Status.Image),
			lost(m.Status.FailureReason, m.Status.FailureMessage), message(m)}
	}
	return out, nil
}

func message(o condition.Object) string {
	if c := conditions.Get(o, clusterv1.ReadyCondition); c != nil && c.Status != metav1.ConditionTrue {
		return c.Message
	}
	return ""
}
