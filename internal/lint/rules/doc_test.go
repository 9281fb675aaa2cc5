package rules

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/lint"
)

var update = flag.Bool("update", false, "write docs/rules anew")

// TestDocumented keeps docs/rules, one page per rule, as the rules are.
func TestDocumented(t *testing.T) {
	const dir = "../../../docs/rules"
	want := map[string]string{"README.md": index()}
	for _, r := range All() {
		want[r.ID+".md"] = page(r)
	}
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
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
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%s is stale (%v); run with -update", name, err)
		}
	}
}

func index() string {
	var out strings.Builder
	out.WriteString("<!-- made by make generate -->\n# Lint rules\n\n| rule | severity | what it is about |\n|---|---|---|\n")
	for _, r := range All() {
		fmt.Fprintf(&out, "| [%s](%s.md) | %s | %s |\n", r.ID, r.ID, r.Severity, r.Title)
	}
	return out.String()
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
	return fmt.Sprintf("<!-- made by make generate -->\n# %s: %s\n\nSeverity: %s. Kubernetes: %s. Decided by: %s.\n\n%s\n\n%sNot so:\n\n```yaml\n%s```\n\nBut so:\n\n```yaml\n%s```\n",
		r.ID, r.Title, r.Severity, versions, r.Oracle, r.Doc, target(r.For), r.Bad, r.Good)
}

// target says what has to be known of the cluster for the examples.
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
