package helm

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/helm/v1alpha1"
)

// fillValues executes a HelmChartProxy's template of values for one cluster. The template can use the Cluster and, if
// the Cluster refers to them, its control plane and infrastructure.
func fillValues(ctx context.Context, c client.Reader, proxy *v1alpha1.HelmChartProxy, cluster *clusterv1.Cluster) (string, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cluster)
	if err != nil {
		return "", fmt.Errorf("convert Cluster %s: %w", cluster.Name, err)
	}
	data := map[string]any{"Cluster": object}
	for name, ref := range map[string]clusterv1.ContractVersionedObjectReference{
		"ControlPlane": cluster.Spec.ControlPlaneRef, "InfraCluster": cluster.Spec.InfrastructureRef,
	} {
		if !ref.IsDefined() {
			continue
		}
		o, err := external.GetObjectFromContractVersionedRef(ctx, c, ref, cluster.Namespace)
		if err != nil {
			return "", fmt.Errorf("read what Cluster %s names as .%s: %w", cluster.Name, name, err)
		}
		data[name] = o.Object
	}
	if !strings.Contains(proxy.Spec.ValuesTemplate, "{{") {
		return proxy.Spec.ValuesTemplate, nil
	}
	input, err := json.Marshal(data)
	if err != nil {
		return "", err
	}
	r, err := step{Template: proxy.Spec.ValuesTemplate, Data: input}.run(ctx)
	if err != nil {
		return "", fmt.Errorf("spec.valuesTemplate for Cluster %s: %w", cluster.Name, err)
	}
	return r.Values, nil
}
