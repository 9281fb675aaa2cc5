package flavors

import "testing"

func TestInNamespace(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"none": {"kind: A\nmetadata:\n  name: a # kept\n", "kind: A\nmetadata:\n  namespace: ns\n  name: a # kept\n"},
		"its own": {"kind: A\nmetadata:\n  name: a\n  namespace: \"other\"\nspec:\n  ref: {namespace: other}\n",
			"kind: A\nmetadata:\n  name: a\n  namespace: ns\nspec:\n  ref: {namespace: other}\n"},
		"cluster-scoped": {"kind: Namespace\nmetadata:\n  name: a\n", "kind: Namespace\nmetadata:\n  name: a\n"},
		"several": {"kind: A\nmetadata:\n    name: a\n---\n---\nmetadata:\n  labels: {}\nkind: B\n", "kind: A\n" +
			"metadata:\n    namespace: ns\n    name: a\n---\n---\nmetadata:\n  namespace: ns\n  labels: {}\n" +
			"kind: B\n"},
		"no metadata": {"kind: A\n", "kind: A\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := InNamespace([]byte(c.in), "ns")
			if err != nil || string(got) != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
	if _, err := InNamespace([]byte("a: [\n"), "ns"); err == nil {
		t.Error("broken YAML is taken")
	}
}
