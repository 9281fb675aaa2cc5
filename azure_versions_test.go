package casement_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/golden"
)

// versioned maps the beginnings of constants' names to the resource types whose API versions they
// are. A type's versions also apply to all types below it.
var versioned = map[string]string{
	"subscriptions": subscriptionList, "providers": "Microsoft.Resources/resourceGroups",
	"registration": "Microsoft.Resources/resourceGroups", "resources": "Microsoft.Resources/resourceGroups",
	"groups": "Microsoft.Resources/resourceGroups", "group": "Microsoft.Resources/resourceGroups",
	"network": "Microsoft.Network/virtualNetworks", "instancenic": "Microsoft.Network/networkInterfaces",
	"bastion": "Microsoft.Network/bastionHosts", "privatedns": "Microsoft.Network/privateDnsZones",
	"compute": "Microsoft.Compute/virtualMachines", "images": "Microsoft.Compute/virtualMachines", "": "Microsoft.Compute/virtualMachines",
	"skus": skuList, "activity": activityLog, "disk": "Microsoft.Compute/disks", "gallery": "Microsoft.Compute/galleries",
	"identity":      "Microsoft.ManagedIdentity/userAssignedIdentities",
	"authorization": "Microsoft.Authorization/roleAssignments",
	"role":          "Microsoft.Authorization/roleAssignments", "vault": "Microsoft.KeyVault/vaults",
}

// Services that Azure's description of resource types does not contain.
const (
	skuList          = "Microsoft.Compute/skus"
	subscriptionList = "Microsoft.Resources/subscriptions"
	metadataService  = "instance metadata service"
	activityLog      = "Microsoft.Insights/eventtypes"
)

// ends are announced retirements: of the API versions of a namespace that are older than one.
var ends = []struct{ namespace, before, end, source string }{
	{"Microsoft.KeyVault", "2026-02-01", "2027-02-27", "https://learn.microsoft.com/azure/key-vault/general/access-control-default"},
}

// notice is the time before the end of a version at which the test begins to fail.
const notice = 180 * 24 * time.Hour

// usedVersion is an API version in use, with its end.
type usedVersion struct{ kind, version, end string }

// TestAzureVersions writes docs/reference/azure-versions.md with -update. It fails from 180 days
// before the announced end of an API version in use, and for a version that Azure never had.
func TestAzureVersions(t *testing.T) {
	known := azureVersions(t)
	uses := map[usedVersion][]string{}
	for _, c := range versionConstants(t) {
		kind, ok := versioned[strings.ToLower(c.name)]
		if c.name == "api-version" {
			kind, ok = metadataService, true
		}
		if !ok {
			t.Errorf("%s: the constant for %s is not in the test's table", c.where, c.name)
			continue
		}
		u := usedVersion{kind, c.version, ""}
		for _, e := range ends {
			if strings.HasPrefix(kind, e.namespace+"/") && c.version < e.before {
				u.end = e.end
				if at, err := time.Parse(time.DateOnly, e.end); err != nil || time.Until(at) < notice {
					t.Errorf("%s: version %s of %s ends on %s: move to %s (%s)", c.where, c.version, kind, e.end, e.before, e.source)
				}
			}
		}
		if list, described := known[strings.ToLower(kind)]; described && !slices.Contains(list, c.version) {
			t.Errorf("%s: %s never had the version %s", c.where, kind, c.version)
		} else if !described && !slices.Contains([]string{skuList, subscriptionList, metadataService, activityLog}, kind) {
			t.Errorf("%s: %s is not described", c.where, kind)
		}
		uses[u] = append(uses[u], "`"+c.where+"`")
	}
	if len(uses) < 10 {
		t.Fatalf("only %d versions were found", len(uses))
	}
	golden.Compare(t, "docs/reference/azure-versions.md", versionsPage(known, uses))
}

func versionsPage(known map[string][]string, uses map[usedVersion][]string) []byte {
	var out strings.Builder
	fmt.Fprint(&out, `<!-- made by make generate -->
# API versions of Azure

The API versions that casement sends. A version's date is since when Azure has it; "newest" is the newest
released one of the description that the local Azure has (Azure/bicep-types-az). A test fails 180 days before
the announced end of a version in use. The local Azure takes every version that Azure ever had.

| resource type | version | newest | announced end | used by |
|---|---|---|---|---|
`)
	order := slices.SortedFunc(maps.Keys(uses), func(a, b usedVersion) int {
		return strings.Compare(a.kind+a.version, b.kind+b.version)
	})
	for _, u := range order {
		newest, end := "-", "none"
		for _, v := range known[strings.ToLower(u.kind)] {
			if !strings.HasSuffix(v, "-preview") {
				newest = v
				break
			}
		}
		if u.end != "" {
			end = u.end
		}
		slices.Sort(uses[u])
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", u.kind, u.version, newest, end, strings.Join(slices.Compact(uses[u]), ", "))
	}
	fmt.Fprint(&out, "\nAnnounced ends:\n\n")
	for _, e := range ends {
		fmt.Fprintf(&out, "- versions of %s before %s: %s ([source](%s))\n", e.namespace, e.before, e.end, e.source)
	}
	return []byte(out.String())
}

// azureVersions returns the API versions of Azure's resource types, by type in lower case.
func azureVersions(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("azuresim/internal/schema/versions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		types, list, _ := strings.Cut(strings.TrimSpace(line), "\t")
		for kind := range strings.FieldsSeq(types) {
			out[strings.ToLower(kind)] = strings.Fields(list)
		}
	}
	return out
}

// versionConstant is an API version in the source: a constant, whose name is the part before
// APIVersion or Version, or the value of api-version in a query.
type versionConstant struct{ name, version, where string }

var versionForm = regexp.MustCompile(`^"20[12]\d-\d\d-\d\d(-preview)?"$`)

func versionConstants(t *testing.T) (found []versionConstant) {
	t.Helper()
	fset := token.NewFileSet()
	err := filepath.WalkDir("internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (path == "internal/sim" || path == "internal/testing" || path == "internal/lint") {
			return skipUnless(err)
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		add := func(name string, value ast.Expr) {
			if l, ok := value.(*ast.BasicLit); ok && versionForm.MatchString(l.Value) {
				version, _ := strconv.Unquote(l.Value) // cannot fail: versionForm matched it
				found = append(found, versionConstant{name, version, filepath.ToSlash(filepath.Dir(path))})
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, name := range n.Names {
					short := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(name.Name), "version"), "api")
					if i < len(n.Values) {
						add(short, n.Values[i])
					}
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.BasicLit); ok && key.Value == `"api-version"` {
					if list, ok := n.Value.(*ast.CompositeLit); ok && len(list.Elts) == 1 {
						add("api-version", list.Elts[0])
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// skipUnless skips a folder if err is nil; otherwise it returns err.
func skipUnless(err error) error {
	if err != nil {
		return err
	}
	return filepath.SkipDir
}
