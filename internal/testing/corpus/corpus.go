// Package corpus has malicious input for casement lint: input that is too large, too deep, expanded by aliases, or not
// text. The bench and tests import it.
package corpus

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Input is one malicious input.
type Input struct {
	Name string
	// Code is the expected exit code of casement lint, and Says a part of its output on either stream.
	Code int
	Says string
	// files are functions that return the contents of the input's files; there are several for a directory.
	files []func() []byte
}

// MiB is the number of bytes in a mebibyte.
const MiB = 1 << 20

const (
	head    = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
	podHead = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  os: {name: windows}\n" +
		"  nodeSelector: {kubernetes.io/os: windows}\n"
	unreadable = 4
	found      = 1
)

// Inputs returns all inputs of the corpus.
func Inputs() []Input {
	text := func(make func() string) []func() []byte {
		return []func() []byte{func() []byte { return []byte(make()) }}
	}
	repeat := func(before, unit string, size int, after string) []func() []byte {
		return text(func() string { return before + strings.Repeat(unit, size/len(unit)) + after })
	}
	return []Input{
		{"50 MB in small documents", unreadable, "more than the 1500000 keys and values",
			repeat("", head+"data: {a: b}\n---\n", 50*MiB, "")},
		{"50 MB in one document", unreadable, "a document of 50 MiB", repeat(head+"data:\n", "  key: value of some length\n", 50*MiB, "")},
		{"50 MB in documents of 7", 0, "", repeat("", head+"data:\n  a: "+strings.Repeat("x", 7*MiB)+"\n---\n", 50*MiB, "")},
		{"a file of 65 MB", unreadable, "more than the 64 MiB", repeat("", "#\n", 65*MiB+2, "")},
		{"three files of 50 MB", unreadable, "more than the 128 MiB",
			slices3(repeat("", "# "+strings.Repeat("x", 998)+"\n", 50*MiB, "")[0])},
		{"one line of 8 MB", 0, "", repeat(head+"data: {a: \"", "x", 8*MiB-1000, "\"}\n")},
		{"a block of 8 MB in lines", 0, "", repeat(head+"data:\n  a: |\n", "    "+strings.Repeat("word ", 40)+"\n", 8*MiB-1000, "")},
		{"a key of 8 MB", 0, "", repeat(head+"data:\n  ? ", "k", 8*MiB-1000, "\n  : v\n")},
		{"a million empty lists", unreadable, "keys and values", repeat(head+"data: [", "[],", 3*MiB, "]\n")},
		{"half a million keys", 0, "", text(keys(250_000))},
		{"half a million keys of a pod", found, "unknown field", text(podKeys(200_000))},
		{"a billion laughs", unreadable, "its aliases mean more", text(laughs)},
		{"laughs for a Windows pod", unreadable, "its aliases mean more", text(podLaughs)},
		{"merges of merges", unreadable, "its aliases mean more", text(merges)},
		{"an alias of itself", unreadable, "contains itself without end", text(func() string { return head + "data: &a [*a]\n" })},
		{"100,000 aliases", found, "", text(aliases)},
		{"100,000 lists in each other", unreadable, "max depth", repeat(head+"data: ", "[", 100_000, "")},
		{"100,000 maps in each other", unreadable, "max depth", repeat(head+"data: ", "{a: ", 400_000, "")},
		{"9,000 lists in each other", found, "", text(func() string {
			return head + "data: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "\n"
		})},
		{"2,000 levels of indentation", found, "", text(indented)},
		{"JSON of 100,000 levels", unreadable, "max depth", text(func() string {
			return `{"apiVersion":"v1","kind":"ConfigMap","data":` + strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_001)
		})},
		{"Lists in Lists", unreadable, "Lists in each other", text(lists)},
		{"random bytes", unreadable, "no text in UTF-8", []func() []byte{noise}},
		{"UTF-16", unreadable, "no text in UTF-8", []func() []byte{func() []byte { return []byte("\xff\xfea\x00:\x00 \x00b\x00") }}},
		{"zeros", unreadable, "no text in UTF-8", []func() []byte{func() []byte { return make([]byte, 50*MiB) }}},
		{"control characters", unreadable, "control characters", text(func() string { return head + "data: {a: \x01\x02}\n" })},
		{"nothing", 0, "", text(func() string { return "" })},
		{"a million separators", 0, "", repeat("", "---\n", 4*MiB, "")},
		{"one bad document of three", unreadable, "WIN601", text(func() string {
			return podHead + "  containers: [{name: a, image: x, command: [/bin/sh]}]\n---\na: [\n---\n" + head
		})},
	}
}

// Write writes the input into an empty directory and returns the path to lint.
func (i Input) Write(dir string) (string, error) {
	for n, content := range i.files {
		name := filepath.Join(dir, fmt.Sprintf("%d.yaml", n))
		if err := os.WriteFile(name, content(), 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func slices3(f func() []byte) []func() []byte { return []func() []byte{f, f, f} }

func keys(n int) func() string {
	return func() string { return head + "data:\n" + many(n, "  key%d: v\n") }
}

func podKeys(n int) func() string {
	return func() string {
		return podHead + many(n, "  key%d: v\n") + "  containers: [{name: a, image: x}]\n"
	}
}

func many(n int, format string) string {
	var out bytes.Buffer
	for i := range n {
		fmt.Fprintf(&out, format, i)
	}
	return out.String()
}

// laughs returns YAML whose aliases double at each of 40 levels ("billion laughs").
func laughs() string { return head + "data:\n  a0: &a0 [lol, lol]\n" + levels(40) }

func levels(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "  a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	return out.String()
}

// podLaughs returns such YAML in a field that rules read, among a pod's containers.
func podLaughs() string {
	return podHead + "  a0: &a0 [{name: c, image: x}, {name: d, image: x}]\n" + levels(40) + "  containers: *a40\n"
}

func merges() string {
	var out strings.Builder
	out.WriteString(podHead + "  containers: [{name: c, image: x}]\n  m0: &m0 {a: b}\n")
	for i := range 60 {
		fmt.Fprintf(&out, "  m%d: &m%d {<<: [*m%d, *m%d], k%d: v}\n", i+1, i+1, i, i, i)
	}
	return out.String() + "  securityContext: *m60\n"
}

func aliases() string {
	return podHead + "  a: &a {name: MODE, value: x}\n  containers:\n  - name: c\n    image: x\n    env: [" +
		strings.Repeat("*a, ", 100_000) + "]\n"
}

func indented() string {
	var out strings.Builder
	out.WriteString(head + "data:\n")
	for i := range 2000 {
		out.WriteString(strings.Repeat(" ", i+1) + "a:\n")
	}
	return out.String()
}

func lists() string {
	return strings.Repeat(`{"apiVersion":"v1","kind":"List","items":[`, 20) + strings.Repeat("]}", 20)
}

func noise() []byte {
	random := rand.NewChaCha8([32]byte{1})
	out := make([]byte, 8*MiB)
	_, _ = random.Read(out) // it never fails
	return out
}
