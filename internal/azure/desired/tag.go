package desired

import (
	"cmp"
	"maps"
	"strings"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// The tags that mark the owner and the purpose of a resource. They are CAPZ's tags, so that either provider can take
// over a cluster of the other.
const (
	ownershipTagPrefix     = "sigs.k8s.io_cluster-api-provider-azure_cluster_"
	roleTag                = "sigs.k8s.io_cluster-api-provider-azure_role"
	nameTag                = "Name"
	cloudProviderTagPrefix = "kubernetes.io_cluster_"

	// OwnerTag is the tag that distinguishes owners with the same cluster name: its value is the annotation
	// infrav1.OwnerAnnotation of the AzureCluster.
	OwnerTag = "casement_owner"
	// ObjectTag is the tag of a resource that belongs to one machine or pool; its value is the kind and name of that object.
	ObjectTag = "casement_object"

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

// ReservedTag reports whether casement identifies its own resources by a tag, so that a spec must not set the tag.
func ReservedTag(key string) bool {
	return strings.EqualFold(key, OwnerTag) || strings.EqualFold(key, ObjectTag) ||
		strings.HasPrefix(strings.ToLower(key), ownershipTagPrefix)
}

// ObjectMark returns the value of ObjectTag for an object's resources.
func ObjectMark(kind, name string) string { return kind + "/" + name }

// clusterNameLabel is Cluster API's label with the name of the owning Cluster.
const clusterNameLabel = "cluster.x-k8s.io/cluster-name"

// Namesakes reports whether two clusters could not distinguish their resources without OwnerTag: they have the same
// name and resource group.
func Namesakes(a, b *infrav1.AzureCluster) bool {
	name := func(c *infrav1.AzureCluster) string { return cmp.Or(c.Labels[clusterNameLabel], c.Name) }
	return name(a) == name(b) && strings.EqualFold(ClusterGroup(a).ID(), ClusterGroup(b).ID())
}

// tagger returns the tags of one cluster's resources.
type tagger struct {
	cluster    string
	additional infrav1.Tags
	// mark is the value of OwnerTag, or "" before it is chosen; object is the value of ObjectTag, or "" for a resource
	// of the cluster.
	mark, object string
}

func taggerOf(c *infrav1.AzureCluster, clusterName, object string) tagger {
	return tagger{cluster: clusterName, additional: c.Spec.AdditionalTags, mark: c.Annotations[infrav1.OwnerAnnotation], object: object}
}

// shared returns the tagger of resources that several machines share.
func (t tagger) shared() tagger {
	t.object = ""
	return t
}

// tags returns the tags of the resource called name; name and role may be empty, because CAPZ's load balancers and
// private DNS zones have no name. Later extra maps override earlier ones, and the ownership tags override all.
func (t tagger) tags(name, role string, extra ...infrav1.Tags) map[string]*string {
	all := maps.Clone(map[string]string(t.additional))
	if all == nil {
		all = map[string]string{}
	}
	for _, m := range extra {
		maps.Copy(all, m)
	}
	maps.DeleteFunc(all, func(key, _ string) bool { return ReservedTag(key) })
	all[OwnershipTag(t.cluster)] = Owned
	if t.mark != "" {
		all[OwnerTag] = t.mark
	}
	if t.mark != "" && t.object != "" {
		all[ObjectTag] = t.object
	}
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
