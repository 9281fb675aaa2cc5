package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/lint/rules"
)

const plainPod = `apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {nodeSelector: {kubernetes.io/os: windows}, containers: [{name: c, image: i}]}
`

// bomb returns a document whose aliases expand to 9^n texts.
func bomb(n int) string {
	var b strings.Builder
	b.WriteString(plainPod + "a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 8), i-1)
	}
	return b.String()
}

// TestHostileDocuments: documents that expand to far more than their size, or that are deeply nested or numerous, are
// read or refused within the limits of the input.
func TestHostileDocuments(t *testing.T) {
	pod := "---\n" + strings.Replace(plainPod, "name: p", "name: p%d", 1)
	var documents strings.Builder
	const many = 100_000
	for i := range many {
		fmt.Fprintf(&documents, pod, i)
	}
	head := "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n" +
		"spec:\n  nodeSelector: {kubernetes.io/os: windows}\n  containers: "
	for name, c := range map[string]struct {
		text    string
		pods    int // -1 means any number
		refused bool
	}{
		"a bomb of aliases":            {bomb(9), 0, true},
		"a bomb of 60 levels":          {bomb(60), 0, true},
		"a bomb in the place of a pod": {strings.Replace(bomb(9), "apiVersion: v1", "kind2: v1", 1) + "metadata2: *a9\n", 0, true},
		"a container 10,000 times": {head + "[&c {name: c, image: i, env: [" + strings.Repeat("{name: a, value: b}, ", 10_000) + "]}" +
			strings.Repeat(", *c", 10_000) + "]\n", 0, true},
		"ordinary aliases":                {head + "[{name: c, image: i, env: &e [{name: a}]}, {name: d, image: i, env: *e}]\n", 1, false},
		"a bomb of lists":                 {lists(8), 0, true},
		"a bomb of merges":                {merges(60), 0, true},
		"an alias within itself":          {head + "&a [*a]\n", 0, true},
		"100,000 sequences in each other": {head + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "\n", -1, true},
		"100,000 mappings in each other":  {head + strings.Repeat("{a: ", 100_000) + strings.Repeat("}", 100_000) + "\n", -1, true},
		"100,000 in JSON":                 {`{"kind": "Pod", "spec": ` + strings.Repeat(`{"a":`, many) + strings.Repeat("}", many+1), -1, true},
		"nested blocks":                   {head + "\n" + blocks(2_000), -1, false},
		"100,000 documents":               {documents.String(), -1, true},
		"a million of empty documents":    {strings.Repeat("---\n", 1_000_000), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			set, errs := lint.Parse("x.yaml", []byte(c.text), lint.Options{})
			if len(errs) > 0 != c.refused || c.pods >= 0 && len(set.Pods) != c.pods {
				t.Errorf("%d pods and %d errors: %.200v", len(set.Pods), len(errs), errs)
			}
			lint.Run(set, rules.All(), lint.Target{})
		})
	}
}

// TestEndlessAlias: a value that contains itself is refused for that reason and at the alias, not for its size.
func TestEndlessAlias(t *testing.T) {
	for _, text := range []string{"a: &a [*a]\n", "a: &a {b: {c: *a}}\n", "a: &a\n  <<: *a\n"} {
		_, errs := lint.Parse("x.yaml", []byte("apiVersion: v1\nkind: Pod\n"+text), lint.Options{})
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), "*a is within what it names") {
			t.Errorf("%q: %v", text, errs)
		}
	}
}

// merges returns a pod with mappings of which each merges the previous one twice.
func merges(n int) string {
	var b strings.Builder
	b.WriteString(plainPod + "m0: &m0 {a: 1}\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "m%d: &m%d {<<: [*m%d, *m%d]}\n", i, i, i-1, i-1)
	}
	return b.String() + fmt.Sprintf("labels: *m%d\n", n)
}

// blocks returns nested block mappings.
func blocks(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i+4) + "a:\n")
	}
	return b.String()
}

// lists returns lists of aliases of lists, which contain 9^n pods.
func lists(n int) string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: List\nl0: &l0 {apiVersion: v1, kind: Pod, metadata: {name: p}, " +
		"spec: {nodeSelector: {kubernetes.io/os: windows}, containers: [{name: c, image: i}]}}\n")
	for i := 1; i < n; i++ {
		before := strings.Repeat(fmt.Sprintf("*l%d, ", i-1), 9)
		fmt.Fprintf(&b, "l%d: &l%d {apiVersion: v1, kind: List, items: [%s]}\n", i, i, before)
	}
	return b.String() + fmt.Sprintf("items: [%s*l%d]\n", strings.Repeat(fmt.Sprintf("*l%d, ", n-1), 8), n-1)
}
