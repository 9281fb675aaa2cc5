package userdata

import (
	"context"
	"os"
	"strings"
	"testing"
)

// TestTemplatesAreBounded checks that no template ends or exhausts the process of the guests.
func TestTemplatesAreBounded(t *testing.T) {
	for name, c := range map[string]struct{ template, bound string }{
		"recursion": {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "calls itself too deep"},
		"memory":    {"{{ 'a' * 2000000000 }}", "needs more than"},
		"a range":   {"{% for i in range(1000000000) %}{{ i }}{% endfor %}", "needs more than"},
		"output":    {"{% set x = 'a' * 1000000 %}" + strings.Repeat("{{ x }}", 20), "renders to more than"},
		"nested loop": {
			"{% for i in range(100000) %}{% for j in range(100000) %}{% set x = i * j %}{% endfor %}{% endfor %}",
			"needs more than",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Render(t.Context(), []byte(c.template), instance())
			if !IsLimit(err) || !strings.Contains(err.Error(), c.bound) {
				t.Errorf("error %v does not name %q", err, c.bound)
			}
		})
	}
}

// TestRenderApart checks that a template renders the same in a separate process.
func TestRenderApart(t *testing.T) {
	for _, template := range []string{"a\n", "{{ ds.meta_data.local_hostname }}\n\n", "{{ nothing }}",
		"x {# c #} y", "{{ ds.nope.x }}", "{{ 'x' | nope }}", "{% raw %}{{ a }}{% endraw %}"} {
		here, errHere := renderHere([]byte(template), instance())
		apart, errApart := renderApart(t.Context(), []byte(template), instance())
		if string(here) != string(apart) || (errHere == nil) != (errApart == nil) || errHere != nil && errHere.Error() != errApart.Error() {
			t.Errorf("%q: %q, %v here and %q, %v apart", template, here, errHere, apart, errApart)
		}
	}
}

// TestRenderEndsWithItsContext checks that a guest that is deleted does not wait for its template.
func TestRenderEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Render(ctx, []byte("{% for i in range(1000000000) %}{% endfor %}"), instance()); err != context.Canceled {
		t.Errorf("error %v", err)
	}
}

// TestBootstrapDataIsPlain checks that the documents of Cluster API are rendered without a separate process.
func TestBootstrapDataIsPlain(t *testing.T) {
	for _, name := range []string{"linux-join", "windows-join"} {
		data, err := os.ReadFile("../testdata/" + name + ".cloudcfg")
		if err != nil {
			t.Fatal(err)
		}
		_, template, ok := Marker(data)
		if !ok || !isPlain(string(template)) {
			t.Errorf("%s renders in a process of its own", name)
		}
	}
}

func TestPlain(t *testing.T) {
	for template, want := range map[string]bool{
		"#cloud-config\nx: {{ ds.meta_data.local_hostname }}\n": true,
		"{{ ds.meta_data['local_hostname'] }} {# c #}":          true,
		"no template at all":    true,
		"{{ a * 2 }}":           false,
		"{{ f() }}":             false,
		"{{ a | upper }}":       false,
		"{% if a %}{% endif %}": false,
		"{{ range }}{{":         false,
	} {
		if got := isPlain(template); got != want {
			t.Errorf("%q: %v", template, got)
		}
	}
}
