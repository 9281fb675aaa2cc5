package doctor

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/cause"
	"casement.dev/casement/internal/why"
)

// facts is a cluster of one Windows node without machines.
func facts(edit func(*corev1.Node)) *why.Facts {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	n.Spec.ProviderID, n.Status.NodeInfo.OperatingSystem = "azure:///x", "windows"
	edit(n)
	return &why.Facts{Cluster: &clusterv1.Cluster{}, Nodes: map[string]*corev1.Node{n.Name: n}}
}

func failed(results []Result) []string {
	var out []string
	for _, r := range results {
		if r.Verdict == Failed {
			out = append(out, r.ID)
		}
	}
	return out
}

func TestLooks(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*corev1.Node)
		want []string
	}{
		"healthy":        {func(*corev1.Node) {}, nil},
		"no provider ID": {func(n *corev1.Node) { n.Spec.ProviderID = "" }, []string{"D20"}},
		"VNI": {func(n *corev1.Node) {
			n.Annotations = map[string]string{"flannel.alpha.coreos.com/backend-data": `{"VNI":1}`}
		}, []string{"D27"}},
		"VNI enough": {func(n *corev1.Node) {
			n.Annotations = map[string]string{"flannel.alpha.coreos.com/backend-data": `{"VNI":4096}`}
		}, nil},
		"long name": {func(n *corev1.Node) { n.Name = "sixteen-letters-" }, []string{"D30"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := failed(Examine(facts(test.edit), nil)); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestNothingPassesUnseen(t *testing.T) {
	f := facts(func(*corev1.Node) {})
	f.Unreachable = "dial tcp: connection refused"
	for _, r := range Examine(f, nil) {
		if r.Verdict == Passed {
			t.Errorf("%s passed, and the workload cluster did not answer", r.ID)
		}
	}
}

func TestUnknownTroubleIsShown(t *testing.T) {
	f := facts(func(*corev1.Node) {})
	f.Cluster.Spec.Paused = new(true)
	if got := failed(Examine(f, nil)); !slices.Equal(got, []string{"X00"}) {
		t.Errorf("got %v", got)
	}
	if got := failed(Examine(f, func(string) bool { return false })); got != nil {
		t.Errorf("kept %v", got)
	}
}

// TestCausesExist holds the names in the checks to those that why gives.
func TestCausesExist(t *testing.T) {
	names := []string{"NotRegistered", "NodeDeleted", "BootstrapFailed", "InvalidBootstrapData", "CloudProviderMissing"}
	for _, c := range cause.All() {
		names = append(names, c.Name)
	}
	for _, p := range why.Probes() {
		names = append(names, p.Name)
	}
	seen := map[string]bool{}
	for _, c := range checks {
		if seen[c.id] {
			t.Errorf("%s is there twice", c.id)
		}
		seen[c.id] = true
		for _, name := range c.causes {
			if !slices.Contains(names, name) {
				t.Errorf("%s: no cause is called %s", c.id, name)
			}
		}
	}
}
