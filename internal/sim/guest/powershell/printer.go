package powershell

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// lineWidth is the number of characters in a line of a console with 80 columns.
const lineWidth = 79

// printer writes the output of a script as the console shows it (about_Format.ps1xml): texts as lines, and
// objects together as a table or a list.
//
// The first object decides the view. If the view is made of the first object's properties, all later objects
// use it, even after a text. If it is the view of a type, objects of other types are shown as lists.
//
// A table whose first column has no fixed width, as in most views of system types, waits for its rows and the
// texts between them, until the output ends or a row arrives after 300 milliseconds. A script that exit or an
// error ends loses the waiting rows.
type printer struct {
	r    *run
	to   io.Writer
	view *view
	// rows are the objects that have not been written yet, and the texts between them.
	rows []any
	// since is the script's total time of waiting when the table began to wait.
	since time.Duration
}

// rowsWait is the time for which a table waits for its rows.
const rowsWait = 300 * time.Millisecond

// rendering returns the output of a Format cmdlet for a line width.
type rendering func(width int) string

// view describes how the console shows objects of a kind.
type view struct {
	kind  string
	names []string
	list  bool
	// fixed are the widths of columns that do not grow with their content.
	fixed map[string]int
	// widths and right are the widths and the alignment of the table's columns, once its head has been written.
	widths []int
	right  []bool
	// group is the line above the table, such as the folder of files.
	group string
	// room is the line width, or 0 for the console's.
	room int
	// headless omits the head of the table; wrapped breaks cells that are too wide.
	headless, wrapped bool
}

func (p *printer) writer() io.Writer {
	if p.to != nil {
		return p.to
	}
	return p.r.session.Stdout
}

// ownViews are the views of types that have columns of their own.
var ownViews = map[string]view{
	"System.Version": {names: []string{"Major", "Minor", "Build", "Revision"}, fixed: map[string]int{"Major": 6,
		"Minor": 6, "Build": 6, "Revision": 8}},
	"System.TimeSpan": {names: spanNames[:5]},
	"System.RuntimeType": {names: []string{"IsPublic", "IsSerial", "Name", "BaseType"},
		fixed: map[string]int{"IsPublic": 8, "IsSerial": 8, "Name": 40}},
	kindEntry:      {names: []string{"Name", "Value"}, fixed: map[string]int{"Name": 30}},
	kindGroupInfo:  {names: []string{"Count", "Name", "Group"}, fixed: map[string]int{"Count": 5, "Name": 25}},
	kindGroupCount: {names: []string{"Count", "Name"}, fixed: map[string]int{"Count": 5, "Name": 25}},
}

const (
	kindEntry  = "System.Collections.DictionaryEntry"
	kindMember = "Microsoft.PowerShell.Commands.MemberDefinition"
	// kindTextMeasure is the output of Measure-Object -Line, -Word and -Character.
	kindTextMeasure = "Microsoft.PowerShell.Commands.TextMeasureInfo"
	kindPair        = "System.Collections.Generic.KeyValuePair`2"
	kindGroupInfo   = "Microsoft.PowerShell.Commands.GroupInfo"
	// kindGroupCount is the output of Group-Object -NoElement.
	kindGroupCount = kindGroupInfo + "NoElement"
)

// defaultProperties are the properties that a list shows of objects whose type has no view for lists
// (types.ps1xml, DefaultDisplayPropertySet).
var defaultProperties = map[string]string{
	kindFile: "LastWriteTime Length Name", kindService: "Status Name DisplayName", kindProcess: "Id Handles CPU SI Name",
	"Microsoft.PowerShell.Commands.GenericMeasureInfo": "Count Average Sum Maximum Minimum Property",
	kindEntry: "Key Value Name", kindGroupInfo: "Name Count Group Values", kindGroupCount: "Name Count Values",
	"System.Version": "Major Minor Build Revision MajorRevision MinorRevision", "System.TimeSpan": strings.Join(spanParts.names(), " "),
}

// listedProperties returns the properties of an object that a list shows.
func listedProperties(o *object) ([]string, error) {
	if names, ok := defaultProperties[o.kind]; ok {
		return strings.Fields(names), nil
	}
	free := o.kind == kindUri || o.kind == kindIPAddress || o.kind == kindPair || o.kind == "NetworkTestResults"
	if o.closed && !free || o.shown == nil && o.kind != customKind {
		return nil, lacking("the list of the properties of %s; choose properties with Select-Object", o.kind)
	}
	names := o.shown
	if names == nil {
		for _, f := range o.fields {
			names = append(names, f.name)
		}
	}
	return names, nil
}

// autoKind is the kind of a view that is made of the properties of its first object.
const autoKind = "auto"

// displayed returns the objects that the console shows for a value, and their view. Without objects the value is shown as text.
func displayed(v any) ([]*object, view) {
	switch v := v.(type) {
	case *hashtable:
		if v.generic() {
			return v.entries(), view{kind: autoKind, names: []string{"Key", "Value"}}
		}
		return v.entries(), viewOf(kindEntry)
	case guid:
		return []*object{custom(field{"Guid", string(v)})}, view{kind: autoKind, names: []string{"Guid"}}
	case time.Duration:
		o := propertiesOf(v)
		o.kind = kindOf(v)
		return []*object{o}, view{kind: o.kind, names: spanNames, list: true}
	case typeValue:
		full := typeName(v.name)
		return []*object{{kind: "System.RuntimeType", fields: []field{{"IsPublic", true}, {"IsSerial", isSerial(v.name)},
			{"Name", full[strings.LastIndexByte(full, '.')+1:]}, {"BaseType", baseType(v.name)}}}}, viewOf("System.RuntimeType")
	case *object:
		switch {
		case v.kind == "System.Version", v.kind == kindEntry, v.kind == kindGroupInfo, v.kind == kindGroupCount:
			return []*object{v}, viewOf(v.kind)
		case asText(v):
			return nil, view{}
		case v.kind == kindBuilder:
			n := int64(len([]rune(text(v.read("text")))))
			room := int64(16)
			for room < n {
				room *= 2
			}
			return []*object{custom(field{"Capacity", room}, field{"MaxCapacity", int64(math.MaxInt32)}, field{"Length", n})},
				view{kind: autoKind, names: []string{"Capacity", "MaxCapacity", "Length"}}
		case v.shown != nil:
			kind, group := v.kind, ""
			switch kind {
			case kindUri, kindIPAddress, kindPair, kindRegex, kindTextMeasure: // these types have no view of their own
				kind = autoKind
			case kindFile, kindDirectory:
				kind, group = kindFile, "    Directory: "+parent(text(v.read("FullName")))
			case kindMember:
				group = "   TypeName: " + text(v.read("TypeName"))
			}
			return []*object{v}, view{kind: kind, names: v.shown, list: listed[v.kind], fixed: columnWidths[kind], group: group}
		}
		out := view{kind: autoKind}
		for _, f := range v.fields {
			out.names = append(out.names, f.name)
		}
		out.list = len(out.names) > 4
		return []*object{v}, out
	}
	return nil, view{}
}

// spanNames are the properties of a time span in the order of its view.
var spanNames = strings.Fields("Days Hours Minutes Seconds Milliseconds Ticks TotalDays TotalHours TotalMinutes TotalSeconds " +
	"TotalMilliseconds")

func viewOf(kind string) view {
	v := ownViews[kind]
	v.kind = kind
	return v
}

// isSerial returns the column IsSerial of a type's table.
func isSerial(key string) bool { return !strings.Contains(key, "pscustomobject") }

// baseType returns the base class of a type, which its table shows.
func baseType(key string) string {
	full := typeName(key)
	switch {
	case strings.HasSuffix(full, "[]"):
		return "System.Array"
	case strings.HasSuffix(full, "Exception") && full != "System.Exception":
		return typeName(baseOf(typeKey(full)))
	case isType(int64(0), key) || isValueType(key) || key == "bool" || key == "boolean" || key == "guid" || key == "decimal":
		return "System.ValueType"
	case enumerationTypes[key] != "":
		return "System.Enum"
	case full == kindFile || full == kindDirectory:
		return "System.IO.FileSystemInfo"
	}
	return "System.Object"
}

// put implements sink: it shows a value.
func (p *printer) put(v any) error {
	if o, ok := v.(*object); ok && o.wraps {
		v = o.read("text")
	}
	v, err := p.r.computedMembers(v)
	if err != nil {
		return err
	}
	rows, shown := displayed(v)
	if o, ok := v.(*object); ok && rows != nil && shown.kind == autoKind && o.closed && o.shown == nil && o.kind != kindBuilder {
		return lacking("the display of %s; choose properties with Select-Object or Format-List", o.kind)
	}
	if asLine(v) {
		kind := kindOf(v)
		switch {
		case p.view == nil:
			p.view = &view{kind: kind}
			return p.line(v)
		case p.view.kind == kind:
			return p.line(v)
		case p.view.kind != autoKind || p.view.list:
			return lacking("the list of the properties of %s; choose properties with Select-Object", kind)
		}
		o, isObject := v.(*object)
		if !isObject {
			o = system(kind, nil)
		}
		rows = []*object{o}
	}
	if p.view != nil && p.view.group != shown.group && p.view.kind == shown.kind {
		p.end()
	}
	switch {
	case rows == nil:
		return p.line(v)
	case p.view == nil:
		p.view = &shown
		p.view.room = p.r.width
		p.since = p.r.slept
	case p.view.kind == autoKind && p.view.list, p.view.kind != autoKind && p.view.kind != shown.kind:
		return p.putAsLists(rows)
	case len(p.rows) > 10000, p.r.slept-p.since > rowsWait:
		p.content()
	}
	for _, o := range rows {
		p.rows = append(p.rows, o)
	}
	if p.view.kind == autoKind && p.view.list {
		p.content()
	}
	return nil
}

// waits reports whether the table has rows and no widths yet, so that it takes texts among its rows.
func (p *printer) waits() bool {
	if p.view == nil || len(p.rows) == 0 || p.view.list || p.view.widths != nil {
		return false
	}
	return p.view.kind == autoKind || p.view.kind == kindMember || p.view.kind == kindPath
}

// write writes a text after the rows so far, or adds it to the rows of a waiting table.
func (p *printer) write(s string) error {
	if p.waits() {
		p.rows = append(p.rows, s)
		return p.r.take(len(s))
	}
	p.content()
	fmt.Fprint(p.writer(), s)
	return p.r.ctx.Err()
}

// asLine reports whether the type of a value has a view of one line.
func asLine(v any) bool {
	if _, ok := v.(time.Time); ok {
		return true
	}
	o, ok := v.(*object)
	return ok && o.kind == kindMatch
}

// putAsLists writes objects as lists that interrupt a table.
func (p *printer) putAsLists(rows []*object) error {
	for _, o := range rows {
		names, err := listedProperties(o)
		if err != nil {
			return err
		}
		if err := p.write(asList([]*object{o}, names, p.r.width)); err != nil {
			return err
		}
	}
	return nil
}

// line writes a value that is shown as text.
func (p *printer) line(v any) error {
	if a, ok := v.(*array); ok {
		for _, item := range a.items {
			if err := p.put(item); err != nil {
				return err
			}
		}
		return nil
	}
	if f, ok := v.(*object); ok && isFormatted(f) {
		p.end()
	}
	if o, ok := v.(*object); ok && p.to != nil && strings.HasSuffix(o.kind, "Record") { // only the console marks a message with its stream
		v = text(o)
	}
	s, err := p.r.shown(v)
	if err != nil {
		return err
	}
	for _, k := range streamKinds { // only the console marks a record with its stream
		if p.to == nil && k.kind == kindOf(v) {
			s = k.mark + s
		}
	}
	return p.write(s)
}

// content writes the rows so far. More rows may follow.
func (p *printer) content() {
	if len(p.rows) == 0 {
		return
	}
	var all []*object
	for _, row := range p.rows {
		if o, ok := row.(*object); ok {
			all = append(all, o)
		}
	}
	if p.view.list {
		fmt.Fprint(p.writer(), p.view.groupLine()+asList(all, p.view.names, p.view.room))
		p.rows = nil
		return
	}
	fmt.Fprint(p.writer(), p.view.head(all))
	for _, row := range p.rows {
		switch row := row.(type) {
		case *object:
			fmt.Fprint(p.writer(), p.view.body([]*object{row}))
		case string:
			fmt.Fprint(p.writer(), row)
		}
	}
	p.rows = nil
}

// end writes the remaining rows, and ends the table or list.
func (p *printer) end() {
	open := p.view != nil && (len(p.rows) > 0 || p.view.widths != nil)
	p.content()
	if open {
		fmt.Fprint(p.writer(), "\r\n")
	}
	p.view = nil
}

// flush ends the output. If exit or an error ended the script, a waiting table is lost.
func (p *printer) flush(err error) {
	if _, exits := err.(exitSignal); (exits || failed(err) != nil) && p.waits() { // signals are never wrapped
		return
	}
	p.end()
}

// asText reports whether an object is shown as text.
func asText(o *object) bool {
	switch o.kind {
	case kindMatch,
		"System.Management.Automation.ErrorDetails",
		"System.Management.Automation.WarningRecord", "System.Management.Automation.VerboseRecord",
		"System.Management.Automation.DebugRecord", "System.Management.Automation.InformationRecord",
		"System.Management.Automation.HostInformationMessage":
		return true
	}
	return isFormatted(o)
}

// isFormatted reports whether an object is the output of a Format cmdlet.
func isFormatted(o *object) bool { return strings.HasPrefix(o.kind, kindFormatted) }

// listed are the kinds whose objects are shown as lists.
var listed = map[string]bool{"NetworkTestResults": true, kindUri: true, kindIPAddress: true}

// shown returns the console's text for a value that has no table or list.
func (r *run) shown(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case time.Time:
		return "\r\n" + dated(v, "F") + "\r\n\r\n", nil
	case *failure:
		return v.printed(), nil
	case exception:
		return v.message + "\r\n", nil
	case *object:
		if isFormatted(v) {
			if s, ok := v.get("shown"); ok && s != nil {
				return s.(rendering)(r.width), nil
			}
			return "", nil
		}
		if v.kind == kindMatch {
			here := strings.TrimSuffix(r.dir, `\`) + `\`
			near := strings.NewReplacer("\n"+here, "\n", "\n  "+here, "\n  ", "\n> "+here, "\n> ")
			return near.Replace("\n" + text(v.read("text")))[1:] + "\r\n", nil
		}
		return text(v) + "\r\n", nil
	}
	s, err := r.text(v)
	return s + "\r\n", err
}

// formattedCell is a cell with the format of its column applied.
type formattedCell struct {
	text  string
	right bool
}

// cellText returns the text of a value in a table or list.
func cellText(v any) string {
	switch v := v.(type) {
	case *array, []byte:
		parts := []string{}
		for i, item := range list(v) {
			if i == 4 {
				parts[3] += "..."
				break
			}
			parts = append(parts, cellItem(item))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case *hashtable:
		parts := []string{}
		for i, k := range v.keys {
			if i == 4 {
				parts[3] += "..."
				break
			}
			parts = append(parts, text(k))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case formattedCell:
		return v.text
	case typeValue:
		return typeName(v.name)
	}
	return text(byCulture(v))
}

// byCulture returns a value with its dates as texts in the culture's format.
func byCulture(v any) any {
	switch v := v.(type) {
	case time.Time:
		return dated(v, "G")
	case *object:
		if v.kind != customKind {
			return v
		}
		own := *v
		own.fields = nil
		for _, f := range v.fields {
			own.fields = append(own.fields, field{f.name, byCulture(f.value)})
		}
		return &own
	}
	return v
}

// cellItem returns the text of a list's item in a cell.
func cellItem(v any) string {
	if isList(v) {
		return cellText(v)
	}
	return text(v)
}

// columnWidths are the column widths of PowerShell's built-in table formats.
var columnWidths = map[string]map[string]int{"System.Management.Automation.PSVariable": {"Name": 30},
	kindService: {"Status": 8, "Name": 18}, kindFile: {"Mode": 7, "LastWriteTime": 26, "Length": 14}}

// groupLine returns the lines above the table, or "".
func (v *view) groupLine() string {
	if v.group == "" {
		return ""
	}
	return "\r\n\r\n" + v.group + "\r\n\r\n"
}

// isRight reports whether a value is aligned to the right of its column.
func isRight(value any) bool {
	switch value := value.(type) {
	case int64, float64, sized, decimal, bool, char, short, enumMember:
		return true
	case formattedCell:
		return value.right
	}
	return false
}

// cell returns the value of a column in the view's format.
func (v *view) cell(o *object, name string) any {
	value, has := o.get(name)
	if low := strings.ToLower(name); !has && (low == "count" || low == "length") && o.kind != kindDirectory {
		return int64(1) // every single object has these properties
	}
	if t, ok := value.(time.Time); ok && v.kind == kindFile {
		return formattedCell{fmt.Sprintf("%10s  %8s", dated(t, "d"), dated(t, "t")), true}
	}
	return value
}

// table returns the text of rows, with the head if it has not been written yet.
func (v *view) table(list []*object) string { return v.head(list) + v.body(list) }

// head sets the widths and alignment of the columns for some rows, and returns the lines above the rows. It
// returns "" if this was done before.
func (v *view) head(list []*object) string {
	if v.widths != nil {
		return ""
	}
	_, own := ownViews[v.kind]
	own = own && v.kind != kindGroupInfo && v.kind != kindGroupCount
	v.right = make([]bool, len(v.names))
	for i, n := range v.names {
		v.right[i] = !own && (isRight(v.cell(list[0], n)) || v.kind == kindFile && n == "Length")
	}
	var top, rows [][]string
	if !v.headless {
		dashes := make([]string, len(v.names))
		for i, n := range v.names {
			dashes[i] = strings.Repeat("-", utf8.RuneCountInString(n))
		}
		top = [][]string{v.names, dashes}
	}
	for _, o := range list {
		rows = append(rows, v.cells(o))
	}
	v.measure(append(rows, top...))
	return v.groupLine() + "\r\n" + v.rendered(top)
}

// body returns the text of rows.
func (v *view) body(list []*object) string {
	var rows [][]string
	for _, o := range list {
		rows = append(rows, v.cells(o))
	}
	return v.rendered(rows)
}

// rendered returns the text of rows of cells.
func (v *view) rendered(rows [][]string) string {
	var out strings.Builder
	for _, row := range rows {
		for _, line := range v.lines(row) {
			out.WriteString(strings.TrimRight(line, " ") + "\r\n")
		}
	}
	return out.String()
}

// oneLine replaces line ends within a cell.
var oneLine = strings.NewReplacer("\r\n", "...", "\n", "...")

// cells returns the texts of a row's cells.
func (v *view) cells(o *object) []string {
	row := make([]string, len(v.names))
	for i, n := range v.names {
		row[i] = oneLine.Replace(cellText(v.cell(o, n)))
	}
	return row
}

// measure sets the widths of the columns. Cells that do not fit into the line are cut, and columns without room are omitted.
func (v *view) measure(rows [][]string) {
	_, own := ownViews[v.kind]
	left := cmp.Or(v.room, lineWidth)
	v.widths = make([]int, len(v.names))
	for i, n := range v.names {
		width := v.fixed[n]
		if width == 0 || !own || len(v.fixed) == 0 {
			width = max(width, utf8.RuneCountInString(n))
			for _, row := range rows {
				width = max(width, utf8.RuneCountInString(row[i]))
			}
		}
		v.widths[i] = max(min(width, left), 0)
		left -= v.widths[i] + 1
	}
}

// lines returns the lines of a row: several if its cells are wrapped.
func (v *view) lines(row []string) []string {
	cells := make([][]string, len(row))
	height := 1
	for i, cell := range row {
		cells[i] = []string{cell}
		if v.wrapped && v.widths[i] > 0 {
			cells[i] = wrapText(cell, v.widths[i])
		}
		height = max(height, len(cells[i]))
	}
	out := make([]string, height)
	for n := range out {
		for i := range cells {
			if v.widths[i] == 0 {
				continue
			}
			cell := ""
			if n < len(cells[i]) {
				cell = cut(cells[i][n], v.widths[i])
			}
			fill := strings.Repeat(" ", v.widths[i]-utf8.RuneCountInString(cell))
			if v.right[i] {
				out[n] += fill + cell + " "
			} else {
				out[n] += cell + fill + " "
			}
		}
	}
	return out
}

// cut shortens a cell to a width, as Windows PowerShell does.
func cut(s string, width int) string {
	runes := []rune(s)
	switch {
	case len(runes) <= width:
		return s
	case width <= 3:
		return string(runes[:width])
	}
	return string(runes[:width-3]) + "..."
}

// wrapText returns the lines of a text for a width. Lines are broken at blanks if possible.
func wrapText(s string, width int) []string {
	var out []string
	for line := range strings.SplitSeq(strings.ReplaceAll(s, "\r\n", "\n"), "\n") {
		runes := []rune(line)
		for len(runes) > width {
			at := width
			for at > 0 && runes[at] != ' ' {
				at--
			}
			if at == 0 {
				at = width
			}
			out = append(out, string(runes[:at]))
			runes = runes[at:]
			for len(runes) > 0 && runes[0] == ' ' {
				runes = runes[1:]
			}
		}
		out = append(out, string(runes))
	}
	return out
}

// asList returns the text of objects as lists of properties.
func asList(rows []*object, names []string, room int) string {
	var out strings.Builder
	for _, o := range rows {
		shown := names
		if shown == nil && o.shown != nil {
			shown = o.shown
		} else if shown == nil || o.shown == nil && len(o.fields) > 0 && o.kind == customKind {
			shown = nil
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
			head := fmt.Sprintf("%-*s : ", width, n)
			for _, line := range wrapText(cellText(v), max(cmp.Or(room, lineWidth)-width-3, 1)) {
				out.WriteString(strings.TrimRight(head+line, " ") + "\r\n")
				head = strings.Repeat(" ", width+3)
			}
		}
	}
	out.WriteString("\r\n")
	return out.String()
}
