// Package azurejson writes the secrets with the configuration of cloud-provider-azure, which bootstrap data writes to a
// node's disk: one secret per AzureMachineTemplate and AzureMachinePool, and one per AzureMachine that was not created
// from a template.
//
// It does not change a secret of the same name that is not its own. Only package manager imports it.
package azurejson

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/credential"
	"casement.dev/casement/internal/controller/record"
	"casement.dev/casement/internal/controller/wake"
	"casement.dev/casement/internal/trace"
)

// Keys of a secret. All have the same value, because templates of different ages use different keys.
const (
	controlPlaneKey = "control-plane-azure.json"
	workerKey       = "worker-node-azure.json"
	nodeKey         = "azure.json"

	nameSuffix = "-azure-json"
)

// Reconciler writes the secrets of all kinds.
type Reconciler struct {
	Client   client.Client
	Opener   *cloud.Opener
	Recorder events.EventRecorder
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that objects must have;
	// "" watches all.
	WatchFilter string
	// Resync is the interval at which facts whose changes trigger no event are read again.
	Resync time.Duration
}

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachinetemplates/finalizers;azuremachines/finalizers;azuremachinepools/finalizers,verbs=update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachinetemplates;azuremachines;azuremachinepools,verbs=list;watch

// SetupWithManager registers one controller per kind.
func (r *Reconciler) SetupWithManager(_ context.Context, mgr ctrl.Manager, options controller.Options) error {
	for _, kind := range []struct {
		name, of string
		object   client.Object
		list     client.ObjectList
		run      reconcile.Func
	}{
		{
			"azurejsontemplate", "AzureMachineTemplate",
			&infrav1.AzureMachineTemplate{}, &infrav1.AzureMachineTemplateList{}, r.reconcileTemplate,
		},
		{"azurejsonpool", "AzureMachinePool", &infrav1.AzureMachinePool{}, &infrav1.AzureMachinePoolList{}, r.reconcilePool},
		{"azurejsonmachine", "AzureMachine", &infrav1.AzureMachine{}, &infrav1.AzureMachineList{}, r.reconcileMachine},
	} {
		b := ctrl.NewControllerManagedBy(mgr).Named(kind.name).
			For(kind.object, record.Own(mgr, r.WatchFilter)).
			WithOptions(options).
			WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(written), builder.WithPredicates(lost()))
		inputs := wake.Inputs{Client: r.Client, List: kind.list, Settled: func(client.Object) bool { return true }}
		if err := inputs.Watch(b).Complete(trace.Reconciler("azure.json of "+kind.of, kind.run)); err != nil {
			return err
		}
	}
	return nil
}

// written returns a request for the object whose configuration is in a secret.
func written(_ context.Context, secret client.Object) []reconcile.Request {
	name, ok := strings.CutSuffix(secret.GetName(), nameSuffix)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: secret.GetNamespace(), Name: name}}}
}

// lost selects the deletion of secrets.
func lost() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}

func (r *Reconciler) reconcileTemplate(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	template := &infrav1.AzureMachineTemplate{}
	if ours, err := record.Read(ctx, r.Client, request.NamespacedName, template, r.WatchFilter); !ours {
		return ctrl.Result{}, err
	}
	cluster, err := util.GetOwnerCluster(ctx, r.Client, template.ObjectMeta)
	if err != nil || cluster == nil {
		return ctrl.Result{}, err // setting the owner triggers another pass
	}
	return r.reconcile(ctx, template, cluster, &template.Spec.Template.Spec)
}

func (r *Reconciler) reconcileMachine(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	machine := &infrav1.AzureMachine{}
	if ours, err := record.Read(ctx, r.Client, request.NamespacedName, machine, r.WatchFilter); !ours {
		return ctrl.Result{}, err
	}
	if _, cloned := machine.Annotations[clusterv1.TemplateClonedFromNameAnnotation]; cloned ||
		machine.Labels[clusterv1.ClusterNameLabel] == "" {
		return ctrl.Result{}, nil
	}
	cluster, err := util.GetClusterFromMetadata(ctx, r.Client, machine.ObjectMeta)
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return r.reconcile(ctx, machine, cluster, &machine.Spec)
}

func (r *Reconciler) reconcilePool(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	pool := &infrav1.AzureMachinePool{}
	if ours, err := record.Read(ctx, r.Client, request.NamespacedName, pool, r.WatchFilter); !ours {
		return ctrl.Result{}, err
	}
	if pool.Labels[clusterv1.ClusterNameLabel] == "" {
		return ctrl.Result{}, nil // setting Cluster API's label triggers another pass
	}
	cluster, err := util.GetClusterFromMetadata(ctx, r.Client, pool.ObjectMeta)
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	spec := pool.MachineSpec()
	return r.reconcile(ctx, pool, cluster, &spec)
}

// reconcile writes the secret of one object.
func (r *Reconciler) reconcile(ctx context.Context, owner client.Object, cluster *clusterv1.Cluster,
	spec *infrav1.AzureMachineSpec) (ctrl.Result, error) {
	if annotations.IsPaused(cluster, owner) || !owner.GetDeletionTimestamp().IsZero() ||
		cluster.Spec.InfrastructureRef.Kind != "AzureCluster" {
		return ctrl.Result{}, nil
	}
	azureCluster := &infrav1.AzureCluster{}
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Spec.InfrastructureRef.Name}
	if err := r.Client.Get(ctx, key, azureCluster); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	in, err := r.input(ctx, azureCluster, spec)
	if refused, ok := errors.AsType[*credential.IdentityError](err); ok && refused.Reason == credential.SecretNotReadable {
		return r.refuse(ctx, owner, cluster.Name, refused)
	}
	if refused, ok := errors.AsType[*credential.IdentityError](err); ok {
		// The cluster's own condition reports it too; the identity and its inputs are watched.
		ctrl.LoggerFrom(ctx).V(2).Info("No cloud provider configuration yet", "reason", refused.Message)
		return ctrl.Result{RequeueAfter: r.Resync}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("cloud provider configuration of %s: %w", owner.GetName(), err)
	}
	data, err := render(in)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("cloud provider configuration of %s: %w", owner.GetName(), err)
	}
	changed, err := r.write(ctx, owner, cluster.Name, data)
	if changed && in.clientSecret != "" {
		r.Recorder.Eventf(owner, nil, corev1.EventTypeWarning, "VMIdentityNone", "Reconcile",
			"identity is None: the service principal and its secret are written in clear text to the disk of "+
				"every node; use identity UserAssigned")
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.say(ctx, owner, nil)
}

// refuse reports why there is no configuration, and empties the secret of an earlier configuration, whose content may
// no longer be permitted.
func (r *Reconciler) refuse(ctx context.Context, owner client.Object, clusterName string,
	why *credential.IdentityError) (ctrl.Result, error) {
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: owner.GetNamespace(), Name: owner.GetName() + nameSuffix}, secret)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if err == nil && secret.Labels[clusterName] == desired.Owned && len(secret.Data) > 0 {
		before := secret.DeepCopy()
		secret.Data = nil
		if err := r.Client.Patch(ctx, secret, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.say(ctx, owner, why); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: r.Resync}, nil
}

// say writes the condition of an object without a configuration, or clears it.
func (r *Reconciler) say(ctx context.Context, owner client.Object, why *credential.IdentityError) error {
	updated, ok := record.Copy(owner).(condition.Object)
	if !ok || why == nil && (!conditions.Has(updated, infrav1.AzureJSONReadyCondition) ||
		conditions.IsTrue(updated, infrav1.AzureJSONReadyCondition)) {
		return nil
	}
	was := conditions.GetReason(updated, infrav1.AzureJSONReadyCondition)
	if why == nil {
		condition.True(updated, infrav1.AzureJSONReadyCondition, condition.Provisioned)
	} else {
		condition.False(updated, infrav1.AzureJSONReadyCondition, why.Reason, why.Message)
	}
	if why != nil && was != why.Reason {
		r.Recorder.Eventf(owner, nil, corev1.EventTypeWarning, why.Reason, "Reconcile", "%s", condition.Short(why.Message))
	}
	return client.IgnoreNotFound(r.Client.Status().Patch(ctx, updated, client.MergeFrom(owner)))
}

// input reads the values of the configuration that are not in the specs.
func (r *Reconciler) input(ctx context.Context, c *infrav1.AzureCluster, spec *infrav1.AzureMachineSpec) (input, error) {
	in := input{cluster: c, identity: spec.Identity}
	credentials, err := r.Opener.Credentials(ctx, c)
	if err != nil {
		return in, err
	}
	in.tenantID = credentials.TenantID
	switch {
	case spec.Identity == infrav1.VMIdentityUserAssigned && len(spec.UserAssignedIdentities) > 0:
		session, err := r.Opener.Open(ctx, c)
		if err != nil {
			return in, err
		}
		id := desired.IdentityID(spec.UserAssignedIdentities[0].ProviderID)
		live, err := session.Live(ctx, id)
		if err != nil {
			return in, err
		}
		in.userAssignedClientID, err = clientIDOf(live)
		if err != nil {
			return in, fmt.Errorf("spec.userAssignedIdentities[0]: identity %s: %w", id, err)
		}
	case spec.Identity != infrav1.VMIdentitySystemAssigned:
		if credentials.ClientSecret != "" {
			if err := r.Opener.CheckSecretReadable(ctx, c); err != nil {
				return in, err
			}
		}
		in.clientID, in.clientSecret = credentials.ClientID, credentials.ClientSecret
	}
	return in, nil
}

func clientIDOf(live json.RawMessage) (string, error) {
	if live == nil {
		return "", errors.New("does not exist; create it or name another")
	}
	var identity struct {
		Properties struct {
			ClientID string `json:"clientId"`
		} `json:"properties"`
	}
	err := json.Unmarshal(live, &identity)
	return identity.Properties.ClientID, err
}

// write creates the secret, or updates it if it differs, and reports whether it wrote. It does not change a secret
// without the cluster's label, because that secret belongs to the user.
func (r *Reconciler) write(ctx context.Context, owner client.Object, clusterName string, data []byte) (bool, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: owner.GetName() + nameSuffix}}
	wanted := map[string][]byte{controlPlaneKey: data, workerKey: data, nodeKey: data}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	switch {
	case apierrors.IsNotFound(err):
		secret.Labels = map[string]string{clusterName: desired.Owned}
		secret.Data = wanted
		if err := controllerutil.SetControllerReference(owner, secret, r.Client.Scheme()); err != nil {
			return false, err
		}
		return true, r.Client.Create(ctx, secret)
	case err != nil:
		return false, err
	case secret.Labels[clusterName] != desired.Owned:
		return false, nil
	}
	before := secret.DeepCopy()
	changed, err := renew(secret, owner, wanted, r.Client.Scheme())
	if err != nil || !changed {
		return false, err
	}
	return true, r.Client.Patch(ctx, secret, client.MergeFrom(before))
}

// renew sets the secret's data, and its owner in the current API version, because the owner reference of a restored or
// hand-written secret may have another version. It reports whether the secret changed.
func renew(secret *corev1.Secret, owner client.Object, wanted map[string][]byte, scheme *runtime.Scheme) (bool, error) {
	before := secret.DeepCopy()
	secret.Data = wanted
	if err := controllerutil.SetControllerReference(owner, secret, scheme); err != nil {
		return false, err
	}
	return !equality.Semantic.DeepEqual(before, secret), nil
}
