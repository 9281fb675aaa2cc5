package azurecluster

import (
	"context"
	"errors"
	"time"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/bootdata"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/credential"
	"casement.dev/casement/internal/controller/pass"
	"casement.dev/casement/internal/controller/record"
)

// Reasons of NetworkInfrastructureReady while Azure creates or changes the network.
const (
	creating = "Creating"
	deleting = "Deleting"
)

const hourly = time.Hour

// own records the owner of the cluster's resources before any resource exists.
func (r *Reconciler) own(ctx context.Context, s *scope) pass.Result {
	err := r.Opener.Own(ctx, s.Before, s.AzureCluster, s.Cluster)
	if refused, ok := errors.AsType[*cloud.OwnershipError](err); ok {
		return pass.Blocked(infrav1.OwnedByAnotherReason, refused.Message, r.Resync)
	}
	return pass.Error(err)
}

// blocksMove prevents clusterctl from moving a cluster until it is paused and its record of the owner is ready for the move.
func blocksMove(s *scope) bool { return s.AzureCluster.DeletionTimestamp.IsZero() }

// open opens a session with the cluster's credentials. It also prevents the deletion of the identity while the cluster needs it.
func (r *Reconciler) open(ctx context.Context, s *scope) pass.Result {
	if result := s.Open(ctx, r.Opener, r.Resync); result.Ends() {
		return result
	}
	err := r.Opener.Hold(ctx, s.AzureCluster)
	if refused, ok := errors.AsType[*credential.IdentityError](err); ok {
		return pass.Blocked(refused.Reason, refused.Message, r.Resync)
	}
	return pass.Error(err)
}

// apply compares the cluster's resources with Azure and begins the writes that are due.
func (r *Reconciler) apply(ctx context.Context, s *scope) pass.Result {
	resources, err := r.resources(ctx, s)
	if err != nil {
		return pass.Blocked(condition.InvalidSpec, err.Error(), hourly) // only a change of the spec helps
	}
	outcome := s.Azure.Apply(ctx, s.Cluster.Name, resources, *s.Operations())
	*s.Operations() = record.States(outcome.Tokens)
	condition.Fold(s.AzureCluster, outcome)
	if outcome.State != plan.Done {
		reason, message := cloud.Explain(outcome, creating)
		return pass.Blocked(reason, message, cloud.Requeue(outcome, r.Resync))
	}
	condition.Forget(s.AzureCluster, condition.Cluster, outcome)
	condition.True(s.AzureCluster, infrav1.NetworkInfrastructureReadyCondition, condition.Provisioned)
	return pass.Next()
}

// resources returns the desired resources of the cluster.
func (r *Reconciler) resources(ctx context.Context, s *scope) ([]desired.Resource, error) {
	vault, err := bootdata.Vault(ctx, s.Azure, r.Client, s.AzureCluster)
	if err != nil {
		return nil, err
	}
	return desired.Cluster(s.input(vault))
}

// input returns the values from which the desired resources are computed.
func (s *scope) input(vault desired.Vault) desired.ClusterInput {
	return desired.ClusterInput{
		Cluster:       s.AzureCluster,
		ClusterName:   s.Cluster.Name,
		APIServerPort: s.Cluster.Spec.ClusterNetwork.APIServerPort,
		Zones:         zonesOf(s.AzureCluster),
		ForeignVNet:   s.foreignVNet,
		Vault:         vault,
	}
}

// zonesOf returns the names of the zones in the status.
func zonesOf(c *infrav1.AzureCluster) []string {
	var zones []string
	for _, d := range c.Status.FailureDomains {
		zones = append(zones, d.Name)
	}
	return zones
}
