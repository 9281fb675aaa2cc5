package patch

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels/format"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/patchday"
)

func labelValue(name string) string { return format.MustFormatValue(name) }

// settings returns the current rollout settings of a pool that a canary changes.
func (p *pool) settings() patchday.Settings {
	text := func(v *intstr.IntOrString) string {
		if v == nil {
			return ""
		}
		return v.String()
	}
	var s patchday.Settings
	if d := p.topologyDeployment(); d != nil {
		rolling := d.Rollout.Strategy.RollingUpdate
		return patchday.Settings{MinReadySeconds: d.MinReadySeconds, MaxSurge: text(rolling.MaxSurge),
			MaxUnavailable: text(rolling.MaxUnavailable)}
	}
	if d := p.deployment; d != nil {
		rolling := d.Spec.Rollout.Strategy.RollingUpdate
		return patchday.Settings{MinReadySeconds: d.Spec.Template.Spec.MinReadySeconds, MaxSurge: text(rolling.MaxSurge),
			MaxUnavailable: text(rolling.MaxUnavailable)}
	}
	if t := p.topologyPool(); t != nil {
		s.MinReadySeconds = t.MinReadySeconds
	} else {
		s.MinReadySeconds = p.machinePool.Spec.Template.Spec.MinReadySeconds
	}
	if rolling := p.azure.Spec.Strategy.RollingUpdate; rolling != nil {
		s.MaxSurge, s.MaxUnavailable = text(rolling.MaxSurge), text(rolling.MaxUnavailable)
	}
	return s
}

// wanted returns the rollout settings that a decision requires.
func (p *pool) wanted(d patchday.Decision) (minReady *int32, surge, unavailable *intstr.IntOrString) {
	was := *d.State.Was
	value := func(text string) *intstr.IntOrString {
		if text == "" {
			return nil
		}
		return new(intstr.Parse(text))
	}
	minReady, surge, unavailable = was.MinReadySeconds, value(was.MaxSurge), value(was.MaxUnavailable)
	if d.Hold {
		minReady = new(int32(patchday.Hold / time.Second))
	}
	if d.Canary > 0 {
		n, zero := intstr.FromInt32(int32(d.Canary)), intstr.FromInt32(0)
		if surge, unavailable = &n, &zero; p.surgeless() {
			surge, unavailable = &zero, &n
		}
	}
	return minReady, surge, unavailable
}

// surgeless reports whether the pool's owner permits no machines beyond the replicas.
func (p *pool) surgeless() bool {
	_, surge := p.own()
	return surge == 0
}

func (p *pool) topologyDeployment() *clusterv1.MachineDeploymentTopology {
	if p.deployment == nil || p.topology == "" || !p.cluster.Spec.Topology.IsDefined() {
		return nil
	}
	all := p.cluster.Spec.Topology.Workers.MachineDeployments
	if i := slices.IndexFunc(all, func(d clusterv1.MachineDeploymentTopology) bool { return d.Name == p.topology }); i >= 0 {
		return &all[i]
	}
	return nil
}

func (p *pool) topologyPool() *clusterv1.MachinePoolTopology {
	if p.machinePool == nil || p.topology == "" || !p.cluster.Spec.Topology.IsDefined() {
		return nil
	}
	all := p.cluster.Spec.Topology.Workers.MachinePools
	if i := slices.IndexFunc(all, func(m clusterv1.MachinePoolTopology) bool { return m.Name == p.topology }); i >= 0 {
		return &all[i]
	}
	return nil
}

// set applies a decision to a pool where the pool differs from it.
func (r *Reconciler) set(ctx context.Context, cluster *clusterv1.Cluster, p *pool, d patchday.Decision) error {
	switch {
	case p.topology != "":
		return r.setTopology(ctx, cluster, p, d)
	case p.deployment != nil:
		return r.setDeployment(ctx, p, d)
	}
	return r.setPool(ctx, p, d)
}

// patch writes the changes that f makes to an object, if there are any.
func (r *Reconciler) patch(ctx context.Context, o client.Object, f func() error, options ...client.MergeFromOption) error {
	before, _ := o.DeepCopyObject().(client.Object)
	if err := f(); err != nil || equality.Semantic.DeepEqual(before, o) {
		return err
	}
	return r.Client.Patch(ctx, o, client.MergeFromWithOptions(before, options...))
}

func (r *Reconciler) setDeployment(ctx context.Context, p *pool, d patchday.Decision) error {
	name, err := r.templateFor(ctx, p, d.Version)
	if err != nil {
		return err
	}
	return r.patch(ctx, p.deployment, func() error {
		spec := &p.deployment.Spec
		spec.Template.Spec.InfrastructureRef.Name = name
		rolling := &spec.Rollout.Strategy.RollingUpdate
		spec.Template.Spec.MinReadySeconds, rolling.MaxSurge, rolling.MaxUnavailable = p.wanted(d)
		if rolling.MaxSurge != nil || rolling.MaxUnavailable != nil {
			spec.Rollout.Strategy.Type = clusterv1.RollingUpdateMachineDeploymentStrategyType
		}
		return nil
	})
}

// templateFor returns the name of the machine template with a version of the pool's image, which it creates if it is missing.
func (r *Reconciler) templateFor(ctx context.Context, p *pool, version string) (string, error) {
	if p.plan.Current == version {
		return p.template.Name, nil
	}
	base := p.template.Name
	if name := p.template.Annotations[infrav1.PatchBaseAnnotation]; name != "" {
		base = name
	}
	first := &infrav1.AzureMachineTemplate{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: p.template.Namespace, Name: base}, first)
	if client.IgnoreNotFound(err) != nil {
		return "", err
	}
	if line, its, _ := split(first.Spec.Template.Spec.Image); err == nil && its == version && strings.EqualFold(line, p.plan.Line) {
		return base, nil
	}
	next := p.template.DeepCopy()
	next.ObjectMeta = metav1.ObjectMeta{Namespace: p.template.Namespace, Name: templateName(base, version), Labels: p.template.Labels,
		OwnerReferences: p.template.OwnerReferences, Annotations: map[string]string{infrav1.PatchBaseAnnotation: base}}
	next.Spec.Template.Spec.Image, next.Status = at(p.image, version), infrav1.AzureMachineTemplateStatus{}
	if err := r.Client.Create(ctx, next); client.IgnoreAlreadyExists(err) != nil {
		return "", fmt.Errorf("make the machine template %s: %w", next.Name, err)
	} else if err == nil {
		return next.Name, nil
	}
	there := &infrav1.AzureMachineTemplate{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(next), there); err != nil {
		return "", err
	}
	if !equality.Semantic.DeepEqual(there.Spec, next.Spec) {
		return "", fmt.Errorf("the machine template %s is there and says something else: delete or rename it", next.Name)
	}
	return next.Name, nil
}

func (r *Reconciler) setPool(ctx context.Context, p *pool, d patchday.Decision) error {
	minReady, surge, unavailable := p.wanted(d)
	hold := func() error {
		return r.patch(ctx, p.machinePool, func() error {
			p.machinePool.Spec.Template.Spec.MinReadySeconds = minReady
			return nil
		})
	}
	if d.Hold { // before the canary machines exist
		if err := hold(); err != nil {
			return err
		}
	}
	if err := r.patch(ctx, p.azure, func() error {
		p.azure.Spec.Template.Image = at(p.image, d.Version)
		rolling := p.azure.Spec.Strategy.RollingUpdate
		if rolling == nil && (surge != nil || unavailable != nil) {
			rolling = &infrav1.MachineRollingUpdateDeployment{}
			p.azure.Spec.Strategy.RollingUpdate = rolling
		}
		if rolling != nil {
			rolling.MaxSurge, rolling.MaxUnavailable = surge, unavailable
		}
		return nil
	}); err != nil {
		return err
	}
	return hold()
}

// setTopology changes the pool's entry in the topology of its Cluster, with one write for all changes.
func (r *Reconciler) setTopology(ctx context.Context, cluster *clusterv1.Cluster, p *pool, d patchday.Decision) error {
	minReady, surge, unavailable := p.wanted(d)
	return r.patch(ctx, cluster, func() error {
		p.cluster = cluster
		if t := p.topologyDeployment(); t != nil {
			t.MinReadySeconds = minReady
			rolling := &t.Rollout.Strategy.RollingUpdate
			if rolling.MaxSurge, rolling.MaxUnavailable = surge, unavailable; surge != nil || unavailable != nil {
				t.Rollout.Strategy.Type = clusterv1.RollingUpdateMachineDeploymentStrategyType
			} else if !d.Hold {
				t.Rollout.Strategy.Type = ""
			}
			return override(cluster, &t.Variables.Overrides, p.plan.Policy.Variable, d)
		}
		if t := p.topologyPool(); t != nil {
			t.MinReadySeconds = minReady
			return override(cluster, &t.Variables.Overrides, p.plan.Policy.Variable, d)
		}
		return fmt.Errorf("the topology of Cluster %s has no pool %s", cluster.Name, p.topology)
	}, client.MergeFromWithOptimisticLock{}) // the patch replaces whole lists, which others change too
}

// override sets the variable of a pool: its current value, with the move's other version replaced by the wanted one.
func override(cluster *clusterv1.Cluster, own *[]clusterv1.ClusterVariable, name string, d patchday.Decision) error {
	other := d.State.From
	if d.Version == other {
		other = d.State.To
	}
	named := func(v clusterv1.ClusterVariable) bool { return v.Name == name }
	i := slices.IndexFunc(*own, named)
	value := apiextensionsv1.JSON{}
	if i >= 0 {
		value = (*own)[i].Value
	} else if j := slices.IndexFunc(cluster.Spec.Topology.Variables, named); j >= 0 {
		value = cluster.Spec.Topology.Variables[j].Value
	}
	if has(value.Raw, d.Version) || other == "" {
		return nil
	}
	if !has(value.Raw, other) {
		return fmt.Errorf("variable %s of the topology of Cluster %s: its value %s has no version %s", name, cluster.Name, value.Raw, other)
	}
	next := clusterv1.ClusterVariable{Name: name, Value: apiextensionsv1.JSON{Raw: isolated(other).ReplaceAll(value.Raw,
		[]byte("${1}"+d.Version+"${2}"))}}
	if i >= 0 {
		(*own)[i] = next
	} else {
		*own = append(*own, next)
	}
	return nil
}

// isolated matches a version that is not part of a longer version.
func isolated(version string) *regexp.Regexp {
	return regexp.MustCompile(`(^|[^0-9.])` + regexp.QuoteMeta(version) + `([^0-9.]|$)`)
}

func has(value []byte, version string) bool {
	return isolated(version).Match(bytes.TrimSpace(value))
}

// tidy deletes the machine templates that patch day made for the pool and that no object refers to any more. A template
// that cannot be deleted is deleted after the next move.
func (r *Reconciler) tidy(ctx context.Context, p *pool, d patchday.Decision) {
	if p.template == nil || p.topology != "" {
		return
	}
	log := ctrl.LoggerFrom(ctx)
	base := p.template.Name
	if name := p.template.Annotations[infrav1.PatchBaseAnnotation]; name != "" {
		base = name
	}
	var all infrav1.AzureMachineTemplateList
	var machines infrav1.AzureMachineList
	var deployments clusterv1.MachineDeploymentList
	in := client.InNamespace(p.template.Namespace)
	for _, list := range []client.ObjectList{&all, &machines, &deployments} {
		if err := r.Client.List(ctx, list, in); err != nil {
			log.Error(err, "The machine templates of earlier versions stay")
			return
		}
	}
	keep := map[string]bool{p.deployment.Spec.Template.Spec.InfrastructureRef.Name: true}
	for i := range machines.Items {
		keep[machines.Items[i].Annotations[clusterv1.TemplateClonedFromNameAnnotation]] = true
	}
	for i := range deployments.Items {
		keep[deployments.Items[i].Spec.Template.Spec.InfrastructureRef.Name] = true
	}
	for i := range all.Items {
		t := &all.Items[i]
		_, version, _ := split(t.Spec.Template.Spec.Image)
		if t.Annotations[infrav1.PatchBaseAnnotation] != base || keep[t.Name] || version == d.State.From {
			continue
		}
		if err := r.Client.Delete(ctx, t); err != nil && !apierrors.IsNotFound(err) {
			log.Error(err, "The machine template of an earlier version stays", "template", t.Name)
		}
	}
}
