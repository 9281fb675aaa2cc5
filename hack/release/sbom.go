package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// bom is a software bill of materials in CycloneDX 1.6.
// Source: cyclonedx.org/docs/1.6/json.
type bom struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     bomMetadata  `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type bomMetadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string     `json:"type"`
	Ref     string     `json:"bom-ref"`
	Name    string     `json:"name"`
	Version string     `json:"version"`
	PURL    string     `json:"purl,omitempty"`
	Hashes  []bomHash  `json:"hashes,omitempty"`
	Props   []property `json:"properties,omitempty"`
}

type bomHash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// sbom lists the modules that are linked into a program, as the linker wrote them
// into it. It has neither a time nor a serial number, so that it is the same for the
// same program.
func sbom(program, version string) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("read what %s is built of: %w", program, err)
	}
	name := filepath.Base(info.Path)
	subject := component{Type: "application", Ref: name, Name: name, Version: version, PURL: purl(info.Path, version)}
	for _, s := range info.Settings {
		if slices.Contains([]string{"GOOS", "GOARCH", "CGO_ENABLED", "-trimpath"}, s.Key) {
			subject.Props = append(subject.Props, property{"go:" + s.Key, s.Value})
		}
	}
	out := bom{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: bomMetadata{subject},
	}
	all := dependency{Ref: name}
	out.Components = append(out.Components, component{
		Type: "library", Ref: "std", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"),
		PURL: purl("std", strings.TrimPrefix(info.GoVersion, "go")),
	})
	for _, m := range info.Deps {
		c, err := library(m)
		if err != nil {
			return nil, err
		}
		out.Components = append(out.Components, c)
	}
	slices.SortFunc(out.Components, func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) })
	for _, c := range out.Components {
		all.DependsOn = append(all.DependsOn, c.Ref)
	}
	out.Dependencies = []dependency{all}
	data, err := json.MarshalIndent(out, "", "  ")
	return append(data, '\n'), err
}

func library(m *debug.Module) (component, error) {
	if m.Replace != nil {
		return component{}, fmt.Errorf("module %s is replaced, which no release may be", m.Path)
	}
	c := component{Type: "library", Ref: m.Path + "@" + m.Version, Name: m.Path, Version: m.Version, PURL: purl(m.Path, m.Version)}
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
	if err != nil || len(sum) != 32 {
		return component{}, fmt.Errorf("module %s has the sum %q, which is none of go.sum's", m.Path, m.Sum)
	}
	// go.sum's h1 is a SHA-256 of a list of the files' SHA-256.
	c.Hashes = []bomHash{{"SHA-256", hex.EncodeToString(sum)}}
	return c, nil
}

// purl returns a package URL. Source: github.com/package-url/purl-spec, type golang.
func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }
