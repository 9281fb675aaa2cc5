package lint

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPlain: plain parses the common forms of manifests, and leaves others to the YAML parser.
func TestPlain(t *testing.T) {
	const head = "apiVersion: v1\nkind: X\nmetadata:\n  name: x # the name\n"
	for text, want := range map[string]bool{
		"": true, "spec:\n  a: [b, \"c\", {d: 'e'}]\n": true, "spec:\n- a: b\n  c: d\n-   - e\n": true, "spec:\n  - a\n": true,
		"# more\n\nspec:\n  a: |\n    b\n\n    c\n  d: |-\n    e\n": true, "spec: {}\n": true, "spec:\n": true, "spec: true # or not\n": true,
		"spec: 2\n": true, "spec: 250m\n": true, "spec: 10.0.20348\n": true, "spec: a: b\n": false, "spec: a\n  b\n": false,
		"spec: \"a\\n\"\n": false, "spec: 'a''b'\n": false, "spec: &a b\n": false, "spec: !!str b\n": false, "spec: >\n  a\n": false,
		"spec:\ta\n": false, "spec: ä\n": false, "spec: a\r\n": false, "spec: 1.5\n": false, "spec: 2026-01-01\n": false,
		"spec: [a,\n  b]\n": false, " spec: a\n": false, "spec:\n- a\n b: c\n": false, "...\n": false, "spec": false,
	} {
		var p plain
		if got := p.read(head + text); got != want {
			t.Errorf("%q is read: %v", text, got)
		}
	}
}

// FuzzPlain: for every text that plain accepts, the YAML parser returns the same tree.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{
		"a: b\n", "a:\n  b: c # d\n\n  # e\n  f: [g, \"h\", 'i']\nj: {k: 1, l: {}}\n",
		"- a\n", "a:\n- b\n- c: d\n  e: f\n-   - g\n    - h\n", "a:\n  - b\n  -  c:\n      d: e\n",
		"a: |\n  b\n\n    c\n  # d\n\ne: |-\n  f\n\n", "a: |\n  b\n # c\n  d\n", "a:\n  b:\nc:\n", "a: |\n   \n  b\n",
		"a: 1\nb: -1\nc: 007\nd: 1.5\ne: 10.0.20348\nf: 250m\ng: 1_000\nh: 0x1f\ni: 2026-01-01\nj: 1:2\nk: 1e3\n",
		"a: yes\nb: true\nc: ~\nd: null\ne: NULL\nf: .inf\ng: -.inf\nh: -c\ni: --d\nj: .e\nk: <<\n",
		"a: b c  # d\ne: f#g\nh: i:j\nk: l, m\n\"n\": o\n'p': q\nr/s.t-u: v\n", "a: 'b''c'\n", "a: \"b\\n\"\n", "a: {b: c, }\n",
		"a: b\n  c\n", "a: b\n c: d\n", " a: b\n c: d\ne: f\n", "a: [b: c]\n", "a: [b:c, d]\n", "a: {b:c}\n", "a: b:\n", "a: [b]c\n",
		"a: \"b\"#c\n", "? a\n: b\n", "a: &b c\n", "a: !b c\n", "a: >\n  b\n", "a: |2\n    b\n", "...\na: b\n", "a: b\n...\n", "true: a\n1: b\n",
		"a:\n  - b: |\n      c\n    d: e\n", "#\na:\n# b\n  c: d\n # e\n", "a: -\n", "a:\n  -\n  - b\n", "a: - b\n", "-1: a\n", "a : b\n",
		"a: |\n    b\n   c: d\n", "a: |\n  b", "a: |-  \n  b\n\n", "a: |\n  b\n   c\n  \n", "a: b\n- c\n",
		"a:\n- b\n  c: d\n", "a:\n- b: c\n d: e\n",
	} {
		f.Add(text)
	}
	for _, pattern := range []string{"rules/testdata/*.yaml", "../cli/testdata/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			for _, d := range split(file, string(data)) {
				f.Add(d.text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) { comparePlain(t, text) })
}

// comparePlain parses a text in both ways, and reports whether plain accepts it.
func comparePlain(t *testing.T, text string) bool {
	t.Helper()
	var p plain
	if !p.read(text) {
		return false
	}
	want, err := parseYAML(text)
	if err != nil {
		t.Fatalf("%q is read, but the parser says: %v", text, err)
	}
	if diff := cmp.Diff(lines(want), lines(&p.tree)); diff != "" {
		t.Errorf("%q: %s", text, diff)
	}
	return true
}

// TestPlainLines runs the check of FuzzPlain on texts of random lines, most of which are unusual or contain an error.
func TestPlainLines(t *testing.T) {
	random := rand.New(rand.NewPCG(36, 2022))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	read := 0
	for range 200000 {
		var text strings.Builder
		for range 1 + random.IntN(6) {
			text.WriteString(strings.Repeat("  ", random.IntN(3)) + pick("", "", "", " "))
			for random.IntN(3) == 0 {
				text.WriteString(pick("- ", "-  ", "-", "# "))
			}
			if random.IntN(4) > 0 {
				text.WriteString(pick("a", "b.c/d-e", "\"f\"", "'g'", "true", "7", "-h", "<<", "i j", "-", "~") +
					pick(":", ": ", ": ", ":  ", " : ", ""))
			}
			text.WriteString(pick("", "", "k", "l m", "n: o", "p:q", "1", "0x1", "1.5", "10.0.1", "1:2", "-3", "--r", "-", ".s", "\"t\"", "'u'",
				"'v''w'", "{}", "[]", "{a: b, c: [d, \"e\"]}", "[f, {g: 'h'}]", "[i:j]", "{k:l}", "[m,]", "[n", "|", "|-", ">", "null", "x#y",
				"250m", "2026-01-01", "1e3", "...", "---", "%", "&z", "*z", "!z z", "$(a)", "C:\\d"))
			text.WriteString(pick("\n", "\n", "\n", " # c\n", "#c\n", "  \n", "\n\n", "\n  \n", ""))
		}
		if comparePlain(t, text.String()) {
			read++
		}
	}
	if read < 2000 {
		t.Errorf("only %d of the texts are plain", read)
	}
}

// lines returns the complete content of a tree, with a line for each node.
func lines(t *tree) []string {
	var out []string
	for i, n := range t.nodes {
		r := ref(i + 1)
		out = append(out, fmt.Sprintf("%d:%d kind %d style %d next %d %s %q",
			t.place(r).line, t.place(r).column, n.kind, n.style, t.next(r), t.tagName(r), t.value(r)))
	}
	return out
}
