// Package flavors holds the cluster templates that casement publishes and fills
// templates the way clusterctl does. The templates are rendered from one base,
// base.yaml, whose [[ ]] parts are decided by the flavor; what is left are
// clusterctl's variables.
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

//go:embed base.yaml
var base embed.FS

// flavor is what a template is made for.
type flavor struct {
	name, about string
	Windows     bool // a group of Windows workers beside the Linux one
	Private     bool // API server behind an internal load balancer
}

func all() []flavor {
	return []flavor{
		{name: "default", about: "Linux control plane and workers"},
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
	t, err := template.New("base.yaml").Delims("[[", "]]").ParseFS(base, "base.yaml")
	if err != nil {
		return nil, fmt.Errorf("flavor %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, all()[i]); err != nil {
		return nil, fmt.Errorf("flavor %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// FileName is the name under which clusterctl looks for a flavor's template.
func FileName(name string) string {
	if name == "" || name == "default" {
		return "cluster-template.yaml"
	}
	return "cluster-template-" + name + ".yaml"
}
