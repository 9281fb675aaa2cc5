package lint

import (
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// ref is a node of a tree; zero means none.
type ref uint32

// tree is the nodes of a document in one slice, in the order of the text. Thousands of documents are kept until the
// last one is read, and a node takes a tenth of the memory of the YAML parser's node. The nodes contain no pointers, so
// the garbage collector does not scan them.
type tree struct {
	// text contains the texts of scalars: the document or, if the YAML parser has read it, only these texts.
	text  string
	nodes []node
	// places are the positions of the nodes; nil if they follow from the offsets in text.
	places []place
	// lines are the offsets at which the lines of the text end; they are computed when a position is first needed.
	lines []uint32
	once  sync.Once
	// aliases maps aliases to the nodes that they refer to, and tags has the tags that are not in
	// knownTags; both are rare.
	aliases map[ref]ref
	tags    map[ref]string
}

// node is a value, or the key of a value. Its children follow it: the keys and values of a mapping alternately, or the
// elements of a sequence.
type node struct {
	// begin is the offset of a scalar's text (without its quotes), of an alias's name, or of anything else.
	begin uint32
	// extent is the length of the text of a scalar or of an alias's name. For a mapping or a sequence it is the index
	// of the node after all its descendants.
	extent uint32
	kind   kind
	tag    tag
	style  style
}

// place is a line and a column in a document, from 1.
type place struct{ line, column int32 }

// kind, style and tag are the YAML parser's, in one byte each.
type (
	kind  uint8
	style uint8
	tag   uint8
)

// Kinds of nodes.
const (
	sequence = kind(yaml.SequenceNode)
	mapping  = kind(yaml.MappingNode)
	scalar   = kind(yaml.ScalarNode)
	alias    = kind(yaml.AliasNode)
)

// Styles that decide how a value is edited.
const (
	flow         = style(yaml.FlowStyle)
	doubleQuoted = style(yaml.DoubleQuotedStyle)
	singleQuoted = style(yaml.SingleQuotedStyle)
	literal      = style(yaml.LiteralStyle)
	folded       = style(yaml.FoldedStyle)
)

// Tags of nodes, in the order of knownTags.
const (
	tagNone tag = iota
	tagString
	tagMap
	tagSequence
	tagNull
	tagBool
	tagInt
	tagFloat
	tagMerge
	tagOther // the tag is in tree.tags
)

var knownTags = []string{"", "!!str", "!!map", "!!seq", "!!null", "!!bool", "!!int", "!!float", "!!merge"}

// absent is the node of a missing place; it has no kind.
var absent node

// at returns a node; absent for zero.
func (t *tree) at(r ref) *node {
	if r == 0 {
		return &absent
	}
	return &t.nodes[r-1]
}

// next returns the node after a node and all its descendants.
func (t *tree) next(r ref) ref {
	if n := t.at(r); n.kind == mapping || n.kind == sequence {
		return ref(n.extent)
	}
	return r + 1
}

// value returns the text of a scalar, or the name of an alias's anchor.
func (t *tree) value(r ref) string {
	n := t.at(r)
	if n.kind != scalar && n.kind != alias {
		return ""
	}
	text := t.text[n.begin : n.begin+n.extent]
	if n.style == literal && t.places == nil {
		return unindent(text)
	}
	return text
}

// place returns the position at which a node begins.
func (t *tree) place(r ref) place {
	if r == 0 {
		return place{}
	}
	if t.places != nil {
		return t.places[r-1]
	}
	t.once.Do(t.findLines)
	n := t.at(r)
	begin := n.begin
	if n.style&(doubleQuoted|singleQuoted) != 0 {
		begin--
	}
	line, _ := slices.BinarySearch(t.lines, begin)
	if line == 0 {
		return place{1, int32(begin + 1)}
	}
	return place{int32(line + 1), int32(begin - t.lines[line-1])}
}

// findLines records the position of each line break.
func (t *tree) findLines() {
	for i := range len(t.text) {
		if t.text[i] == '\n' {
			t.lines = append(t.lines, uint32(i))
		}
	}
}

// add appends a node and returns its ref.
func (t *tree) add(n node) ref {
	t.nodes = append(t.nodes, n)
	return ref(len(t.nodes))
}

// end ends a mapping or a sequence: nodes that are appended later are not below it.
func (t *tree) end(r ref) { t.nodes[r-1].extent = uint32(len(t.nodes) + 1) }

// below returns an iterator over the children of a mapping (keys and values alternately) or a sequence.
func (t *tree) below(r ref) func(yield func(ref) bool) {
	return func(yield func(ref) bool) {
		if n := t.at(r); n.kind != mapping && n.kind != sequence {
			return
		}
		for c, end := r+1, t.next(r); c < end; c = t.next(c) {
			if !yield(c) {
				return
			}
		}
	}
}

// entries returns an iterator over the keys and values of a mapping; over nothing for any other node.
func (t *tree) entries(r ref) func(yield func(key, value ref) bool) {
	return func(yield func(key, value ref) bool) {
		if t.at(r).kind != mapping {
			return
		}
		for key, end := r+1, t.next(r); key < end; {
			value := t.next(key)
			if !yield(key, value) {
				return
			}
			key = t.next(value)
		}
	}
}

// children returns the number of children of a node.
func (t *tree) children(r ref) int {
	count := 0
	for range t.below(r) {
		count++
	}
	return count
}

// resolve follows aliases; the parser guarantees that an alias refers to an earlier node.
func (t *tree) resolve(r ref) ref {
	for i := 0; t.at(r).kind == alias && i < maxMerge; i++ {
		r = t.aliases[r]
	}
	return r
}

// meant returns the number of nodes after each alias is replaced by its value, but at most limit. An alias within its
// own value would be infinite: it is returned as endless.
func (t *tree) meant(limit int) (nodes int, endless ref) {
	if len(t.aliases) == 0 {
		return len(t.nodes), 0
	}
	before := make([]int, len(t.nodes)+2) // by node: the sum for the nodes before it
	for i := range t.nodes {
		r, size := ref(i+1), 1
		if t.nodes[i].kind == alias {
			to := t.aliases[r]
			end := t.next(to)
			if end > r {
				return limit, r
			}
			size = before[end] - before[to]
		}
		before[r+1] = min(before[r]+size, limit)
	}
	return before[len(t.nodes)+1], 0
}

// tagName returns the tag of a node as the YAML parser writes it.
func (t *tree) tagName(r ref) string {
	if n := t.at(r); n.tag != tagOther {
		return knownTags[n.tag]
	}
	return t.tags[r]
}

// fromYAML converts a document of the YAML parser; it returns nil for an empty document.
func fromYAML(n *yaml.Node) *tree {
	if len(n.Content) == 0 {
		return nil
	}
	c := converter{anchors: map[*yaml.Node]ref{}}
	c.take(n.Content[0])
	c.tree.text = c.text.String()
	c.tree.nodes, c.tree.places = exactly(c.tree.nodes), exactly(c.tree.places)
	return &c.tree
}

// exactly returns a copy of a list without spare capacity.
func exactly[E any](list []E) []E {
	out := make([]E, len(list))
	copy(out, list)
	return out
}

// converter makes a tree of the YAML parser's nodes.
type converter struct {
	tree tree
	text strings.Builder
	// anchors are the nodes to which aliases may refer.
	anchors map[*yaml.Node]ref
}

// take appends a node and its descendants.
func (c *converter) take(n *yaml.Node) {
	known := slices.Index(knownTags, n.Tag)
	other := known < 0
	if other {
		known = int(tagOther)
	}
	r := c.tree.add(node{
		begin: uint32(c.text.Len()), extent: uint32(len(n.Value)), kind: kind(n.Kind), tag: tag(known), style: style(n.Style),
	})
	c.tree.places = append(c.tree.places, place{int32(n.Line), int32(n.Column)})
	c.text.WriteString(n.Value)
	if other {
		set(&c.tree.tags, r, n.Tag)
	}
	if n.Anchor != "" {
		c.anchors[n] = r
	}
	if n.Alias != nil {
		set(&c.tree.aliases, r, c.anchors[n.Alias])
	}
	for _, below := range n.Content {
		c.take(below)
	}
	if n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode {
		c.tree.end(r)
	}
}

// set sets an entry of a map that may be nil.
func set[V any](m *map[ref]V, r ref, v V) {
	if *m == nil {
		*m = map[ref]V{}
	}
	(*m)[r] = v
}

// toYAML converts a node and its descendants back; made are the nodes that are already converted.
func (t *tree) toYAML(r ref, made map[ref]*yaml.Node) *yaml.Node {
	if n := made[r]; n != nil {
		return n
	}
	n, p := t.at(r), t.place(r)
	out := &yaml.Node{
		Kind: yaml.Kind(n.kind), Style: yaml.Style(n.style), Tag: t.tagName(r), Value: t.value(r),
		Line: int(p.line), Column: int(p.column),
	}
	made[r] = out
	if n.kind == alias {
		out.Alias = t.toYAML(t.aliases[r], made)
	}
	for c := range t.below(r) {
		out.Content = append(out.Content, t.toYAML(c, made))
	}
	return out
}
