package desired

import (
	"maps"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// The tags that mark the owner and the purpose of a resource. They are CAPZ's, so that
// either provider can take over a cluster of the other.
const (
	ownershipTagPrefix     = "sigs.k8s.io_cluster-api-provider-azure_cluster_"
	roleTag                = "sigs.k8s.io_cluster-api-provider-azure_role"
	nameTag                = "Name"
	cloudProviderTagPrefix = "kubernetes.io_cluster_"

	// Owned is the value of the ownership tag of resources that casement created.
	Owned = "owned"
)

// Values of the role tag.
const (
	roleCommon               = "common"
	roleAPIServer            = "apiserver"
	roleNodeOutbound         = "nodeOutbound"
	roleControlPlaneOutbound = "controlPlaneOutbound"
	roleControlPlane         = "control-plane"
	roleNode                 = "node"
	roleBastion              = "Bastion"
)

// OwnershipTag returns the key of the tag that marks a resource as owned by a cluster; its
// value is Owned.
func OwnershipTag(clusterName string) string { return ownershipTagPrefix + clusterName }

// IsOwned reports whether tags mark a resource as created for the cluster.
func IsOwned(tags map[string]string, clusterName string) bool {
	return tags[OwnershipTag(clusterName)] == Owned
}

// tagger returns the tags of one cluster's resources.
type tagger struct {
	cluster    string
	additional infrav1.Tags
}

// tags returns the tags of the resource called name; name and role may be empty, because
// CAPZ's load balancers and private DNS zones have no name. Later extra maps override
// earlier ones, and ownership overrides all.
func (t tagger) tags(name, role string, extra ...infrav1.Tags) map[string]*string {
	all := maps.Clone(map[string]string(t.additional))
	if all == nil {
		all = map[string]string{}
	}
	for _, m := range extra {
		maps.Copy(all, m)
	}
	all[OwnershipTag(t.cluster)] = Owned
	if name != "" {
		all[nameTag] = name
	}
	if role != "" {
		all[roleTag] = role
	}
	out := make(map[string]*string, len(all))
	for k, v := range all {
		out[k] = &v
	}
	return out
}

// cloudProviderTags returns the tags that cloud-provider-azure needs.
func (t tagger) cloudProviderTags() infrav1.Tags {
	return infrav1.Tags{cloudProviderTagPrefix + t.cluster: Owned}
}
