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
	// Default is what the template gives where it is first used; nil where it must
	// be set. A default may name other variables.
	Default *string
	// Lines are the lines of the template that name it, from 1.
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
		// The parser would end at the first such byte and say nothing.
		return "", nil, errors.New("parse the template: it is not UTF-8 text")
	}
	text := legacy(string(template))
	tree, err := parse.Parse(text)
	if err != nil {
		return "", nil, fmt.Errorf("parse the template: %w", err)
	}
	return text, tree, nil
}

func list(text string, found map[string]*Variable) []Variable {
	lines := strings.Split(text, "\n")
	var out []Variable
	for _, name := range slices.Sorted(maps.Keys(found)) {
		v := *found[name]
		use := regexp.MustCompile(`\$\{#?` + regexp.QuoteMeta(name) + `\b`)
		for i, line := range lines {
			if use.MatchString(line) {
				v.Lines = append(v.Lines, i+1)
			}
		}
		out = append(out, v)
	}
	return out
}

// Fill puts values into a template with the semantics of clusterctl: ${VAR},
// ${VAR:=default} and ${VAR:-default} (a default also replaces an empty
// value and may name other variables), bash's other substitutions as far as
// drone/envsubst has them, $${VAR} for a literal ${VAR}, and blanks inside the
// braces. It differs in one point: a variable that only a default names, and that
// default is needed, is missing too and not silently empty. All missing variables
// come back in one MissingError.
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
	out, err := envsubst.Eval(text, func(name string) string {
		value, _ := lookup(name)
		return value
	})
	if err != nil {
		return nil, variables, fmt.Errorf("fill the template: %w", err)
	}
	return []byte(out), variables, nil
}

// collect finds variables with the defaults of their first use, outermost first.
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

// defaultOf renders the arguments of a node; clusterctl treats the arguments of any
// function as a default.
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

// needed finds the variables without a value that the result depends on.
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

// spaced finds variables with blanks inside the braces, as clusterctl once wrote them.
var spaced = regexp.MustCompile(`\$\{(\s+[A-Za-z0-9_$]+\s*|[A-Za-z0-9_$]+\s+)\}`)

func legacy(text string) string {
	return spaced.ReplaceAllStringFunc(text, func(s string) string {
		return strings.Join(strings.Fields(strings.NewReplacer("{", "{ ", "}", " }").Replace(s)), "")
	})
}
