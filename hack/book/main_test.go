package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// TestBook builds the book of this repository: all links and anchors are valid, and the search
// index contains a page for each rule.
func TestBook(t *testing.T) {
	out := filepath.Join(t.TempDir(), "book")
	if err := bind([]edition{{version: "v0.1.0", files: os.DirFS(filepath.Join("..", ".."))}}, out); err != nil {
		t.Fatal(err)
	}
	rule, err := os.ReadFile(filepath.Join(out, "rules", "WIN201.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<a href="../index.html"><b>casement</b></a> <span id="version">v0.1.0</span>`,
		`<a href="../rules/WIN201.html" aria-current="page">`,
		`blob/v0.1.0/docs/rules/WIN201.md`, `<script src="../search.js">`} {
		if !strings.Contains(string(rule), want) {
			t.Errorf("the page of a rule has no %s", want)
		}
	}
	search, err := os.ReadFile(filepath.Join(out, "search.js"))
	if err != nil || !strings.Contains(string(search), `"p":"rules/WIN201.html"`) {
		t.Errorf("the search does not know WIN201 (%v)", err)
	}
	for _, asset := range []string{"index.html", "ui.png", "cli/casement_up.html"} {
		if _, err := os.Stat(filepath.Join(out, asset)); err != nil {
			t.Error(err)
		}
	}
}

// TestLinks: an invalid link is reported, and a valid link leads to its page.
func TestLinks(t *testing.T) {
	const summary = "# Summary\n[Begin](README.md)\n# Part\n- [A](a/README.md)\n"
	for _, test := range []struct{ name, page, want, wrong string }{
		{"a page", "[b](b.md)", `<a href="../a/b.html">b</a>`, ""},
		{"a heading", "[b](b.md#what-it-is)", `<a href="../a/b.html#what-it-is">b</a>`, ""},
		{"the second of a name", "[b](b.md#twice-1)", `b.html#twice-1`, ""},
		{"a heading of the same page", "[x](#a-head)", `<a href="#a-head">x</a>`, ""},
		{"the first page", "[x](../README.md)", `<a href="../index.html">x</a>`, ""},
		{"a file of the repository", "[x](../../go.mod)", `blob/main/go.mod`, ""},
		{"an image", "![x](../p.png)", `<img src="../p.png"`, ""},
		{"elsewhere", "[x](https://example.com/#y)", `href="https://example.com/#y"`, ""},
		{"no page", "[x](c.md)", "", "links to c.md, which is not there"},
		{"no heading", "[x](b.md#else)", "", "docs/a/b.md has no such heading"},
		{"no heading here", "[x](#else)", "", "docs/a/README.md has no such heading"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
			files := fstest.MapFS{"docs/SUMMARY.md": file(summary), "docs/README.md": file("# Begin\n"), "go.mod": file(""), "docs/p.png": file(""),
				"docs/a/README.md": file("# A `head`\n\n" + test.page + "\n"),
				"docs/a/b.md":      file("# B\n## What it is?\n## Twice\n## Twice\n")}
			out := filepath.Join(t.TempDir(), "book")
			err := bind([]edition{{version: "main", files: files}}, out)
			if test.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), test.wrong) {
					t.Errorf("error %v, want %q", err, test.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(filepath.Join(out, "a", "README.html")); err != nil || !strings.Contains(string(text), test.want) {
				t.Errorf("no %s in\n%s (%v)", test.want, text, err)
			}
		})
	}
	incomplete := fstest.MapFS{"docs/SUMMARY.md": {Data: []byte("[x](x.md)")}, "docs/y.md": {Data: []byte("text")}}
	if err := bind([]edition{{version: "main", files: incomplete}}, t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "does not lead to y.md") ||
		!strings.Contains(err.Error(), "leads to x.md") {
		t.Errorf("an incomplete table of contents: %v", err)
	}
}

// TestVersions: each version is a complete book in its folder, and all pages use the list of
// versions.
func TestVersions(t *testing.T) {
	files := func(page string) fstest.MapFS {
		return fstest.MapFS{"docs/SUMMARY.md": {Data: []byte("[Begin](README.md)\n- [A](a/" + page + ".md)\n")},
			"docs/README.md": {Data: []byte("# Begin\n")}, "docs/a/" + page + ".md": {Data: []byte("# A\n")}}
	}
	out := t.TempDir()
	err := bind([]edition{{version: "main", files: files("new")}, {version: "v0.1.0", dir: "v0.1.0/", files: files("old")}}, out)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"versions.js": `[{"name":"main","dir":"","pages":["a/new.html","index.html"]},` +
			`{"name":"v0.1.0","dir":"v0.1.0/","pages":["a/old.html","index.html"]}]`,
		"a/new.html":        `<body data-root="../" data-home="../" data-page="a/new.html" data-version="main">`,
		"v0.1.0/a/old.html": `<script src="../../versions.js"></script>`,
		"v0.1.0/index.html": `<body data-root="" data-home="../" data-page="index.html" data-version="v0.1.0">`,
	} {
		if text, err := os.ReadFile(filepath.Join(out, file)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no %s (%v):\n%s", file, want, err, text)
		}
	}
	broken := files("old")
	broken["docs/README.md"] = &fstest.MapFile{Data: []byte("# Begin\n[x](none.md)\n")}
	if err := bind([]edition{{version: "v0.1.0", dir: "v0.1.0/", files: broken}}, out); err == nil ||
		!strings.Contains(err.Error(), "the book of v0.1.0") {
		t.Errorf("a version with a wrong link: %v", err)
	}
	if _, err := tagged("v0.0.0-none"); err == nil || !strings.Contains(err.Error(), "v0.0.0-none") {
		t.Errorf("a tag that is not there: %v", err)
	}
}
