package casement_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/kuberelease"
)

// TestProjectFiles: the files that readers expect in a repository exist, and their statements are
// true as far as a test can check them.
func TestProjectFiles(t *testing.T) {
	for _, name := range []string{"README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md",
		"GOVERNANCE.md", "OWNERS", "ROADMAP.md", "AGENTS.md", ".github/pull_request_template.md"} {
		if info, err := os.Stat(name); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	agents := read(t, "AGENTS.md")
	if n := strings.Count(agents, "\n"); n > 60 {
		t.Errorf("AGENTS.md has %d lines, and 60 are what is read", n)
	}
	var owners struct{ Approvers, Reviewers []string }
	if err := yaml.UnmarshalStrict([]byte(read(t, "OWNERS")), &owners); err != nil {
		t.Errorf("OWNERS: %v", err)
	}
	for _, step := range regexp.MustCompile(`(?m)^make (.+)$`).FindAllStringSubmatch(read(t, ".ci/run"), -1) {
		if !strings.Contains(read(t, ".github/workflows/ci.yml"), step[1]) {
			t.Errorf(".ci/run has make %s, and ci.yml has not", step[1])
		}
	}
}

var (
	target    = regexp.MustCompile(`(?m)^([a-z0-9][a-z0-9 -]*):`)
	makes     = regexp.MustCompile("(?m)(?:^|`|^ +- run: )make ((?:[a-z][a-z0-9-]*(?:[ `]|$))+)")
	testNames = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`")
	paths     = regexp.MustCompile("`((?:api|azuresim|cmd|config|docs|examples|hack|internal|test)/[\\w./-]+)`")
)

// TestPagesAreTrue: each `make target`, `TestName` and path of the repository in a page, a template
// or a workflow exists.
func TestPagesAreTrue(t *testing.T) {
	targets := map[string]bool{}
	for _, m := range target.FindAllStringSubmatch(read(t, "Makefile"), -1) {
		for name := range strings.FieldsSeq(m[1]) {
			targets[name] = true
		}
	}
	tests := map[string]bool{}
	out, err := exec.Command("git", "grep", "--untracked", "-hoE", "^func (Test|Fuzz)[A-Z][A-Za-z0-9_]*", "--", "*_test.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		tests[strings.TrimSpace(strings.TrimPrefix(line, "func "))] = true
	}
	made, named, led := 0, 0, 0
	for _, page := range pages(t) {
		text := read(t, page)
		for _, m := range makes.FindAllStringSubmatch(text, -1) {
			for name := range strings.FieldsSeq(strings.ReplaceAll(m[1], "`", " ")) {
				if made++; !targets[name] {
					t.Errorf("%s: make %s: there is no such target", page, name)
				}
			}
		}
		if page == "CHANGELOG.md" {
			continue // its pages name former things
		}
		for _, m := range testNames.FindAllStringSubmatch(text, -1) {
			if named++; !tests[m[1]] {
				t.Errorf("%s: there is no test %s", page, m[1])
			}
		}
		for _, m := range paths.FindAllStringSubmatch(text, -1) {
			if led++; !exists(m[1]) && !strings.Contains(m[1], "N00") { // N00 is a placeholder for the reader's number
				t.Errorf("%s: there is no %s", page, m[1])
			}
		}
	}
	if made < 20 || named < 10 || led < 10 {
		t.Errorf("found %d targets, %d tests and %d paths in pages", made, named, led)
	}
}

func exists(name string) bool {
	_, err := os.Stat(strings.TrimSuffix(name, "/..."))
	return err == nil
}

// pages returns the paths of the texts for people: pages, templates and workflows.
func pages(t *testing.T) (out []string) {
	t.Helper()
	for _, root := range []string{".", "docs", ".github"} {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err == nil && d.IsDir() && (root == "." && name != "." || name == "docs/cli" || name == "docs/rules"):
				return fs.SkipDir
			case err == nil && slices.Contains([]string{".md", ".yml", ".yaml"}, path.Ext(name)):
				out = append(out, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// workflow is the checked part of a GitHub workflow.
type workflow struct {
	Name        string
	On          any
	Permissions any
	Jobs        map[string]struct {
		Steps []struct{ Uses, Run string }
		// Minutes limits the duration of a job; the default is six hours.
		Minutes int `json:"timeout-minutes"`
	}
}

// TestGitHubFiles parses workflows and forms as GitHub does: the fields of a form have unique
// identifiers, a job has a time limit and explicit permissions, and an action has a version.
func TestGitHubFiles(t *testing.T) {
	files, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(files) < 3 {
		t.Fatalf("workflows %v, %v", files, err)
	}
	for _, file := range files {
		var w workflow
		if err := yaml.Unmarshal([]byte(read(t, file)), &w); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if w.Name == "" || w.Permissions == nil || len(w.Jobs) == 0 {
			t.Errorf("%s has no name, permissions or jobs", file)
		}
		for name, job := range w.Jobs {
			if job.Minutes == 0 || len(job.Steps) == 0 {
				t.Errorf("%s: job %s has no timeout-minutes or no steps", file, name)
			}
			for _, step := range job.Steps {
				if _, version, _ := strings.Cut(step.Uses, "@"); step.Uses != "" && (version == "" || version == "main" || version == "master") {
					t.Errorf("%s: job %s uses %s, which is no version", file, name, step.Uses)
				}
				if (step.Uses == "") == (step.Run == "") {
					t.Errorf("%s: a step of job %s neither uses nor runs, or does both", file, name)
				}
			}
		}
	}
	forms, err := filepath.Glob(".github/ISSUE_TEMPLATE/*.yml")
	if err != nil || len(forms) < 3 {
		t.Fatalf("forms %v, %v", forms, err)
	}
	for _, file := range forms {
		if path.Base(file) == "config.yml" {
			continue
		}
		var form struct {
			Name, Description string
			Labels            []string
			Body              []struct {
				Type, ID   string
				Attributes struct {
					Label, Description, Value, Render string
					Options                           []string
				}
				Validations struct{ Required bool }
			}
		}
		if err := yaml.UnmarshalStrict([]byte(read(t, file)), &form); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if form.Name == "" || form.Description == "" {
			t.Errorf("%s has no name or description", file)
		}
		ids := map[string]bool{"": true}
		for _, field := range form.Body {
			if field.Type == "markdown" {
				continue
			}
			if ids[field.ID] || field.Attributes.Label == "" {
				t.Errorf("%s: field %q has no label, or no identifier of its own", file, field.ID)
			}
			ids[field.ID] = true
		}
	}
}

// TestE2EConfig: the configuration of Cluster API's e2e framework contains the releases in go.mod.
func TestE2EConfig(t *testing.T) {
	var c struct {
		Providers []struct {
			Name, Type string
			Versions   []struct{ Name, Value, Contract string }
		}
		Variables map[string]string
	}
	if err := yaml.Unmarshal([]byte(read(t, "test/e2e/capi/azure.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	release := required(t, "sigs.k8s.io/cluster-api")
	for _, p := range c.Providers {
		for _, v := range p.Versions {
			if p.Name != "azure" && (v.Name != release || !strings.Contains(v.Value, "/"+release+"/")) {
				t.Errorf("%s of %s is %s at %s, and go.mod has %s", p.Type, p.Name, v.Name, v.Value, release)
			}
			if v.Contract != "v1beta2" {
				t.Errorf("%s of %s is of contract %s", p.Type, p.Name, v.Contract)
			}
		}
	}
	for _, name := range []string{"KUBERNETES_VERSION", "KUBERNETES_VERSION_UPGRADE_TO"} {
		if c.Variables[name] != kuberelease.Default {
			t.Errorf("%s is %s; make bump-k8s moves it", name, c.Variables[name])
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
