package facts

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// chartFailures are the condition reasons with which Cluster API's addon provider for Helm reports that it cannot
// install a chart; its other reasons mean that it waits. Source:
// github.com/kubernetes-sigs/cluster-api-addon-provider-helm, api/v1alpha1.
var chartFailures = []string{"HelmInstallOrUpgradeFailed", "ValueParsingFailed", "ClusterSelectionFailed",
	"GetClusterFailed", "GetKubeconfigFailed", "GetCredentialsFailed"}

// charts lists the objects of the addon provider for Helm that report a chart that cannot be installed in the cluster:
// its HelmReleaseProxies, and its HelmChartProxies, because a failing one creates no release. It returns nothing if the
// provider is not installed.
func charts(ctx context.Context, c client.Client, key client.ObjectKey) ([]Degraded, error) {
	var out []Degraded
	for kind, options := range map[string][]client.ListOption{
		"HelmReleaseProxy": clusterListOptions(key), "HelmChartProxy": {client.InNamespace(key.Namespace)},
	} {
		all, err := foreign(ctx, c, "addons.cluster.x-k8s.io/v1alpha1", kind, options...)
		if err != nil {
			return nil, err
		}
		out = append(out, degradedOf(all, kind+"/", func(s state) bool {
			return s.status != "True" && slices.Contains(chartFailures, s.reason) && s.kind != "Ready"
		})...)
	}
	slices.SortFunc(out, func(a, b Degraded) int { return strings.Compare(b.Name, a.Name) }) // HelmReleaseProxies first
	return out, nil
}

// degraded lists the components that Calico's operator reports as degraded; none if the operator is not installed.
func degraded(ctx context.Context, w client.Client) ([]Degraded, error) {
	all, err := foreign(ctx, w, "operator.tigera.io/v1", "TigeraStatus")
	return degradedOf(all, "", func(s state) bool { return s.kind == "Degraded" && s.status == "True" }), err
}

// degradedOf returns the conditions for which wrong returns true, each with the name of its object after a prefix.
func degradedOf(objects []unstructured.Unstructured, prefix string, wrong func(state) bool) []Degraded {
	var out []Degraded
	for _, o := range objects {
		for _, s := range statesOf(o) {
			if wrong(s) {
				out = append(out, Degraded{Name: prefix + o.GetName(), Reason: s.reason, Message: s.message})
			}
		}
	}
	return out
}

// foreign lists objects of a kind of another project, which the API server may not have.
func foreign(ctx context.Context, c client.Client, apiVersion, kind string,
	options ...client.ListOption) ([]unstructured.Unstructured, error) {
	all := &unstructured.UnstructuredList{}
	all.SetAPIVersion(apiVersion)
	all.SetKind(kind + "List")
	if err := c.List(ctx, all, options...); meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return all.Items, nil
}

// state is one condition of an object whose Go type is not linked into the program.
type state struct{ kind, status, reason, message string }

// statesOf returns an object's conditions; malformed ones are skipped.
func statesOf(o unstructured.Unstructured) []state {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	var out []state
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		text := func(field string) string {
			t, _ := fields[field].(string)
			return t
		}
		out = append(out, state{text("type"), text("status"), text("reason"), text("message")})
	}
	return out
}
