package cli

import (
	"encoding/json"
	"text/tabwriter"

	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/terminal"
)

// print writes v as json or yaml, or calls table for a table.
func (a *app) print(format string, v any, table func(*tabwriter.Writer)) error {
	switch format {
	case "json":
		enc := json.NewEncoder(a.data())
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
		_, err = a.data().Write(data)
		return err
	case "table", "wide", "":
		w := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', 0)
		table(w)
		return w.Flush()
	default:
		return usagef("unknown output format %q: use table, wide, json or yaml", format)
	}
}
