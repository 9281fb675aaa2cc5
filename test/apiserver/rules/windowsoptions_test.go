package rules

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/lint"
)

// TestUserNames checks with random user names and credential specs that the rules accept exactly
// those that the API server accepts.
func TestUserNames(t *testing.T) {
	s, random := newServer(t), rand.New(rand.NewPCG(4, 36))
	parts := []string{
		"a", "User", "CONTOSO", "example.com", `\`, `\`, ".", " ", "-", "@", ":", "\t", "ü", "ContainerUser",
		"NT AUTHORITY", strings.Repeat("x", 14), strings.Repeat("y", 104), strings.Repeat("z", 256),
	}
	object := parse(t, "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  os:\n    name: windows\n"+
		"  nodeSelector:\n    kubernetes.io/os: windows\n  containers:\n  - name: app\n"+
		"    image: registry.example/app:1\n")
	about := func(r lint.Rule) bool { return r.ID == "WIN501" || r.ID == "WIN502" || r.ID == "WIN503" }
	refused := 0
	for range 400 {
		var name strings.Builder
		for range random.IntN(5) {
			name.WriteString(parts[random.IntN(len(parts))])
		}
		options := map[string]any{"runAsUserName": name.String()}
		if random.IntN(2) == 0 {
			options["gmsaCredentialSpecName"] = []string{"web", "Web", "web.example", "-web", ""}[random.IntN(5)]
			options["gmsaCredentialSpec"] = []string{"", "x", strings.Repeat("x", 64<<10), strings.Repeat("x", 64<<10+1)}[random.IntN(4)]
		}
		if err := unstructured.SetNestedMap(object, map[string]any{"windowsOptions": options}, "spec", "securityContext"); err != nil {
			t.Fatal(err)
		}
		want, err := s.refused(t.Context(), object, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := found(t, object, about); !slices.Equal(got, want) {
			t.Fatalf("%q: rules name %q, the API server %q", options, got, want)
		}
		refused += len(want)
	}
	if refused < 100 {
		t.Errorf("only %d refused", refused)
	}
}

// TestRuntimeClassConflict checks that admission and the rule both refuse a pod whose selector
// contradicts the selector of its RuntimeClass.
func TestRuntimeClassConflict(t *testing.T) {
	s := newServer(t)
	real, err := client.New(apiServer, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, selector := range []map[string]string{
		{"kubernetes.io/os": "linux"}, {"kubernetes.io/os": "windows"}, {"disk": "ssd"}, {"zone": "b"},
	} {
		class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{GenerateName: "example-"},
			Handler: "runhcs-wcow-process", Scheduling: &nodev1.Scheduling{NodeSelector: selector}}
		if err := real.Create(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		text := "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata:\n  name: " + class.Name +
			"\nhandler: runhcs-wcow-process\nscheduling:\n  nodeSelector:\n"
		for key, value := range selector {
			text += "    " + key + ": " + value + "\n"
		}
		pod := "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  runtimeClassName: " + class.Name + "\n" +
			"  nodeSelector:\n    kubernetes.io/os: windows\n    zone: a\n  containers:\n  - name: app\n" +
			"    image: registry.example/app:1\n"
		err := s.Create(t.Context(), inNamespace(parse(t, pod)))
		if err != nil && !apierrors.IsForbidden(err) {
			t.Fatal(err)
		}
		if got := len(findings(t, text+"---\n"+pod, "WIN014")) > 0; got != (err != nil) {
			t.Errorf("%v: the rule finds it: %v; the API server says %v", selector, got, err)
		}
	}
}

func inNamespace(object map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: object}
	u.SetNamespace("oracle")
	return u
}
