package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/kind"
	"casement.dev/casement/internal/lint"
)

// addClusters adds to the set the missing Clusters and AzureClusters from the management cluster to which machines of
// the set belong: a pool that is added to a cluster is judged by that cluster's network and subscription.
func addClusters(ctx context.Context, a *app.App, t app.Target, set *lint.Set) error {
	c, err := a.Client(t)
	if err != nil {
		return err
	}
	for _, o := range slices.Clone(set.Objects) {
		name, namespace := o.Root.At("spec", "clusterName").Str(), cmp.Or(o.Namespace, t.Namespace)
		if _, maker := kind.Makers()[o.Kind]; !maker || name == "" || len(set.Named("Cluster", o.Namespace, name)) > 0 {
			continue
		}
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("Cluster"))
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, u)
		if err == nil {
			unstructured.RemoveNestedField(u.Object, "spec", "topology") // the topology is already rendered
			err = set.Add(u.Object, lint.Options{})
		}
		infra, _, _ := unstructured.NestedString(u.Object, "spec", "infrastructureRef", "name")
		if err == nil && infra != "" {
			azure := &unstructured.Unstructured{}
			azure.SetGroupVersionKind(infrav1.GroupVersion.WithKind("AzureCluster"))
			if err = c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: infra}, azure); err == nil {
				err = set.Add(azure.Object, lint.Options{})
			}
		}
		if client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
			return fmt.Errorf("read cluster %s/%s of %s: %w", namespace, name, o, err)
		}
	}
	return nil
}

// tryCreating creates each object in the management cluster as a dry run, and returns the errors. For an object that
// exists already the dry run is an update.
func tryCreating(ctx context.Context, a *app.App, t app.Target, objects []*lint.Object) (map[*lint.Object]string, error) {
	c, err := a.Client(t)
	if err != nil {
		return nil, err
	}
	// As in kubectl apply, an unknown field is an error and is not dropped.
	dry := client.WithFieldValidation(client.NewDryRunClient(c), metav1.FieldValidationStrict)
	brought := map[string]bool{} // the namespaces and classes of the input itself
	for _, o := range objects {
		brought[o.Kind+"/"+o.Name] = true
	}
	refused := map[*lint.Object]string{}
	for _, o := range objects {
		class := o.Root.At("spec", "topology", "classRef", "name").Str() + o.Root.At("spec", "topology", "class").Str()
		if o.Kind == "Cluster" && brought["ClusterClass/"+class] || brought["Namespace/"+o.Namespace] {
			continue
		}
		data, err := o.Root.JSON()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", o, err)
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(data); err != nil {
			refused[o] = err.Error()
			continue
		}
		if namespaced, err := c.IsObjectNamespaced(u); err == nil && namespaced && u.GetNamespace() == "" {
			u.SetNamespace(t.Namespace)
		}
		switch err := dry.Create(ctx, u); {
		case err == nil, apierrors.IsAlreadyExists(err):
		case meta.IsNoMatchError(err):
			refused[o] = fmt.Sprintf("it serves no kind %s of %s", o.Kind, o.APIVersion)
		case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsNotFound(err), apierrors.IsBadRequest(err):
			refused[o] = err.Error()
		default:
			return nil, fmt.Errorf("ask the management cluster for %s: %w", o, err)
		}
	}
	return refused, nil
}
