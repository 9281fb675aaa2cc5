package app

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/util/jsonpath"

	"casement.dev/casement/internal/input"
	"casement.dev/casement/internal/terminal"
)

// Templates are the prefixes of the output formats with a template, or with a file that contains one.
var Templates = []string{"jsonpath=", "jsonpath-file=", "go-template=", "go-template-file=", "custom-columns=", "custom-columns-file="}

// templated returns the printer of a format with a template, which may be in a file; nil for other formats.
func templated(format string) (printers.ResourcePrinter, error) {
	kind, template, found := strings.Cut(format, "=")
	if !found {
		return nil, nil
	}
	kind, ofFile := strings.CutSuffix(kind, "-file")
	if ofFile {
		data, err := input.File(template, input.Small)
		if err != nil {
			return nil, fmt.Errorf("read the template of -o %s-file: %w", kind, err)
		}
		template = strings.TrimRight(string(data), "\n")
	}
	switch kind {
	case "jsonpath":
		return printers.NewJSONPathPrinter(template)
	case "go-template":
		return printers.NewGoTemplatePrinter([]byte(template))
	case "custom-columns":
		if ofFile {
			return columnsOfFile(template)
		}
		return newColumns(template)
	}
	return nil, nil
}

// column is one column of a table that the user specifies, as in kubectl's -o custom-columns.
type column struct {
	header string
	path   *jsonpath.JSONPath
}

// columns prints an object, or each item of a list, as a row.
type columns []column

// newColumns parses HEADER:PATH,HEADER:PATH; a path may omit the braces and the first dot: {.name}, .name or name.
func newColumns(spec string) (columns, error) {
	var out columns
	for part := range strings.SplitSeq(spec, ",") {
		header, path, found := strings.Cut(part, ":")
		if !found || header == "" || path == "" {
			return nil, fmt.Errorf("custom-columns: %q is not HEADER:PATH", part)
		}
		if !strings.HasPrefix(path, "{") {
			path = "{." + strings.TrimPrefix(path, ".") + "}"
		}
		p := jsonpath.New(header).AllowMissingKeys(true)
		if err := p.Parse(path); err != nil {
			return nil, fmt.Errorf("custom-columns: the path of %s: %w", header, err)
		}
		out = append(out, column{header, p})
	}
	return out, nil
}

// columnsOfFile reads a line of headers and a line of paths.
func columnsOfFile(text string) (columns, error) {
	lines := bufio.NewScanner(strings.NewReader(text))
	var rows [][]string
	for lines.Scan() {
		rows = append(rows, strings.Fields(lines.Text()))
	}
	if len(rows) != 2 || len(rows[0]) != len(rows[1]) || len(rows[0]) == 0 {
		return nil, fmt.Errorf("custom-columns-file: the file has to hold a line of headers and a line with as many paths")
	}
	var parts []string
	for i := range rows[0] {
		parts = append(parts, rows[0][i]+":"+rows[1][i])
	}
	return newColumns(strings.Join(parts, ","))
}

// PrintObj writes the table.
func (c columns) PrintObj(object runtime.Object, out io.Writer) error {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("custom-columns: %T has no fields", object)
	}
	rows := []any{u.Object}
	if items, ok := u.Object["items"].([]any); ok {
		rows = items
	}
	w := terminal.NewTable(out, 0)
	headers := make([]string, len(c))
	for i := range c {
		headers[i] = c[i].header
	}
	fmt.Fprintln(w, strings.Join(headers, "\t"))
	for _, row := range rows {
		cells := make([]string, len(c))
		for i := range c {
			var cell bytes.Buffer
			if err := c[i].path.Execute(&cell, row); err != nil || cell.Len() == 0 {
				cell.Reset()
				cell.WriteString("<none>")
			}
			cells[i] = cell.String()
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}
