package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parseOne(t *testing.T, text string) *Set {
	t.Helper()
	set, errs := Parse("f.yaml", []byte(text), Options{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return set
}

func TestValues(t *testing.T) {
	set := parseOne(t, "# a comment\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  labels: {a.b/c: x}\n"+
		"spec: &spec\n  n: 5\n  yes: true\n  list: [a, b]\n  none: null\ncopy:\n  <<: *spec\n")
	root := set.Objects[0].Root
	for path, c := range map[string]struct {
		v    Value
		text string
	}{
		"metadata.labels[\"a.b/c\"]": {root.At("metadata", "labels", "a.b/c"), "x"},
		"spec.n":                     {root.At("spec", "n"), "5"},
		"spec.list[1]":               {root.At("spec", "list").Items()[1], "b"},
		"copy.n":                     {root.At("copy", "n"), "5"},
		"spec.missing.more":          {root.At("spec", "missing", "more"), ""},
		"spec.none":                  {root.At("spec", "none"), ""},
	} {
		if c.v.Path() != path || c.v.Str() != c.text || c.v.Exists() != (c.text != "") {
			t.Errorf("%s: path %s, text %q, exists %v", path, c.v.Path(), c.v.Str(), c.v.Exists())
		}
	}
	if n, ok := root.At("spec", "n").Int(); n != 5 || !ok {
		t.Errorf("n is %d, %v", n, ok)
	}
	if !root.At("spec", "yes").True() || root.At("spec", "n").True() {
		t.Error("booleans")
	}
}

func TestLevels(t *testing.T) {
	pod := func(spec string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: c, image: nginx}]\n" + spec
	}
	affinity := func(values string) string {
		return "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: " +
			"[{matchExpressions: [{key: kubernetes.io/os, operator: In, values: " + values + "}]}]}}}\n"
	}
	for name, c := range map[string]struct {
		text string
		want Level
	}{
		"nothing":                  {pod(""), Unknown},
		"linux":                    {pod("  nodeSelector: {kubernetes.io/os: linux}\n"), Linux},
		"selector":                 {pod("  nodeSelector: {kubernetes.io/os: windows}\n"), Placed},
		"beta selector":            {pod("  nodeSelector: {beta.kubernetes.io/os: windows}\n"), Placed},
		"build":                    {pod("  nodeSelector: {node.kubernetes.io/windows-build: 10.0.20348}\n"), Placed},
		"affinity":                 {pod(affinity("[windows]")), Placed},
		"affinity without linux":   {pod(strings.Replace(affinity("[linux]"), "In", "NotIn", 1)), Placed},
		"affinity without windows": {pod(strings.Replace(affinity("[windows]"), "In", "NotIn", 1)), Linux},
		"image of Docker Hub":      {strings.Replace(pod(""), "nginx", "microsoft/iis", 1), Image},
		"affinity of both":         {pod(affinity("[windows, linux]")), Unknown},
		"os":                       {pod("  os: {name: windows}\n"), OS},
		"os linux":                 {pod("  os: {name: linux}\n"), Linux},
		"contradiction":            {pod("  os: {name: linux}\n  nodeSelector: {kubernetes.io/os: windows}\n"), Placed},
		"hostProcess":              {pod("  securityContext: {windowsOptions: {hostProcess: true}}\n"), Placed},
		"image":                    {strings.Replace(pod(""), "nginx", "mcr.microsoft.com/windows/nanoserver:ltsc2022", 1), Image},
		"linux beside image": {strings.Replace(pod("  nodeSelector: {kubernetes.io/os: linux}\n"), "nginx",
			"x:windowsservercore-ltsc2022", 1), Linux},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parseOne(t, c.text).Pods[0].Level; got != c.want {
				t.Errorf("level %d, want %d", got, c.want)
			}
		})
	}
}

func TestKindsWithPods(t *testing.T) {
	spec := "spec: {containers: [{name: c, image: x}]}"
	text := "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {jobTemplate: {spec: {template: {" + spec + "}}}}\n---\n" +
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: b}\nspec: {template: {" + spec + "}}\n---\n" +
		"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: c}, " + spec + "}\n---\n" +
		"apiVersion: x/v1\nkind: Rollout\nmetadata: {name: d}\nspec: {template: {" + spec + "}}\n---\n" +
		"apiVersion: v1\nkind: Service\nmetadata: {name: e}\nspec: {}\n"
	set, errs := Parse("f", []byte(text), Options{Templates: map[string][]string{"Rollout": {"spec", "template"}}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var got []string
	for _, p := range set.Pods {
		got = append(got, p.Object.Name+" "+p.Containers()[0].Path())
	}
	want := []string{"a spec.jobTemplate.spec.template.spec.containers[0]", "b spec.template.spec.containers[0]",
		"c items[0].spec.containers[0]", "d spec.template.spec.containers[0]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestBadDocuments: an unreadable document is reported with its line, and the others are read.
func TestBadDocuments(t *testing.T) {
	set, errs := Parse("f.yaml", []byte("apiVersion: v1\nkind: A\n---\na: [\n---\nnot: one\n---\napiVersion: v1\nkind: B\n"), Options{})
	if len(set.Objects) != 2 || len(errs) != 2 {
		t.Fatalf("%d objects, errors %v", len(set.Objects), errs)
	}
	for i, line := range []int{4, 6} {
		if e, ok := errors.AsType[*ReadError](errs[i]); !ok || e.Line < line || e.Line > line+1 {
			t.Errorf("error %v is not of line %d", errs[i], line)
		}
	}
	for name, data := range map[string][]byte{"binary": {0, 1, 2}, "no UTF-8": {0xff, 0xfe, 'a'},
		"huge document": bytes.Repeat([]byte("a: b # x\n"), maxDocument/8)} {
		if _, errs := Parse(name, data, Options{}); len(errs) != 1 {
			t.Errorf("%s: errors %v", name, errs)
		}
	}
	if _, errs := Read([]string{filepath.Join(t.TempDir(), "missing.yaml")}, Options{}); len(errs) != 1 {
		t.Errorf("a missing file: %v", errs)
	}
}

func TestJSONWithTabs(t *testing.T) {
	set := parseOne(t, "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"Pod\",\n\t\"metadata\": {\"name\": \"p\"}\n}\n")
	if set.Objects[0].Name != "p" {
		t.Errorf("%+v", set.Objects[0])
	}
}

// TestJSONStream: consecutive JSON objects without a separator are read with their positions.
func TestJSONStream(t *testing.T) {
	const text = "{\"apiVersion\": \"v1\", \"kind\": \"X\", \"metadata\": {\"name\": \"a\"}, \"spec\": {\"a\": " +
		"1}}\n\n  {\"apiVersion\": \"v1\", \"kind\": \"X\",\n   \"metadata\": {\"name\": \"b\"}, \"spec\": " +
		"{\"a\": 1}}\n"
	findings := Run(parseOne(t, text), []Rule{finder("a", func(v Value) []Edit { return []Edit{Replace(v, "2")} })}, Target{})
	var got []string
	for _, f := range findings {
		got = append(got, fmt.Sprintf("%s %d:%d", f.Object, f.Line, f.Column))
	}
	if diff := cmp.Diff([]string{"X/a 1:71", "X/b 4:40"}, got); diff != "" {
		t.Error(diff)
	}
	if fixed, _ := ApplyFixes("f.yaml", []byte(text), findings); string(fixed) != strings.ReplaceAll(text, "\"a\": 1", "\"a\": 2") {
		t.Errorf("fixed:\n%s", fixed)
	}
	const one = `{"apiVersion":"v1","kind":"X"}`
	for name, bad := range map[string]string{
		"on one line": one + one, "torn": one + "\n{", "text behind": one + "\nand more",
		"after dots": "apiVersion: v1\nkind: X\n...\napiVersion: v1\nkind: X\n",
	} {
		if set, errs := Parse("f.json", []byte(bad), Options{}); len(errs) != 1 || len(set.Objects) != 1 {
			t.Errorf("%s: %d objects, errors %v", name, len(set.Objects), errs)
		}
	}
}

// finder returns a rule that reports every value of a key, with edits.
func finder(key string, edits func(v Value) []Edit) Rule {
	return Rule{ID: "WIN000", Severity: Error, Check: func(p *Pass) {
		for _, o := range p.Set.Objects {
			if v := o.Root.At("spec", key); v.Exists() {
				p.Report(o, v, "found", Fix{Text: "fix", Edits: edits(v)})
			}
		}
	}}
}

func TestApplyFixes(t *testing.T) {
	const head = "apiVersion: v1\nkind: X\nmetadata: {name: x} # kept\n"
	for name, c := range map[string]struct {
		in, want string
		edits    func(v Value) []Edit
	}{
		"plain": {head + "spec:\n  a: 1 # one\n  b: 2\n", head + "spec:\n  a: two # one\n  b: 2\n",
			func(v Value) []Edit { return []Edit{Replace(v, "two")} }},
		"quoted, in flow": {head + "spec: {z: 0, a: \"1\"}\n", head + "spec: {z: 0, a: two}\n",
			func(v Value) []Edit { return []Edit{Replace(v, "two")} }},
		"after characters": {head + "spec: {z: \"ä€\", a: 1}\n", head + "spec: {z: \"ä€\", a: two}\n",
			func(v Value) []Edit { return []Edit{Replace(v, "two")} }},
		"second document": {"# c\n---\n" + head + "spec:\n  a: 1\n", "# c\n---\n" + head + "spec:\n  a: two\n",
			func(v Value) []Edit { return []Edit{Replace(v, "two")} }},
		"windows lines": {strings.ReplaceAll(head+"spec:\n  a: 1\n  b: 2\n", "\n", "\r\n"),
			strings.ReplaceAll(head+"spec:\n  a: two\n  b: 2\n", "\n", "\r\n"),
			func(v Value) []Edit { return []Edit{Replace(v, "two")} }},
		"delete a block": {head + "spec:\n  a:\n    x: 1\n\n    y: 2\n  # of b\n  b: 2\n",
			head + "spec:\n  # of b\n  b: 2\n", func(v Value) []Edit { return []Edit{Delete(v)} }},
		"delete a list": {head + "spec:\n  a:\n  - 1\n  - 2\n  b: 2\n", head + "spec:\n  b: 2\n",
			func(v Value) []Edit { return []Edit{Delete(v)} }},
		"delete the only": {head + "spec:\n  a:\n    x: 1\nmore: 1\n", head + "more: 1\n",
			func(v Value) []Edit { return []Edit{Delete(v.At("x"))} }},
		"delete all": {head + "spec:\n  a:\n    x: 1\n    y: 2\n  b: 2\n", head + "spec:\n  b: 2\n",
			func(v Value) []Edit { return []Edit{Delete(v.At("x")), Delete(v.At("y"))} }},
		"delete in flow": {head + "spec: {a: 1, b: 2}\n", head + "spec: {a: 1, b: 2}\n",
			func(v Value) []Edit { return []Edit{Delete(v)} }},
		"insert": {
			head + "spec:\n  a:\n    x: 1\n", head + "spec:\n  a:\n    n:\n      m: 1\n    x: 1\n",
			func(v Value) []Edit { return []Edit{Insert(v, "n:\n  m: 1\n")} },
		},
		"rename": {head + "spec:\n  a: 1\n", head + "spec:\n  z: 1\n", func(v Value) []Edit { return []Edit{Rename(v, "z")} }},
		"a literal is left": {head + "spec:\n  a: |\n    text\n", head + "spec:\n  a: |\n    text\n",
			func(v Value) []Edit { return []Edit{Replace(v, "two")} }},
	} {
		t.Run(name, func(t *testing.T) {
			findings := Run(parseOne(t, c.in), []Rule{finder("a", c.edits)}, Target{})
			got, _ := ApplyFixes("f.yaml", []byte(c.in), findings)
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIgnoreAndBaseline(t *testing.T) {
	rule := finder("a", func(Value) []Edit { return nil })
	loud := "apiVersion: v1\nkind: X\nmetadata: {name: x}\nspec: {a: 1}\n"
	if got := Run(parseOne(t, strings.Replace(loud, "{name: x}",
		"{name: x, annotations: {casement.dev/ignore: \"WIN999, WIN000\"}}",
		1)), []Rule{rule}, Target{}); len(got) != 0 {
		t.Errorf("ignored, but found %v", got)
	}
	found := Run(parseOne(t, loud), []Rule{rule}, Target{})
	moved := Run(parseOne(t, "# moved\n"+loud), []Rule{rule}, Target{})
	if len(found) != 1 || len(Baseline(moved, found)) != 0 || len(Baseline(moved, nil)) != 1 {
		t.Errorf("found %v, moved %v", found, moved)
	}
}

func TestFormats(t *testing.T) {
	rule := finder("a", func(Value) []Edit { return nil })
	found := Run(parseOne(t, "apiVersion: v1\nkind: X\nmetadata: {name: x}\nspec:\n  a: 1\n"), []Rule{rule}, Target{})
	for _, format := range Formats {
		var out bytes.Buffer
		if err := Write(&out, format, found, []Rule{rule}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "WIN000") || !strings.Contains(out.String(), "f.yaml") {
			t.Errorf("%s names neither rule nor file: %s", format, out.String())
		}
		if (format == "json" || format == "sarif") && !json.Valid(out.Bytes()) {
			t.Errorf("%s is no JSON: %s", format, out.String())
		}
	}
}

// TestStored: an object of a cluster has the same findings as in a file, and every format names the object instead of a
// file.
func TestStored(t *testing.T) {
	set := &Set{}
	object := map[string]any{
		"apiVersion": "v1", "kind": "X", "metadata": map[string]any{"name": "x", "namespace": "n"},
		"spec": map[string]any{"a": int64(1), "b": []any{nil, true, 1.5, "t"}},
	}
	if err := set.Add(object, Options{}); err != nil {
		t.Fatal(err)
	}
	if data, err := set.Objects[0].Root.JSON(); err != nil || !strings.Contains(string(data), `"spec":{"a":1,"b":[null,true,1.5,"t"]}`) {
		t.Errorf("%s, %v", data, err)
	}
	rule := finder("a", func(v Value) []Edit { return []Edit{Replace(v, "two")} })
	found := Run(set, []Rule{rule}, Target{})
	if len(found) != 1 || found[0].Fixable() || found[0].Line != 0 || found[0].Object != "X/n/x" || found[0].Path != "spec.a" {
		t.Fatalf("%+v", found)
	}
	if shown, _ := (Config{Ignore: []Suppression{{Rule: "WIN000", Path: "."}}}).Suppress(found); len(shown) != 1 {
		t.Error("a path of files silences an object of a cluster")
	}
	for format, want := range map[string]string{
		"text": "X/n/x: error WIN000: found\n  spec.a\n", "github": "::error title=WIN000::X/n/x spec.a: found\n",
		"junit": ">X/n/x spec.a<",
		"json":  `"file": "",`, "sarif": `"fullyQualifiedName": "X/n/x spec.a"`,
	} {
		var out bytes.Buffer
		if err := Write(&out, format, found, []Rule{rule}); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v, without %q: %s", format, err, want, out.String())
		}
		if strings.Contains(out.String(), "physicalLocation") || strings.Contains(out.String(), "--fix") {
			t.Errorf("%s names a file: %s", format, out.String())
		}
	}
	deep := map[string]any{}
	for range maxDepth + 1 {
		deep = map[string]any{"x": deep}
	}
	for name, bad := range map[string]map[string]any{"no kind": {"apiVersion": "v1"}, "too deep": deep, "no JSON": {"x": struct{}{}}} {
		if err := set.Add(bad, Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	full := &Set{nodes: maxNodes - 3}
	if err := full.Add(object, Options{}); !errors.Is(err, ErrFull) || len(full.Objects) > 0 {
		t.Errorf("a full set takes an object: %v", err)
	}
}

// FuzzRead: no text may make the engine panic.
func FuzzRead(f *testing.F) {
	f.Add([]byte("apiVersion: v1\nkind: Pod\nspec: &a {x: *a}\n"))
	f.Add([]byte("a: &a [*a, {<<: *a}]\n--- {\n"))
	f.Add([]byte(strings.Repeat("[", 2000)))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, _ := Parse("f", data, Options{AssumeWindows: true})
		findings := Run(set, []Rule{finder("a", func(v Value) []Edit { return []Edit{Delete(v)} })}, Target{})
		ApplyFixes("f", data, findings)
		if err := Write(&bytes.Buffer{}, "text", findings, nil); err != nil {
			t.Fatal(err)
		}
	})
}

func TestReadDirectory(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": "apiVersion: v1\nkind: A\n",
		"sub/b.json": `{"apiVersion": "v1", "kind": "B"}`, "notes.txt": "no manifest"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, errs := Read([]string{dir, "-"}, Options{Stdin: strings.NewReader("apiVersion: v1\nkind: C\n")})
	if len(errs) > 0 || len(set.Kind("A", "B", "C")) != 3 {
		t.Errorf("%d objects, %v", len(set.Objects), errs)
	}
}

// TestFind follows paths as API servers and Cluster API's webhooks write them.
func TestFind(t *testing.T) {
	set, errs := Parse("a.yaml", []byte("apiVersion: v1\nkind: Thing\n"+
		"metadata: {annotations: {example.com/a: one}}\n"+
		"spec: {variables: [{name: size, value: two}], containers: [{image: three}]}\n"), Options{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for path, want := range map[string]string{
		"metadata.annotations[example.com/a]": "one", "spec.variables[size].value": "two",
		"spec.containers[0].image": "three", "spec.variables[other].value": "", "spec.containers[7].image": "",
	} {
		if got := set.Objects[0].Root.Find(path).Str(); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}
