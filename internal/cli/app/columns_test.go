package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTemplates(t *testing.T) {
	file := filepath.Join(t.TempDir(), "columns")
	if err := os.WriteFile(file, []byte("NAME  AGE\nname  {.age}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	type row struct {
		Name string `json:"name"`
		Age  *int   `json:"age,omitempty"`
	}
	list := []row{{"a", new(3)}, {"bcd", nil}}
	for name, c := range map[string]struct {
		format, want string
		v            any
	}{
		"jsonpath":      {"jsonpath={.items[*].name}", "a bcd\n", list},
		"go-template":   {"go-template={{range .items}}{{.name}};{{end}}", "a;bcd;\n", list},
		"columns":       {"custom-columns=NAME:.name,AGE:age", "NAME  AGE\na     3\nbcd   <none>\n", list},
		"one object":    {"custom-columns=NAME:{.name}", "NAME\na\n", list[0]},
		"columns file":  {"custom-columns-file=" + file, "NAME  AGE\na     3\nbcd   <none>\n", list},
		"no path":       {"custom-columns=NAME", "not HEADER:PATH", list},
		"a wrong path":  {"custom-columns=NAME:{.name", "the path of NAME", list},
		"no file":       {"jsonpath-file=" + file + "x", "read the template", list},
		"not a format":  {"custom=x", "unknown output format", list},
		"only a prefix": {"jsonpath", "unknown output format", list},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			a := New(Streams{Out: &out})
			err := a.Print(c.format, c.v, nil)
			got := out.String()
			if err != nil {
				got = err.Error()
			}
			if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
