package v1beta1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestFieldComments: the comment of each field begins with its JSON name, the name that `kubectl explain`
// shows beside it.
func TestFieldComments(t *testing.T) {
	files, err := filepath.Glob("*_types.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files with types: %v", err)
	}
	checked := 0
	for _, name := range files {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok || field.Tag == nil || field.Doc == nil {
				return true
			}
			tag, err := strconv.Unquote(field.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			json, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			text := field.Doc.Text()
			if json == "" || strings.HasPrefix(text, "+") {
				return true
			}
			checked++
			if !regexp.MustCompile(`^` + regexp.QuoteMeta(json) + `\b`).MatchString(text) {
				t.Errorf("%s: the comment begins with %q and not with %q", set.Position(field.Pos()), strings.Fields(text)[0], json)
			}
			return true
		})
	}
	if checked < 300 {
		t.Errorf("only %d fields were checked", checked)
	}
}
