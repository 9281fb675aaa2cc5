package casement_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/config"
	"casement.dev/casement/internal/kind"
)

// TestKinds: package kind has exactly the kinds of casement's API group, with the names in their CRDs.
func TestKinds(t *testing.T) {
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]kind.Kind{}
	for _, crd := range crds {
		names := crd.Spec.Names
		k := kind.Kind{Name: names.Kind, Group: crd.Spec.Group, Resource: names.Plural}
		if len(names.ShortNames) > 0 {
			k.Short = names.ShortNames[0]
		}
		if crd.Spec.Scope != apiextensionsv1.NamespaceScoped {
			t.Errorf("%s is not namespaced", names.Kind)
		}
		want[names.Kind] = k
	}
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name := range scheme.KnownTypes(infrav1.GroupVersion) {
		if _, list := strings.CutSuffix(name, "List"); strings.HasPrefix(name, "Azure") && !list && want[name].Name == "" {
			t.Errorf("%s is registered and has no definition", name)
		}
	}
	for _, k := range kind.All {
		if k.Group != kind.Infrastructure || k.AKS {
			continue
		}
		w, found := want[k.Name]
		if w.Machine, w.VM = k.Machine, k.VM; !found || w.Resource != k.Resource || w.Short != k.Short {
			t.Errorf("package kind has %+v, its definition %+v", k, w)
		}
		delete(want, k.Name)
	}
	for name := range want {
		t.Errorf("%s is not in package kind", name)
	}
}

// TestKindsOnce: only one table lists the kinds with machines. A list of three kind names counts as
// a table; the exceptions below have another purpose.
func TestKindsOnce(t *testing.T) {
	meant := map[string]string{
		"internal/kind/kind.go":          "the table",
		"internal/adopt/adopt.go":        "what CAPZ's controllers write to",
		"internal/cli/explain/doctor.go": "what doctor takes",
		"internal/lint/rules/win800.go":  "whose names become host names",
	}
	names := map[string]bool{}
	for _, k := range kind.All {
		names[k.Name] = true
	}
	err := filepath.WalkDir("internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || meant[path] != "" {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			list, is := n.(*ast.CompositeLit)
			if !is {
				return true
			}
			var found []string
			for _, e := range list.Elts {
				if pair, is := e.(*ast.KeyValueExpr); is {
					e = pair.Key
				}
				if lit, is := e.(*ast.BasicLit); is && lit.Kind == token.STRING {
					if s, err := strconv.Unquote(lit.Value); err == nil && names[s] && !slices.Contains(found, s) {
						found = append(found, s)
					}
				}
			}
			if len(found) > 2 {
				t.Errorf("%s lists %s: derive it from package kind", set.Position(list.Pos()), strings.Join(found, ", "))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
