package image

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// Licences without an SPDX identifier.
var (
	windowsLicense = cdx.License{Name: "Microsoft Software License Terms, Windows Server", Text: &cdx.AttachedText{
		Content: "Windows Server, its features and capabilities, OpenSSH among them: the terms are on the image, " +
			`C:\Windows\System32\license.rtf, and those of the Azure marketplace.`}}
	publicDomain = cdx.License{Name: "Public domain", Text: &cdx.AttachedText{
		Content: "nssm is in the public domain, as https://nssm.cc says."}}
)

// licenses are the licences of the standard components, as SPDX identifiers, according to their repositories.
var licenses = map[string]string{
	"containerd": "Apache-2.0", "cni-plugins": "Apache-2.0", "kubelet": "Apache-2.0", "kubeadm": "Apache-2.0",
	"kubectl": "Apache-2.0", "kube-log-runner": "Apache-2.0", "cloudbase-init": "Apache-2.0",
	"runc": "Apache-2.0", csiProxy: "Apache-2.0",
}

// SBOM lists the contents of the image with their licences as CycloneDX: the operating system, each download with its
// checksum, and the pre-pulled container images. A custom component has the licence that the build file states, or
// none.
func (b *ImageBuild) SBOM(created time.Time) ([]byte, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	rel, _ := releaseNamed(b.Spec.Source.Release) // the name is valid
	s := (&builder{Config: Config{Build: b}, spec: b.Spec.withDefaults(), release: rel}).spec
	system := cdx.Component{Type: cdx.ComponentTypeOS, BOMRef: "windows", Name: rel.Title, Version: s.Source.Version,
		Licenses: licensed(windowsLicense), Description: fmt.Sprintf("marketplace image %s:%s:%s; updates: %s", rel.Publisher, rel.Offer,
			cmp.Or(s.Source.SKU, rel.SKU), s.Updates)}
	if rel.OS == osLinux { // the packages of Ubuntu have different licences
		system.BOMRef, system.Licenses = "ubuntu", nil
		system.Description += "; licences of its packages: /usr/share/doc/*/copyright"
	}
	components := []cdx.Component{system}
	for _, d := range s.downloads() {
		components = append(components, s.downloaded(d))
	}
	for _, i := range s.Images {
		repository, version, _ := strings.Cut(i, ":")
		components = append(components, cdx.Component{Type: cdx.ComponentTypeContainer, BOMRef: i, Name: repository, Version: version,
			PackageURL: "pkg:oci/" + repository[strings.LastIndexByte(repository, '/')+1:] + "?repository_url=" + repository + "&tag=" + version})
	}
	var all []string
	for _, c := range components {
		all = append(all, c.BOMRef)
	}
	const image = "image"
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: created.UTC().Format(time.RFC3339), Component: &cdx.Component{Type: cdx.ComponentTypeOS,
		BOMRef: image, Name: s.Target.Gallery + "/" + s.Target.Definition, Version: s.Target.Version}}
	bom.Components, bom.Dependencies = &components, &[]cdx.Dependency{{Ref: image, Dependencies: &all}}
	var out bytes.Buffer
	err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cdx.SpecVersion1_6)
	return out.Bytes(), err
}

// downloaded returns the component of a download.
func (s Spec) downloaded(d download) cdx.Component {
	c := cdx.Component{Type: cdx.ComponentTypeApplication, BOMRef: d.Name, Name: d.Name, Version: s.versionOf(d.Name),
		ExternalReferences: &[]cdx.ExternalReference{{Type: cdx.ERTypeDistribution, URL: d.URL}}}
	switch license := cmp.Or(d.License, licenses[d.Name]); {
	case license != "":
		c.Licenses = &cdx.Licenses{{Expression: license}}
	case d.Name == "nssm":
		c.Licenses = licensed(publicDomain)
	}
	if d.SHA256 != "" {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: d.SHA256}}
	}
	if d.Signer != "" {
		c.Description = "its Authenticode signer is required to be " + d.Signer
	}
	return c
}

func licensed(l cdx.License) *cdx.Licenses { return &cdx.Licenses{{License: &l}} }

// versionOf returns the version of a standard component, "" for a custom one.
func (s Spec) versionOf(name string) string {
	switch name {
	case "containerd":
		return s.ContainerdVersion
	case "runc":
		return s.RuncVersion
	case "cni-plugins":
		return s.CNIPluginsVersion
	case "cloudbase-init":
		return s.CloudbaseInitVersion
	case "kubelet", "kubeadm", "kubectl", "kube-log-runner":
		return s.KubernetesVersion
	}
	return ""
}
