package reports

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/preflight"
	"casement.dev/casement/internal/testing/golden"
)

var dir = flag.String("dir", "testdata", "a folder of manifests, each with a file of the same name and .want beside it")

// TestReports compares the findings of lint, and of preflight without Azure, with the expected
// ones. Each line is one finding: rule, severity, object, path and message.
func TestReports(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(*dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests in %s: %v", *dir, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			set, unread := lint.Read([]string{file}, lint.Options{})
			var lines []string
			for _, err := range unread {
				lines = append(lines, "unread: "+err.Error())
			}
			plan, err := preflight.Read(set)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range preflight.Run(set, plan, nil) {
				lines = append(lines, fmt.Sprintf("%s %s %s %s: %s", f.Rule, f.Severity, f.Object, f.Path, f.Message))
			}
			slices.Sort(lines)
			golden.Compare(t, strings.TrimSuffix(file, ".yaml")+".want", []byte(strings.Join(lines, "\n")+"\n"))
		})
	}
}
