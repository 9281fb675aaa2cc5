package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom returns the bill of materials of a program: the modules that the linker recorded in it. It
// contains neither a time nor a serial number, so that it is always the same for a program.
func sbom(program, version string) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("read what %s is built of: %w", program, err)
	}
	name := filepath.Base(info.Path)
	subject := cdx.Component{Type: cdx.ComponentTypeApplication, BOMRef: name, Name: name, Version: version,
		PackageURL: purl(info.Path, version)}
	var settings []cdx.Property
	for _, s := range info.Settings {
		if slices.Contains([]string{"GOOS", "GOARCH", "CGO_ENABLED", "-trimpath"}, s.Key) {
			settings = append(settings, cdx.Property{Name: "go:" + s.Key, Value: s.Value})
		}
	}
	if settings != nil {
		subject.Properties = &settings
	}
	std := strings.TrimPrefix(info.GoVersion, "go")
	components := []cdx.Component{{Type: cdx.ComponentTypeLibrary, BOMRef: "std", Name: "std", Version: std, PackageURL: purl("std", std)}}
	for _, m := range info.Deps {
		c, err := library(m)
		if err != nil {
			return nil, err
		}
		components = append(components, c)
	}
	slices.SortFunc(components, func(a, b cdx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	var all []string
	for _, c := range components {
		all = append(all, c.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &subject}
	bom.Components, bom.Dependencies = &components, &[]cdx.Dependency{{Ref: name, Dependencies: &all}}
	var out bytes.Buffer
	err = cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return out.Bytes(), err
}

func library(m *debug.Module) (cdx.Component, error) {
	if m.Replace != nil {
		return cdx.Component{}, fmt.Errorf("module %s is replaced, which no release may be", m.Path)
	}
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
	if err != nil || len(sum) != 32 {
		return cdx.Component{}, fmt.Errorf("module %s has the sum %q, which is none of go.sum's", m.Path, m.Sum)
	}
	return cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: m.Path + "@" + m.Version, Name: m.Path, Version: m.Version,
		PackageURL: purl(m.Path, m.Version),
		// The h1 in go.sum is the SHA-256 of a list of the files' SHA-256 sums.
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}}, nil
}

// purl returns a package URL. Source: github.com/package-url/purl-spec, type golang.
func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }
