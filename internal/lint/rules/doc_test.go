package rules

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/testing/golden"
)

// TestDocumented compares docs/rules, which has one page per rule, with the rules.
func TestDocumented(t *testing.T) {
	const dir = "../../../docs/rules"
	want := map[string]string{"README.md": index()}
	for _, r := range All() {
		want[r.ID+".md"] = page(r)
	}
	if golden.Update() {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range want {
		golden.Compare(t, filepath.Join(dir, name), []byte(text))
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, ok := want[f.Name()]; !ok {
			t.Errorf("%s is of no rule; run with -update", f.Name())
		}
	}
}

func index() string {
	var out strings.Builder
	out.WriteString("<!-- made by make generate -->\n# Lint rules\n\n| rule | severity | what it is about |\n|---|---|---|\n")
	for _, r := range All() {
		fmt.Fprintf(&out, "| [%s](%s.md) | %s | %s |\n", r.ID, r.ID, r.Severity, r.Title)
	}
	out.WriteString("\n## What is known of the cluster\n\n" +
		"Some rules need to know more of the cluster than its manifests say. Without it they say nothing, or take the default.\n\n" +
		"| flag or key of the configuration file | meaning and default |\n|---|---|\n")
	for _, k := range targetKeys {
		fmt.Fprintf(&out, "| `%s` | %s |\n", k.name, k.text)
	}
	return out.String()
}

// targetKeys documents lint.Target: its tags, and the flags.
var targetKeys = []struct{ name, text string }{
	{"--kubernetes-version", "release of Kubernetes; the newest. With a patch release, rules about fixes of a minor know " +
		"whether it has them; without one it has all"},
	{"windowsReleases", "Windows Server releases of the nodes, such as `[\"2019\", \"2022\"]`, in quotes; unknown. Also " +
		"--windows-release. WIN408, WIN702, WIN703, WIN707"},
	{"mixedCluster", "the cluster has nodes of both systems, and pods that name none are looked at; false. WIN011, WIN012, WIN013"},
	{"windowsTaints", "taints of the Windows nodes: key, value and effect of each; none. WIN009, WIN012, WIN013"},
	{"sidecars", "labels and annotations that inject a container for Linux, beside those that are known; none. WIN015"},
	{"featureGates", "feature gates that differ from their default; none. WIN127, WIN511"},
	{"docker", "the nodes run Docker, before 1.24; false. WIN316, WIN610, WIN611"},
	{"containerd", "release of containerd; a current one. WIN511, WIN610"},
	{"nanoServerMemoryFloor", "least memory limit for Nano Server; 64Mi. WIN203"},
	{"serverCoreMemoryFloor", "least memory limit for other images; 128Mi. WIN203"},
	{"windowsStartupMinutes", "how long a Windows machine may take to become a node; 20. WIN827"},
}

// TestTargetDocumented: the docs describe every key of a target, and no other.
func TestTargetDocumented(t *testing.T) {
	want, got := map[string]bool{"--kubernetes-version": true}, map[string]bool{}
	for i := range reflect.TypeFor[lint.Target]().NumField() {
		if tag, _, _ := strings.Cut(reflect.TypeFor[lint.Target]().Field(i).Tag.Get("json"), ","); tag != "-" {
			want[tag] = true
		}
	}
	for _, k := range targetKeys {
		got[k.name] = true
	}
	if !maps.Equal(want, got) {
		t.Errorf("documented %v, of %v", got, want)
	}
}

func page(r lint.Rule) string {
	versions := "all"
	switch {
	case r.Since > 0 && r.Until > 0:
		versions = fmt.Sprintf("1.%d to 1.%d", r.Since, r.Until-1)
	case r.Since > 0:
		versions = fmt.Sprintf("from 1.%d", r.Since)
	case r.Until > 0:
		versions = fmt.Sprintf("before 1.%d", r.Until)
	}
	return fmt.Sprintf("<!-- made by make generate -->\n# %s: %s\n\nSeverity: %s. Kubernetes: %s. Decided by: %s.\n\n%s\n\n"+
		"%sNot so:\n\n```yaml\n%s```\n\nBut so:\n\n```yaml\n%s```\n",
		r.ID, r.Title, r.Severity, versions, r.Oracle, r.Doc, target(r.For), r.Bad, r.Good)
}

// target describes the properties of the cluster that the examples need.
func target(t lint.Target) string {
	keys, err := yaml.Marshal(t)
	if err != nil {
		return err.Error()
	}
	out := ""
	switch {
	case t.Patch != nil:
		out = fmt.Sprintf("The examples are for `--kubernetes-version 1.%d.%d`.\n\n", t.Minor, *t.Patch)
	case t.Minor > 0:
		out = fmt.Sprintf("The examples are for `--kubernetes-version 1.%d`.\n\n", t.Minor)
	}
	if text := string(keys); text != "{}\n" {
		out += "They need to know of the cluster, in the configuration file:\n\n```yaml\n" + text + "```\n\n"
	}
	return out
}
