// Package flavors holds the cluster templates that casement publishes and fills
// templates the way clusterctl does. The templates are rendered from one base,
// base.yaml with workers.yaml, whose [[ ]] parts are decided by the flavor; what is
// left are clusterctl's variables.
//
// It is no templating language and knows no cluster: it turns text into text.
// internal/cli, hack and tests may import it.
package flavors

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

//go:embed base.yaml workers.yaml
var base embed.FS

// flavor is what a template is made for.
type flavor struct {
	name, about string
	Windows     bool // a group of Windows workers beside the Linux one
	Private     bool // API server behind an internal load balancer
	Pools       bool // workers are machine pools, not machine deployments
}

// workers is a group of worker machines.
type workers struct {
	Suffix, Replicas, Size string
	Windows                bool
}

// Workers are the flavor's groups.
func (f flavor) Workers() []workers {
	out := []workers{{Suffix: "0", Replicas: "${WORKER_MACHINE_COUNT:=1}", Size: "${AZURE_NODE_MACHINE_TYPE:=Standard_D2s_v3}"}}
	if f.Windows {
		out = append(out, workers{
			Suffix: "win", Windows: true, Replicas: "${WINDOWS_WORKER_MACHINE_COUNT:=${WORKER_MACHINE_COUNT:=1}}",
			Size: "${AZURE_WINDOWS_NODE_MACHINE_TYPE:=${AZURE_NODE_MACHINE_TYPE:=Standard_D2s_v3}}",
		})
	}
	return out
}

func all() []flavor {
	return []flavor{
		{name: "default", about: "Linux control plane and workers"},
		{name: "machinepool", about: "as default, with the workers in a machine pool", Pools: true},
		{name: "machinepool-windows", about: "as windows, with the workers in machine pools", Windows: true, Pools: true},
		{name: "private", about: "as default, with the API server behind an internal load balancer", Private: true},
		{name: "windows", about: "Linux control plane and workers, and Windows workers", Windows: true},
		{name: "windows-private", about: "as windows, with the API server behind an internal load balancer", Windows: true, Private: true},
	}
}

// List returns the names of the flavors, sorted.
func List() []string {
	var out []string
	for _, f := range all() {
		out = append(out, f.name)
	}
	slices.Sort(out)
	return out
}

// Describe says in a few words what a flavor is; "" where there is none of that name.
func Describe(name string) string {
	for _, f := range all() {
		if f.name == name {
			return f.about
		}
	}
	return ""
}

// Get returns the clusterctl template of a flavor; "" is the default one.
func Get(name string) ([]byte, error) {
	if name == "" {
		name = "default"
	}
	i := slices.IndexFunc(all(), func(f flavor) bool { return f.name == name })
	if i < 0 {
		return nil, fmt.Errorf("no flavor %q; there are %s", name, strings.Join(List(), ", "))
	}
	text, err := render(all()[i])
	if err != nil {
		return nil, fmt.Errorf("flavor %s: %w", name, err)
	}
	return text, nil
}

func render(f flavor) ([]byte, error) {
	t := template.New("base.yaml").Delims("[[", "]]")
	// part is a named template moved to the right, for what stands at several depths.
	part := func(name string, dot any, depth int) (string, error) {
		var out bytes.Buffer
		if err := t.ExecuteTemplate(&out, name, dot); err != nil {
			return "", err
		}
		indent := strings.Repeat(" ", depth)
		return indent + strings.ReplaceAll(strings.Trim(out.String(), "\n"), "\n", "\n"+indent), nil
	}
	if _, err := t.Funcs(template.FuncMap{"part": part}).ParseFS(base, "base.yaml", "workers.yaml"); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err := t.Execute(&out, f)
	return out.Bytes(), err
}

// FileName is the name under which clusterctl looks for a flavor's template.
func FileName(name string) string {
	if name == "" || name == "default" {
		return "cluster-template.yaml"
	}
	return "cluster-template-" + name + ".yaml"
}
