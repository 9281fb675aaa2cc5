package lint

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestConfig(t *testing.T) {
	dir := t.TempDir()
	below := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, ConfigFile)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("kubernetesVersion: 1.34.2\nwindowsReleases: ['2022']\nmixedCluster: true\nignore:\n" +
		"- {rule: WIN201, path: a/, reason: old}\n- {rule: WIN202, reason: all}\n")
	if found := findConfig(below); found != name {
		t.Fatalf("found %q, not %q", found, name)
	}
	c, err := readConfig(name)
	if err != nil {
		t.Fatal(err)
	}
	target, err := c.Resolve()
	if err != nil || target.Minor != 34 || target.Patch == nil || *target.Patch != 2 || !target.Mixed || len(target.Windows) != 1 {
		t.Errorf("%+v, %v", target, err)
	}
	shown, silent := c.Suppress([]Finding{
		{Rule: "WIN201", File: filepath.Join(below, "x.yaml")},
		{Rule: "WIN201", File: filepath.Join(dir, "x.yaml")}, {Rule: "WIN202", File: "-"},
	})
	if len(shown) != 1 || len(silent) != 2 || silent[0].Reason != "old" || silent[1].Reason != "all" {
		t.Errorf("shown %+v, silent %+v", shown, silent)
	}
	for text, want := range map[string]string{
		"windowsRelease: [2022]\n":      "windowsRelease",
		"ignore: [{rule: WIN201}]\n":    "reason",
		"ignore: [{reason: because}]\n": "rule",
		"mixedCluster: perhaps\n":       "mixedCluster",
		"docker: true\ndocker: false\n": "docker",
		"windowsReleases: [2022]\n": `windowsReleases has a value of the kind number, which does not belong ` +
			`there; write it like windowsReleases: ["2022"]`,
		"windowsReleases: '2022'\n":     `windowsReleases: ["2022"]`,
		"containerd: 1.6\n":             `containerd: "1.6"`,
		"docker: 'yes'\n":               "docker: true",
		"windowsTaints: [{value: 5}]\n": "windowsTaints.value has",
		"ignore: {rule: WIN201}\n":      "ignore: [{rule: WIN201, reason: why}]",
		"- a\n":                         "keys and values",
		"windowsReleases: [\n":          "line",
	} {
		write(text)
		if _, err := readConfig(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, which does not name %s", text, err, want)
		}
	}
}

func TestVersion(t *testing.T) {
	for _, bad := range []string{"1.3", "1.0", "2.1", "1", "1.x", "1.34.2.1", "1.-3", "1.34.", "1.34abc"} {
		if target, err := (Config{KubernetesVersion: bad}).Resolve(); err == nil {
			t.Errorf("%q is taken as %+v", bad, target)
		}
	}
	if target, err := (Config{KubernetesVersion: "v1.31"}).Resolve(); err != nil || target.Minor != 31 || target.Patch != nil {
		t.Errorf("%+v, %v", target, err)
	}
}

// TestExamples: the example values in errors are valid, and each key has one.
func TestExamples(t *testing.T) {
	keys := map[string]bool{"kubernetesVersion": true, "ignore": true}
	for i := range reflect.TypeFor[Target]().NumField() {
		if tag, _, _ := strings.Cut(reflect.TypeFor[Target]().Field(i).Tag.Get("json"), ","); tag != "-" {
			keys[tag] = true
		}
	}
	for key := range keys {
		name := filepath.Join(t.TempDir(), ConfigFile)
		if err := os.WriteFile(name, []byte(key+": "+examples[key]+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := readConfig(name)
		if err == nil {
			_, err = c.Resolve()
		}
		if err != nil || examples[key] == "" {
			t.Errorf("%s: %q: %v", key, examples[key], err)
		}
	}
}

func TestReason(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n" +
		"  annotations: {casement.dev/ignore: X1, casement.dev/ignore-reason: known}\nspec: {}\n"
	set, errs := Parse("a.yaml", []byte(pod), Options{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	speak := func(id string) Rule {
		return Rule{ID: id, Severity: Error, Check: func(p *Pass) { p.Report(p.Set.Objects[0], p.Set.Objects[0].Root, "bad", Fix{}) }}
	}
	shown, silent := RunAll(set, []Rule{speak("X1"), speak("X2")}, Target{})
	if len(shown) != 1 || shown[0].Rule != "X2" || shown[0].Reason != "" || len(silent) != 1 || silent[0].Reason != "known" {
		t.Errorf("shown %+v, silent %+v", shown, silent)
	}
}
