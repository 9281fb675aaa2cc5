package flavors

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drone/envsubst/v2"
	"github.com/drone/envsubst/v2/parse"
)

// Variable is a variable of a template.
type Variable struct {
	Name string
	// Default is the value that the template has at the first use; nil if the variable must be set. A default may
	// contain other variables.
	Default *string
	// Lines are the lines of the template that use the variable, from 1.
	Lines []int
}

// MissingError lists the variables that have neither a value nor a default.
type MissingError struct {
	Variables []Variable
	template  []string
}

// Error names each variable and the first place where it is used.
func (e *MissingError) Error() string {
	var b strings.Builder
	b.WriteString("these variables of the template need a value:")
	for _, v := range e.Variables {
		b.WriteString("\n  " + v.Name)
		if len(v.Lines) > 0 {
			fmt.Fprintf(&b, " (line %d: %s", v.Lines[0], strings.TrimSpace(e.template[v.Lines[0]-1]))
			if more := len(v.Lines) - 1; more > 0 {
				fmt.Fprintf(&b, "; and %d more", more)
			}
			b.WriteString(")")
		}
	}
	b.WriteString("\nset them in the environment")
	return b.String()
}

// Variables returns the variables of a template, sorted by name.
func Variables(template []byte) ([]Variable, error) {
	text, tree, err := parseTemplate(template)
	if err != nil {
		return nil, err
	}
	found := map[string]*Variable{}
	collect(tree.Root, found)
	return list(text, found), nil
}

func parseTemplate(template []byte) (string, *parse.Tree, error) {
	if !utf8.Valid(template) || bytes.IndexByte(template, 0) >= 0 {
		// Without this check, the parser would silently stop at the first invalid byte.
		return "", nil, errors.New("parse the template: it is not UTF-8 text")
	}
	text := legacy(string(template))
	if deep := nested(text); deep > maxNested {
		return "", nil, fmt.Errorf("parse the template: its variables are %d deep in each other, and not more than %d may be", deep, maxNested)
	}
	tree, err := parse.Parse(text)
	if err != nil {
		return "", nil, fmt.Errorf("parse the template: %w", err)
	}
	return text, tree, nil
}

// variableUse matches the use of a variable in a template.
var variableUse = regexp.MustCompile(`\$\{#?([\pL\p{Nd}_]+)`)

func list(text string, found map[string]*Variable) []Variable {
	at := 0
	for line := range strings.SplitSeq(text, "\n") {
		at++
		for _, m := range variableUse.FindAllStringSubmatch(line, -1) {
			if v := found[m[1]]; v != nil && (len(v.Lines) == 0 || v.Lines[len(v.Lines)-1] != at) {
				v.Lines = append(v.Lines, at)
			}
		}
	}
	var out []Variable
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, *found[name])
	}
	return out
}

// The limits of a template: a filled cluster template has about 100 KiB, and none has variables nested deeper than two.
const (
	maxFilled = 64 << 20
	maxNested = 100
)

// nested returns the nesting depth of the variables in a text.
func nested(text string) (deepest int) {
	depth := 0
	for i := range len(text) {
		switch {
		case text[i] == '{' && i > 0 && text[i-1] == '$' && (i < 2 || text[i-2] != '$'):
			depth++
			deepest = max(deepest, depth)
		case text[i] == '}':
			depth = max(depth-1, 0)
		}
	}
	return deepest
}

// filled returns the maximum length of a part of a template after it is filled.
func filled(n parse.Node, lookup func(string) (string, bool)) (size int) {
	switch n := n.(type) {
	case *parse.TextNode:
		return len(n.Value)
	case *parse.ListNode:
		for _, c := range n.Nodes {
			size = min(size+filled(c, lookup), maxFilled+1)
		}
		return size
	case *parse.FuncNode:
		value, _ := lookup(n.Param)
		args := 0
		for _, a := range n.Args {
			args = min(args+filled(a, lookup), maxFilled+1)
		}
		if n.Name == "//" && len(n.Args) > 1 { // each match may be replaced
			times := len(value) + 1
			if of, ok := n.Args[0].(*parse.TextNode); ok {
				times = strings.Count(value, of.Value)
			}
			args = min(args*times, maxFilled+1)
		}
		return min(len(value)+args, maxFilled+1)
	}
	return 0
}

// Fill puts values into a template with the semantics of clusterctl: ${VAR}, ${VAR:=default} and ${VAR:-default} (a
// default also replaces an empty value and may name other variables), bash's other substitutions as far as
// drone/envsubst supports them, $${VAR} for a literal ${VAR}, and blanks inside the braces. It differs in one point: a
// variable that occurs only in a default counts as missing, and is not silently empty, if the default is needed. One
// MissingError lists all missing variables.
func Fill(template []byte, lookup func(name string) (string, bool)) ([]byte, []Variable, error) {
	text, tree, err := parseTemplate(template)
	if err != nil {
		return nil, nil, err
	}
	found := map[string]*Variable{}
	collect(tree.Root, found)
	variables := list(text, found)
	missing := map[string]bool{}
	needed(tree.Root, found, lookup, missing)
	if len(missing) > 0 {
		e := &MissingError{template: strings.Split(text, "\n")}
		for _, v := range variables {
			if missing[v.Name] {
				e.Variables = append(e.Variables, v)
			}
		}
		return nil, variables, e
	}
	if filled(tree.Root, lookup) > maxFilled {
		return nil, variables, fmt.Errorf("fill the template: it would grow to more than %d MiB", maxFilled>>20)
	}
	out, err := envsubst.Eval(text, func(name string) string {
		value, _ := lookup(name)
		return value
	})
	if err != nil {
		return nil, variables, fmt.Errorf("fill the template: %w", err)
	}
	return []byte(out), variables, nil
}

// collect finds variables with the defaults of their first use, outermost variables first.
func collect(n parse.Node, found map[string]*Variable) {
	switch n := n.(type) {
	case *parse.ListNode:
		for _, c := range n.Nodes {
			collect(c, found)
		}
	case *parse.FuncNode:
		if found[n.Param] == nil {
			v := &Variable{Name: n.Param}
			if text := defaultOf(n); text != "" {
				v.Default = &text
			}
			found[n.Param] = v
		}
		for _, a := range n.Args {
			collect(a, found)
		}
	}
}

// defaultOf returns the text of a node's arguments; clusterctl treats the arguments of any function as a default.
func defaultOf(n *parse.FuncNode) string {
	var b strings.Builder
	for _, a := range n.Args {
		switch a := a.(type) {
		case *parse.TextNode:
			b.WriteString(a.Value)
		case *parse.FuncNode:
			if inner := defaultOf(a); inner != "" {
				b.WriteString("${" + a.Param + cmp.Or(a.Name, ":=") + inner + "}")
			} else {
				b.WriteString("${" + a.Param + "}")
			}
		}
	}
	return b.String()
}

// needed finds the variables without a value on which the result depends.
func needed(n parse.Node, found map[string]*Variable, lookup func(string) (string, bool), missing map[string]bool) {
	switch n := n.(type) {
	case *parse.ListNode:
		for _, c := range n.Nodes {
			needed(c, found, lookup, missing)
		}
	case *parse.FuncNode:
		value, set := lookup(n.Param)
		if !set && found[n.Param].Default == nil {
			missing[n.Param] = true
		}
		if value == "" {
			for _, a := range n.Args {
				needed(a, found, lookup, missing)
			}
		}
	}
}

// spaced matches variables with blanks inside the braces, which old versions of clusterctl allowed.
var spaced = regexp.MustCompile(`\$\{(\s+[A-Za-z0-9_$]+\s*|[A-Za-z0-9_$]+\s+)\}`)

func legacy(text string) string {
	return spaced.ReplaceAllStringFunc(text, func(s string) string {
		return strings.Join(strings.Fields(strings.NewReplacer("{", "{ ", "}", " }").Replace(s)), "")
	})
}
