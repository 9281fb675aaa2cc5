// Command flags writes internal/kubeflags/dropped.go: the flags that kubelet, kube-apiserver,
// kube-controller-manager, kube-scheduler and kube-proxy do not have any more, and the removed feature
// gates, each with the first minor version without it. It reads the registrations of both in the sources
// of one patch release per minor version, from the Go module proxy:
//
//	go run ./hack/flags v1.22.17 v1.23.17 ... > internal/kubeflags/dropped.go
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Modules other than k8s.io/kubernetes; their versions are v0 instead of v1.
const (
	kubernetes = "kubernetes"
	apiserver  = "apiserver"
	cloud      = "cloud-provider"
	manager    = "controller-manager"
	base       = "component-base"
	client     = "client-go"
)

// source is a folder or file of a module in which a component registers flags.
type source struct{ module, path string }

// serving is the source of flags that every component with an HTTPS port has.
var serving = []source{
	{apiserver, "pkg/server/options/serving.go"}, {apiserver, "pkg/server/options/serving_with_loopback.go"},
	{apiserver, "pkg/server/options/authentication.go"}, {apiserver, "pkg/server/options/authorization.go"},
}

// components maps programs to their sources.
var components = map[string][]source{
	"kubelet": {
		{kubernetes, "cmd/kubelet/app/options"}, {kubernetes, "pkg/kubelet/config"}, {kubernetes, "pkg/credentialprovider"},
	},
	"kube-apiserver": {
		{kubernetes, "cmd/kube-apiserver/app/options"}, {kubernetes, "pkg/kubeapiserver/options"},
		{kubernetes, "pkg/controlplane/apiserver/options"}, {apiserver, "pkg/server/options"},
	},
	"kube-controller-manager": append([]source{
		{kubernetes, "cmd/kube-controller-manager/app/options"}, {manager, "options"}, {cloud, "options"},
	}, serving...),
	"kube-scheduler": append([]source{{kubernetes, "cmd/kube-scheduler/app/options"}}, serving...),
	"kube-proxy":     {{kubernetes, "cmd/kube-proxy/app"}},
}

// gates are the sources in which feature gates are registered; every component links all of them.
var gates = []source{
	{kubernetes, "pkg/features"}, {apiserver, "pkg/features"}, {manager, "pkg/features"}, {client, "features"},
	{base, "logs/api/v1"}, {base, "metrics/features"}, {base, "zpages/features"},
}

// klog are flags that package klog registers itself and that every component removed with 1.26.
// Source: KEP-2845, CHANGELOG-1.26 (kubernetes 112120).
var klog = []string{"add-dir-header", "alsologtostderr", "log-backtrace-at", "log-dir", "log-file", "log-file-max-size",
	"logtostderr", "one-output", "skip-headers", "skip-log-headers", "stderrthreshold"}

const klogGone = 26

// insecure are the flags of ports without TLS. The library still registered them years after their
// last use. Source: CHANGELOG-1.24 of Kubernetes, "insecure address flags".
var insecure = []string{"address", "insecure-bind-address", "insecure-port", "port"}

const insecureGone = 24

// library is the file that registers these flags; no component uses it.
const library = "deprecated_insecure_serving.go"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "flags:", err)
		os.Exit(1)
	}
}

func run(versions []string) error {
	if len(versions) < 2 {
		return fmt.Errorf("name one patch release per minor, oldest first")
	}
	last := map[string]map[string]int{}                // by component and flag: the last minor version with the flag
	systems := map[string]map[string]map[string]bool{} // by component and flag: the systems with the flag, "" for all
	lastGate := map[string]int{}                       // the last minor version with a feature gate
	newest := 0
	for _, version := range versions {
		minor, err := strconv.Atoi(strings.Split(version, ".")[1])
		if err != nil || newest != 0 && minor != newest+1 {
			return fmt.Errorf("%s: want the minor after 1.%d", version, newest)
		}
		newest = minor
		for _, s := range gates {
			names, err := readModule(s, version, gated)
			if err != nil {
				return err
			}
			for name := range names {
				lastGate[name] = minor
			}
		}
		for component, sources := range components {
			if last[component] == nil {
				last[component], systems[component] = map[string]int{}, map[string]map[string]bool{}
			}
			for _, s := range sources {
				names, err := readModule(s, version, registered)
				if err != nil {
					return err
				}
				for name, of := range names {
					last[component][name] = minor
					if systems[component][name] == nil {
						systems[component][name] = map[string]bool{}
					}
					maps.Copy(systems[component][name], of)
				}
			}
		}
	}
	return write(last, systems, lastGate, newest, versions)
}

// readModule reads a source in a release. The module proxy may lack a module of a release: then the
// result is nil, and the contents are assumed to be those of the neighbouring minor versions.
func readModule[T any](s source, version string, read func(path string) (map[string]T, error)) (map[string]T, error) {
	dir, err := module(s.module, version)
	if err != nil && s.module != kubernetes {
		fmt.Fprintf(os.Stderr, "flags: %s: %v\n", s.path, err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return read(filepath.Join(dir, s.path))
}

// module downloads a module of a release and returns its folder.
func module(name, version string) (string, error) {
	if name != kubernetes {
		version = strings.Replace(version, "v1.", "v0.", 1)
	}
	// The names are constants in this file.
	download := exec.Command("go", "mod", "download", "-json", "k8s.io/"+name+"@"+version)
	download.Dir = os.TempDir() // outside of this module, whose requirements would change the versions
	out, err := download.Output()
	if err != nil {
		return "", fmt.Errorf("download k8s.io/%s@%s: %w", name, version, err)
	}
	var got struct{ Dir string }
	return got.Dir, json.Unmarshal(out, &struct{ Dir *string }{&got.Dir})
}

// registration matches the methods of flag sets, and kubelet's functions for global flags.
var registration = regexp.MustCompile(`^(pflagRegister|register(Deprecated)?|(String|Strings|Bool|Int|Int32|Int64|Uint|Uint32|` +
	`Uint64|Float32|Float64|Duration|IP|IPNet|StringSlice|StringArray|StringToString|IntSlice)?(Var)?(P|PF)?)$`)

// system returns the operating system for which a file is built, "" for all.
func system(file string) string {
	for _, name := range []string{"linux", "windows"} {
		if strings.HasSuffix(file, "_"+name+".go") {
			return name
		}
	}
	return ""
}

// parse parses a file, or the files of a folder; of contains the system of each. It returns none if
// the release has no such file.
func parse(path string) (files []*ast.File, of []string, err error) {
	err = filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || e.IsDir() || filepath.Ext(file) != ".go" || filepath.Base(file) == library || strings.HasSuffix(file, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files, of = append(files, parsed), append(of, system(file))
		return nil
	})
	return files, of, err
}

// registered returns the flags that a folder or file registers, each with the set of its systems.
func registered(path string) (map[string]map[string]bool, error) {
	files, of, err := parse(path)
	known := constants(files)
	names := map[string]map[string]bool{}
	for i, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 3 || !registration.MatchString(called(call)) {
				return true
			}
			for _, arg := range call.Args[:3] {
				if name := known.text(arg); flagName.MatchString(name) {
					if names[name] == nil {
						names[name] = map[string]bool{}
					}
					names[name][of[i]] = true
					break
				}
			}
			return true
		})
	}
	return names, err
}

// gated returns the feature gates that a folder registers: the keys of maps whose values are gates'
// specs.
func gated(path string) (map[string]bool, error) {
	files, _, err := parse(path)
	known := constants(files)
	names := map[string]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok || !ofGates(literal.Type) {
				return true
			}
			for _, e := range literal.Elts {
				pair, ok := e.(*ast.KeyValueExpr)
				if !ok {
					continue
				}
				if other, ok := pair.Key.(*ast.SelectorExpr); ok { // a gate of another package, whose constant has the gate's name
					names[other.Sel.Name] = true
				} else if name := known.text(pair.Key); name != "" {
					names[name] = true
				}
			}
			return true
		})
	}
	return names, err
}

// ofGates reports whether a type is a map whose keys are feature gates.
func ofGates(e ast.Expr) bool {
	m, ok := e.(*ast.MapType)
	if !ok {
		return false
	}
	switch key := m.Key.(type) {
	case *ast.SelectorExpr:
		return key.Sel.Name == "Feature"
	case *ast.Ident:
		return key.Name == "Feature"
	}
	return false
}

// values contains the string constants of a folder, by name.
type values map[string]string

func constants(files []*ast.File) values {
	known := values{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
				for i := range spec.Names {
					known[spec.Names[i].Name] = known.text(spec.Values[i])
				}
			}
			return true
		})
	}
	return known
}

func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

// foreign contains constants of other modules that are names of flags.
var foreign = map[string]string{"HousekeepingInterval": "housekeeping_interval"} // google/cadvisor lib/cadvisorflags

// text returns the value of a literal or a constant, or "".
func (v values) text(e ast.Expr) string {
	if of, ok := e.(*ast.SelectorExpr); ok {
		return foreign[of.Sel.Name]
	}
	if name, ok := e.(*ast.Ident); ok {
		return v[name.Name]
	}
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return value
}

var flagName = regexp.MustCompile(`^[a-z][a-z0-9]*([-_][a-z0-9]+)*$`)

func write(last map[string]map[string]int, systems map[string]map[string]map[string]bool, lastGate map[string]int, newest int,
	versions []string) error {
	var out bytes.Buffer
	out.WriteString("// Code generated by hack/flags. DO NOT EDIT.\n\npackage kubeflags\n\n")
	fmt.Fprintf(&out, "// It is made from the sources of %s\n// to %s.\n\n", versions[0], versions[len(versions)-1])
	fmt.Fprintf(&out, "// Newest is the newest minor whose flags are known.\nconst Newest = %d\n\n", newest)
	out.WriteString("// dropped has, by program and flag, the first minor without it.\nvar dropped = map[string]map[string]int{\n")
	for _, component := range slices.Sorted(maps.Keys(last)) {
		gone := map[string]int{}
		for name, minor := range last[component] {
			if name = strings.ReplaceAll(name, "_", "-"); minor < newest {
				gone[name] = minor + 1
			}
		}
		for _, name := range klog {
			gone[name] = klogGone
		}
		if component != "kubelet" && component != "kube-proxy" {
			for _, name := range insecure {
				gone[name] = insecureGone
			}
		}
		fmt.Fprintf(&out, "%q: {\n", component)
		for _, name := range slices.Sorted(maps.Keys(gone)) {
			fmt.Fprintf(&out, "%q: %d,\n", name, gone[name])
		}
		out.WriteString("},\n")
	}
	out.WriteString("}\n\n// only has the flags that a program has on one system.\nvar only = map[string]map[string]string{\n")
	for _, component := range slices.Sorted(maps.Keys(systems)) {
		rows := ""
		for _, name := range slices.Sorted(maps.Keys(systems[component])) {
			if of := slices.Collect(maps.Keys(systems[component][name])); len(of) == 1 && of[0] != "" {
				rows += fmt.Sprintf("%q: %q,\n", strings.ReplaceAll(name, "_", "-"), of[0])
			}
		}
		if rows != "" {
			fmt.Fprintf(&out, "%q: {\n%s},\n", component, rows)
		}
	}
	out.WriteString("}\n\n// kept are the kubelet's flags of the newest minor, but for those of libraries.\nvar kept = map[string]bool{\n")
	for _, name := range slices.Sorted(maps.Keys(last["kubelet"])) {
		if last["kubelet"][name] == newest {
			fmt.Fprintf(&out, "%q: true,\n", strings.ReplaceAll(name, "_", "-"))
		}
	}
	out.WriteString("}\n\n// gates has, by feature gate, the first minor without it.\nvar gates = map[string]int{\n")
	for _, name := range slices.Sorted(maps.Keys(lastGate)) {
		if lastGate[name] < newest {
			fmt.Fprintf(&out, "%q: %d,\n", name, lastGate[name]+1)
		}
	}
	out.WriteString("}\n")
	formatted, err := format.Source(out.Bytes())
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(formatted)
	return err
}
