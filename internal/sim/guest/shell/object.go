package shell

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// object is what goes through a pipeline of PowerShell: a line of text, or fields
// with names.
type object struct {
	// kind is the type's name, which has default columns; empty for text.
	kind   string
	text   string
	fields []property
}

// property is a string, an int, a bool, or a list of strings.
type property struct {
	name  string
	value any
}

// columns are those that are shown of a kind unless others are asked for.
var columns = map[string][]string{
	"service":     {"Status", "Name", "DisplayName"},
	"process":     {"Id", "ProcessName"},
	"file":        {"Mode", "LastWriteTime", "Length", "Name"},
	"hnsnetwork":  {"Name", "Type", "ManagementIP"},
	"adapter":     {"Name", "InterfaceDescription", "ifIndex", "Status", "MacAddress", "LinkSpeed"},
	"ip":          {"IPAddress", "InterfaceAlias", "PrefixLength", "AddressFamily"},
	"hnsendpoint": {"Name", "State"},
	"connection":  {"LocalAddress", "LocalPort", "State"},
	"volume":      {"DriveLetter", "FileSystemType", "HealthStatus", "SizeRemaining", "Size"},
}

func texts(text string) []object {
	var out []object
	for line := range strings.Lines(text) {
		out = append(out, object{text: strings.TrimRight(line, "\r\n")})
	}
	return out
}

// get is a property by name in any case; $_ itself is the empty name.
func (o object) get(name string) (any, bool) {
	if name == "" {
		return o.String(), true
	}
	for _, f := range o.fields {
		if strings.EqualFold(f.name, name) {
			return f.value, true
		}
	}
	if o.kind == "" && strings.EqualFold(name, "Length") {
		return len(o.text), true
	}
	return nil, false
}

// String is how an object reads as text: a service or file by its name.
func (o object) String() string {
	if o.kind == "" {
		return o.text
	}
	for _, name := range []string{"Name", "ProcessName", "IPAddress"} {
		if v, ok := o.get(name); ok {
			return show(v)
		}
	}
	return o.kind
}

func show(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case []string:
		return "{" + strings.Join(v, ", ") + "}"
	}
	return fmt.Sprint(v)
}

// pick keeps some fields, in their order there.
func (o object) pick(names []string) object {
	out := object{kind: "selected"}
	for _, n := range names {
		if n == "*" {
			out.fields = append(out.fields, o.fields...)
			continue
		}
		v, _ := o.get(n)
		name := n
		for _, f := range o.fields {
			if strings.EqualFold(f.name, n) {
				name = f.name
			}
		}
		out.fields = append(out.fields, property{name, v})
	}
	return out
}

// render is how objects are printed that nothing else formats: text as it is, few
// columns as a table and many as a list.
func render(list []object) string {
	if len(list) == 0 {
		return ""
	}
	if list[0].kind == "" {
		var out strings.Builder
		for _, o := range list {
			out.WriteString(o.text + "\r\n")
		}
		return out.String()
	}
	names := defaultColumns(list[0])
	if len(list[0].fields) > 4 && columns[list[0].kind] == nil {
		return asList(list, names)
	}
	return asTable(list, names, true)
}

func defaultColumns(o object) []string {
	if c := columns[o.kind]; c != nil {
		return c
	}
	var out []string
	for _, f := range o.fields {
		out = append(out, f.name)
	}
	return out
}

func asTable(list []object, names []string, heads bool) string {
	var rows [][]string
	if heads {
		dashes := make([]string, len(names))
		for i, n := range names {
			dashes[i] = strings.Repeat("-", len(n))
		}
		rows = append(rows, names, dashes)
	}
	for _, o := range list {
		row := make([]string, len(names))
		for i, n := range names {
			v, _ := o.get(n)
			row[i] = show(v)
		}
		rows = append(rows, row)
	}
	widths := make([]int, len(names))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], len(cell))
		}
	}
	out := strings.Builder{}
	out.WriteString("\r\n")
	for _, r := range rows {
		line := ""
		for i, cell := range r {
			line += fmt.Sprintf("%-*s ", widths[i], cell)
		}
		out.WriteString(strings.TrimRight(line, " ") + "\r\n")
	}
	out.WriteString("\r\n")
	return out.String()
}

func asList(list []object, names []string) string {
	width := 0
	for _, n := range names {
		width = max(width, len(n))
	}
	var out strings.Builder
	for _, o := range list {
		out.WriteString("\r\n")
		for _, n := range names {
			v, _ := o.get(n)
			fmt.Fprintf(&out, "%-*s : %s\r\n", width, n, show(v))
		}
	}
	out.WriteString("\r\n")
	return out.String()
}

// asJSON is ConvertTo-Json: one object bare, several as an array.
func asJSON(list []object, compress bool) string {
	var all []any
	for _, o := range list {
		if o.kind == "" {
			all = append(all, o.text)
			continue
		}
		all = append(all, ordered(o.fields))
	}
	var v any = all
	if len(all) == 1 {
		v = all[0]
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error() // fields are plain
	}
	if compress {
		return string(data)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "    "); err != nil {
		return err.Error() // it was just written
	}
	return out.String()
}

// ordered is an object whose JSON keeps the order of its fields.
type ordered []property

// MarshalJSON implements json.Marshaler.
func (f ordered) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	for i, one := range f {
		value, err := json.Marshal(one.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%s%q:%s", map[bool]string{true: "{", false: ","}[i == 0], one.name, value)
	}
	if len(f) == 0 {
		out.WriteByte('{')
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// compareValues orders numbers as numbers and all else as text in any case.
func compareValues(a, b any) int {
	x, errX := strconv.ParseFloat(show(a), 64)
	y, errY := strconv.ParseFloat(show(b), 64)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(strings.ToLower(show(a)), strings.ToLower(show(b)))
}

func sortObjects(list []object, by string, descending bool) {
	slices.SortStableFunc(list, func(a, b object) int {
		x, _ := a.get(by)
		y, _ := b.get(by)
		if descending {
			x, y = y, x
		}
		return compareValues(x, y)
	})
}
