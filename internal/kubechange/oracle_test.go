package kubechange

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sources returns the directories of k8s.io/kubernetes by minor version: of the release in go.mod, and of others in the
// module cache (`go mod download k8s.io/kubernetes@v1.37.2` in a directory outside of the module adds one).
func sources(t *testing.T) map[int]string {
	t.Helper()
	out := map[int]string{}
	find := func(args ...string) string {
		text, err := exec.CommandContext(t.Context(), "go", args...).Output()
		if err != nil {
			t.Fatalf("go %s: %v", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(text))
	}
	linked := find("list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	cached, err := filepath.Glob(filepath.Join(find("env", "GOMODCACHE"), "k8s.io/kubernetes@v1.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range append(cached, linked) { // the linked release last
		parts := regexp.MustCompile(`@v1\.(\d+)\.\d+$`).FindStringSubmatch(dir)
		if parts == nil {
			t.Fatalf("%s is of no release", dir)
		}
		minor, _ := strconv.Atoi(parts[1])
		out[minor] = dir
	}
	return out
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestSettings compares the rows of validation_windows.go with that file in each minor version: an if that returns an
// error refuses the field of its condition, and one that logs ignores it.
func TestSettings(t *testing.T) {
	for minor, dir := range sources(t) {
		want := map[string]Effect{}
		ast.Inspect(parse(t, filepath.Join(dir, validation)), func(n ast.Node) bool {
			check, ok := n.(*ast.IfStmt)
			if !ok {
				return true
			}
			effect, field := Ignored, ""
			ast.Inspect(check, func(n ast.Node) bool {
				switch x := n.(type) {
				case *ast.ReturnStmt:
					effect = Refused
				case *ast.CallExpr:
					if s, ok := x.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "append" || ok && strings.HasSuffix(s.Sel.Name, "Errorf") {
						effect = Refused
					}
				case *ast.SelectorExpr:
					if of, ok := x.X.(*ast.Ident); ok && of.Name == "kc" && field == "" {
						field = strings.ToLower(x.Sel.Name[:1]) + x.Sel.Name[1:]
					}
				}
				return true
			})
			want[field] = effect
			return true
		})
		said := map[string]bool{}
		for _, s := range settings {
			if !strings.HasPrefix(s.Source, validation) || !s.Holds(minor) {
				continue
			}
			if want[s.Path] != s.Effect {
				t.Errorf("1.%d: %s is %q in the table and %q in its source", minor, s.Path, s.Effect, want[s.Path])
			}
			said[s.Path] = true
		}
		maps.DeleteFunc(want, func(path string, _ Effect) bool { return said[path] })
		for field, effect := range want {
			t.Errorf("1.%d: the table lacks %s, which is %s", minor, field, effect)
		}
	}
}

// versioned matches the fields of a gate's row in the sources since 1.32.
var versioned = regexp.MustCompile(`MustParse\("1\.(\d+)"\), Default: (true|false), PreRelease: featuregate\.(\w+)(, LockToDefault: true)?`)

// TestGates compares the gates with those of each minor version.
func TestGates(t *testing.T) {
	all := sources(t)
	for minor, dir := range all {
		text, err := os.ReadFile(filepath.Join(dir, "pkg", "features", "kube_features.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range gates {
			known := regexp.MustCompile(`\n\s+` + g.Name + `\s+featuregate\.Feature = `).Match(text)
			if known != (minor >= g.Known.From && (g.Known.Until == 0 || minor < g.Known.Until)) {
				t.Errorf("1.%d: %s is known: %t, in the table %s", minor, g.Name, known, g.Known)
			}
			row := regexp.MustCompile(`\n\s+` + g.Name + `:\s+\{\n((?:\s+\{Version.*\n)+)`).FindStringSubmatch(string(text))
			if row == nil {
				continue
			}
			got := Gate{}
			for _, v := range versioned.FindAllStringSubmatch(row[1], -1) {
				from, _ := strconv.Atoi(v[1])
				if v[2] == "true" && got.On == 0 {
					got.On = from
				}
				if v[4] != "" && got.Locked == 0 {
					got.Locked = from
				}
				if v[3] == "Deprecated" && got.Inert == 0 {
					got.Inert = from
				}
			}
			until := func(row int) int { // the gates that a minor version does not know yet
				if row > minor {
					return 0
				}
				return row
			}
			if got.On != until(g.On) || got.Locked != until(g.Locked) || got.Inert != until(g.Inert) {
				t.Errorf("1.%d: %s has on %d, locked %d, inert %d in its source, %d, %d, %d in the table",
					minor, g.Name, got.On, got.Locked, got.Inert, g.On, g.Locked, g.Inert)
			}
		}
	}
}

// TestKubeadm compares the versions and gates of kubeadm with those of each minor version.
func TestKubeadm(t *testing.T) {
	for minor, dir := range sources(t) {
		app := filepath.Join(dir, "cmd", "kubeadm", "app")
		scheme, err := os.ReadFile(filepath.Join(app, "apis", "kubeadm", "scheme", "scheme.go"))
		if err != nil {
			t.Fatal(err)
		}
		common, err := os.ReadFile(filepath.Join(app, "util", "config", "common.go"))
		if err != nil {
			t.Fatal(err)
		}
		_, experimental, _ := strings.Cut(string(common), "experimentalAPIVersions := ")
		experimental, _, _ = strings.Cut(experimental, "\n\n")
		for _, c := range configs {
			got := strings.Contains(string(scheme), "utilruntime.Must("+c.Version+".AddToScheme(") &&
				!strings.Contains(experimental, "/"+c.Version+`"`)
			if got != c.Holds(minor) {
				t.Errorf("1.%d: kubeadm reads %s: %t, in the table %s", minor, c.Version, got, c.Span)
			}
		}
		known := map[string]bool{}
		ast.Inspect(parse(t, filepath.Join(app, "features", "features.go")), func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && spec.Names[0].Name == "InitFeatureGates" {
				for _, e := range spec.Values[0].(*ast.CompositeLit).Elts {
					known[e.(*ast.KeyValueExpr).Key.(*ast.Ident).Name] = true
				}
			}
			return true
		})
		for name, span := range features {
			if known[name] != span.Holds(minor) {
				t.Errorf("1.%d: kubeadm knows %s: %t, in the table %s", minor, name, known[name], span)
			}
		}
		if minor >= First {
			for name := range known {
				if _, ok := features[name]; !ok {
					t.Errorf("1.%d: the table lacks kubeadm's gate %s", minor, name)
				}
			}
		}
	}
}

// TestDefects: the fixes of a defect are one per minor version, newest first, and a release has the defect until the
// fix of its minor version.
func TestDefects(t *testing.T) {
	for _, d := range defects {
		minors := []int{}
		for _, f := range d.Fixed {
			minors = append(minors, -f.Minor)
		}
		if !slices.IsSorted(minors) || len(slices.Compact(minors)) != len(d.Fixed) || d.Source == "" || d.Why == "" {
			t.Errorf("%s: %v", d.Name, d.Fixed)
		}
	}
	for _, test := range []struct {
		name  string
		minor int
		patch *int
		want  bool
	}{
		{"CVE-2024-9042", 32, new(0), true}, {"CVE-2024-9042", 32, new(1), false}, {"CVE-2024-9042", 32, nil, false},
		{"CVE-2024-9042", 28, new(15), true}, {"CVE-2024-9042", 33, new(0), false}, {"CVE-2024-9042", 0, nil, false},
		{"the panic in winkernel", 37, new(0), true}, {"the panic in winkernel", 37, new(1), false},
		{"the panic in winkernel", 36, nil, true}, {"rules that are not checked again", 33, new(0), false},
		{"rules that are not checked again", 34, new(3), true}, {"rules that are not checked again", 34, new(4), false},
	} {
		i := slices.IndexFunc(defects, func(d Defect) bool { return d.Name == test.name })
		if i < 0 || defects[i].Has(test.minor, test.patch) != test.want {
			t.Errorf("1.%d has %s: want %t", test.minor, test.name, test.want)
		}
	}
}
