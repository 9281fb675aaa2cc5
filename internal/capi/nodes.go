package capi

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// uncopiedNodes is a cluster cache whose clients do not copy the nodes when they list all of them.
// Upstream's Machine reconciler lists them in each pass over a machine whose node does not exist yet, after
// the search by provider ID, so that the copies in a new cluster grow with the square of its size; the
// MachinePool reconciler lists them in each pass. Both only read the list: they copy a node, or read it
// again, before they patch it.
type uncopiedNodes struct{ clustercache.ClusterCache }

// GetClient implements clustercache.ClusterCache.
func (u uncopiedNodes) GetClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error) {
	c, err := u.ClusterCache.GetClient(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return uncopiedList{c}, nil
}

type uncopiedList struct{ client.Client }

// List implements client.Reader.
func (u uncopiedList) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, nodes := list.(*corev1.NodeList); nodes && len(opts) == 0 {
		return u.Client.List(ctx, list, client.UnsafeDisableDeepCopy)
	}
	return u.Client.List(ctx, list, opts...)
}
