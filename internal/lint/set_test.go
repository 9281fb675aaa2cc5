package lint

import "testing"

// TestSelected: pods are found by their labels, including labels from aliases and merge
// keys.
func TestSelected(t *testing.T) {
	pod := func(name, labels string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n  namespace: x\n  labels: " + labels +
			"\nspec: {containers: []}\n---\n"
	}
	set := parseOne(t, pod("both", "{app: a, tier: web}")+pod("one", "{app: a}")+pod("other", "{app: b, tier: web}")+
		"apiVersion: v1\nkind: Pod\nmetadata:\n  name: merged\n  namespace: x\n  annotations: &all {app: a}\n"+
		"  labels:\n    <<: *all\n    tier: web\nspec: {containers: []}\n---\n"+
		"apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: x}\nspec: {selector: {app: a, tier: web}}\n")
	service := set.Named("Service", "x", "s")[0]
	var got []string
	for _, p := range set.Selected(service.Root.At("spec", "selector"), "x") {
		got = append(got, p.Object.Name)
	}
	if len(got) != 2 || got[0] != "both" || got[1] != "merged" {
		t.Errorf("selected %v", got)
	}
	if len(set.Selected(service.Root.At("spec", "selector"), "y")) > 0 || len(set.Named("Service", "", "s")) > 0 ||
		len(set.Kind("Pod")) != 4 {
		t.Error("objects of another namespace, or of none")
	}
}
