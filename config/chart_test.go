package config

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	gotemplate "text/template"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestChart: rendered with its defaults, the chart has the objects of Components; with
// certManager off, it has those of SelfSignedComponents. The namespace is the release's.
func TestChart(t *testing.T) {
	const image = "example.com/casement-manager:v0.1.0"
	chart, err := Chart(image, "v0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		set  map[string]any
		want func(string) ([]byte, error)
		// also are arguments that the values add to the manager.
		also []string
	}{
		{"defaults", nil, Components, nil},
		{"self-signed", map[string]any{"certManager": false}, SelfSignedComponents, nil},
		{"more arguments", map[string]any{"args": []any{"-v=4", "--namespace=a,b"}}, Components, []string{"-v=4", "--namespace=a,b"}},
		{"no pools", map[string]any{"machinePools": false}, Components, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			data, err := test.want(image)
			if err != nil {
				t.Fatal(err)
			}
			want, got := chartObjects(t, string(data)), render(t, chart, namespace, test.set)
			delete(want, "Namespace/"+namespace)
			if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
				t.Fatalf("objects (-want +got):\n%s", diff)
			}
			for name := range want {
				gotArgs, wantArgs := takeArgs(got[name]), takeArgs(want[name])
				delete(child(child(got[name], "metadata"), "annotations"), "helm.sh/resource-policy")
				child(child(want[name], "metadata"), "annotations")
				if diff := cmp.Diff(want[name], got[name]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
				if gotArgs == nil {
					continue
				}
				pools := fmt.Sprintf("--feature-gates=MachinePool=%v,PatchDay=%v", test.set["machinePools"] != false,
					test.set["patchDay"] == true)
				if !slices.Contains(gotArgs, pools) {
					t.Errorf("arguments %q lack %s", gotArgs, pools)
				}
				isGate := func(a string) bool { return strings.HasPrefix(a, "--feature-gates=") }
				gotArgs, wantArgs = slices.DeleteFunc(gotArgs, isGate), slices.DeleteFunc(wantArgs, isGate)
				// The variables are clusterctl's; the manager has the same defaults.
				wantArgs = slices.DeleteFunc(wantArgs, func(a string) bool { return strings.Contains(a, "${") })
				wantArgs = slices.Insert(wantArgs, 1, test.also...)
				if diff := cmp.Diff(wantArgs, gotArgs); diff != "" {
					t.Errorf("arguments (-want +got):\n%s", diff)
				}
			}
		})
	}
	for name, o := range render(t, chart, "elsewhere", nil) {
		if text := fmt.Sprint(o); !isCRD(o) && strings.Contains(text, namespace) {
			t.Errorf("%s is not in the release's namespace: %s", name, text)
		}
	}
}

// render renders the chart with Go's templates, which have all functions that the chart needs.
func render(t *testing.T, chart map[string][]byte, namespace string, set map[string]any) map[string]map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal(chart["values.yaml"], &values); err != nil {
		t.Fatal(err)
	}
	maps.Copy(values, set)
	out := map[string]map[string]any{}
	for name, text := range chart {
		if !strings.HasPrefix(name, "templates/") {
			continue
		}
		parsed, err := gotemplate.New(name).Option("missingkey=error").Parse(string(text))
		if err != nil {
			t.Fatal(err)
		}
		var rendered bytes.Buffer
		if err := parsed.Execute(&rendered,
			map[string]any{"Values": values, "Release": map[string]any{"Namespace": namespace}}); err != nil {
			t.Fatal(err)
		}
		maps.Copy(out, chartObjects(t, rendered.String()))
	}
	return out
}

// chartObjects returns manifests by kind and name.
func chartObjects(t *testing.T, manifests string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for part := range strings.SplitSeq("\n"+manifests, "\n---\n") {
		o := map[string]any{}
		if err := yaml.Unmarshal([]byte(part), &o); err != nil {
			t.Fatal(err)
		}
		if len(o) > 0 {
			out[fmt.Sprint(o["kind"], "/", child(o, "metadata")["name"])] = o
		}
	}
	return out
}

// takeArgs removes the arguments from a Deployment and returns them; other objects have none.
func takeArgs(object map[string]any) []string {
	var out []string
	for _, c := range containers(object) {
		args, _ := c["args"].([]any)
		for _, a := range args {
			out = append(out, fmt.Sprint(a))
		}
		delete(c, "args")
	}
	return out
}
