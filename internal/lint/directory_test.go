package lint_test

import (
	"os"
	"path/filepath"
	"testing"

	"casement.dev/casement/internal/lint"
)

// TestDirectory reads a directory with files that are not objects: they are skipped and counted. A file
// that the user names, or that lacks only its kind, is not skipped.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"pod.yaml":           "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n",
		"kustomization.yaml": "resources: [pod.yaml]\n",
		"package.json":       "{\"name\": \"a\"}\n",
		"list.yaml":          "- a\n",
		"half.yaml":          "apiVersion: v1\nmetadata: {name: a}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, unread := lint.Read([]string{dir}, lint.Options{})
	if len(set.Objects) != 1 || len(set.Skipped) != 3 || len(unread) != 1 {
		t.Errorf("objects %d, skipped %v, unread %v", len(set.Objects), set.Skipped, unread)
	}
	if _, unread := lint.Read([]string{filepath.Join(dir, "package.json")}, lint.Options{}); len(unread) != 1 {
		t.Errorf("a file that was named: %v", unread)
	}
	config := filepath.Join(dir, ".casement-lint.test")
	if err := os.WriteFile(config, []byte("ignore: [{rule: \"*\", path: \"half.yaml\", reason: made later}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := lint.LoadConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Excludes(filepath.Join(dir, "half.yaml")) || c.Excludes(filepath.Join(dir, "pod.yaml")) {
		t.Error("the configuration takes the wrong files out")
	}
}
