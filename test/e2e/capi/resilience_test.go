//go:build e2e

package capi

import (
	"context"
	"maps"
	"slices"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlcluster "sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const azureGroup = "infrastructure.cluster.x-k8s.io/v1beta1"

// ownerRule returns an error if the owner references of an object are wrong.
type ownerRule = func(types.NamespacedName, []metav1.OwnerReference) error

// ownedBy requires exactly one of the given owners; without arguments it requires none.
func ownedBy(owners ...metav1.OwnerReference) ownerRule {
	return func(_ types.NamespacedName, have []metav1.OwnerReference) error {
		var sets [][]metav1.OwnerReference
		for _, o := range owners {
			sets = append(sets, []metav1.OwnerReference{o})
		}
		if len(sets) == 0 {
			return framework.HasExactOwners(have)
		}
		return framework.HasOneOfExactOwners(have, sets...)
	}
}

func owner(version, kind string, controls bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: version, Kind: kind, Controller: new(controls)}
}

// azureOwners returns the rules for the owners of objects of Azure's kinds and of the Secrets of a
// cluster. In a topology the Cluster controls its infrastructure.
func azureOwners(topology bool) map[string]ownerRule {
	core := clusterv1.GroupVersion.String()
	template := ownedBy(owner(core, "Cluster", false), owner(core, "ClusterClass", false))
	return map[string]ownerRule{
		"AzureCluster":             ownedBy(owner(core, "Cluster", topology)),
		"AzureClusterIdentity":     ownedBy(),
		"AzureClusterTemplate":     ownedBy(owner(core, "ClusterClass", false)),
		"AzureMachine":             ownedBy(owner(core, "Machine", true)),
		"AzureMachineTemplate":     template,
		"AzureMachinePoolTemplate": template,
		"Secret": ownedBy(
			owner(controlplanev1.GroupVersion.String(), "KubeadmControlPlane", true),
			owner(bootstrapv1.GroupVersion.String(), "KubeadmConfig", true),
			owner(azureGroup, "AzureMachineTemplate", true),
			owner(azureGroup, "AzureMachineTemplate", false),
			owner(azureGroup, "AzureMachine", true),
		),
	}
}

// before contains facts about a namespace that no rule can know: the number of sets of addons that
// a cluster uses, the addons that no cluster uses, and the clusters that an identity serves.
type before struct {
	bindings   map[string]int
	unused     map[string]bool
	identities map[string][]string
}

func lookBefore(ctx context.Context, c client.Client, namespace string) before {
	b := before{map[string]int{}, map[string]bool{}, map[string][]string{}}
	bindings := &addonsv1.ClusterResourceSetBindingList{}
	gomega.Expect(c.List(ctx, bindings, client.InNamespace(namespace))).To(gomega.Succeed())
	for _, o := range bindings.Items {
		b.bindings[o.Name] = len(o.OwnerReferences)
	}
	addons := &corev1.ConfigMapList{}
	gomega.Expect(c.List(ctx, addons, client.InNamespace(namespace))).To(gomega.Succeed())
	for _, o := range addons.Items {
		b.unused[o.Name] = len(o.OwnerReferences) == 0
	}
	identities := &metav1.PartialObjectMetadataList{}
	identities.SetGroupVersionKind(schema.FromAPIVersionAndKind(azureGroup, "AzureClusterIdentityList"))
	gomega.Expect(c.List(ctx, identities, client.InNamespace(namespace))).To(gomega.Succeed())
	for _, o := range identities.Items {
		b.identities[o.Name] = o.Finalizers
	}
	return b
}

// graph selects the objects that belong to a cluster. The plane offers addons in every namespace,
// and unused addons have no owner.
func (b before) graph(cluster string) clusterctlcluster.GetOwnerGraphFilterFunction {
	named := clusterctlcluster.FilterClusterObjectsWithNameFilter(cluster)
	return func(u unstructured.Unstructured) bool {
		return named(u) && (u.GetKind() != "ConfigMap" || !b.unused[u.GetName()])
	}
}

// experimental returns the owner rules of Cluster API's other kinds, for the number of sets of
// addons that exist; Cluster API's own rule permits at most two.
func (b before) experimental() map[string]ownerRule {
	rules := maps.Clone(framework.ExpOwnerReferenceAssertions)
	set := []metav1.OwnerReference{owner(addonsv1.GroupVersion.String(), "ClusterResourceSet", false)}
	rules["ClusterResourceSetBinding"] = func(n types.NamespacedName, have []metav1.OwnerReference) error {
		return framework.HasExactOwners(have, slices.Repeat(set, b.bindings[n.Name])...)
	}
	return rules
}

// azureFinalizers returns the finalizers of Azure's kinds.
func (b before) azureFinalizers() map[string]func(types.NamespacedName) []string {
	one := func(finalizer string) func(types.NamespacedName) []string {
		return func(types.NamespacedName) []string { return []string{finalizer} }
	}
	return map[string]func(types.NamespacedName) []string{
		"AzureCluster":         one("azurecluster.infrastructure.cluster.x-k8s.io"),
		"AzureMachine":         one("azuremachine.infrastructure.cluster.x-k8s.io"),
		"AzureClusterIdentity": func(n types.NamespacedName) []string { return b.identities[n.Name] },
	}
}

// resilience removes owner references and finalizers from all objects of a cluster, waits
// until they are restored, and then until nothing changes any more.
func (s suite) resilience(topology bool) func(framework.ClusterProxy, string, string) {
	return func(proxy framework.ClusterProxy, namespace, cluster string) {
		ctx := context.Background()
		b := lookBefore(ctx, proxy.GetClient(), namespace)
		graph := b.graph(cluster)
		kubernetes := maps.Clone(framework.KubernetesReferenceAssertions)
		delete(kubernetes, "Secret")
		owners := []map[string]ownerRule{
			framework.CoreOwnerReferenceAssertion, b.experimental(), framework.KubeadmBootstrapOwnerReferenceAssertions,
			framework.KubeadmControlPlaneOwnerReferenceAssertions(topology), kubernetes, azureOwners(topology),
		}
		framework.ValidateOwnerReferencesResilience(ctx, proxy, namespace, cluster, graph, owners...)
		framework.ValidateOwnerReferencesOnUpdate(ctx, proxy, namespace, cluster, graph, owners...)
		core := framework.CoreFinalizersAssertionWithLegacyClusters
		if topology {
			core = framework.CoreFinalizersAssertionWithClassyClusters
		}
		framework.ValidateFinalizersResilience(ctx, proxy, namespace, cluster, graph,
			core, framework.KubeadmControlPlaneFinalizersAssertion, framework.ExpFinalizersAssertion, b.azureFinalizers())
		framework.ValidateResourceVersionStable(ctx, framework.ValidateResourceVersionStableInput{
			ClusterProxy: proxy, Namespace: namespace, OwnerGraphFilterFunction: graph,
			WaitToBecomeStable: s.config.GetIntervals("", "wait-resource-versions-become-stable"),
			WaitToRemainStable: s.config.GetIntervals("", "wait-resource-versions-remain-stable"),
		})
	}
}
