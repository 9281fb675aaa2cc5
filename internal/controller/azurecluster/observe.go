package azurecluster

import (
	"context"
	"fmt"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/pass"
)

// observe reads the facts that the desired resources depend on.
func (r *Reconciler) observe(ctx context.Context, s *scope) pass.Result {
	return pass.Each(ctx, s, r.zones, r.refuseForeign, r.network)
}

// refuseForeign refuses a cluster whose resource group or network was created by another cluster of the same name.
func (r *Reconciler) refuseForeign(ctx context.Context, s *scope) pass.Result {
	for _, at := range []struct{ id, what, condition string }{
		{desired.ClusterGroup(s.AzureCluster).ID(), "resource group", infrav1.ResourceGroupReadyCondition},
		{desired.VNetID(s.AzureCluster), "virtual network", infrav1.VNetReadyCondition},
	} {
		live, err := s.Azure.Live(ctx, at.id)
		if err != nil {
			return pass.Unread(err, "read "+at.what+" "+desired.LastSegment(at.id)).On(at.condition)
		}
		tags, err := cloud.TagsOf(live)
		if err != nil {
			return pass.Error(fmt.Errorf("%s %s: %w", at.what, desired.LastSegment(at.id), err))
		}
		if other := s.Azure.Other(ctx, tags, s.Cluster.Name, true); other != "" {
			return pass.Blocked(infrav1.OwnedByAnotherReason,
				r.Opener.Explain(ctx, s.AzureCluster, at.what+" "+desired.LastSegment(at.id), other), cloud.OwnerPause)
		}
	}
	return pass.Next()
}

// zones lists the zones of the location. The spec can exclude control planes from a zone;
// it cannot add one.
func (r *Reconciler) zones(ctx context.Context, s *scope) pass.Result {
	if s.AzureCluster.Spec.ExtendedLocation != nil {
		return pass.Next()
	}
	zones, err := s.Azure.Zones(ctx, s.AzureCluster.Spec.Location)
	if err != nil {
		return pass.Unread(err, "list the zones of spec.location "+s.AzureCluster.Spec.Location)
	}
	slices.Sort(zones)
	var domains []clusterv1.FailureDomain
	for _, zone := range zones {
		controlPlane := true
		if given, ok := s.AzureCluster.Spec.FailureDomains[zone]; ok && given.ControlPlane != nil {
			controlPlane = *given.ControlPlane
		}
		domains = append(domains, clusterv1.FailureDomain{Name: zone, ControlPlane: &controlPlane})
	}
	s.AzureCluster.Status.FailureDomains = domains
	return pass.Next()
}

// network determines whether the virtual network is the cluster's own. The desired resources depend on this, and only
// Azure knows it.
func (r *Reconciler) network(ctx context.Context, s *scope) pass.Result {
	live, err := s.Azure.Live(ctx, desired.VNetID(s.AzureCluster))
	if err != nil {
		return pass.Unread(err, "read spec.networkSpec.vnet").On(infrav1.VNetReadyCondition)
	}
	tags, err := cloud.TagsOf(live)
	s.foreignVNet = live != nil && (err != nil || !s.Azure.Owns(ctx, tags, s.Cluster.Name, true))
	return pass.Next()
}
