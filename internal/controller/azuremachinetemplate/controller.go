// Package azuremachinetemplate reports the capacity of a template's nodes to the cluster autoscaler, so that the
// autoscaler can scale a group from zero.
//
// Only package manager imports it.
package azuremachinetemplate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/capacity"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/credential"
	"casement.dev/casement/internal/controller/record"
	"casement.dev/casement/internal/controller/wake"
	"casement.dev/casement/internal/trace"
)

// Reconciler sets the status of AzureMachineTemplates.
type Reconciler struct {
	Client client.Client
	Opener *cloud.Opener
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that objects must have;
	// "" watches all.
	WatchFilter string
	// Resync is the interval at which facts whose changes trigger no event are read again.
	Resync time.Duration
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachinetemplates,verbs=list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachinetemplates/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinedeployments,verbs=list;watch;patch

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(_ context.Context, mgr ctrl.Manager, options controller.Options) error {
	b := ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.AzureMachineTemplate{}, record.Own(mgr, r.WatchFilter)).
		WithOptions(options).
		Watches(&clusterv1.MachineDeployment{}, handler.EnqueueRequestsFromMapFunc(ofDeployment), record.Asked())
	inputs := wake.Inputs{Client: r.Client, List: &infrav1.AzureMachineTemplateList{}, Settled: described}
	return inputs.Watch(b).Complete(trace.Reconciler("AzureMachineTemplate", r))
}

// described reports whether a template's status is complete.
func described(o client.Object) bool {
	t, ok := o.(*infrav1.AzureMachineTemplate)
	return ok && len(t.Status.Capacity) > 0
}

// ofDeployment returns a request for the template that a MachineDeployment refers to.
func ofDeployment(_ context.Context, o client.Object) []reconcile.Request {
	d, ok := o.(*clusterv1.MachineDeployment)
	if !ok || d.Spec.Template.Spec.InfrastructureRef.Kind != "AzureMachineTemplate" {
		return nil
	}
	return []reconcile.Request{
		{NamespacedName: client.ObjectKey{Namespace: d.Namespace, Name: d.Spec.Template.Spec.InfrastructureRef.Name}},
	}
}

// Reconcile sets the status of one template. The resources of a size never change, so this is done once.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	template := &infrav1.AzureMachineTemplate{}
	if ours, err := record.Read(ctx, r.Client, request.NamespacedName, template, r.WatchFilter); !ours {
		return ctrl.Result{}, err
	}
	cluster, err := util.GetOwnerCluster(ctx, r.Client, template.ObjectMeta)
	if err != nil || cluster == nil || annotations.IsPaused(cluster, template) || !template.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, err // setting the owner triggers another pass
	}
	if err := r.promise(ctx, cluster, template); err != nil {
		return ctrl.Result{}, err
	}
	size, found, err := r.size(ctx, cluster, template)
	if err != nil || !found {
		return ctrl.Result{RequeueAfter: r.Resync}, err
	}
	before := template.DeepCopy()
	describe(template, size)
	if equality.Semantic.DeepEqual(before.Status, template.Status) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.Client.Status().Patch(ctx, template, client.MergeFrom(before))
}

// promise reports the Windows build of the template's machines to the autoscaler.
func (r *Reconciler) promise(ctx context.Context, cluster *clusterv1.Cluster, template *infrav1.AzureMachineTemplate) error {
	spec := &template.Spec.Template.Spec
	if spec.OSDisk.OSType != infrav1.WindowsOS {
		return nil
	}
	var deployments clusterv1.MachineDeploymentList
	if err := r.Client.List(ctx, &deployments, client.InNamespace(template.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}); err != nil {
		return fmt.Errorf("list the MachineDeployments of AzureMachineTemplate %s: %w", template.Name, err)
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		if ref := d.Spec.Template.Spec.InfrastructureRef; ref.Kind != "AzureMachineTemplate" || ref.Name != template.Name {
			continue
		}
		image, err := capacity.Image(spec, template.Spec.Template.ObjectMeta.Annotations, d.Spec.Template.Spec.Version)
		if err != nil {
			continue // the template's machines report the error
		}
		if err := capacity.PromiseBuild(ctx, r.Client, d, image); err != nil {
			return err
		}
	}
	return nil
}

// size returns the template's VM size. ok is false if the size is currently unknown; the machines of the template
// report the reason.
func (r *Reconciler) size(ctx context.Context, cluster *clusterv1.Cluster,
	template *infrav1.AzureMachineTemplate) (capacity.Size, bool, error) {
	azureCluster := &infrav1.AzureCluster{}
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Spec.InfrastructureRef.Name}
	if err := r.Client.Get(ctx, key, azureCluster); err != nil {
		return capacity.Size{}, false, client.IgnoreNotFound(err)
	}
	session, err := r.Opener.Open(ctx, azureCluster)
	if _, refused := errors.AsType[*credential.IdentityError](err); refused {
		return capacity.Size{}, false, nil
	}
	if err != nil {
		return capacity.Size{}, false, fmt.Errorf("AzureMachineTemplate %s: %w", template.Name, err)
	}
	size, err := capacity.Of(ctx, session.Catalog(), azureCluster.Spec.Location, &template.Spec.Template.Spec, "")
	if _, invalid := errors.AsType[*desired.InvalidError](err); invalid {
		return capacity.Size{}, false, nil
	}
	return size, err == nil, err
}

// describe writes the resources of a node of the size into the status.
func describe(template *infrav1.AzureMachineTemplate, size capacity.Size) {
	template.Status.Capacity, template.Status.NodeInfo = size.Node(template.Spec.Template.Spec.OSDisk.OSType)
}
