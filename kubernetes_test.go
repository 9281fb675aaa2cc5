package casement_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/internal/kuberelease"
)

// tables are files that deliberately list Kubernetes releases or contain the literal of a release.
var tables = []string{
	"internal/kuberelease/kuberelease.go",
	"internal/addons/addons.go",   // the cloud provider's release for each minor version
	"internal/image/endoflife.go", // the end of support of each minor version
	"internal/kubechange",         // changes of each minor version, with their sources
	"internal/windows/support.go", // which versions support which release of Windows, with the source
	"internal/lint/rules",         // changes of each minor version, with their sources
	"internal/preflight/support.go",
	"internal/sim", // shares no facts; TestEmbedded of cmd/casement-kube compares them
}

// TestKubernetesRelease: the Kubernetes release is defined in one place, beside go.mod. Another
// literal of the same minor version would be forgotten in an upgrade.
func TestKubernetesRelease(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), "\tk8s.io/kubernetes "+kuberelease.Default+"\n") {
		t.Errorf("go.mod has another release of k8s.io/kubernetes than %s: use make bump-k8s", kuberelease.Default)
	}
	literal := regexp.MustCompile(`(?:^|[^\w.:-])v?` + regexp.QuoteMeta(kuberelease.Minor()) + `(?:\.\d+)?(?:[^\w.]|\.\D|\.?$)`)
	text := regexp.MustCompile(`\bv` + regexp.QuoteMeta(kuberelease.Minor()) + `\.\d+\b`)
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != "." && strings.HasPrefix(d.Name(), "."), d.Name() == "testdata", d.Name() == "bin", slices.Contains(tables, path):
			if d.IsDir() {
				return filepath.SkipDir
			}
		case strings.HasSuffix(path, "_test.go"):
		case filepath.Ext(path) == ".go":
			return literals(path, func(at token.Position, s string) {
				if literal.MatchString(s) && !strings.Contains(s, "kubernetes/kubernetes v") { // the release in the name of a source does not change
					t.Errorf("%s: %s: the release of Kubernetes comes from internal/kuberelease", at, s)
				}
			})
		case filepath.Ext(path) == ".md" && path != "CHANGELOG.md" && path != "docs/support.md": // docs/support.md is generated
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, version := range text.FindAllString(string(data), -1) {
				if version != kuberelease.Default {
					t.Errorf("%s: %s: casement is for %s; make bump-k8s moves pages too", path, version, kuberelease.Default)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// literals calls found with each string literal of a Go file, except imports.
func literals(path string, found func(token.Position, string)) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				found(set.Position(n.Pos()), strings.Trim(n.Value, "`\""))
			}
		}
		return true
	})
	return nil
}
