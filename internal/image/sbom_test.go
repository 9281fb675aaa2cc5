package image

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
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
	var bom cdx.BOM
	if err := json.Unmarshal(text, &bom); err != nil {
		t.Fatal(err)
	}
	found := map[string]cdx.Component{}
	for _, c := range *bom.Components {
		if found[c.BOMRef].BOMRef != "" {
			t.Errorf("%s is there twice", c.BOMRef)
		}
		found[c.BOMRef] = c
	}
	for _, d := range b.Spec.withDefaults().downloads() {
		c := found[d.Name]
		if c.ExternalReferences == nil || (*c.ExternalReferences)[0].URL != d.URL || c.Licenses == nil {
			t.Errorf("%s: %+v", d.Name, c)
		}
		if c.Hashes == nil && d.SHA256 != "" {
			t.Errorf("%s has no checksum", d.Name)
		}
	}
	pause, windows := found["mcr.microsoft.com/oss/kubernetes/pause:3.10"], found["windows"]
	if pause.Version != "3.10" || !strings.HasPrefix(pause.PackageURL, "pkg:oci/pause?") {
		t.Errorf("a container image %+v", pause)
	}
	if windows.Licenses == nil || (*windows.Licenses)[0].License.Name != windowsLicense.Name {
		t.Errorf("Windows %+v", windows)
	}
	if of := *(*bom.Dependencies)[0].Dependencies; len(of) != len(found) {
		t.Errorf("the image contains %d of %d components", len(of), len(found))
	}
}
