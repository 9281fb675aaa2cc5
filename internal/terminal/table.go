package terminal

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

const (
	// gap is the number of spaces between two columns.
	gap = 2
	// leastProse is the minimum width of a last column with sentences for breaking them into lines; with less width,
	// other columns become narrower instead.
	leastProse = 24
	// leastColumn is the width below which no column is shortened. With less room, whole columns are omitted, the last ones first.
	leastColumn = 16
)

// Table lays out rows of cells that end in tabs, as text/tabwriter does. With a width, no line is wider. To achieve
// that, sentences in the last column are first continued on the next line, then headers of several words; then cells
// are shortened in their middle, and at last columns are omitted, with a line that names them.
type Table struct {
	out   io.Writer
	width int
	text  bytes.Buffer
}

// NewTable returns a table that writes to out. A width of 0 means any width.
func NewTable(out io.Writer, width int) *Table { return &Table{out: out, width: width} }

// Write adds rows; Flush lays them out.
func (t *Table) Write(b []byte) (int, error) { return t.text.Write(b) }

// Flush writes the table. Its error is the underlying writer's.
func (t *Table) Flush() error {
	text := t.text.String()
	t.text.Reset()
	laid := aligned(text)
	if t.width > 0 && widest(laid) > t.width {
		laid = t.fitted(text)
	}
	_, err := io.WriteString(t.out, laid)
	return err
}

// aligned lays out rows without a limit of the width.
func aligned(text string) string {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 4, gap, ' ', 0)
	_, _ = io.WriteString(w, text) // a buffer accepts everything
	_ = w.Flush()
	return out.String()
}

func widest(text string) (n int) {
	for line := range strings.Lines(text) {
		n = max(n, utf8.RuneCountInString(strings.TrimRight(line, " \n")))
	}
	return n
}

// fitted lays out each group of rows, between lines without cells, within the width.
func (t *Table) fitted(text string) string {
	var out, group strings.Builder
	end := func() {
		if laid := aligned(group.String()); widest(laid) <= t.width {
			out.WriteString(laid)
		} else {
			out.WriteString(t.narrow(group.String()))
		}
		group.Reset()
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "\t") {
			group.WriteString(line)
			continue
		}
		end()
		out.WriteString(strings.Join(Wrap(line, t.width), "\n") + "\n")
	}
	end()
	return out.String()
}

// narrow lays out a group of rows within the width.
func (t *Table) narrow(text string) string {
	rows := cells(text)
	columns := 0
	for _, row := range rows {
		columns = max(columns, len(row))
	}
	for keep := columns; ; keep-- {
		for _, try := range []func([][]string, int) [][]string{t.broken, t.shortened} {
			tried := try(first(rows, keep), keep)
			laid := aligned(join(tried))
			if widest(laid) > t.width && keep > 2 {
				continue
			}
			if keep < columns && len(rows[0]) == columns {
				laid += strings.Join(Wrap("… "+strings.Join(rows[0][keep:], ", ")+": in a wider terminal or a pipe", t.width), "\n") + "\n"
			}
			return laid
		}
	}
}

func cells(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return rows
}

func join(rows [][]string) string {
	var out strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&out, "%s\n", strings.Join(row, "\t"))
	}
	return out.String()
}

// first returns the rows with their first columns. A last cell that follows the columns is kept.
func first(rows [][]string, keep int) [][]string {
	out := make([][]string, len(rows))
	for i, row := range rows {
		out[i] = append([]string(nil), row[:min(keep, len(row))]...)
	}
	return out
}

// widths returns the widths of the columns; the last cell of a row with fewer cells belongs to no column.
func widths(rows [][]string, columns int) []int {
	out := make([]int, columns)
	for _, row := range rows {
		for k, cell := range row {
			if k < len(row)-1 || len(row) == columns {
				out[k] = max(out[k], utf8.RuneCountInString(cell))
			}
		}
	}
	return out
}

// offset returns the position at which a column begins.
func offset(widths []int, column int) (n int) {
	for _, width := range widths[:column] {
		n += width + gap
	}
	return n
}

// broken breaks headers of several words, and the texts in the last cells of rows, into lines. It does not change a
// text with too little room.
func (t *Table) broken(rows [][]string, columns int) [][]string {
	head := heading(rows[0])
	body := widths(rows[len(head):], columns)
	var out [][]string
	for i, row := range rows {
		if i == 0 && len(head) > 0 {
			out = append(out, brokenHead(row, body)...)
			continue
		}
		out = append(out, row)
	}
	at := widths(out, columns)
	rows, out = out, nil
	for _, row := range rows {
		last := len(row) - 1
		room := t.width - offset(at, last)
		if !strings.Contains(row[last], " ") || room < leastProse {
			out = append(out, row)
			continue
		}
		for _, line := range Wrap(row[last], room) {
			row[last] = line
			out = append(out, row)
			row = make([]string, len(row))
		}
	}
	return out
}

// heading returns the row in a slice if the row is a heading, with words in capital letters.
func heading(row []string) [][]string {
	if text := strings.Join(row, ""); text != strings.ToUpper(text) {
		return nil
	}
	return [][]string{row}
}

// brokenHead breaks the column names that are wider than the cells below them.
func brokenHead(row []string, body []int) [][]string {
	lines := [][]string{}
	for k, name := range row {
		width := 0
		for word := range strings.FieldsSeq(name) {
			width = max(width, utf8.RuneCountInString(word))
		}
		for i, text := range Wrap(name, max(width, body[k])) {
			if i == len(lines) {
				lines = append(lines, make([]string, len(row)))
			}
			lines[i][k] = text
		}
	}
	return lines
}

// shortened shortens the cells of the widest columns until all columns fit.
func (t *Table) shortened(rows [][]string, columns int) [][]string {
	rows = t.broken(rows, columns)
	at := widths(rows, columns)
	for offset(at, columns)-gap > t.width {
		wide := 0
		for k := range at {
			if at[k] > at[wide] {
				wide = k
			}
		}
		if at[wide] <= leastColumn {
			break
		}
		at[wide]--
	}
	for _, row := range rows {
		for k := range row {
			room := at[k]
			if k == len(row)-1 && len(row) < columns {
				room = max(1, t.width-offset(at, k))
			}
			row[k] = shorten(row[k], room)
		}
	}
	return rows
}

// shorten cuts a sentence at its end, and a name in its middle, because names differ at their end.
func shorten(text string, width int) string {
	runes := []rune(text)
	switch {
	case len(runes) <= width:
		return text
	case width < 5 || strings.Contains(strings.TrimLeft(text, " │├└─"), " "):
		return Cut(text, width)
	}
	tail := (width - 1) / 2
	return string(runes[:width-1-tail]) + "…" + string(runes[len(runes)-tail:])
}
