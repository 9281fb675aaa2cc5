package lint

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Edit is one change of a document's text; all other bytes stay the same.
type Edit struct {
	// apply returns the offsets of the replaced bytes in the document, and the text that replaces them; ok is false if
	// the edit is impossible.
	apply func(d *document) (start, end int, text string, ok bool)
	// deleted is the entry that the edit removes, or nil.
	deleted *Value
}

// Replace returns the edit that replaces a scalar by another one.
func Replace(v Value, scalar string) Edit {
	return Edit{apply: func(d *document) (int, int, string, bool) {
		start, end, ok := d.scalar(v.tree, v.node)
		return start, end, scalar, ok
	}}
}

// Rename returns the edit that replaces the key of an entry.
func Rename(v Value, key string) Edit {
	return Edit{apply: func(d *document) (int, int, string, bool) {
		start, end, ok := d.scalar(v.tree, v.key)
		return start, end, key, ok
	}}
}

// Delete returns the edit that removes an entry from its mapping, with its lines. If the entry is the only one, the
// mapping is removed with it.
func Delete(v Value) Edit {
	for v.parent != nil && v.parent.key != 0 && v.parent.IsMap() && v.tree.children(v.parent.node) == 2 {
		v = *v.parent
	}
	return Edit{deleted: &v, apply: func(d *document) (int, int, string, bool) {
		start, end, ok := d.entry(v)
		return start, end, "", ok
	}}
}

// emptied returns the edits that remove the mappings whose entries are all removed.
func emptied(edits []Edit) (out []Edit) {
	type node struct {
		tree *tree
		at   ref
	}
	left := map[node]int{}
	for _, e := range edits {
		if v := e.deleted; v != nil && v.parent != nil && v.parent.key != 0 && v.parent.IsMap() {
			n := node{v.tree, v.parent.node}
			if _, ok := left[n]; !ok {
				left[n] = v.tree.children(n.at) / 2
			}
			if left[n]--; left[n] == 0 {
				out = append(out, Delete(*v.parent))
			}
		}
	}
	return out
}

// Insert returns the edit that adds an entry before the first one of a mapping. text is the entry's lines, the first
// level without indentation.
func Insert(m Value, text string) Edit {
	return Edit{apply: func(d *document) (int, int, string, bool) {
		n := m.at()
		if n.kind != mapping || n.style&flow != 0 || m.tree.children(m.node) == 0 {
			return 0, 0, "", false
		}
		first := m.tree.place(m.node + 1)
		line := d.lineStart(int(first.line))
		indent := strings.Repeat(" ", int(first.column)-1)
		if line < 0 || strings.TrimLeft(d.text[line:line+len(indent)], " ") != "" {
			return 0, 0, "", false // the entry shares its line with a dash
		}
		var out strings.Builder
		for l := range strings.Lines(text) {
			out.WriteString(indent + strings.TrimSuffix(l, "\n") + "\n")
		}
		return line, line, out.String(), true
	}}
}

// lineStart returns the offset of a line, counted from 1; -1 if the document is shorter.
func (d *document) lineStart(line int) int {
	offset := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(d.text[offset:], '\n')
		if i < 0 {
			return -1
		}
		offset += i + 1
	}
	return offset
}

// at returns the offset of a place, whose column counts characters.
func (d *document) at(p place) int {
	offset := d.lineStart(int(p.line))
	for column := p.column; offset >= 0 && column > 1 && offset < len(d.text); column-- {
		_, size := utf8.DecodeRuneInString(d.text[offset:])
		offset += size
	}
	return offset
}

// scalar returns the offsets of a scalar that is on one line.
func (d *document) scalar(t *tree, r ref) (start, end int, ok bool) {
	n := t.at(r)
	if n.kind != scalar {
		return 0, 0, false
	}
	if start = d.at(t.place(r)); start < 0 {
		return 0, 0, false
	}
	raw := t.value(r)
	switch {
	case n.style&doubleQuoted != 0:
		raw = `"` + raw + `"`
	case n.style&singleQuoted != 0:
		raw = `'` + raw + `'`
	case n.style&(literal|folded) != 0:
		return 0, 0, false
	}
	end = start + len(raw)
	return start, end, end <= len(d.text) && d.text[start:end] == raw // otherwise the text has another notation
}

// entry returns the offsets of a mapping's entry in block style: from its line to the last line that is indented
// deeper, or that belongs to a list at the same depth.
func (d *document) entry(v Value) (start, end int, ok bool) {
	if v.key == 0 || v.parent == nil || v.parent.at().style&flow != 0 {
		return 0, 0, false
	}
	key := v.tree.place(v.key)
	start = d.lineStart(int(key.line))
	indent := int(key.column) - 1
	if start < 0 || strings.TrimLeft(d.text[start:start+indent], " ") != "" {
		return 0, 0, false // the entry shares its line with a dash
	}
	next := func(offset int) int {
		if i := strings.IndexByte(d.text[offset:], '\n'); i >= 0 {
			return offset + i + 1
		}
		return len(d.text)
	}
	end = next(start)
	for probe := end; probe < len(d.text); {
		stop := next(probe)
		line := strings.TrimRight(d.text[probe:stop], "\r\n")
		trimmed := strings.TrimLeft(line, " ")
		depth := len(line) - len(trimmed)
		switch {
		case trimmed == "":
		case depth > indent, depth == indent && strings.HasPrefix(trimmed, "- ") && v.IsList():
			end = stop
		default:
			return start, end, true
		}
		probe = stop
	}
	return start, end, true
}

// ApplyFixes applies the safe fixes of findings to the text of a file and returns their number. Of overlapping fixes it
// applies only the first; the others need another run.
func ApplyFixes(file string, text []byte, findings []Finding) ([]byte, int) {
	type change struct {
		start, end int
		text       string
	}
	var changes []change
	made := 0
	of := map[*document][]Edit{}
	for _, f := range findings {
		if f.File != file || !f.Fixable() {
			continue
		}
		var wanted []change
		for _, e := range f.edits {
			start, end, replacement, ok := e.apply(f.source)
			if !ok {
				wanted = nil
				break
			}
			wanted = append(wanted, change{start + f.source.offset, end + f.source.offset, replacement})
		}
		clash := slices.ContainsFunc(wanted, func(w change) bool {
			return slices.ContainsFunc(changes, func(c change) bool { return w.start < c.end && c.start < w.end || w.start == c.start })
		})
		if len(wanted) > 0 && !clash {
			changes = append(changes, wanted...)
			of[f.source] = append(of[f.source], f.edits...)
			made++
		}
	}
	for d, edits := range of {
		for _, e := range emptied(edits) {
			if start, end, _, ok := e.apply(d); ok {
				start, end = start+d.offset, end+d.offset
				changes = slices.DeleteFunc(changes, func(c change) bool { return start <= c.start && c.end <= end })
				changes = append(changes, change{start, end, ""})
			}
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(b.start, a.start) })
	out := slices.Clone(text)
	for _, c := range changes {
		out = slices.Concat(out[:c.start], []byte(c.text), out[c.end:])
	}
	return out, made
}

// plainScalar matches a text that needs no quotes in either YAML style of a list.
var plainScalar = regexp.MustCompile(`^[A-Za-z/\\.][A-Za-z0-9/\\._=-]*$|^-[A-Za-z]+$`)

// Expand returns the edit that replaces one element of a list by several elements, in the list's own style.
func Expand(item Value, scalars ...string) Edit {
	return Edit{apply: func(d *document) (int, int, string, bool) {
		start, end, ok := d.scalar(item.tree, item.node)
		if !ok || item.key != 0 || item.parent == nil || !item.parent.IsList() {
			return 0, 0, "", false
		}
		between := ", "
		if item.parent.at().style&flow == 0 {
			between = "\n" + strings.Repeat(" ", int(item.tree.place(item.parent.node).column)-1) + "- "
		}
		words := slices.Clone(scalars)
		for i, s := range words {
			if !plainScalar.MatchString(s) || slices.Contains([]string{
				"yes", "no", "on", "off", "true", "false", "null", "y", "n",
			}, strings.ToLower(s)) {
				words[i] = "'" + strings.ReplaceAll(s, "'", "''") + "'"
			}
		}
		return start, end, strings.Join(words, between), true
	}}
}
