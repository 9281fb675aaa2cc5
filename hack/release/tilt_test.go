package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/config"
)

// tiltProvider is the configuration that Cluster API's Tiltfile reads. Source: cluster-api
// docs/book/src/developer/core/tilt.md, "tilt-provider configuration".
type tiltProvider struct {
	Name   string
	Config struct {
		Image, Label   string
		GoMain         string   `json:"go_main"`
		KustomizeDir   string   `json:"kustomize_folder"`
		LiveReloadDeps []string `json:"live_reload_deps"`
	}
}

// TestTilt runs Cluster API's own Tiltfile for our provider, with functions that record their calls
// in place of Tilt's: the Tiltfile builds our manager into the image that our Deployment names,
// watches existing paths, and finds the Deployment and the provider among our objects.
func TestTilt(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	var p tiltProvider
	text, err := os.ReadFile("tilt-provider.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &p); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(slices.Clone(p.Config.LiveReloadDeps), p.Config.GoMain) {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("tilt-provider.yaml: %v", err)
		}
	}
	writes := "--dir " + p.Config.KustomizeDir + " --image " + p.Config.Image + ":"
	if rules, err := os.ReadFile("Makefile"); err != nil || !strings.Contains(string(rules), writes) {
		t.Errorf("make provider does not write %s with %s (%v)", p.Config.KustomizeDir, p.Config.Image, err)
	}
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	tilt := newTilt(t)
	tilt.run(filepath.Join(strings.TrimSpace(string(module)), "Tiltfile"))
	for _, want := range []string{
		`local("make -C ../casement provider"`, `watch_file("../casement/config")`,
		`-o .tiltbuild/bin/manager ./cmd/casement-manager`,
		`docker_build(ref="` + p.Config.Image + `"`,
		`k8s_resource(workload="casement-controller-manager", objects=["infrastructure-azure:Provider:casement-system"], ` +
			`new_name="casement_controller"`,
		`local_resource(name="windows", `,
	} {
		if !slices.ContainsFunc(tilt.calls, func(c string) bool { return strings.Contains(c, want) }) {
			t.Errorf("Cluster API's Tiltfile made no call with %s:\n%s", want, strings.Join(tilt.calls, "\n"))
		}
	}
}

// tilt replaces the program tilt: it records the calls of a Tiltfile.
type tilt struct {
	t     *testing.T
	calls []string
	names starlark.StringDict
}

func newTilt(t *testing.T) *tilt {
	r := &tilt{t: t, names: starlark.StringDict{"TRIGGER_MODE_MANUAL": starlark.String("manual")}}
	for _, name := range []string{"version_settings", "allow_k8s_contexts", "trigger_mode", "default_registry", "local_resource",
		"docker_build", "custom_build", "sync", "run", "k8s_yaml", "k8s_resource", "port_forward", "link", "watch_file", "cmd_button",
		"location", "text_input"} {
		r.names[name] = r.function(name, func([]string) starlark.Value { return starlark.None })
	}
	// The fragment of casement is linked into tilt.d/, casement is beside the clone of Cluster API,
	// and a registry exists.
	r.names["local"] = r.function("local", func([]string) starlark.Value { return starlark.String("amd64\n") })
	r.names["listdir"] = r.function("listdir", func(args []string) starlark.Value {
		if args[0] == "tilt.d" {
			return listOf("hack/tilt/casement.tiltfile")
		}
		return listOf(args[0]+"/cluster-template-windows.yaml", args[0]+"/addons.yaml")
	})
	r.names["include"] = r.function("include", func(args []string) starlark.Value {
		r.run(args[0])
		return starlark.None
	})
	r.names["read_yaml"] = r.function("read_yaml", func(args []string) starlark.Value {
		if path.Base(args[0]) == "tilt-provider.yaml" {
			text, err := os.ReadFile("tilt-provider.yaml")
			if err != nil {
				t.Fatal(err)
			}
			return fromYAML(t, text)
		}
		return fromYAML(t, []byte("{default_registry: localhost:5000, provider_repos: [../casement], enable_providers: [azure], "+
			"enable_core_provider: false, template_dirs: {azure: [../casement/bin/provider]}}"))
	})
	r.names["read_file"] = r.function("read_file", func(args []string) starlark.Value { return starlark.String(args[0]) })
	r.names["decode_yaml_stream"] = r.function("decode_yaml_stream", func(args []string) starlark.Value {
		if !strings.HasSuffix(args[0], "azure.provider.yaml") {
			return starlark.NewList(nil)
		}
		components, err := config.Components("image:dev")
		if err != nil {
			t.Fatal(err)
		}
		// Cluster API's tilt-prepare adds the provider.
		list := []starlark.Value{fromYAML(t, []byte("{kind: Provider, metadata: {name: infrastructure-azure, namespace: casement-system}}"))}
		for document := range strings.SplitSeq(string(components), "\n---\n") {
			list = append(list, fromYAML(t, []byte(document)))
		}
		return starlark.NewList(list)
	})
	there := func([]string) starlark.Value { return starlark.True }
	first := func(args []string) starlark.Value { return starlark.String(args[0]) }
	r.names["os"] = starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{
		"getenv": r.function("os.getenv", func(args []string) starlark.Value { return starlark.String(args[len(args)-1]) }),
		"putenv": r.function("os.putenv", func([]string) starlark.Value { return starlark.None }),
		"path": starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{
			"exists":   r.function("os.path.exists", there),
			"basename": r.function("os.path.basename", func(args []string) starlark.Value { return starlark.String(path.Base(args[0])) }),
		}),
	})
	r.names["shlex"] = starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{"quote": r.function("shlex.quote", first)})
	return r
}

// run executes a Tiltfile, in Tilt's dialect of Starlark.
func (r *tilt) run(file string) {
	r.t.Helper()
	thread := &starlark.Thread{
		Print: func(*starlark.Thread, string) {},
		Load:  func(*starlark.Thread, string) (starlark.StringDict, error) { return r.names, nil },
	}
	names := starlark.StringDict{}
	for name, value := range r.names {
		if !slices.Contains([]string{"cmd_button", "location", "text_input"}, name) { // names that load defines
			names[name] = value
		}
	}
	dialect := &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}
	if _, err := starlark.ExecFileOptions(dialect, thread, file, nil, names); err != nil {
		r.t.Fatalf("%s: %v", file, err)
	}
}

// function returns a replacement for a function of Tilt that records its calls; answer gets the
// positional arguments and returns the result.
func (r *tilt) function(name string, answer func([]string) starlark.Value) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (
		starlark.Value, error) {
		var said, plain []string
		for _, a := range args {
			text, ok := starlark.AsString(a)
			if !ok {
				text = a.String()
			}
			plain, said = append(plain, text), append(said, a.String())
		}
		for _, n := range named {
			key, _ := starlark.AsString(n[0])
			said = append(said, key+"="+n[1].String())
		}
		r.calls = append(r.calls, fmt.Sprintf("%s(%s)", name, strings.Join(said, ", ")))
		return answer(plain), nil
	})
}

func listOf(values ...string) *starlark.List {
	var out []starlark.Value
	for _, v := range values {
		out = append(out, starlark.String(v))
	}
	return starlark.NewList(out)
}

func fromYAML(t *testing.T, text []byte) starlark.Value {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return value(v)
}

func value(v any) starlark.Value {
	switch v := v.(type) {
	case map[string]any:
		d := starlark.NewDict(len(v))
		for key, below := range v {
			_ = d.SetKey(starlark.String(key), value(below)) // cannot fail: strings are valid keys
		}
		return d
	case []any:
		var out []starlark.Value
		for _, below := range v {
			out = append(out, value(below))
		}
		return starlark.NewList(out)
	case string:
		return starlark.String(v)
	case bool:
		return starlark.Bool(v)
	case float64:
		return starlark.Float(v)
	}
	return starlark.None
}
