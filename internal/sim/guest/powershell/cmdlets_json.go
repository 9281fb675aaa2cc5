package powershell

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

func convertToJSON(c *call) error {
	depth, err := c.integerOf("depth", 2)
	if err != nil {
		return err
	}
	var v any
	switch {
	case !c.piped:
		v = c.given["inputobject"]
	case len(c.input) == 1:
		v = c.input[0]
	default:
		v = newArray(c.input...)
	}
	v, err = c.computedMembers(v)
	if err != nil {
		return err
	}
	left := maxValue
	if !measure(v, &left, 0) {
		return c.take(maxValue + 1)
	}
	for _, one := range append(list(v), v) {
		if o, ok := one.(*object); ok && isFormatted(o) || isCode(one) {
			return lacking("ConvertTo-Json of %s", kindOf(one))
		}
	}
	var b strings.Builder
	writeJSON(&b, v, min(depth, maxLevels), 0, c.is("compress"))
	return c.emit(b.String())
}

// isCode reports whether a value is a script block, a type or a formatted object, whose properties are not simulated.
func isCode(v any) bool {
	switch v := v.(type) {
	case function, typeValue:
		return true
	case *object:
		return isFormatted(v)
	}
	return false
}

// writeJSON writes a value in the format of Windows PowerShell's ConvertTo-Json: two blanks after a colon, and
// nested values indented by four columns more than the position of their name.
func writeJSON(b *strings.Builder, v any, depth, indent int, compress bool) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
		return
	case bool:
		fmt.Fprintf(b, "%t", v)
		return
	case int64:
		fmt.Fprintf(b, "%d", v)
		return
	case sized, decimal:
		b.WriteString(text(v))
		return
	case enumMember:
		fmt.Fprintf(b, "%d", v.n)
		return
	case float64:
		if s := number(v); !strings.ContainsAny(s, "IN") {
			if !strings.ContainsAny(s, ".E") {
				s += ".0"
			}
			b.WriteString(s)
			return
		}
	case time.Time:
		fmt.Fprintf(b, `"\/Date(%d)\/"`, v.UnixMilli())
		return
	case []byte:
		writeJSON(b, newArray(list(v)...), depth, indent, compress)
		return
	case *array:
		if depth < 0 {
			break
		}
		writeItems(b, "[", "]", len(v.items), indent, compress, func(i, in int) { writeJSON(b, v.items[i], depth-1, in, compress) })
		return
	case *hashtable, *object:
		if depth < 0 {
			break
		}
		names, values := namesAndValues(v)
		if names == nil && values == nil {
			break
		}
		writeItems(b, "{", "}", len(names), indent, compress, func(i, in int) {
			b.WriteString(quoteJSON(names[i]) + ":")
			if !compress {
				b.WriteString("  ")
			}
			writeJSON(b, values[i], depth-1, in+len(names[i])+5, compress)
		})
		return
	}
	b.WriteString(quoteJSON(text(v)))
}

// namesAndValues returns the names and values of an object's or hashtable's properties; both are nil for an object that
// is written as a text.
func namesAndValues(v any) ([]string, []any) {
	names, values := []string{}, []any{}
	switch v := v.(type) {
	case *hashtable:
		for k, value := range v.all() {
			names, values = append(names, text(k)), append(values, value)
		}
	case *object:
		if asText(v) || v.kind == kindUri {
			return nil, nil
		}
		members := v.members()
		if v.kind == kindIPAddress { // the property that PowerShell adds to the type is the last one in JSON
			members = append(members[1:], members[0])
		}
		for _, f := range members {
			names, values = append(names, f.name), append(values, f.value)
		}
	}
	return names, values
}

// writeItems writes the items of a JSON array or object between open and shut. one writes an item.
func writeItems(b *strings.Builder, open, shut string, n, indent int, compress bool, one func(i, indent int)) {
	b.WriteString(open)
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		if !compress {
			b.WriteString("\r\n" + strings.Repeat(" ", indent+4))
		}
		one(i, indent+4)
	}
	if !compress {
		b.WriteString("\r\n" + strings.Repeat(" ", indent))
		if n == 0 {
			b.WriteString("")
		}
	}
	b.WriteString(shut)
}

// quoteJSON returns a text as a JSON string, with the escapes of Windows PowerShell.
func quoteJSON(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < 0x20, c == '<', c == '>', c == '\'', c == '&':
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func convertFromJSON(c *call) error {
	parts := inputTexts(c.objects("inputobject"))
	if len(parts) > 1 { // if the first line is a document, each line is one
		if _, err := c.fromJSON([]byte(parts[0])); failed(err) != nil {
			parts = []string{strings.Join(parts, "\n")}
		} else if err != nil {
			return err
		}
	}
	for _, s := range parts {
		if strings.TrimSpace(s) == "" {
			if err := c.emit(nil); err != nil {
				return err
			}
			continue
		}
		v, err := c.fromJSON([]byte(s))
		if err != nil {
			return err
		}
		if err := c.emit(v); err != nil {
			return err
		}
	}
	return nil
}

// fromJSON returns the value of a JSON document.
func (r *run) fromJSON(data []byte) (any, error) {
	if err := r.take(4 * len(data)); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := readJSON(d, 0)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("more text follows")
		}
	}
	if _, twice := err.(caseConflict); twice { // this error is never wrapped
		return nil, broken("System.InvalidOperationException", "DuplicateKeysInJsonString", "%s", err.Error())
	}
	if err != nil {
		f := broken("System.ArgumentException", "System.ArgumentException", "Invalid JSON primitive: %v.", err)
		f.stops = true
		return nil, f
	}
	return v, nil
}

// caseConflict are two names of an object's members that differ only in case.
type caseConflict [2]string

// Error returns the message of ConvertFrom-Json.
func (t caseConflict) Error() string {
	return fmt.Sprintf("Cannot convert the JSON string because a dictionary that was converted from the string contains the duplicated keys "+
		"'%s' and '%s'.", t[0], t[1])
}

// readJSON reads a value. Members keep their order.
func readJSON(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		if depth > maxDepth {
			return nil, errors.New("it is nested too deep")
		}
		if t == '[' {
			out := newArray()
			for d.More() {
				v, err := readJSON(d, depth+1)
				if err != nil {
					return nil, err
				}
				out.items = append(out.items, v)
			}
			_, err := d.Token()
			return out, err
		}
		o := custom()
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := readJSON(d, depth+1)
			if err != nil {
				return nil, err
			}
			name := fmt.Sprint(key)
			if i := slices.IndexFunc(o.fields, func(f field) bool { return strings.EqualFold(f.name, name) }); i >= 0 && o.fields[i].name != name {
				return nil, caseConflict{o.fields[i].name, name}
			}
			o.set(name, v)
		}
		_, err := d.Token()
		return o, err
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return n, nil
		}
		return t.Float64()
	}
	return t, nil
}
