package webhook

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"casement.dev/casement/config"
	"casement.dev/casement/internal/testing/golden"
)

// crdField is the schema of one path.
type crdField struct {
	typ      string
	required bool
	enum     []string
}

// TestCAPZFields: a manifest for CAPZ v1.26.0 is valid for casement. Every field of its self-managed kinds exists with
// the same type, and no other field is required or refused. This test keeps the page with the comparison up to date.
func TestCAPZFields(t *testing.T) {
	theirs := capzFields(t)
	ours := crdFields(t)
	var page strings.Builder
	page.WriteString(`# Every field of CAPZ v1.26, and what casement makes of it

Made from CAPZ's CRDs, casement's CRDs and the table in internal/webhook, for the kinds of self-managed clusters. "as
CAPZ" means: the same type, required where it is required there, the same values allowed, and acted on. Fields that are
casement's alone come last. Status follows the v1beta2 contract of Cluster API, where CAPZ v1.26 follows v1beta1.
`)
	for _, kind := range slices.Sorted(maps.Keys(theirs)) {
		fmt.Fprintf(&page, "\n## %s\n\n| field | type | casement |\n|---|---|---|\n", kind)
		base := strings.TrimSuffix(kind, "Template")
		for _, path := range slices.Sorted(maps.Keys(theirs[kind])) {
			capz := theirs[kind][path]
			verdict := "as CAPZ"
			switch own, there := ours[kind][path]; {
			case strings.HasPrefix(path, "status"):
				verdict = statusVerdict(own, capz, there)
			case !there:
				t.Errorf("%s %s: CAPZ has it, casement's CRD does not", kind, path)
				continue
			case own.typ != capz.typ:
				t.Errorf("%s %s: type %s, in CAPZ %s", kind, path, own.typ, capz.typ)
			case own.required && !capz.required:
				t.Errorf("%s %s: required here, optional in CAPZ", kind, path)
			case !own.required && capz.required:
				verdict = "optional here"
			case len(own.enum) > 0 && !subset(capz.enum, own.enum):
				t.Errorf("%s %s: values %q, in CAPZ %q", kind, path, own.enum, capz.enum)
			case len(own.enum) > len(capz.enum) && len(capz.enum) > 0:
				verdict = "more values: `" + strings.Join(own.enum, "`, `") + "`"
			}
			for _, n := range Notes() {
				below := strings.TrimPrefix(path, "spec.template.")
				if n.Kind == base && (n.Path == path || kind != base && n.Path == below) {
					verdict = n.Text
					if n.OnChange {
						verdict = "as CAPZ; when changed later: " + n.Text
					}
				}
			}
			fmt.Fprintf(&page, "| `%s` | %s | %s |\n", path, capz.typ, verdict)
		}
	}
	page.WriteString("\n## Fields of casement alone\n\n| kind | field | type |\n|---|---|---|\n")
	for _, kind := range slices.Sorted(maps.Keys(ours)) {
		for _, path := range slices.Sorted(maps.Keys(ours[kind])) {
			if _, there := theirs[kind][path]; !there {
				fmt.Fprintf(&page, "| %s | `%s` | %s |\n", kind, path, ours[kind][path].typ)
			}
		}
	}
	golden.Compare(t, "../../docs/reference/capz-fields.md", []byte(page.String()))
}

// statusVerdict compares a field of the status, which users do not write.
func statusVerdict(own, capz crdField, there bool) string {
	switch {
	case !there:
		return "not there"
	case own.typ != capz.typ:
		return own.typ + " here"
	}
	return "as CAPZ"
}

// subset reports whether all elements of a are in b.
func subset(a, b []string) bool {
	return len(a) > 0 && !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

// capzFields reads the fields of CAPZ's kinds: kind, path, type, constraints.
func capzFields(t *testing.T) map[string]map[string]crdField {
	t.Helper()
	data, err := os.ReadFile("testdata/capz-v1.26.0-fields.tsv")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]crdField{}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		column := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(column) != 4 {
			t.Fatalf("%q has %d columns, want 4", line, len(column))
		}
		f := crdField{typ: column[2]}
		for constraint := range strings.SplitSeq(column[3], "; ") {
			if constraint == "required" {
				f.required = true
			}
			if values, ok := strings.CutPrefix(constraint, "enum="); ok {
				f.enum = strings.Split(values, "|")
			}
		}
		if out[column[0]] == nil {
			out[column[0]] = map[string]crdField{}
		}
		out[column[0]][column[1]] = f
	}
	return out
}

// crdFields returns the fields of casement's CRDs.
func crdFields(t *testing.T) map[string]map[string]crdField {
	t.Helper()
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]crdField{}
	for _, crd := range crds {
		fields := map[string]crdField{}
		root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		for _, top := range []string{"spec", "status"} {
			if p, ok := root.Properties[top]; ok {
				walkSchema(top, p, false, fields)
			}
		}
		out[crd.Spec.Names.Kind] = fields
	}
	return out
}

// walkSchema writes the schema of path, and of all paths below it.
func walkSchema(path string, s apiextensionsv1.JSONSchemaProps, required bool, out map[string]crdField) {
	f := crdField{typ: typeOf(s), required: required}
	for _, v := range s.Enum {
		f.enum = append(f.enum, strings.Trim(string(v.Raw), `"`))
	}
	out[path] = f
	switch {
	case s.Items != nil && s.Items.Schema != nil:
		s, path = *s.Items.Schema, path+"[]"
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		s, path = *s.AdditionalProperties.Schema, path+"{}"
	}
	for name, p := range s.Properties {
		walkSchema(path+"."+name, p, slices.Contains(s.Required, name), out)
	}
}

// typeOf names the type of a schema as the table of CAPZ's fields does.
func typeOf(s apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.XIntOrString:
		return "int-or-string"
	case s.Items != nil && s.Items.Schema != nil:
		return "array<" + typeOf(*s.Items.Schema) + ">"
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map<string," + typeOf(*s.AdditionalProperties.Schema) + ">"
	case s.Format != "":
		return s.Type + "(" + s.Format + ")"
	}
	return s.Type
}
