package casement_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// contained are the packages that run code for a guest. They start goroutines only through
// contain.Wall, so that a panic in a goroutine ends only the guest's command and not the process.
var contained = []string{"internal/sim/guest", "internal/sim/host", "internal/sim/kubelet",
	"internal/sim/staticpod", "internal/sim/kubeadm"}

// TestGoroutinesOfGuests: contained packages have no go statement, and no call of Go of a WaitGroup
// or errgroup, which has a function as its only argument.
func TestGoroutinesOfGuests(t *testing.T) {
	for _, root := range contained {
		files := 0
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.Contains(path, "/guesttest/") {
				return err
			}
			files++
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				return err
			}
			for _, at := range goroutines(file) {
				t.Errorf("%s starts a goroutine by itself: use Go of the guest's contain.Wall", set.Position(at))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if files == 0 {
			t.Errorf("%s has no files; the list is stale", root)
		}
	}
}

// goroutines returns the places at which a file starts goroutines.
func goroutines(file *ast.File) (all []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			all = append(all, n.Pos())
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && (s.Sel.Name == "Go" || s.Sel.Name == "TryGo") && len(n.Args) == 1 {
				all = append(all, n.Pos())
			}
		}
		return true
	})
	return all
}

func TestGoroutinesAreFound(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "a.go", "package a\nfunc f() { go g(); wg.Go(func() {}); w.Go(&wg, \"x\", g) }\n", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(goroutines(file)); got != 2 {
		t.Errorf("found %d goroutines, want 2", got)
	}
}
