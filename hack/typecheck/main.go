// Command typecheck type-checks a package and all its imports for other systems: go run
// ./hack/typecheck PACKAGE SYSTEM/ARCHITECTURE... It takes only seconds, because it compiles
// nothing and ignores the function bodies of packages outside of this module.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is a package in the output of go list.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string
	Module     *struct{ Main bool }
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: go run ./hack/typecheck PACKAGE SYSTEM/ARCHITECTURE...")
		os.Exit(2)
	}
	failed := false
	for _, platform := range os.Args[2:] {
		system, arch, _ := strings.Cut(platform, "/")
		checked, err := check(os.Args[1], system, arch)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s for %s: %v\n", os.Args[1], platform, err)
			failed = true
			continue
		}
		fmt.Printf("%s for %s: %d packages\n", os.Args[1], platform, checked)
	}
	if failed {
		os.Exit(1)
	}
}

// check returns the number of packages of a program, or all type errors.
func check(pkg, system, arch string) (int, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	known := map[string]*types.Package{"unsafe": types.Unsafe}
	var found error
	// go list prints a package after all its imports.
	for decoder := json.NewDecoder(out); ; {
		var p listed
		if err := decoder.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return 0, err
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		checked, err := p.check(known, arch)
		found = errors.Join(found, err)
		known[p.ImportPath] = checked
	}
	if err := cmd.Wait(); err != nil {
		return 0, fmt.Errorf("go list: %w", err)
	}
	return len(known), found
}

// check type-checks a package; known contains its imports.
func (p listed) check(known map[string]*types.Package, arch string) (*types.Package, error) {
	own := p.Module != nil && p.Module.Main
	fset := token.NewFileSet()
	var files []*ast.File
	var found error
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	config := types.Config{
		IgnoreFuncBodies: !own,
		Sizes:            types.SizesFor("gc", arch),
		Error:            func(err error) { found = errors.Join(found, err) },
		Importer: importer(func(path string) (*types.Package, error) {
			if mapped, ok := p.ImportMap[path]; ok {
				path = mapped
			}
			if pkg := known[path]; pkg != nil {
				return pkg, nil
			}
			return nil, fmt.Errorf("package %s is not there", path)
		}),
	}
	pkg, _ := config.Check(p.ImportPath, fset, files, nil)
	return pkg, found
}

// importer is a function that returns the package with a path.
type importer func(path string) (*types.Package, error)

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) { return i(path) }
