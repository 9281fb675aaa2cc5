package topology

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/core/webhooks/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/flavors"
	"casement.dev/casement/internal/testing/golden"
)

// flavor returns the objects of one of casement's flavors with its ClusterClass, filled in, after
// text replacements.
func flavor(t testing.TB, name string, edits ...string) (cluster *unstructured.Unstructured, all []*unstructured.Unstructured) {
	t.Helper()
	return parse(t, filled(t, name, edits...))
}

// filled returns the text of a flavor with its variables replaced.
func filled(t testing.TB, name string, edits ...string) string {
	t.Helper()
	template, err := flavors.WithClass(name)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{
		"CLUSTER_NAME": "demo", "KUBERNETES_VERSION": "v1.36.3", "AZURE_LOCATION": "westeurope", "CLUSTER_IDENTITY_NAME": "identity",
		"AZURE_SUBSCRIPTION_ID": "00000000-0000-0000-0000-000000000001", "AZURE_CLIENT_ID": "client", "AZURE_TENANT_ID": "tenant",
		"AZURE_CLUSTER_IDENTITY_SECRET_NAME": "secret", "AZURE_CLUSTER_IDENTITY_SECRET_NAMESPACE": "default",
	}
	plain, _, err := flavors.Fill(template, func(name string) (string, bool) { v, ok := values[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	text := string(plain)
	for i := 0; i+1 < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			t.Fatalf("the flavor has no %q", edits[i])
		}
		text = strings.ReplaceAll(text, edits[i], edits[i+1])
	}
	return text
}

func parse(t testing.TB, text string) (cluster *unstructured.Unstructured, all []*unstructured.Unstructured) {
	t.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		if o.GetKind() == "Cluster" {
			cluster = o
		}
		all = append(all, o)
	}
	return cluster, all
}

func render(t *testing.T, name string, edits ...string) (Rendered, error) {
	t.Helper()
	cluster, all := flavor(t, name, edits...)
	return Render(t.Context(), cluster, all)
}

func TestRender(t *testing.T) {
	for _, name := range []string{"topology-windows", "topology-machinepool-windows"} {
		t.Run(name, func(t *testing.T) {
			r, err := render(t, name)
			if err != nil || len(r.Refused) > 0 || r.Class != "casement-windows" {
				t.Fatalf("%+v, %v", r, err)
			}
			var text bytes.Buffer
			for _, o := range r.Objects {
				data, err := yaml.Marshal(o.Object)
				if err != nil {
					t.Fatal(err)
				}
				text.WriteString("---\n")
				text.Write(data)
			}
			golden.Compare(t, filepath.Join("testdata", name+".yaml"), text.Bytes())
		})
	}
}

// TestOlderVersion: objects of API version v1beta1 render to the same result as those of v1beta2.
func TestOlderVersion(t *testing.T) {
	cluster, all := flavor(t, "topology-windows")
	want, err := Render(t.Context(), cluster, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		switch o.GetKind() {
		case "Cluster":
			older(t, o, &clusterv1.Cluster{}, &clusterv1beta1.Cluster{}, conversion.ConvertClusterHubToV1Beta1)
		case "ClusterClass":
			older(t, o, &clusterv1.ClusterClass{}, &clusterv1beta1.ClusterClass{}, conversion.ConvertClusterClassHubToV1Beta1)
		}
	}
	got, err := Render(t.Context(), cluster, all)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Objects, got.Objects); diff != "" || len(got.Objects) == 0 {
		t.Errorf("v1beta2 and v1beta1 differ (-v1beta2 +v1beta1)\n%s", diff)
	}
}

// older converts an object to API version v1beta1.
func older[Hub, Old client.Object](t *testing.T, o *unstructured.Unstructured, hub Hub, old Old,
	convert func(context.Context, Hub, Old) error) {
	t.Helper()
	if err := decode(o, hub); err != nil {
		t.Fatal(err)
	}
	if err := convert(t.Context(), hub, old); err != nil {
		t.Fatal(err)
	}
	kind, err := runtime.DefaultUnstructuredConverter.ToUnstructured(old)
	if err != nil {
		t.Fatal(err)
	}
	gvk := clusterv1beta1.GroupVersion.WithKind(o.GetKind())
	o.Object = kind
	o.SetGroupVersionKind(gvk)
	o.SetAnnotations(nil) // the conversion keeps fields here that the older version lacks
}

func TestNotRendered(t *testing.T) {
	const class = "kind: ClusterClass\nmetadata:\n  name: casement-windows"
	for _, tc := range []struct {
		name         string
		edits        []string
		refused, why string
	}{
		{"class elsewhere", []string{class, class + "-other"}, "", "ClusterClass casement-windows is not in the input"},
		{"template elsewhere", []string{
			"kind: AzureClusterTemplate\nmetadata:\n  name: casement-windows",
			"kind: AzureClusterTemplate\nmetadata:\n  name: other",
		}, "", "AzureClusterTemplate casement-windows is not in the input"},
		{"runtime extension", []string{"  patches:\n  - name: cluster\n", "  patches:\n  - {name: outside, " +
			"external: {generatePatchesExtension: patches.example}}\n  - name: " +
			"cluster\n"}, "", "patch outside of ClusterClass casement-windows comes from a runtime extension"},
		{"no release of Windows", []string{"value: windows-2022", "value: windows-1999"},
			"spec.topology.variables[windowsServerVersion].value: Unsupported value", ""},
		{"no such group", []string{"      - class: windows\n", "      - class: minix\n"}, "spec.topology.workers.machineDeployments", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := render(t, "topology-windows", tc.edits...)
			said := ""
			if err != nil {
				said = err.Error()
			}
			refused := ""
			if len(r.Refused) > 0 {
				refused = r.Refused.ToAggregate().Error()
			}
			if tc.why == "" != (err == nil) || tc.refused == "" != (refused == "") ||
				!strings.Contains(said, tc.why) || !strings.Contains(refused, tc.refused) || len(r.Objects) > 0 {
				t.Errorf("refused %q, error %q, %d objects", refused, said, len(r.Objects))
			}
		})
	}
}

// FuzzRender removes or exchanges parts of manifests, chosen by a seed, and checks that nothing panics.
func FuzzRender(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	_, machines := flavor(f, "topology-windows")
	_, pools := flavor(f, "topology-machinepool-windows")
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		var all []*unstructured.Unstructured
		for _, o := range [][]*unstructured.Unstructured{machines, pools}[seed%2] {
			all = append(all, o.DeepCopy())
		}
		for range 1 + random.IntN(3) {
			o := all[random.IntN(len(all))]
			harm(random, o.Object)
		}
		for _, o := range all {
			if _, defined, _ := unstructured.NestedMap(o.Object, "spec", "topology"); o.GetKind() == "Cluster" && defined {
				if r, err := Render(t.Context(), o, all); err == nil && len(r.Objects) == 0 && len(r.Refused) == 0 {
					t.Error("neither rendered nor refused, and no error")
				}
			}
		}
	})
}

// harm changes a value below a place.
func harm(random *rand.Rand, at any) {
	others := []any{nil, "", "x", int64(7), true, []any{}, map[string]any{}, []any{map[string]any{}}, map[string]any{"name": "x"}}
	switch at := at.(type) {
	case map[string]any:
		if len(at) == 0 {
			return
		}
		key := slices.Sorted(maps.Keys(at))[random.IntN(len(at))]
		switch below, again := at[key], random.IntN(4) > 0; {
		case again && isDeep(below):
			harm(random, below)
		case random.IntN(2) == 0:
			delete(at, key)
		default:
			at[key] = others[random.IntN(len(others))]
		}
	case []any:
		if len(at) > 0 {
			if i := random.IntN(len(at)); isDeep(at[i]) && random.IntN(4) > 0 {
				harm(random, at[i])
			} else {
				at[i] = others[random.IntN(len(others))]
			}
		}
	}
}

func isDeep(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}
