// Package golden compares the output of a test with a file, and writes the file if the test is run with -update. It
// does not depend on the format of files. Only tests import it.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write golden files and generated pages")

// Update reports whether the test was run with -update, which writes the files.
func Update() bool { return *update }

// Compare fails the test if a file's contents differ from got.
func Compare(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what the test got; go test -update writes it if that is meant (-want +got)\n%s", file, diff)
	}
}
