package flavors

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
)

// judge compares Fill with clusterctl's processor, which defines the meaning of a template. Fill may only be stricter
// by its MissingError.
func judge(t *testing.T, template string, lookup func(string) (string, bool)) {
	t.Helper()
	want, refused := yamlprocessor.NewSimpleProcessor().Process([]byte(template), func(name string) (string, error) {
		if v, ok := lookup(name); ok {
			return v, nil
		}
		return "", fmt.Errorf("%s has no value", name)
	})
	got, _, err := Fill([]byte(template), lookup)
	_, missing := errors.AsType[*MissingError](err)
	switch {
	case err == nil && refused != nil:
		t.Errorf("%q is filled with %q, and clusterctl refuses it: %v", template, got, refused)
	case err != nil && refused == nil && !missing:
		t.Errorf("%q is refused, and clusterctl fills it with %q: %v", template, want, err)
	case err == nil && !bytes.Equal(got, want):
		t.Errorf("%q is filled with %q, and by clusterctl with %q", template, got, want)
	}
}

// TestClusterctl compares Fill with clusterctl for every flavor and class.
func TestClusterctl(t *testing.T) {
	templates := map[string][]byte{}
	for _, name := range List() {
		template, err := Get(name)
		if err != nil {
			t.Fatal(err)
		}
		templates[name] = template
	}
	class, err := Class()
	if err != nil {
		t.Fatal(err)
	}
	templates["the class"] = class
	for name, template := range templates {
		t.Run(name, func(t *testing.T) {
			judge(t, string(template), values())
			judge(t, string(template), func(string) (string, bool) { return "", false })
		})
	}
}
