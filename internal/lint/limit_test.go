package lint

import (
	"strings"
	"testing"
)

// TestTooMany: input that would need gigabytes when parsed is refused, and the documents before it are read.
func TestTooMany(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n---\n"
	dense := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ndata: [" + strings.Repeat("[],", 1<<20) + "]\n"
	set, errs := Parse("many.yaml", []byte(object+dense), Options{})
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "many.yaml:5") || len(set.Objects) != 1 {
		t.Errorf("%d objects, %v", len(set.Objects), errs)
	}
}
