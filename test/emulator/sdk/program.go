package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/azuresim"
)

// programs is the compiler's package path of the examples: an overlay adds the package, which is
// not a directory of the repository.
const programs = "casement.dev/casement/test/emulator/sdk/programs"

// example is one published example program.
type example struct {
	// Name is package.Function.
	Name string
	// Client and Method are the names in the SDK that the example demonstrates.
	Client, Method string
}

// build copies the examples from the module cache and compiles them into one program in dir, which
// runs an example by name.
func build(root, dir string) (binary string, all []example, err error) {
	overlay := map[string]string{}
	add := func(pkg, file string, content []byte) error {
		real := filepath.Join(dir, "src", pkg, file)
		overlay[filepath.Join(root, "test/emulator/sdk/programs", pkg, file)] = real
		if err := os.MkdirAll(filepath.Dir(real), 0o755); err != nil {
			return err
		}
		return os.WriteFile(real, content, 0o644)
	}
	var packages []string
	for _, module := range modules() {
		found, err := take(root, module, add)
		if err != nil {
			return "", nil, err
		}
		packages = append(packages, packageOf(module))
		all = append(all, found...)
	}
	if err := add("exit", "exit.go", []byte(exitSource)); err != nil {
		return "", nil, err
	}
	var imports, tables strings.Builder
	for _, p := range packages {
		fmt.Fprintf(&imports, "\t%q\n", programs+"/"+p)
		fmt.Fprintf(&tables, "\tmaps.Copy(all, %s.Examples())\n", p)
	}
	if err := add("run", "main.go", fmt.Appendf(nil, runSource, imports.String(), tables.String())); err != nil {
		return "", nil, err
	}
	data, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return "", nil, err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return "", nil, err
	}
	binary = filepath.Join(dir, "examples")
	cmd := exec.Command("go", "build", "-overlay", file, "-o", binary, programs+"/run")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("compile the examples: %w\n%s", err, out[:min(len(out), 4000)])
	}
	return binary, all, nil
}

// packageOf returns the last element of a module's path that is not a version.
func packageOf(module string) string {
	base := path.Base(module)
	if regexp.MustCompile(`^v\d+$`).MatchString(base) {
		base = path.Base(path.Dir(module))
	}
	return base
}

// take rewrites the example files of a module as a package: it fills in the subscription, and
// replaces log.Fatalf, which would end the process, by a function that ends the example. Nothing
// else changes.
func take(root, module string, add func(pkg, file string, content []byte) error) ([]example, error) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", module, err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*_client_example_test.go"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s has no examples in %s", module, out)
	}
	slices.Sort(files)
	pkg := packageOf(module)
	var all []example
	for _, file := range files {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, nil, 0)
		if err != nil {
			return nil, err
		}
		f.Name.Name = pkg
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(fn.Name.Name, "Example") {
				continue
			}
			client, method, _ := strings.Cut(strings.TrimPrefix(fn.Name.Name, "Example"), "_")
			method, _, _ = strings.Cut(method, "_")
			all = append(all, example{Name: pkg + "." + fn.Name.Name, Client: client, Method: method})
		}
		fill(f)
		var b bytes.Buffer
		if err := format.Node(&b, fset, f); err != nil {
			return nil, err
		}
		if err := add(pkg, strings.TrimSuffix(filepath.Base(file), "_test.go")+".go", b.Bytes()); err != nil {
			return nil, err
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "package %s\n\nfunc Examples() map[string]func() {\n\treturn map[string]func(){\n", pkg)
	for _, e := range all {
		fmt.Fprintf(&table, "\t\t%q: %s,\n", e.Name, strings.TrimPrefix(e.Name, pkg+"."))
	}
	table.WriteString("\t}\n}\n")
	return all, add(pkg, "examples_table.go", []byte(table.String()))
}

var (
	subscriptionSegment = regexp.MustCompile(`(?i)(["/])subscriptions/[^/"]+`)
	placeholder         = regexp.MustCompile(`\{+([A-Za-z][\w. -]*)\}+`)
)

// values maps placeholders of examples to values, for placeholders whose own name would not be
// valid.
func values() map[string]string {
	return map[string]string{
		"your-password": "Correct-Horse-1", "image_publisher": "MicrosoftWindowsServer",
		"image_offer": "WindowsServer", "image_sku": "2022-datacenter-core-g2",
	}
}

// capable maps sizes in examples to sizes that support the examples' premium disks or images of
// generation 2.
var capable = map[string]string{"Standard_D1_v2": `"Standard_D16s_v3"`, "Standard_DS1_v2": `"Standard_D16s_v3"`}

// fill replaces each subscription in an example by ours, and each {placeholder} by a valid value or
// by its name.
func fill(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			if n.Path.Value == `"log"` {
				n.Path.Value, n.Name = strconv.Quote(programs+"/exit"), ast.NewIdent("log")
			}
			return false
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "NewClientFactory" && len(n.Args) == 3 {
				n.Args[0] = &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(azuresim.DefaultSubscription)}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "ID" {
				ast.Inspect(n.Value, rooted)
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				n.Value = subscriptionSegment.ReplaceAllString(n.Value, "${1}subscriptions/"+azuresim.DefaultSubscription)
				n.Value = cmp.Or(capable[strings.Trim(n.Value, `"`)], n.Value)
				n.Value = placeholder.ReplaceAllStringFunc(n.Value, func(text string) string {
					name := strings.Trim(text, "{}")
					return cmp.Or(values()[name], strings.ReplaceAll(name, " ", "-"))
				})
			}
		}
		return true
	})
}

// rooted adds the leading slash that the IDs of some examples lack; without it, Azure does not
// recognise an ID.
func rooted(n ast.Node) bool {
	if lit, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(lit.Value, `"subscriptions/`) {
		lit.Value = `"/` + lit.Value[1:]
	}
	return true
}

const exitSource = `package exit

import "fmt"

type Failure string

func Fatalf(format string, args ...any) { panic(Failure(fmt.Sprintf(format, args...))) }
`

// runSource reads names of examples, one per line, and answers each with a line: "ok" or the
// example's error, quoted.
const runSource = `package main

import (
	"bufio"
	"fmt"
	"maps"
	"os"

	"` + programs + `/exit"
%s)

func main() {
	all := map[string]func(){}
%s	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		fmt.Fprintf(os.Stderr, "%%q\n", run(all[in.Text()]))
	}
}

func run(f func()) (result string) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case exit.Failure:
			result = string(p)
		default:
			result = fmt.Sprint("panic: ", p)
		}
	}()
	f()
	return "ok"
}
`
