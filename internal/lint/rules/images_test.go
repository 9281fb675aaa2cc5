package rules

import (
	"slices"
	"testing"

	"casement.dev/casement/internal/lint"
)

// TestImagesOfRegistries: the platforms in an image's registry are decisive if its name shows none.
func TestImagesOfRegistries(t *testing.T) {
	on := func(build string) string { return "    node.kubernetes.io/windows-build: " + build + "\n" }
	pod := func(selector string) string {
		return windowsPod + selector + "  containers:\n  - {name: app, image: 'contoso.example/app:1'}\n"
	}
	const nowhere = "apiVersion: v1\nkind: Pod\nmetadata: {name: example}\nspec:\n  containers:\n" +
		"  - {name: app, image: 'contoso.example/app:1'}\n"
	for name, c := range map[string]struct {
		text   string
		image  *lint.Platforms
		target lint.Target
		want   []string
	}{
		"not asked": {pod(on("10.0.20348")), nil, lint.Target{}, nil},
		"one of two builds fits": {pod(on("10.0.20348")), &lint.Platforms{Windows: []string{"10.0.17763.1", "10.0.20348.1"},
			Others: true}, lint.Target{}, nil},
		"neither fits": {pod(on("10.0.26100")), &lint.Platforms{Windows: []string{"10.0.14393.1", "10.0.17763.1"}},
			lint.Target{}, []string{"WIN702"}},
		"neither fits the nodes": {pod(""), &lint.Platforms{Windows: []string{"10.0.17763.1"}},
			lint.Target{Windows: []string{"2022"}}, []string{"WIN702"}},
		"fits some nodes": {pod(""), &lint.Platforms{Windows: []string{"10.0.20348.1"}},
			lint.Target{Windows: []string{"2019", "2022"}}, []string{"WIN703"}},
		"fits all nodes": {pod(""), &lint.Platforms{Windows: []string{"10.0.17763.1", "10.0.20348.1"}},
			lint.Target{Windows: []string{"2019", "2022"}}, nil},
		"a build is not named":         {pod(on("10.0.20348")), &lint.Platforms{Windows: []string{"10.0.17763.1", ""}}, lint.Target{}, nil},
		"nothing for Windows":          {pod(""), &lint.Platforms{Others: true}, lint.Target{}, []string{"WIN704"}},
		"only Windows, pod unplaced":   {nowhere, &lint.Platforms{Windows: []string{"10.0.20348.1"}}, lint.Target{}, []string{"WIN001"}},
		"either, pod unplaced":         {nowhere, &lint.Platforms{Windows: []string{"10.0.20348.1"}, Others: true}, lint.Target{}, nil},
		"only Linux, pod says nothing": {nowhere, &lint.Platforms{Others: true}, lint.Target{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			set, errs := lint.Parse("f.yaml", []byte(c.text), lint.Options{})
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			lint.Run(set, All(), c.target) // findings of earlier runs must not remain
			if c.image != nil {
				set.Learn(map[string]lint.Platforms{"contoso.example/app:1": *c.image})
			}
			var got []string
			for _, f := range lint.Run(set, All(), c.target) {
				if slices.Contains([]string{"WIN001", "WIN702", "WIN703", "WIN704"}, f.Rule) {
					got = append(got, f.Rule)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("found %v, not %v", got, c.want)
			}
		})
	}
}

// TestAskFor: a registry is queried once for each image that is not known by name, and never for images of Linux pods.
func TestAskFor(t *testing.T) {
	text := windowsPod + "  containers:\n  - {name: a, image: 'contoso.example/app:1'}\n" +
		"  - {name: b, image: 'mcr.microsoft.com/windows/nanoserver:ltsc2022'}\n  - {name: c, image: 'contoso.example/app:1'}\n" +
		"  - {name: d, image: 'mcr.microsoft.com/dotnet/samples:aspnetapp'}\n" +
		"---\napiVersion: v1\nkind: Pod\nmetadata: {name: linux}\nspec:\n  nodeSelector: {kubernetes.io/os: linux}\n" +
		"  containers:\n  - {name: a, image: 'nginx:1'}\n"
	set, errs := lint.Parse("f.yaml", []byte(text), lint.Options{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if got, want := set.AskFor(), []string{"contoso.example/app:1",
		"mcr.microsoft.com/dotnet/samples:aspnetapp"}; !slices.Equal(got, want) {
		t.Errorf("asks for %v, not %v", got, want)
	}
}

// TestImageNames checks the findings that follow only from an image's name.
func TestImageNames(t *testing.T) {
	for image, linux := range map[string]bool{
		"alpine:3.20":                         true,
		"python:3.12-slim-bookworm":           true,
		"node:20-alpine3.20":                  true,
		"registry:5000/app":                   false,
		"registry:5000/slim":                  false,
		"registry.example:5000/noble/app:1.0": false,
		"registry:5000/app:1-slim":            true,
		"contoso.example/app:unslim":          false,
		"docker.io/library/redis:7":           true,
		"nginx":                               true,
		"bitnami/postgresql:16":               true,
		"mongo:8":                             false,
		"contoso.example/redis:7":             false,
		"golang:1.26":                         false,
		"redis:3.2-windowsservercore":         false,
		"registry.k8s.io/metrics-server/metrics-server:v0.7.2": true,
	} {
		if got := notForWindows(&lint.Set{}, image); got != linux {
			t.Errorf("%s is for Linux alone: %t, want %t", image, got, linux)
		}
	}
}
