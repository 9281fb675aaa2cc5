package upgrade

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/windows"
)

// TestRolls: a surge is rounded up, and is never more than the number of machines.
func TestRolls(t *testing.T) {
	share, three, zero := intstr.FromString("25%"), intstr.FromInt32(3), intstr.FromInt32(0)
	for _, c := range []struct {
		replicas       int
		surge, away    *intstr.IntOrString
		want, wantAway int
		cost           string
	}{
		{4, nil, nil, 1, 0, "4 vCPUs of quota, 1 address"}, {5, &share, &share, 2, 1, "8 vCPUs"}, {2, &three, nil, 2, 0, "8 vCPUs"},
		{3, &zero, &three, 0, 3, "3 of 3 away"}, {0, nil, nil, 0, 0, "no more machines"},
	} {
		p := Pool{Replicas: c.replicas, Size: "Standard_D4s_v3"}
		p.rolls(c.surge, c.away)
		if p.Surge != c.want || p.Unavailable != c.wantAway || !strings.Contains(p.Cost, c.cost) {
			t.Errorf("%d machines: %+v", c.replicas, p)
		}
	}
}

// TestAdmits: a required affinity allows nodes with a build.
func TestAdmits(t *testing.T) {
	affinity := func(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: terms}}}
	}
	term := func(operator corev1.NodeSelectorOperator, builds ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelWindowsBuild, Operator: operator, Values: builds}}}
	}
	const old, build = "10.0.20348", "10.0.26100"
	for name, c := range map[string]struct {
		a    *corev1.Affinity
		want bool
	}{
		"none": {nil, true}, "old alone": {affinity(term(corev1.NodeSelectorOpIn, old)), false},
		"both": {affinity(term(corev1.NodeSelectorOpIn, old, build)), true}, "not the new": {affinity(term(corev1.NodeSelectorOpNotIn,
			build)), false},
		"not the old": {affinity(term(corev1.NodeSelectorOpNotIn, old)), true},
		"either":      {affinity(term(corev1.NodeSelectorOpIn, old), term(corev1.NodeSelectorOpExists)), true},
	} {
		if got := admits(c.a, build); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestTemplateName: the year of the old release is replaced by that of the new one.
func TestTemplateName(t *testing.T) {
	for old, want := range map[string]string{"win": "win-2025", "win-2022": "win-2025", "win-20220": "win-20220-2025"} {
		if got := templateName(old, "2025"); got != want {
			t.Errorf("%s: %s", old, got)
		}
	}
}

// TestTopology: pools of a ClusterClass move by one variable, in one step.
func TestTopology(t *testing.T) {
	in := Input{Snapshot: &facts.Snapshot{Cluster: &clusterv1.Cluster{}}}
	in.Cluster.Name, in.Cluster.Namespace = "demo", "default"
	in.Cluster.Spec.Topology.ClassRef.Name, in.Cluster.Spec.Topology.Version = "casement-windows", "v1.37.2"
	to, _ := windows.ReleaseByName("2025")
	p := Make(in, to)
	p.Pools = []Pool{{Kind: "MachineDeployment", Name: "a", Topology: true, File: "01-a.yaml", Next: "x"}}
	text, err := p.Manifest(in, &p.Pools[0])
	if err != nil || !strings.Contains(string(text), "value: windows-2025") || !strings.Contains(string(text), "kind: Cluster\n") ||
		strings.Contains(string(text), "MachineDeployment\n") {
		t.Errorf("%v\n%s", err, text)
	}
}
