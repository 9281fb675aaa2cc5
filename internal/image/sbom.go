package image

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// spdxDocument is a software bill of materials in SPDX 2.3.
// Source: https://spdx.github.io/spdx-spec/v2.3.
type spdxDocument struct {
	Version       string             `json:"spdxVersion"`
	License       string             `json:"dataLicense"`
	ID            string             `json:"SPDXID"`
	Name          string             `json:"name"`
	Namespace     string             `json:"documentNamespace"`
	Created       spdxCreation       `json:"creationInfo"`
	Packages      []spdxPackage      `json:"packages"`
	Licenses      []spdxLicense      `json:"hasExtractedLicensingInfos"`
	Relationships []spdxRelationship `json:"relationships"`
}

type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID        string         `json:"SPDXID"`
	Name      string         `json:"name"`
	Version   string         `json:"versionInfo,omitempty"`
	From      string         `json:"downloadLocation"`
	Analyzed  bool           `json:"filesAnalyzed"`
	Checksums []spdxChecksum `json:"checksums,omitempty"`
	Declared  string         `json:"licenseDeclared"`
	Concluded string         `json:"licenseConcluded"`
	Copyright string         `json:"copyrightText"`
	Comment   string         `json:"comment,omitempty"`
	Purpose   string         `json:"primaryPackagePurpose,omitempty"`
	Refs      []spdxRef      `json:"externalRefs,omitempty"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxLicense struct {
	ID   string `json:"licenseId"`
	Name string `json:"name"`
	Text string `json:"extractedText"`
}

type spdxRelationship struct {
	Of   string `json:"spdxElementId"`
	Is   string `json:"relationshipType"`
	What string `json:"relatedSpdxElement"`
}

// Licences without an SPDX identifier.
const (
	windowsLicense = "LicenseRef-Microsoft-Windows-Server"
	publicDomain   = "LicenseRef-public-domain"
	noAssertion    = "NOASSERTION"
)

// licenses are the licences of the standard components, according to their repositories.
var licenses = map[string]string{
	"containerd": "Apache-2.0", "cni-plugins": "Apache-2.0", "kubelet": "Apache-2.0", "kubeadm": "Apache-2.0",
	"kubectl": "Apache-2.0", "kube-log-runner": "Apache-2.0", "cloudbase-init": "Apache-2.0", "nssm": publicDomain,
	"runc": "Apache-2.0", csiProxy: "Apache-2.0",
}

// SBOM lists the contents of the image with their licences: the operating system, each download with its checksum, and
// the container images that are pulled in advance. A custom component has the licence that the build file states, or
// NOASSERTION.
func (b *ImageBuild) SBOM(created time.Time) ([]byte, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	rel, _ := releaseNamed(b.Spec.Source.Release) // validated
	s := (&builder{Config: Config{Build: b}, spec: b.Spec.withDefaults(), release: rel}).spec
	name := b.Metadata.Name + "-" + s.Target.Version
	doc := spdxDocument{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		Namespace: "https://casement.dev/image/" + s.Target.Gallery + "/" + s.Target.Definition + "/" + s.Target.Version,
		Created:   spdxCreation{created.UTC().Format(time.RFC3339), []string{"Tool: casement"}},
		Licenses: []spdxLicense{
			{windowsLicense, "Microsoft Software License Terms, Windows Server",
				"Windows Server, its features and capabilities, OpenSSH among them: the terms are on the image, " +
					`C:\Windows\System32\license.rtf, and those of the Azure marketplace.`},
			{publicDomain, "Public domain", "nssm is in the public domain, as https://nssm.cc says."},
		},
	}
	if rel.OS == osLinux {
		doc.Licenses = []spdxLicense{}
	}
	const image = "SPDXRef-image"
	doc.Packages = append(doc.Packages, spdxPackage{
		ID: image, Name: s.Target.Definition, Version: s.Target.Version, From: noAssertion, Declared: noAssertion,
		Concluded: noAssertion, Copyright: noAssertion, Purpose: "OPERATING-SYSTEM",
	})
	doc.Relationships = append(doc.Relationships, spdxRelationship{doc.ID, "DESCRIBES", image})
	add := func(p spdxPackage) {
		p.Declared = cmp.Or(p.Declared, noAssertion)
		p.Concluded, p.Copyright = p.Declared, noAssertion
		doc.Packages = append(doc.Packages, p)
		doc.Relationships = append(doc.Relationships, spdxRelationship{image, "CONTAINS", p.ID})
	}
	system := spdxPackage{
		ID: spdxID("windows"), Name: rel.Title, Version: s.Source.Version, Declared: windowsLicense,
		Purpose: "OPERATING-SYSTEM", From: noAssertion,
		Comment: fmt.Sprintf("marketplace image %s:%s:%s; updates: %s", rel.Publisher, rel.Offer,
			cmp.Or(s.Source.SKU, rel.SKU), s.Updates),
	}
	if rel.OS == osLinux { // each package of Ubuntu has a licence of its own
		system.ID, system.Declared = spdxID("ubuntu"), ""
		system.Comment += "; licences of its packages: /usr/share/doc/*/copyright"
	}
	add(system)
	for _, d := range s.downloads() {
		p := spdxPackage{ID: spdxID(d.Name), Name: d.Name, Version: s.versionOf(d.Name), From: d.URL,
			Declared: cmp.Or(d.License, licenses[d.Name]), Purpose: "APPLICATION"}
		if d.SHA256 != "" {
			p.Checksums = []spdxChecksum{{"SHA256", d.SHA256}}
		}
		if d.Signer != "" {
			p.Comment = "its Authenticode signer is required to be " + d.Signer
		}
		add(p)
	}
	for _, i := range s.Images {
		repository, version, _ := strings.Cut(i, ":")
		add(spdxPackage{ID: spdxID("image-" + i), Name: repository, Version: version, From: noAssertion, Purpose: "CONTAINER",
			Refs: []spdxRef{{"PACKAGE-MANAGER", "purl", "pkg:oci/" + repository[strings.LastIndexByte(repository, '/')+1:] +
				"?repository_url=" + repository + "&tag=" + version}}})
	}
	data, err := json.MarshalIndent(doc, "", "  ")
	return append(data, '\n'), err
}

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

// notInID matches characters that are not permitted in an SPDX identifier.
var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

func spdxID(name string) string { return "SPDXRef-" + notInID.ReplaceAllString(name, "-") }
