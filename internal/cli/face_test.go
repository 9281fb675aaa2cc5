package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/azuresim/template"
	"casement.dev/casement/config"
	"casement.dev/casement/internal/adopt"
	"casement.dev/casement/internal/azure/catalog"
	"casement.dev/casement/internal/azure/permission"
	"casement.dev/casement/internal/cli/azure"
	"casement.dev/casement/internal/cli/check"
	"casement.dev/casement/internal/cli/cluster"
	"casement.dev/casement/internal/cli/explain"
	"casement.dev/casement/internal/cli/images"
	"casement.dev/casement/internal/diagnose/checks"
	"casement.dev/casement/internal/diagnose/timeline"
	"casement.dev/casement/internal/diagnose/walk"
	"casement.dev/casement/internal/drift"
	"casement.dev/casement/internal/flavors"
	"casement.dev/casement/internal/image"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/lint/rules"
	"casement.dev/casement/internal/manager"
	"casement.dev/casement/internal/metric"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/sim/host"
	"casement.dev/casement/internal/testing/golden"
	"casement.dev/casement/internal/upgrade"
)

const (
	facePage          = "docs/reference/face.txt"
	compatibilityPage = "docs/compatibility.md"
)

// outputs are the types that -o json prints, by command. A list is represented by its element type.
var outputs = map[string][]any{
	"addons list":               {cluster.AddonRow{}},
	"adopt":                     {adopt.Plan{}},
	"azure domain list":         {plane.Domain{}},
	"azure expand":              {template.Prediction{}, azure.Expansion{}},
	"azure faults guest-faults": {host.GuestFault{}},
	"azure faults list":         {fault.Rule{}},
	"azure log":                 {plane.AzureCall{}},
	"azure permissions":         {permission.Role{}},
	"azure resources":           {plane.AzureResource{}},
	"calls":                     {plane.Calls{}},
	"doctor":                    {checks.Result{}},
	"drift":                     {drift.Report{}},
	"get clusters":              {cluster.ClusterRow{}},
	"images diff":               {images.ContentRow{}},
	"images list":               {catalog.Listed{}, catalog.Shared{}},
	"images retire":             {image.Old{}},
	"images show":               {images.ShownImage{}},
	"lint":                      {lint.Finding{}},
	"preflight":                 {check.PreflightResult{}},
	"status":                    {plane.Status{}},
	"timeline":                  {timeline.Timeline{}, timeline.Fleet{}},
	"tree":                      {explain.Branch{}},
	"upgrade plan":              {upgrade.Plan{}},
	"upgrade status":            {cluster.PatchedPool{}},
	"why":                       {walk.Answer{}},
}

// reasons are the files with reasons of conditions, in addition to api/v1beta1/conditions.go.
var reasons = []string{"api/v1beta1/patchday.go", "internal/azure/plan/owner.go", "internal/controller/bootdata/secret.go",
	"internal/controller/credential/credential.go", "internal/controller/cloud/opener.go", "internal/controller/cloud/outcome.go",
	"internal/controller/cloud/view.go",
	"internal/controller/condition/condition.go", "internal/controller/condition/table.go", "internal/controller/pass/pass.go"}

var camel = regexp.MustCompile(`^[A-Z][A-Za-z]+$`)

// TestFace compares the interface that users and their programs rely on with docs/reference/face.txt: a
// line may be added with -update, and removed only if docs/compatibility.md has its deprecation. If the
// repository has a release, that release's own pages count too: a removal must have been announced in an
// earlier release.
func TestFace(t *testing.T) {
	root := filepath.Join("..", "..")
	got := face(t)
	page, err := os.ReadFile(filepath.Join(root, compatibilityPage))
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(root, facePage))
	if err != nil && !(golden.Update() && errors.Is(err, os.ErrNotExist)) {
		t.Fatal(err)
	}
	broken := removed(before, got, deprecations(page))
	for _, line := range broken {
		t.Errorf("%q is gone and %s has no deprecation of it", line, compatibilityPage)
	}
	if tag, face, announced := released(root); tag != "" {
		for _, line := range removed(face, got, deprecations(announced)) {
			t.Errorf("%q is in %s and gone, and that release did not announce it", line, tag)
		}
	} else {
		t.Log("no release is tagged here: compared with the committed file alone")
	}
	if golden.Update() && len(broken) == 0 {
		golden.Compare(t, filepath.Join(root, facePage), got)
	}
}

// TestFaceIsCompared: a removal is found, with and without its deprecation, and in a repository with
// releases.
func TestFaceIsCompared(t *testing.T) {
	const rows = "# x\n## Deprecated\n\n| what | since | gone in | instead |\n|---|---|---|---|\n" +
		"| `flag casement up --old` | v0.2.0 | v0.3.0 | `--new` |\n| `json why: *` | v0.2.0 | v0.3.0 | - |\n## y\n| `flag b` | x | y | z |\n"
	before := []byte("flag casement up --old\nflag b\njson why: a string\nkept\n")
	for _, test := range []struct {
		name, now, page string
		want            []string
	}{
		{"nothing gone", string(before) + "more\n", "", nil},
		{"gone and announced", "flag b\nkept\n", rows, nil},
		{"gone without a word", "flag casement up --old\njson why: a string\n", rows, []string{"flag b", "kept"}},
		{"no page", "kept\n", "", []string{"flag casement up --old", "flag b", "json why: a string"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := removed(before, []byte(test.now), deprecations([]byte(test.page))); !slices.Equal(got, test.want) {
				t.Errorf("removed %q, want %q", got, test.want)
			}
		})
	}
	t.Run("the last release", func(t *testing.T) {
		dir := t.TempDir()
		if tag, _, _ := released(dir); tag != "" {
			t.Errorf("a folder has the release %s", tag)
		}
		git := func(args ...string) {
			t.Helper()
			cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v: %s", args, err, out)
			}
		}
		git("init", "-q")
		for _, release := range []string{"v0.1.0", "v0.2.0"} {
			for file, text := range map[string]string{facePage: release + "\n", compatibilityPage: "page of " + release} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			git("add", ".")
			git("commit", "-q", "-m", release)
			git("tag", release)
		}
		tag, face, page := released(dir)
		if tag != "v0.2.0" || string(face) != "v0.2.0\n" || string(page) != "page of v0.2.0" {
			t.Errorf("the last release is %q with %q and %q", tag, face, page)
		}
	})
}

// removed returns the lines of before that are missing in now without a matching deprecation. A deprecation that ends
// in * matches all lines with the same beginning.
func removed(before, now []byte, deprecated []string) (out []string) {
	there := map[string]bool{}
	for line := range strings.Lines(string(now)) {
		there[strings.TrimSpace(line)] = true
	}
	for line := range strings.Lines(string(before)) {
		line = strings.TrimSpace(line)
		announced := slices.ContainsFunc(deprecated, func(d string) bool {
			start, all := strings.CutSuffix(d, "*")
			return line == d || all && strings.HasPrefix(line, start)
		})
		if line != "" && !strings.HasPrefix(line, "#") && !there[line] && !announced {
			out = append(out, line)
		}
	}
	return out
}

var deprecation = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// deprecations returns the first column of the table below "Deprecated".
func deprecations(page []byte) (out []string) {
	_, section, _ := strings.Cut(string(page), "\n## Deprecated\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, m := range deprecation.FindAllStringSubmatch(section, -1) {
		out = append(out, m[1])
	}
	return out
}

// released returns the last release before this commit with its two pages, or nothing if there is none.
func released(dir string) (tag string, face, page []byte) {
	git := func(args ...string) []byte {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
		if err != nil {
			return nil // not a repository, no release, or a release from before the page
		}
		return out
	}
	tag = strings.TrimSpace(string(git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*")))
	if tag == "" {
		return "", nil, nil
	}
	return tag, git("show", tag+":"+facePage), git("show", tag+":"+compatibilityPage)
}

// face returns one line for each name that users write or read.
func face(t *testing.T) []byte {
	t.Helper()
	lines := map[string]bool{}
	add := func(format string, args ...any) { lines[fmt.Sprintf(format, args...)] = true }

	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		for _, v := range crd.Spec.Versions {
			kind := crd.Spec.Names.Kind + "." + v.Name
			add("kind %s %s", kind, crd.Spec.Names.Plural)
			fields(kind, "", v.Schema.OpenAPIV3Schema, add)
		}
	}
	for name, value := range constants(t, "api/v1beta1/conditions.go") {
		switch {
		case strings.HasSuffix(name, "Condition"):
			add("condition %s", value)
		case strings.HasSuffix(name, "Reason"):
			add("reason %s", value)
		}
	}
	for _, file := range reasons {
		for _, value := range constants(t, file) {
			if camel.MatchString(value) {
				add("reason %s", value)
			}
		}
	}
	descriptions := make(chan *prometheus.Desc, 100)
	metric.New(nil).Describe(descriptions)
	metric.NewVerdicts().Describe(descriptions)
	close(descriptions)
	for d := range descriptions {
		m := described.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("no name in %s", d)
		}
		add("metric %s {%s}", m[1], m[2])
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	options := manager.Defaults()
	options.AddFlags(flags, func(string) string { return "" })
	flags.VisitAll(func(f *pflag.Flag) { add("flag casement-manager --%s %s", f.Name, f.Value.Type()) })

	printed := maps.Clone(outputs)
	every(t, func(t *testing.T, c *cobra.Command) {
		add("command %s", c.CommandPath())
		for _, set := range []*pflag.FlagSet{c.LocalFlags(), c.PersistentFlags()} {
			set.VisitAll(func(f *pflag.Flag) {
				if !f.Hidden && f.Name != "help" {
					add("flag %s --%s%s %s", c.CommandPath(), f.Name, short(f), f.Value.Type())
				}
			})
		}
		name := strings.TrimPrefix(c.CommandPath(), "casement ")
		if f := c.Flags().Lookup("output"); f != nil && strings.Contains(f.Usage, "json") && printed[name] == nil {
			t.Errorf("outputs has no type of what `casement %s -o json` prints", name)
		}
		for _, v := range printed[name] {
			keys("json "+name+": ", reflect.TypeOf(v), nil, add)
		}
		delete(printed, name)
	})
	for name := range printed {
		t.Errorf("outputs has %q, which is no command", name)
	}
	for _, name := range flavors.List() {
		text, err := flavors.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		variables, err := flavors.Variables(text)
		if err != nil {
			t.Fatal(err)
		}
		add("flavor %s", cmp.Or(name, "(default)"))
		for _, v := range variables {
			add("variable %s", v.Name)
		}
	}
	for _, r := range rules.All() {
		add("rule %s", r.ID)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# What users and their programs rely on: see compatibility.md. Written by make generate, which adds lines;\n"+
		"# one that goes needs its deprecation first, which TestFace of internal/cli holds.\n")
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintln(&out, line)
	}
	return out.Bytes()
}

func short(f *pflag.Flag) string {
	if f.Shorthand == "" {
		return ""
	}
	return ", -" + f.Shorthand
}

// described matches the name and the labels in the text of a metric's description.
var described = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

// fields adds the fields of a schema with their types, and the values of an enumeration.
func fields(kind, path string, s *apiextensionsv1.JSONSchemaProps, add func(string, ...any)) {
	for name, below := range s.Properties {
		at := strings.TrimPrefix(path+"."+name, ".")
		if at == "metadata" || at == "apiVersion" || at == "kind" {
			continue
		}
		add("field %s %s %s", kind, at, typeName(below))
		fields(kind, at, &below, add)
	}
	if s.Items != nil && s.Items.Schema != nil {
		fields(kind, path+"[]", s.Items.Schema, add)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		fields(kind, path+"{}", s.AdditionalProperties.Schema, add)
	}
	for _, value := range s.Enum {
		add("value %s %s %s", kind, path, value.Raw)
	}
}

func typeName(s apiextensionsv1.JSONSchemaProps) string {
	if s.XIntOrString {
		return "int-or-string"
	}
	return s.Type
}

// constants returns the string constants of a source file.
func constants(t *testing.T, file string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
			for i, name := range spec.Names {
				if lit, ok := spec.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if out[name.Name], err = strconv.Unquote(lit.Value); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		return true
	})
	if len(out) == 0 {
		t.Errorf("%s has no constants", file)
	}
	return out
}

// keys adds the JSON keys of a type. A type with its own marshaller has no keys that reflection shows.
func keys(at string, typ reflect.Type, above []reflect.Type, add func(string, ...any)) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Array || typ.Kind() == reflect.Map {
		switch typ.Kind() {
		case reflect.Map:
			at += "{}"
		case reflect.Slice, reflect.Array:
			at += "[]"
		}
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || slices.Contains(above, typ) || marshals(typ) {
		return
	}
	above = append(slices.Clip(above), typ)
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "":
			keys(at, f.Type, above, add)
		default:
			path := strings.TrimSuffix(at, ".") + separator(at) + cmp.Or(name, f.Name)
			add("%s", path)
			keys(path, f.Type, above, add)
		}
	}
}

func separator(at string) string {
	if strings.HasSuffix(at, ": ") {
		return ""
	}
	return "."
}

func marshals(typ reflect.Type) bool {
	for _, name := range []string{"MarshalJSON", "MarshalText"} {
		if _, ok := reflect.PointerTo(typ).MethodByName(name); ok {
			return true
		}
	}
	return false
}
