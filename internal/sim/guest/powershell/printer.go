package powershell

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// printer shows what nothing else takes, as the console does: text line by line, objects
// of one kind together as a table or a list.
type printer struct {
	r       *run
	to      io.Writer
	pending []*object
}

func (p *printer) writer() io.Writer {
	if p.to != nil {
		return p.to
	}
	return p.r.session.Stdout
}

// put implements sink.
func (p *printer) put(v any) error {
	if o, ok := v.(*object); ok && !asText(o) {
		if o.closed && o.shown == nil {
			return lacking("the display of %s; choose properties with Select-Object or Format-List", o.kind)
		}
		if len(p.pending) > 0 && (p.pending[0].kind != o.kind || len(p.pending) > 10000) {
			p.flush()
		}
		p.pending = append(p.pending, o)
		return nil
	}
	p.flush()
	s, err := p.r.shown(v)
	if err != nil {
		return err
	}
	fmt.Fprint(p.writer(), s)
	return p.r.ctx.Err()
}

func (p *printer) flush() {
	list := p.pending
	p.pending = nil
	if len(list) == 0 {
		return
	}
	fmt.Fprint(p.writer(), render(list))
}

// asText reports objects that are shown as a line.
func asText(o *object) bool {
	switch o.kind {
	case "System.Version", kindIPAddress, kindMatch, kindUri, kindFormatted, kindBuilder,
		"System.Management.Automation.ErrorDetails", "System.Text.RegularExpressions.Regex",
		"System.Management.Automation.WarningRecord", "System.Management.Automation.VerboseRecord",
		"System.Management.Automation.DebugRecord", "System.Management.Automation.InformationRecord",
		"System.Management.Automation.HostInformationMessage":
		return true
	}
	return false
}

// listed are kinds that are shown as a list.
var listed = map[string]bool{"NetworkTestResults": true}

// shown returns a value that is no object, as the console prints it.
func (r *run) shown(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case time.Time:
		return "\r\n" + v.Format("Monday, January 2, 2006 3:04:05 PM") + "\r\n\r\n", nil
	case *hashtable:
		var rows []*object
		for _, k := range v.keys {
			value, _ := v.get(k)
			rows = append(rows, custom(field{"Name", k}, field{"Value", value}))
		}
		return render(rows), nil
	case *failure:
		return v.printed(), nil
	case *array:
		var b strings.Builder
		p := &printer{r: r, to: &b}
		for _, item := range v.items {
			if err := p.put(item); err != nil {
				return "", err
			}
		}
		p.flush()
		return b.String(), nil
	case *object:
		if v.kind == kindFormatted {
			s, _ := v.get("text")
			return text(s), nil
		}
		return text(versionText(v)) + "\r\n", nil
	case typeValue:
		return typeName(v.name) + "\r\n", nil
	}
	s, err := r.text(v)
	return s + "\r\n", err
}

// render formats objects for which there is no format: as a table if they have few
// properties, otherwise as a list.
func render(list []*object) string {
	if len(list) == 0 {
		return ""
	}
	names := list[0].shown
	if listed[list[0].kind] {
		return asList(list, names)
	}
	if names == nil {
		for _, f := range list[0].fields {
			names = append(names, f.name)
		}
		if len(names) > 4 {
			return asList(list, nil)
		}
	}
	return asTable(list, names, true)
}

// cellText returns a value in a table or a list.
func cellText(v any) string {
	switch v := v.(type) {
	case *array, []byte:
		items := listOf(v)
		parts := []string{}
		for i, item := range items {
			if i == 4 {
				parts[3] += "..."
				break
			}
			parts = append(parts, text(item))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case *hashtable:
		parts := []string{}
		for _, k := range v.keys {
			parts = append(parts, text(k))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case time.Time:
		return v.Format("1/2/2006 3:04:05 PM")
	case *object:
		return text(versionText(v))
	}
	return text(v)
}

func listOf(v any) []any { return list(v) }

// columnWidths are the column widths of PowerShell's built-in table formats.
var columnWidths = map[string]int{kindService + ".Status": 8, kindService + ".Name": 18, kindFile + ".Mode": 6, kindFile + ".Length": 14}

func asTable(list []*object, names []string, heads bool) string {
	var rows [][]string
	if heads {
		dashes := make([]string, len(names))
		for i, n := range names {
			dashes[i] = strings.Repeat("-", utf8.RuneCountInString(n))
		}
		rows = append(rows, names, dashes)
	}
	right := make([]bool, len(names))
	widths := make([]int, len(names))
	for i, n := range names {
		v, _ := list[0].get(n)
		switch v.(type) {
		case int64, float64, sized, decimal, bool, char, time.Duration:
			right[i] = true
		}
		widths[i] = columnWidths[list[0].kind+"."+n]
	}
	for _, o := range list {
		row := make([]string, len(names))
		for i, n := range names {
			v, _ := o.get(n)
			row[i] = cellText(v)
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var out strings.Builder
	out.WriteString("\r\n")
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			fill := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if right[i] {
				line += fill + cell + " "
			} else {
				line += cell + fill + " "
			}
		}
		out.WriteString(strings.TrimRight(line, " ") + "\r\n")
	}
	out.WriteString("\r\n")
	return out.String()
}

func asList(list []*object, names []string) string {
	var out strings.Builder
	for _, o := range list {
		shown := names
		if shown == nil {
			for _, f := range o.fields {
				shown = append(shown, f.name)
			}
		}
		width := 0
		for _, n := range shown {
			width = max(width, utf8.RuneCountInString(n))
		}
		out.WriteString("\r\n")
		for _, n := range shown {
			v, _ := o.get(n)
			fmt.Fprintf(&out, "%-*s : %s\r\n", width, n, cellText(v))
		}
	}
	out.WriteString("\r\n")
	return out.String()
}
