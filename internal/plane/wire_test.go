package plane

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/golden"
)

// TestWireTypes compares the JSON fields of a plane's status with testdata/status.txt, so that a removed or changed
// field shows in the diff: `casement status -o json` prints them and commands of other versions read them.
func TestWireTypes(t *testing.T) {
	var lines []string
	var walk func(path string, typ reflect.Type)
	walk = func(path string, typ reflect.Type) {
		for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, typ.Kind()) {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() {
			lines = append(lines, fmt.Sprintf("%s\t%s", strings.TrimPrefix(path, "."), typ.Kind()))
			return
		}
		for field := range typ.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case field.Anonymous:
				walk(path, field.Type)
			case !field.IsExported() || name == "-":
			case name == "" || strings.ToLower(name[:1]) != name[:1]:
				t.Errorf("%s.%s has the name %q in JSON", typ, field.Name, name)
			default:
				walk(path+"."+name, field.Type)
			}
		}
	}
	walk("", reflect.TypeFor[Status]())
	golden.Compare(t, "testdata/status.txt", []byte(strings.Join(lines, "\n")+"\n"))
}
