package addons

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ClusterResourceSets returns the objects with which Cluster API installs the named addons (all addons if there are no
// names) in the Clusters of a namespace that request them by label: one ConfigMap for each addon, and one
// ClusterResourceSet for each of its selectors. Cluster API applies them once per cluster, so later changes of an addon
// in the cluster stay.
func ClusterResourceSets(namespace string, p Params, names ...string) ([]client.Object, error) {
	for _, name := range names {
		if _, err := Find(name); err != nil {
			return nil, err
		}
	}
	var out []client.Object
	for _, a := range All() {
		if len(names) > 0 && !slices.Contains(names, a.Name) {
			continue
		}
		objects, err := a.ResourceSets(namespace, p)
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, nil
}

// ResourceSets returns the ConfigMap and the ClusterResourceSets of one addon.
func (a Addon) ResourceSets(namespace string, p Params) ([]client.Object, error) {
	data, err := a.Render(p)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{"app.kubernetes.io/managed-by": "casement", "app.kubernetes.io/name": a.Name}
	out := []client.Object{&corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "addon-" + a.Name, Labels: labels,
			Annotations: map[string]string{"casement.dev/addon-version": a.Version},
		},
		Data: map[string]string{a.Name + ".yaml": string(data)},
	}}
	for i, selector := range a.Selectors {
		name := "addon-" + a.Name
		if i > 0 {
			name = fmt.Sprintf("%s-%d", name, i+1)
		}
		out = append(out, &addonsv1.ClusterResourceSet{
			TypeMeta:   metav1.TypeMeta{APIVersion: addonsv1.GroupVersion.String(), Kind: "ClusterResourceSet"},
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
			Spec: addonsv1.ClusterResourceSetSpec{
				ClusterSelector: metav1.LabelSelector{MatchLabels: selector},
				Resources: []addonsv1.ResourceRef{
					{Kind: string(addonsv1.ConfigMapClusterResourceSetResourceKind), Name: "addon-" + a.Name},
				},
				Strategy: string(addonsv1.ClusterResourceSetStrategyApplyOnce),
			},
		})
	}
	return out, nil
}
