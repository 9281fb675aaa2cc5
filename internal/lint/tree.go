package lint

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// ref is a node of a tree; zero is none.
type ref int32

// tree is the nodes of a document in one piece, in the order of the text, as thousands of documents are kept until the
// last one is read: a node takes a fifth of the memory of the YAML parser's, and there are no pointers between nodes.
type tree struct {
	nodes []node
	// aliases are the nodes that aliases stand for, and tags those that are not in knownTags; both are rare.
	aliases map[ref]ref
	tags    map[ref]string
}

// node is a value, or the key of one. What is below a node follows it: the keys and values of a mapping in turns, the
// elements of a sequence.
type node struct {
	// value is the text of a scalar, or the name of an alias's anchor.
	value string
	// next is the node after this one and all below it.
	next         ref
	line, column int32
	kind         kind
	tag          tag
	style        style
}

// kind, style and tag are those of the YAML parser, in a byte each.
type (
	kind  uint8
	style uint8
	tag   uint8
)

// Kinds of nodes; none is the one of a place that is absent.
const (
	none     kind = 0
	sequence      = kind(yaml.SequenceNode)
	mapping       = kind(yaml.MappingNode)
	scalar        = kind(yaml.ScalarNode)
	alias         = kind(yaml.AliasNode)
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
	tagOther // the tree knows which
)

var knownTags = []string{"", "!!str", "!!map", "!!seq", "!!null", "!!bool", "!!int", "!!float", "!!merge"}

// absent is the node of a place that is not there.
var absent node

// at returns a node; absent for none.
func (t *tree) at(r ref) *node {
	if r == 0 {
		return &absent
	}
	return &t.nodes[r-1]
}

// add appends a node.
func (t *tree) add(n node) ref {
	r := ref(len(t.nodes) + 1)
	n.next = r + 1
	t.nodes = append(t.nodes, n)
	return r
}

// end ends a mapping or a sequence: what is appended from now on is not below it.
func (t *tree) end(r ref) { t.at(r).next = ref(len(t.nodes) + 1) }

// children returns the number of keys and values, or of elements.
func (t *tree) children(r ref) int {
	count := 0
	for c := r + 1; c < t.at(r).next; c = t.at(c).next {
		count++
	}
	return count
}

// resolve follows aliases; the parser guarantees that an alias names a node that came before it.
func (t *tree) resolve(r ref) ref {
	for i := 0; t.at(r).kind == alias && i < maxMerge; i++ {
		r = t.aliases[r]
	}
	return r
}

// fromYAML converts a document of the YAML parser; nil when nothing is in it.
func fromYAML(n *yaml.Node) *tree {
	if len(n.Content) == 0 {
		return nil
	}
	t := &tree{}
	t.take(n.Content[0], map[*yaml.Node]ref{})
	t.nodes = slices.Clip(t.nodes)
	return t
}

// take appends a node and all below it; anchors are the nodes that aliases may stand for.
func (t *tree) take(n *yaml.Node, anchors map[*yaml.Node]ref) {
	known := slices.Index(knownTags, n.Tag)
	if known < 0 {
		known = int(tagOther)
	}
	r := t.add(node{
		value: n.Value, line: int32(n.Line), column: int32(n.Column), kind: kind(n.Kind), tag: tag(known), style: style(n.Style),
	})
	if tag(known) == tagOther {
		if t.tags == nil {
			t.tags = map[ref]string{}
		}
		t.tags[r] = n.Tag
	}
	if n.Anchor != "" {
		anchors[n] = r
	}
	if n.Alias != nil {
		if t.aliases == nil {
			t.aliases = map[ref]ref{}
		}
		t.aliases[r] = anchors[n.Alias]
	}
	for _, c := range n.Content {
		t.take(c, anchors)
	}
	t.end(r)
}

// toYAML converts a node, and all below it, back; made are the nodes that are converted already.
func (t *tree) toYAML(r ref, made map[ref]*yaml.Node) *yaml.Node {
	if n := made[r]; n != nil {
		return n
	}
	n := t.at(r)
	out := &yaml.Node{
		Kind: yaml.Kind(n.kind), Style: yaml.Style(n.style), Value: n.value, Line: int(n.line), Column: int(n.column),
	}
	made[r] = out
	if n.tag == tagOther {
		out.Tag = t.tags[r]
	} else {
		out.Tag = knownTags[n.tag]
	}
	if n.kind == alias {
		out.Alias = t.toYAML(t.aliases[r], made)
	}
	for c := r + 1; c < n.next; c = t.at(c).next {
		out.Content = append(out.Content, t.toYAML(c, made))
	}
	return out
}
