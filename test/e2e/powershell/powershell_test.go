package powershell

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/addons"
	"casement.dev/casement/internal/flavors"
	"casement.dev/casement/internal/image"
)

var full = flag.Bool("full", false, "do it, which needs node and npm's registry; make e2e-powershell does")

// grammar returns a folder with the grammar and the program that parses with it.
func grammar(t *testing.T) (dir string) {
	t.Helper()
	if !*full {
		t.Skip("only with -full, as npm's registry is asked; make e2e-powershell")
	}
	dir = t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "parse.mjs"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	return dir
}

// parse parses scripts, by name, and returns the output of the grammar's program.
func parse(t *testing.T, dir string, scripts map[string]string) (string, error) {
	t.Helper()
	args := []string{"parse.mjs"}
	for name, text := range scripts {
		file := strings.NewReplacer("/", "-", " ", "-").Replace(name) + ".ps1"
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	cmd := exec.CommandContext(t.Context(), "node", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestScripts checks that the grammar accepts all of casement's scripts and refuses texts that are
// not PowerShell. The grammar is installed once, because that takes minutes under load.
func TestScripts(t *testing.T) {
	dir := grammar(t)
	scripts := map[string]string{}
	builds(t, scripts)
	manifests(t, scripts)
	templates(t, scripts)
	if len(scripts) < 25 {
		t.Errorf("%d scripts were found", len(scripts))
	}
	out, err := parse(t, dir, scripts)
	t.Log(out)
	if err != nil {
		t.Error(err)
	}
	for name, text := range map[string]string{
		"parenthesis": "if ($a { 1 }\n", "brace": "function A { 1\n", "quote": "Write-Output 'a\n", "here-string": "$a = @\"\nx\n",
	} {
		if out, err := parse(t, dir, map[string]string{name: text}); err == nil {
			t.Errorf("%s passes: %s", name, out)
		}
	}
}

// builds adds the scripts of image builds.
func builds(t *testing.T, scripts map[string]string) {
	t.Helper()
	for _, file := range []string{"windows-2022.yaml", "everything.yaml"} {
		b, err := image.Read(filepath.Join("../../../internal/image/testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		all, err := b.Scripts()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			scripts[file+" "+s.Name] = b.Library() + s.Script
		}
	}
}

// manifests adds the scripts of addons: files of ConfigMaps and commands of containers.
func manifests(t *testing.T, scripts map[string]string) {
	t.Helper()
	for _, a := range addons.All() {
		text, err := a.Render(addons.Params{})
		if err != nil {
			t.Fatal(err)
		}
		for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
			var o struct {
				Kind     string
				Metadata struct{ Name string }
				Data     map[string]string
				Spec     struct {
					Template struct {
						Spec struct{ InitContainers, Containers []container }
					}
				}
			}
			if err := yaml.Unmarshal(doc, &o); err != nil {
				t.Fatal(err)
			}
			for name, text := range o.Data {
				if strings.HasSuffix(name, ".ps1") {
					scripts[a.Name+" "+name] = text
				}
			}
			for _, c := range append(o.Spec.Template.Spec.InitContainers, o.Spec.Template.Spec.Containers...) {
				if line, ok := c.script(); ok {
					scripts[a.Name+" "+o.Metadata.Name+" "+c.Name] = line
				}
			}
		}
	}
}

type container struct {
	Name    string
	Command []string
}

// script returns the script that the container passes to PowerShell with -Command.
func (c container) script() (string, bool) {
	n := len(c.Command)
	if n < 3 || c.Command[0] != "powershell.exe" || c.Command[n-2] != "-Command" {
		return "", false
	}
	return c.Command[n-1], true
}

// templates adds the scripts that flavors write to machines.
func templates(t *testing.T, scripts map[string]string) {
	t.Helper()
	for _, name := range flavors.List() {
		text, err := flavors.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
			var o any
			if err := yaml.Unmarshal(doc, &o); err != nil {
				continue // variables of a template may be in places that make it invalid YAML
			}
			files(o, func(path, content string) { scripts[name+" "+filepath.Base(path)] = content })
		}
	}
}

// files calls found for the files of bootstrap data that are PowerShell scripts.
func files(v any, found func(path, content string)) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			files(one, found)
		}
	case map[string]any:
		path, _ := v["path"].(string)
		content, _ := v["content"].(string)
		if strings.HasSuffix(path, ".ps1") && content != "" {
			found(path, content)
		}
		for _, one := range v {
			files(one, found)
		}
	}
}
