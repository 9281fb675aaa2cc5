package azurecluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
)

// creating is the reason of NetworkInfrastructureReady while Azure is at work.
const creating = "Creating"

// open finds the cluster's credentials. Without them the pass ends: the identity
// and its secret are watched, so that nothing has to ask again.
func (r *Reconciler) open(ctx context.Context, s *scope) (ctrl.Result, error) {
	session, err := r.Opener.Open(ctx, s.azureCluster)
	if refused, ok := errors.AsType[*cloud.IdentityError](err); ok {
		condition.False(s.azureCluster, infrav1.NetworkInfrastructureReadyCondition, refused.Reason, refused.Message)
		return ctrl.Result{RequeueAfter: r.Resync}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	s.azure = session
	return ctrl.Result{}, r.Opener.Hold(ctx, s.azureCluster)
}

// failureDomains lists the zones of the location. The spec may bar control planes
// from a zone; it cannot make one.
func (r *Reconciler) failureDomains(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.azureCluster.Spec.ExtendedLocation != nil {
		return ctrl.Result{}, nil
	}
	zones, err := s.azure.Zones(ctx, s.azureCluster.Spec.Location)
	if err != nil {
		return s.waitFor(err, infrav1.NetworkInfrastructureReadyCondition, "list the zones of spec.location "+s.azureCluster.Spec.Location)
	}
	slices.Sort(zones)
	var domains []clusterv1.FailureDomain
	for _, zone := range zones {
		controlPlane := true
		if given, ok := s.azureCluster.Spec.FailureDomains[zone]; ok && given.ControlPlane != nil {
			controlPlane = *given.ControlPlane
		}
		domains = append(domains, clusterv1.FailureDomain{Name: zone, ControlPlane: &controlPlane})
	}
	s.azureCluster.Status.FailureDomains = domains
	return ctrl.Result{}, nil
}

// waitFor ends a pass that failed to read from Azure: what can get well by itself
// is asked again when Azure says so, and a condition tells of it meanwhile.
func (s *scope) waitFor(err error, conditionType, doing string) (ctrl.Result, error) {
	after, reason := cloud.RetryOf(err)
	condition.False(s.azureCluster, conditionType, reason, fmt.Sprintf("cannot %s: %v", doing, err))
	return ctrl.Result{RequeueAfter: after}, nil
}

// network compares the cluster's resources with Azure and begins what is due.
func (r *Reconciler) network(ctx context.Context, s *scope) (ctrl.Result, error) {
	resources, result, err := s.resources(ctx)
	if err != nil || !result.IsZero() {
		return result, err
	}
	outcome := s.azure.Apply(ctx, s.cluster.Name, resources, s.azureCluster.Status.LongRunningOperationStates)
	s.azureCluster.Status.LongRunningOperationStates = cloud.States(outcome.Tokens)
	condition.Fold(s.azureCluster, outcome)
	if outcome.State == plan.Done {
		condition.True(s.azureCluster, infrav1.NetworkInfrastructureReadyCondition, condition.Provisioned)
		return r.dropRules(ctx, s)
	}
	reason, message := cloud.Explain(outcome, creating)
	condition.False(s.azureCluster, infrav1.NetworkInfrastructureReadyCondition, reason, message)
	return ctrl.Result{RequeueAfter: cloud.Requeue(outcome, r.Resync)}, nil
}

// resources are the desired ones.
func (s *scope) resources(ctx context.Context) ([]desired.Resource, ctrl.Result, error) {
	vault, err := s.azure.Vault(ctx, s.client, s.azureCluster)
	if err != nil {
		return s.invalid(err)
	}
	in, result, err := s.input(ctx, vault)
	if err != nil || !result.IsZero() {
		return nil, result, err
	}
	resources, err := desired.Cluster(in)
	if err != nil {
		return s.invalid(err)
	}
	return resources, ctrl.Result{}, nil
}

// invalid ends the pass: a change of the spec is an event, and nothing else helps.
func (s *scope) invalid(err error) ([]desired.Resource, ctrl.Result, error) {
	condition.False(s.azureCluster, infrav1.NetworkInfrastructureReadyCondition, condition.InvalidSpec, err.Error())
	return nil, ctrl.Result{RequeueAfter: hourly}, nil
}

// input is what the resources depend on. Whose the virtual network is decides on them,
// and only Azure knows.
func (s *scope) input(ctx context.Context, vault desired.Vault) (desired.ClusterInput, ctrl.Result, error) {
	live, err := s.azure.Live(ctx, desired.VNetID(s.azureCluster))
	if err != nil {
		result, err := s.waitFor(err, infrav1.VNetReadyCondition, "read spec.networkSpec.vnet")
		return desired.ClusterInput{}, result, err
	}
	s.foreignVNet = live != nil && !desired.IsOwned(tagsOf(live), s.cluster.Name)
	return desired.ClusterInput{
		Cluster:       s.azureCluster,
		ClusterName:   s.cluster.Name,
		APIServerPort: s.cluster.Spec.ClusterNetwork.APIServerPort,
		Zones:         zonesOf(s.azureCluster),
		ForeignVNet:   s.foreignVNet,
		Vault:         vault,
	}, ctrl.Result{}, nil
}

func zonesOf(c *infrav1.AzureCluster) []string {
	var zones []string
	for _, d := range c.Status.FailureDomains {
		zones = append(zones, d.Name)
	}
	return zones
}

func tagsOf(live json.RawMessage) map[string]string {
	var body struct {
		Tags map[string]string `json:"tags"`
	}
	if json.Unmarshal(live, &body) != nil {
		return nil
	}
	return body.Tags
}
