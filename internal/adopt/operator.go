package adopt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Annotation and policy of Azure Service Operator. With the policy skip, the operator does not change Azure, even if
// the object is deleted. Source: azure.github.io/azure-service-operator/guide/annotations.
const (
	operatorPolicy    = "serviceoperator.azure.com/reconcile-policy"
	operatorSkip      = "skip"
	operatorFinalizer = "serviceoperator.azure.com/finalizer"
	operatorGroup     = ".azure.com"
)

// operatorObjects lists the objects of Azure Service Operator that CAPZ created for the cluster. They have to be
// deleted without their resources: their owner is the AzureCluster, and the operator would delete the network with it,
// or undo later changes of the network.
func (a Adopter) operatorObjects(ctx context.Context, cluster *clusterv1.Cluster) ([]Change, error) {
	kinds, err := a.operatorKinds(ctx)
	if err != nil {
		return nil, err
	}
	var out []Change
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := a.Client.List(ctx, list, client.InNamespace(cluster.Namespace)); err != nil {
			return nil, fmt.Errorf("list %s: %w", kind, err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			if !ownedBy(o, cluster) {
				continue
			}
			out = append(out, Change{Object: kindName(o), Does: "delete, and leave its Azure resource",
				Why:   "casement has no use for Azure Service Operator",
				apply: func(ctx context.Context) error { return a.release(ctx, o) }})
		}
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.Name + "-aso-secret"}}
	err = a.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read the operator's secret: %w", err)
	}
	if err == nil && ownedBy(secret, cluster) {
		out = append(out, Change{Object: name("Secret", secret), Does: "delete", Why: "credentials that only Azure Service Operator reads",
			apply: func(ctx context.Context) error { return client.IgnoreNotFound(a.Client.Delete(ctx, secret)) }})
	}
	return out, nil
}

// operatorKinds returns the kinds of Azure Service Operator that are installed.
func (a Adopter) operatorKinds(ctx context.Context) ([]gvk, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
	if err := a.Client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("look for Azure Service Operator: %w", err)
	}
	var out []gvk
	for i := range list.Items {
		spec, _, _ := unstructured.NestedMap(list.Items[i].Object, "spec")
		group, _ := spec["group"].(string)
		kind, _, _ := unstructured.NestedString(spec, "names", "kind")
		if !strings.HasSuffix(group, operatorGroup) {
			continue
		}
		versions, _, _ := unstructured.NestedSlice(spec, "versions")
		for _, v := range versions {
			if version, _ := v.(map[string]any); version["storage"] == true && version["served"] == true {
				name, _ := version["name"].(string)
				out = append(out, gvk{Group: group, Version: name, Kind: kind + "List"})
			}
		}
	}
	slices.SortFunc(out, func(a, b gvk) int { return strings.Compare(a.String(), b.String()) })
	return out, nil
}

// ownedBy reports whether an object is owned by the cluster's AzureCluster.
func ownedBy(o client.Object, cluster *clusterv1.Cluster) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return r.Kind == "AzureCluster" && r.Name == cluster.Spec.InfrastructureRef.Name
	})
}

// release sets the operator's skip policy on the object and only then deletes it, so that the Azure resource stays.
// This works even if the operator is not running.
func (a Adopter) release(ctx context.Context, o *unstructured.Unstructured) error {
	err := a.patch(ctx, o, false, func(live *unstructured.Unstructured) {
		annotate(live, operatorPolicy, operatorSkip)
		live.SetFinalizers(slices.DeleteFunc(live.GetFinalizers(), func(f string) bool { return f == operatorFinalizer }))
	})
	if err != nil {
		return err
	}
	if err := a.Client.Delete(ctx, o); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

func kindName(o *unstructured.Unstructured) string {
	return o.GetKind() + "." + o.GroupVersionKind().Group + "/" + o.GetName()
}
