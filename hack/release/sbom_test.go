package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// TestSBOM checks the bill of materials of the test program itself.
func TestSBOM(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	first, err := sbom(self, "v1")
	if err != nil {
		t.Fatal(err)
	}
	again, err := sbom(self, "v1")
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("the same program has two bills, error %v", err)
	}
	var b cdx.BOM
	if err := json.Unmarshal(first, &b); err != nil {
		t.Fatal(err)
	}
	found := map[string]cdx.Component{}
	for _, c := range *b.Components {
		found[c.Name] = c
	}
	y := found["sigs.k8s.io/yaml"]
	if !strings.HasPrefix(y.PackageURL, "pkg:golang/sigs.k8s.io/yaml@v") || y.Hashes == nil || len(*y.Hashes) != 1 ||
		len((*y.Hashes)[0].Value) != 64 {
		t.Errorf("component of a module: %+v", y)
	}
	if found["std"].Version == "" || b.Metadata.Component.Version != "v1" || len(*(*b.Dependencies)[0].Dependencies) != len(*b.Components) {
		t.Errorf("the bill is not whole: %+v", b.Metadata)
	}
}
