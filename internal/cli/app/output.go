package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/terminal"
)

// Print writes v as JSON or YAML, or calls table to write a table.
func (a *App) Print(format string, v any, table func(io.Writer)) error {
	switch format {
	case "json":
		enc := json.NewEncoder(a.Data())
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	case "yaml":
		data, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if data, err = yaml.JSONToYAML([]byte(terminal.Escape(string(data)))); err != nil {
			return err
		}
		_, err = a.Data().Write(data)
		return err
	case "table", "wide", "":
		width := a.Width(0)
		if format == "wide" {
			width = 0
		}
		w := terminal.NewTable(a.Out, width)
		table(w)
		return w.Flush()
	case "name":
		return a.printNames(v)
	default:
		if printer, err := templated(format); printer != nil || err != nil {
			return a.printBy(printer, err, v)
		}
		return Usagef("unknown output format %q: use table, wide, json or yaml", format)
	}
}

// nameFields are the fields that identify an item to other commands, the most specific first.
var nameFields = []string{"urn", "id", "name", "action"}

// printNames prints the name of each item of v, and of the items in it, as -o name does.
func (a *App) printNames(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var items []map[string]any
	if err := json.Unmarshal(data, &items); err != nil {
		items = make([]map[string]any, 1)
		if err := json.Unmarshal(data, &items[0]); err != nil {
			return err
		}
	}
	for _, item := range items {
		if err := a.printName(item); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) printName(item map[string]any) error {
	name := ""
	for _, field := range nameFields {
		if text, ok := item[field].(string); ok && name == "" {
			name = text
		}
	}
	if kind, ok := item["kind"].(string); ok && item["id"] == nil {
		name = strings.ToLower(kind) + "/" + name
	}
	if _, err := fmt.Fprintln(a.Data(), name); err != nil {
		return err
	}
	children, _ := item["children"].([]any)
	for _, child := range children {
		if below, ok := child.(map[string]any); ok {
			if err := a.printName(below); err != nil {
				return err
			}
		}
	}
	return nil
}

// printBy prints v with a printer. A list is printed as an object with items, as kubectl prints lists.
func (a *App) printBy(printer printers.ResourcePrinter, err error, v any) error {
	if err != nil {
		return UsageError{err}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &object.Object); err != nil {
		var items []any
		if err := json.Unmarshal(data, &items); err != nil {
			return err
		}
		object.Object = map[string]any{"items": items}
	}
	var out bytes.Buffer
	if err := printer.PrintObj(object, &out); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.Data(), strings.TrimRight(out.String(), "\n"))
	return err
}

// Sentence joins the lines and list items of a message into one line.
func Sentence(message string) string {
	var out string
	for line := range strings.Lines(message) {
		line = strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(line), "* "), ": * ", ": ")
		switch {
		case line == "":
		case out == "":
			out = line
		case strings.HasSuffix(out, ":"):
			out += " " + line
		default:
			out += "; " + line
		}
	}
	return out
}

func Rounded(start time.Time) string { return time.Since(start).Round(100 * time.Millisecond).String() }

func Names[T any](all []T, name func(T) string) []string {
	out := make([]string, len(all))
	for i := range all {
		out[i] = name(all[i])
	}
	return out
}
