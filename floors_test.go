// Package casement_test checks rules for the whole module: the permitted imports of each package, and the
// permitted contents of go.mod.
package casement_test

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "casement.dev/casement/"

// A fence forbids imports and gives the reason. Patterns are path prefixes; those without a
// dot in the first element are relative to the module.
type fence struct {
	name string
	// from are the packages to which the fence applies.
	from []string
	// except are packages below from to which the fence does not apply.
	except []string
	// deny are the imports that are forbidden, directly or indirectly.
	deny []string
	// allow are imports below deny that are permitted.
	allow []string
	why   string
}

var provider = []string{"api", "internal/azure", "internal/controller", "internal/grant", "internal/webhook",
	"internal/metric", "internal/manager", "cmd/casement-manager"}
var simulator = []string{"internal/sim", "azuresim"}

var fences = []fence{
	{
		name: "the provider does not know the simulator",
		from: provider, deny: []string{
			"azuresim", "internal/sim", "internal/plane", "internal/capi", "internal/cli", "internal/controlplane",
		},
		why: "provider and simulator meet only on the wire, so that each is a second opinion on the other",
	},
	{
		name: "the simulator does not know the provider",
		from: simulator, deny: []string{
			"api", "internal/azure", "internal/controller", "internal/webhook", "internal/metric",
			"internal/manager", "internal/plane", "internal/capi", "internal/cli", "internal/kuberelease",
		},
		why: "provider and simulator meet only on the wire, so that each is a second opinion on the other",
	},
	{
		name: "the emulator has no SDK models on its data path",
		from: simulator, deny: []string{"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager"},
		why: "typed models drop fields that other api-versions send, and would share the provider's misunderstandings",
	},
	{
		name: "only casement-kube links Kubernetes",
		from: []string{"api", "azuresim", "config", "internal", "cmd"}, except: []string{"internal/controlplane", "cmd/casement-kube"},
		deny: []string{"k8s.io/kubernetes"},
		why:  "Kubernetes takes minutes to build; casement has to build and relink fast and be small enough to install for lint alone",
	},
	{
		name: "only casement-kube links Helm",
		from: []string{"api", "azuresim", "config", "internal", "cmd"}, except: []string{"internal/helm", "cmd/casement-kube"},
		deny: []string{"helm.sh/helm", "internal/helm"}, allow: []string{"internal/helm/crds", "internal/helm/v1alpha1"},
		why: "Helm takes forty megabytes; what installs charts is a process of its own, and only while templates bring charts",
	},
	{
		name:   "only the command line reads clusters and registries for lint",
		from:   []string{"api", "internal", "cmd/casement-manager"},
		except: []string{"internal/cli", "internal/lint/cluster", "internal/lint/registry"},
		deny:   []string{"internal/lint/cluster", "internal/lint/registry", "github.com/google/go-containerregistry"},
		why:    "the webhook lints what it is sent, and the manager stays small",
	},
	{
		name: "azuresim imports nothing of casement",
		from: []string{"azuresim"}, deny: []string{"api", "cmd", "internal", "test"},
		allow: []string{"internal/pki", "internal/private", "internal/limit", "internal/dotnet"},
		why: "it is a product of its own, to be started by others; only leaves without domain, for certificates, " +
			"private files, bounds of servers and the formats of .NET, serve both",
	},
	{
		name: "the engine knows no resource provider",
		from: []string{"azuresim/internal/engine", "azuresim/internal/value"}, deny: azureProviders,
		why: "a resource type is a row that its provider declares; the engine serves all of them alike",
	},
	{
		name: "desired is pure",
		from: []string{"internal/azure/desired"},
		deny: []string{"internal/azure/arm", "internal/azure/plan", "sigs.k8s.io/controller-runtime/pkg/manager"},
		why:  "what a spec asks for must not depend on what Azure answers",
	},
	{
		name: "facts about Windows and Kubernetes are plain facts",
		from: []string{"internal/windows", "internal/kuberelease", "internal/kubeflags", "internal/kubechange"},
		deny: []string{"k8s.io", "sigs.k8s.io", "github.com/Azure", "internal/azure", "internal/sim"},
		why:  "both sides read them, so they may depend on neither",
	},
	{
		name: "the API is types and constants",
		from: []string{"api"}, deny: []string{"internal"},
		why: "others import the types",
	},
	{
		name: "controllers do not assemble",
		from: []string{"internal/controller", "internal/webhook", "internal/azure"}, deny: []string{"internal/manager"},
		why: "imports go down only",
	},
	{
		name: "sessions do not know what is done with them",
		from: []string{"internal/controller/cloud"}, deny: []string{"internal/controller"},
		allow: []string{"internal/controller/condition", "internal/controller/credential", "internal/controller/record"},
		why:   "names, bootstrap data and passes are built on sessions",
	},
	{
		name: "what is said of a machine before and after it exists needs no session",
		from: []string{"internal/controller/capacity", "internal/controller/console", "internal/controller/record",
			"internal/controller/condition"},
		deny: []string{"internal/controller/azurename", "internal/controller/bootdata", "internal/controller/cloud",
			"internal/controller/pass"},
		why: "they are functions of what they are given",
	},
	{
		name: "only the assembly knows Cluster API's managers",
		from: []string{"internal"}, except: []string{"internal/plane", "internal/cli", "internal/capi"},
		deny: []string{"sigs.k8s.io/cluster-api/core/reconcilers", "sigs.k8s.io/cluster-api/controlplane/kubeadm/reconcilers"},
		why:  "the managers are linked for the local plane alone",
	},
	{
		name: "a plane's client simulates nothing",
		from: []string{"internal/plane"}, except: []string{"internal/plane/supervisor"}, deny: []string{
			"azuresim/internal", "internal/sim", "internal/plane/supervisor", "internal/manager", "internal/capi",
		},
		why: "casement builds for systems without a local plane",
	},
	{
		name: "templates are pure",
		from: []string{"azuresim/template"}, deny: []string{"azuresim", "internal", "api", "net/http", "os/exec", "github.com", "k8s.io"},
		allow: []string{"azuresim/template/datum", "internal/dotnet"},
		why:   "the client expands templates where there is no local Azure, and the local Azure deploys what it yields",
	},
	{
		name: "the formats of .NET are pure",
		from: []string{"internal/dotnet"}, deny: []string{"azuresim", "internal", "api", "github.com", "k8s.io"},
		why: "the local Azure and the guests write alike by them, and each has values of its own",
	},
	{
		name: "what waits for Azure is for a person at a command line",
		from: []string{"internal/controller", "internal/webhook", "internal/manager"},
		deny: []string{"internal/azure/bastion", "internal/azure/rescue"},
		why:  "nothing sleeps in a reconcile",
	},
	{
		name: "no program has the helpers of tests",
		from: []string{"api", "azuresim", "cmd", "internal"}, except: []string{"internal/testing"},
		deny: []string{"internal/testing", "testing"},
		why:  "what tests share is for tests",
	},
}

// azureProviders are the resource providers of the local Azure.
var azureProviders = []string{"azuresim/internal/authorization", "azuresim/internal/compute",
	"azuresim/internal/entra", "azuresim/internal/identity", "azuresim/internal/insights", "azuresim/internal/keyvault",
	"azuresim/internal/network", "azuresim/internal/resources", "azuresim/internal/storage"}

// azureFences returns the fences that separate each resource provider from all others.
func azureFences() []fence {
	var out []fence
	for _, p := range azureProviders {
		others := slices.DeleteFunc(slices.Clone(azureProviders), func(o string) bool { return o == p })
		out = append(out, fence{name: p + " knows no other provider", from: []string{p}, deny: others,
			why: "providers meet through the engine, by declared references and principals, as those of Azure do"})
	}
	return out
}

type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

func TestFloors(t *testing.T) {
	packages := list(t)
	for _, f := range append(fences, azureFences()...) {
		t.Run(f.name, func(t *testing.T) {
			guarded := 0
			for _, p := range packages {
				if !within(p.ImportPath, f.from) || within(p.ImportPath, f.except) {
					continue
				}
				guarded++
				for _, dep := range p.Deps {
					if within(dep, f.deny) && !within(dep, f.allow) && dep != p.ImportPath {
						t.Errorf("%s imports %s, directly or through another: %s",
							strings.TrimPrefix(p.ImportPath, module), strings.TrimPrefix(dep, module), f.why)
					}
				}
			}
			if guarded == 0 {
				t.Errorf("the fence guards no package; its paths %v are stale", f.from)
			}
		})
	}
}

// TestShared: provider and simulator share the packages that README.md names, and no others.
func TestShared(t *testing.T) {
	deps := func(roots []string) map[string]bool {
		out := map[string]bool{}
		for _, p := range list(t) {
			if within(p.ImportPath, roots) {
				for _, d := range append(p.Deps, p.ImportPath) {
					out[d] = true
				}
			}
		}
		return out
	}
	ours, theirs := deps(provider), deps(simulator)
	var shared []string
	for d := range ours {
		if name, is := strings.CutPrefix(d, module); is && theirs[d] {
			shared = append(shared, "`"+strings.TrimPrefix(name, "internal/")+"`")
		}
	}
	slices.Sort(shared)
	for _, page := range []string{"README.md", "CONTRIBUTING.md", "AGENTS.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if names := strings.Join(shared, ", "); !strings.Contains(string(text), names) {
			t.Errorf("%s does not name what provider and simulator share: %s", page, names)
		}
	}
}

func within(path string, prefixes []string) bool {
	for _, p := range prefixes {
		if first, _, _ := strings.Cut(p, "/"); !strings.Contains(first, ".") {
			p = module + p
		}
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

func list(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps=false", "-json=ImportPath,Dir,GoFiles,Imports,Deps", "./...").Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %s", exit.Stderr)
		}
		t.Fatal(err)
	}
	var packages []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// importers maps the words in package comments that name the importers of a package to their paths.
var importers = map[string][]string{
	"command line": {"internal/cli"}, "controllers": {"internal/controller"}, "manager": {"internal/manager"},
	"webhook": {"internal/webhook"}, "preflight": {"internal/preflight"}, "linter": {"internal/lint"},
	"simulator": {"internal/sim"}, "guests": {"internal/sim/guest"}, "local plane": {"internal/plane"}, "local Azure": {"azuresim"},
	"provider": provider, "tests": nil, "nothing": nil, "no package": nil,
	"everybody": {""}, "anybody": {""}, "anything": {""}, "any package": {""},
}

var (
	saysImporters = regexp.MustCompile(`(?i)[^.;:]*\bimports? it\b[^.;:]*`)
	packageName   = regexp.MustCompile(`\b[Pp]ackages? ([a-z0-9]+)`)
	packagePath   = regexp.MustCompile(`\b(?:api|azuresim|cmd|hack|internal|test)(?:/[a-z0-9-]+)+`)
)

// TestImporters compares the importers of a package with those that its comment permits: a path
// means the package itself and the packages below it. Tests, and packages that only tests use, may
// import any package.
func TestImporters(t *testing.T) {
	packages, by := list(t), map[string][]string{}
	for _, p := range packages {
		for _, i := range p.Imports {
			by[i] = append(by[i], p.ImportPath)
		}
	}
	checked := 0
	for _, p := range packages {
		allowed, said := []string{"test", "internal/testing", strings.TrimPrefix(p.ImportPath, module)}, false
		for _, sentence := range saysImporters.FindAllString(comment(t, p), -1) {
			if strings.Contains(sentence, " not ") || strings.Contains(sentence, " never ") {
				continue // checked by a fence
			}
			said = true
			known := packagePath.FindAllString(sentence, -1)
			allowed = append(allowed, known...)
			found := len(known) > 0
			for _, name := range packageName.FindAllStringSubmatch(sentence, -1) {
				for _, other := range packages {
					if path.Base(other.ImportPath) == name[1] {
						allowed, found = append(allowed, strings.TrimPrefix(other.ImportPath, module)), true
					}
				}
			}
			for word, paths := range importers {
				if regexp.MustCompile(`(?i)\b` + word + `s?\b`).MatchString(sentence) {
					allowed, found = append(allowed, paths...), true
				}
			}
			if !found {
				t.Errorf("%s: %q names no package, by its path or by a word of importers", p.ImportPath, strings.TrimSpace(sentence))
			}
		}
		if !said || slices.Contains(allowed, "") {
			continue
		}
		checked++
		for _, importer := range by[p.ImportPath] {
			if !within(importer, allowed) {
				t.Errorf("%s is imported by %s, which its comment does not name", p.ImportPath, strings.TrimPrefix(importer, module))
			}
		}
	}
	if checked == 0 {
		t.Error("no package says who may import it")
	}
}

// comment returns a package's comment as one line.
func comment(t *testing.T, p pkg) string {
	t.Helper()
	var text string
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		text += " " + file.Doc.Text()
	}
	return strings.Join(strings.Fields(text), " ")
}

// TestLayout compares the directories of the repository with the agreed top-level layout.
func TestLayout(t *testing.T) {
	want := map[string]bool{"api": true, "azuresim": true, "cmd": true, "config": true, "docs": true,
		"examples": true, "hack": true, "internal": true, "test": true}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && e.Name() != "bin" && e.Name() != "dist" && !want[e.Name()] {
			t.Errorf("folder %s: the agreed top level is api, azuresim, cmd, config, docs, examples, hack, internal, test", e.Name())
		}
	}
	for _, bad := range []string{"util", "utils", "common", "helpers", "base", "types"} {
		for _, root := range []string{"api", "azuresim", "cmd", "internal"} {
			err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
				if err == nil && d.IsDir() && d.Name() == bad {
					t.Errorf("package %s: a name that says what it holds, please", path)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestModule: go.mod has no replace or exclude line, which `go install` refuses, and all of Kubernetes' staging modules
// have the same version.
func TestModule(t *testing.T) {
	out, err := exec.Command("go", "mod", "edit", "-json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
		Replace []struct{ Old struct{ Path string } }
		Exclude []struct{ Path string }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Replace {
		t.Errorf("go.mod replaces %s: go install would refuse the module", r.Old.Path)
	}
	for _, e := range mod.Exclude {
		t.Errorf("go.mod excludes %s", e.Path)
	}
	versions := map[string]string{}
	for _, r := range mod.Require {
		versions[r.Path] = r.Version
	}
	kubernetes := versions["k8s.io/kubernetes"]
	staging := "v0." + strings.TrimPrefix(kubernetes, "v1.")
	for _, path := range []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiserver", "k8s.io/client-go",
		"k8s.io/component-base", "k8s.io/kubectl", "k8s.io/cri-streaming", "k8s.io/sample-apiserver"} {
		if versions[path] != staging {
			t.Errorf("%s is %s, but Kubernetes %s is of one release with %s: use make bump-k8s", path, versions[path], kubernetes, staging)
		}
	}
}

// TestDependencies: the docs contain a reason for each module that go.mod requires directly, and
// these requirements are one block.
func TestDependencies(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/design/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.+) \\|$").FindAllStringSubmatch(string(page), -1) {
		reasons[row[1]] = true
	}
	blocks := regexp.MustCompile(`(?ms)^require \(\n(.*?)^\)`).FindAllStringSubmatch(string(mod), -1)
	if len(blocks) != 2 {
		t.Fatalf("go.mod has %d blocks of requirements, want the direct ones and the indirect ones", len(blocks))
	}
	for i, block := range blocks {
		for line := range strings.Lines(block[1]) {
			path, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			indirect := strings.Contains(line, "// indirect")
			switch {
			case path == "" || strings.HasPrefix(path, "//"):
			case indirect != (i == 1):
				t.Errorf("%s is in the wrong block of go.mod", path)
			case !indirect && !reasons[path]:
				t.Errorf("%s has no reason in docs/design/dependencies.md", path)
			}
			if !indirect {
				delete(reasons, path)
			}
		}
	}
	for path := range reasons {
		t.Errorf("docs/design/dependencies.md has %s, which go.mod does not require directly", path)
	}
}
