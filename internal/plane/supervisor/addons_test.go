package supervisor

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/addons"
	"casement.dev/casement/internal/helm/v1alpha1"
)

// TestBroughtByCharts: the plane's own addon is withdrawn only if HelmChartProxies install the same addon on every
// Cluster that requests it.
func TestBroughtByCharts(t *testing.T) {
	calico, err := addons.Find("calico")
	if err != nil {
		t.Fatal(err)
	}
	cluster := func(labels map[string]string) clusterv1.Cluster {
		return clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
	}
	proxy := func(chart string, selector metav1.LabelSelector) v1alpha1.HelmChartProxy {
		p := v1alpha1.HelmChartProxy{}
		p.Spec.ChartName, p.Spec.ClusterSelector = chart, selector
		return p
	}
	byLabel := func(key, value string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	going := proxy("tigera-operator", byLabel("cni", "calico"))
	going.DeletionTimestamp = new(metav1.Now())
	asks, asksToo := cluster(map[string]string{"cni": "calico"}), cluster(map[string]string{"cni": "calico", "team": "a"})
	for _, test := range []struct {
		name     string
		clusters []clusterv1.Cluster
		proxies  []v1alpha1.HelmChartProxy
		want     bool
	}{
		{"none", []clusterv1.Cluster{asks}, nil, false},
		{"the same label", []clusterv1.Cluster{asks, asksToo},
			[]v1alpha1.HelmChartProxy{proxy("tigera-operator", byLabel("cni", "calico"))}, true},
		{"every Cluster", []clusterv1.Cluster{asks}, []v1alpha1.HelmChartProxy{proxy("calico", metav1.LabelSelector{})}, true},
		{"of another chart", []clusterv1.Cluster{asks},
			[]v1alpha1.HelmChartProxy{proxy("metrics-server", byLabel("cni", "calico"))}, false},
		{"of some", []clusterv1.Cluster{asks, asksToo}, []v1alpha1.HelmChartProxy{proxy("calico", byLabel("team", "a"))}, false},
		{"of each one", []clusterv1.Cluster{asksToo, cluster(nil)}, []v1alpha1.HelmChartProxy{proxy("calico", byLabel("team", "a"))}, true},
		{"no Cluster yet", nil, []v1alpha1.HelmChartProxy{proxy("calico", byLabel("cni", "calico"))}, true},
		{"being deleted", []clusterv1.Cluster{asks}, []v1alpha1.HelmChartProxy{going}, false},
		{"no selector", []clusterv1.Cluster{asks}, []v1alpha1.HelmChartProxy{proxy("calico", metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "cni", Operator: "is"}},
		})}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := broughtByCharts(calico, test.clusters, test.proxies); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
