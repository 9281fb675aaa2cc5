package image

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestSBOM: every component of the image is listed once, with its checksum and licence, and the same build file yields
// the same SBOM.
func TestSBOM(t *testing.T) {
	b, err := Read("testdata/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := b.SBOM(time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.SBOM(time.Unix(0, 0))
	if err != nil || string(again) != string(text) {
		t.Errorf("another bill of the same file, error %v", err)
	}
	var doc spdxDocument
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	found, known := map[string]spdxPackage{}, map[string]bool{}
	for _, p := range doc.Packages {
		if found[p.ID].ID != "" {
			t.Errorf("%s is there twice", p.ID)
		}
		found[p.ID] = p
	}
	for _, l := range doc.Licenses {
		known[l.ID] = true
	}
	for _, d := range b.Spec.withDefaults().downloads() {
		p := found[spdxID(d.Name)]
		if p.From != d.URL || p.Declared == noAssertion {
			t.Errorf("%s: %+v", d.Name, p)
		}
		if len(p.Checksums) != 1 && d.SHA256 != "" {
			t.Errorf("%s has no checksum", d.Name)
		}
	}
	for id, p := range found {
		if strings.HasPrefix(p.Declared, "LicenseRef-") && !known[p.Declared] {
			t.Errorf("%s names the licence %s, which the bill does not explain", id, p.Declared)
		}
	}
	pause := found[spdxID("image-mcr.microsoft.com/oss/kubernetes/pause:3.10")]
	if pause.Version != "3.10" || len(pause.Refs) != 1 || found["SPDXRef-windows"].Declared != windowsLicense {
		t.Errorf("a container image %+v, Windows %+v", pause, found["SPDXRef-windows"])
	}
	if want := len(doc.Packages); len(doc.Relationships) != want {
		t.Errorf("%d relationships of %d packages", len(doc.Relationships), want)
	}
}
