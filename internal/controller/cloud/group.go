package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
)

// GroupGoes says whether the cluster is being deleted and its resource group is
// the cluster's own, which then takes everything in it along.
func (s *Session) GroupGoes(ctx context.Context, cluster *clusterv1.Cluster, azureCluster *infrav1.AzureCluster) (bool, error) {
	if cluster.DeletionTimestamp.IsZero() {
		return false, nil
	}
	group := desired.ClusterGroup(azureCluster).ID()
	live, err := s.Live(ctx, group)
	if err != nil {
		return false, err
	}
	if live == nil {
		return true, nil
	}
	var body struct {
		Tags map[string]string `json:"tags"`
	}
	if err := json.Unmarshal(live, &body); err != nil {
		return false, fmt.Errorf("resource group %s: %w", desired.LastSegment(group), err)
	}
	return desired.IsOwned(body.Tags, cluster.Name), nil
}

// InGroup says whether a resource lies in the cluster's own resource group.
func InGroup(azureCluster *infrav1.AzureCluster, id string) bool {
	return strings.HasPrefix(strings.ToLower(id), strings.ToLower(desired.ClusterGroup(azureCluster).ID())+"/")
}
