package shell

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"casement.dev/casement/internal/contain"
)

// The interpreter is bash's cousin. What dash or bash do otherwise is rewritten in a
// script's tree before it runs, and what the interpreter does not know is made a command
// that refuses it by name.

// dialect edits one tree.
type dialect struct {
	shell *Shell
	posix bool
	run   *scriptRun
	// source is the text of the tree.
	source string
	// file is the variable with the name of the file that is sourced, or "".
	file  string
	stack []syntax.Node
	// refused are statements and why they are.
	refused map[*syntax.Stmt]string
	// constants are the variables that the script makes read-only.
	constants map[string]bool
	checked   map[*syntax.CallExpr]bool
	// loops counts the loops that get their status.
	loops int
	// tails are the statements whose status is that of the script or of a function, and
	// tailLoops the loops among them.
	tails     map[*syntax.Stmt]bool
	tailLoops map[syntax.Command]bool
	// expressions are the variables that get a text which is no plain number in arithmetic.
	expressions map[string]string
}

// scriptRun is the state of one run of a script that the interpreter does not keep.
type scriptRun struct {
	posix bool
	// main is set while the script itself is adapted, and not a text that it evaluates.
	main    bool
	sourced scripts
	// errexit is set once a text may turn set -e on.
	errexit bool
	// dots is set once a text has a pattern that may match names that begin with a dot: the
	// interpreter's [!a] does so, which no shell's does.
	dots bool
	// maps are the associative arrays that the script has declared so far, by name.
	maps map[string]bool
	// watch gets which commands fail; nil watches nothing.
	watch *watch
	// sinks are programs that read what is written to >(program).
	mu    sync.Mutex
	sinks []*sink
	files []string
}

// adapt edits the tree of a text in place.
func (s *Shell) adapt(n syntax.Node, source, file string, run *scriptRun) {
	run.errexit = run.errexit || strings.Contains(source, "set -") || strings.Contains(source, "errexit")
	run.dots = run.dots || strings.Contains(source, "dotglob") || dotPattern.MatchString(source)
	d := &dialect{shell: s, posix: run.posix, run: run, source: source, file: file,
		refused:   map[*syntax.Stmt]string{},
		constants: map[string]bool{}, expressions: map[string]string{}, tails: map[*syntax.Stmt]bool{},
		tailLoops: map[syntax.Command]bool{}, checked: map[*syntax.CallExpr]bool{}}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.File:
			d.tail(n.Stmts)
		case *syntax.FuncDecl:
			d.tail([]*syntax.Stmt{n.Body})
		case *syntax.DeclClause:
			d.declareMaps(n)
		case *syntax.Assign:
			if n.Name == nil || n.Value == nil || d.posix {
				break
			}
			if text := literalText(n.Value); expressionText.MatchString(text) {
				d.expressions[n.Name.Value] = text
			}
		}
		return true
	})
	syntax.Walk(n, func(n syntax.Node) bool {
		if n == nil {
			d.stack = d.stack[:len(d.stack)-1]
			return true
		}
		d.stack = append(d.stack, n)
		d.check(n)
		return true
	})
	syntax.Walk(n, func(n syntax.Node) bool {
		d.edit(n)
		return true
	})
	for stmt, what := range d.refused {
		stmt.Redirs, stmt.Background = nil, false
		if message, dies := strings.CutPrefix(what, fatally); dies {
			stmt.Cmd = callOf("eval", strings.Join(fatal(2, message)[1:], " "))
			continue
		}
		stmt.Cmd = callOf(own+"refuse", what)
	}
}

// dotPattern finds a pattern for names that begin with a dot.
var dotPattern = regexp.MustCompile(`(^|[\s/"'}=(;])\.[^\s/;|&)]*[*?\[]`)

// literalText returns a word that is a text, quoted or not, or "".
func literalText(w *syntax.Word) string {
	if len(w.Parts) == 1 {
		switch part := w.Parts[0].(type) {
		case *syntax.SglQuoted:
			return part.Value
		case *syntax.DblQuoted:
			return (&syntax.Word{Parts: part.Parts}).Lit()
		}
	}
	return w.Lit()
}

// fatally starts what dash does not know and ends by.
const fatally = "\x02"

func callOf(words ...string) *syntax.CallExpr {
	c := &syntax.CallExpr{}
	for _, w := range words {
		c.Args = append(c.Args, &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Value: w}}})
	}
	return c
}

// refuse makes the innermost statement one that refuses.
func (d *dialect) refuse(format string, a ...any) {
	for _, n := range slices.Backward(d.stack) {
		if stmt, ok := n.(*syntax.Stmt); ok {
			if d.refused[stmt] == "" {
				d.refused[stmt] = fmt.Sprintf(format, a...)
			}
			return
		}
	}
}

// unknownVariables of bash are empty in the interpreter.
var unknownVariables = strings.Fields("PIPESTATUS FUNCNAME BASH_LINENO SECONDS LINENO BASHPID BASH_COMMAND " +
	"BASH_SUBSHELL EPOCHSECONDS EPOCHREALTIME BASH_ARGV BASH_ARGC COMP_WORDS")

// check finds syntax that the shell refuses.
func (d *dialect) check(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Redirect:
		fd := ""
		if n.N != nil {
			fd = n.N.Value
		}
		target := n.Word.Lit()
		switch {
		case strings.Trim(fd, "012") != "" || len(fd) > 1:
			d.refuse("redirections of file descriptor %s", fd)
		case (n.Op == syntax.DplOut || n.Op == syntax.DplIn) && strings.Trim(target, "0123456789-") == "" &&
			!slices.Contains([]string{"0", "1", "2", "-"}, target):
			d.refuse("redirections of file descriptor %s", target)
		case n.Op == syntax.DplIn && target != "-" && target != "0", n.Op == syntax.RdrInOut:
			d.refuse("the redirection %s", n.Op)
		}
	case *syntax.CoprocClause:
		d.refuse("coproc")
	case *syntax.Stmt:
		if d.run.errexit && !d.tails[n] && !n.Negated && !d.tolerant() {
			for _, last := range lasts(n.Cmd) {
				forgiven(last)
			}
		}
	case *syntax.Subshell:
		if d.run.errexit && d.tolerant() {
			n.Stmts = tolerated(n.Stmts)
		}
	case *syntax.BinaryCmd:
		if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && d.run.errexit && d.tolerant() {
			n.X = &syntax.Stmt{Position: n.X.Position, Cmd: &syntax.Subshell{Stmts: []*syntax.Stmt{n.X}}}
			n.Y = &syntax.Stmt{Position: n.Y.Position, Cmd: &syntax.Subshell{Stmts: []*syntax.Stmt{n.Y}}}
		}
	case *syntax.Word:
		d.known(n.Parts)
	case *syntax.DblQuoted:
		d.known(n.Parts)
	case *syntax.ParamExp:
		d.lookAtExpansion(n)
	case *syntax.UnaryArithm:
		if d.posix && (n.Op == syntax.Inc || n.Op == syntax.Dec) {
			d.refuse("%sarithmetic expression: expecting primary", fatally)
		}
	case *syntax.ArithmExp:
		d.arithmetic(n.X)
	case *syntax.ArithmCmd:
		d.arithmetic(n.X)
	case *syntax.BinaryTest:
		if n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr {
			for _, x := range []syntax.TestExpr{n.X, n.Y} {
				if w, ok := x.(*syntax.Word); ok && expressionText.MatchString(w.Lit()) {
					d.refuse("the expression %s in [[ ]]", w.Lit())
				}
			}
		}
	case *syntax.UnaryTest:
		if w, ok := n.X.(*syntax.Word); ok && n.Op == syntax.TsVarSet && strings.Contains(literalStart(w), "[") {
			d.refuse("[[ -v ]] of an item of an array")
		}
	case *syntax.LetClause:
		for i, x := range n.Exprs {
			if n.Exprs[i] = unquotedLet(x); n.Exprs[i] == nil {
				n.Exprs[i] = x
				d.refuse("let with quotes")
			}
		}
	case *syntax.CallExpr:
		for _, w := range n.Args {
			d.negatedGlob(w)
		}
		d.lookAtCall(n)
	case *syntax.WordIter:
		for _, w := range n.Items {
			d.negatedGlob(w)
		}
	case *syntax.Assign:
		if n.Name != nil && d.run.isMap(n.Name.Value) {
			n.Index = d.key(n.Index)
			if n.Array != nil {
				d.items(n.Name.Value, n.Array)
			}
		}
	case *syntax.DeclClause:
		for _, a := range n.Args {
			if a.Name != nil {
				first := n.Args[0].Value
				d.constants[a.Name.Value] = d.constants[a.Name.Value] || n.Variant.Value == "readonly" ||
					first != nil && first.Lit() == "-r"
				continue
			}
			if a.Value == nil {
				continue
			}
			if flag := a.Value.Lit(); strings.HasPrefix(flag, "-") && strings.Trim(flag, "-xragAnfp") != "" ||
				len(flag) > 2 && strings.HasPrefix(flag, "-") || strings.HasPrefix(flag, "+") {
				d.refuse("%s %s", n.Variant.Value, flag)
			}
		}
		if len(n.Args) == 0 {
			d.refuse("what %s prints", n.Variant.Value)
		}
	}
}

// negatedGlob refuses [!a] at the start of a name where names with dots are seen as well.
func (d *dialect) negatedGlob(w *syntax.Word) {
	for i, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if ok && d.run.dots && (i == 0 && strings.HasPrefix(lit.Value, "[!") || strings.Contains(lit.Value, "/[!")) {
			d.refuse("the pattern [!...] beside patterns for names with a dot")
		}
	}
}

// expressionText is a value that the interpreter takes for another number than bash does: a sum,
// or one that is no octal number.
var expressionText = regexp.MustCompile(`^\s*([-+(]*\w+\)*\s*([-+*/%<>=&|^?:]+)\s*[-+(]*\w+.*|0\d*[89]\d*)$`)

// arithmetic refuses expressions with variables that the script gives such values.
func (d *dialect) arithmetic(x syntax.ArithmExpr) {
	known := x
	if _, whole := d.stack[len(d.stack)-1].(*syntax.ArithmCmd); !whole || !countable(x) {
		known = nil
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		if n != nil && n != syntax.Node(known) && changesItem(n) {
			d.refuse("an item of an array that $(( )) changes")
		}
		return true
	})
	syntax.Walk(x, func(n syntax.Node) bool {
		w, ok := n.(*syntax.Word)
		if !ok {
			return true
		}
		name := w.Lit()
		if len(w.Parts) == 1 {
			if p, ok := w.Parts[0].(*syntax.ParamExp); ok && p.Param != nil && p.Exp == nil && p.Slice == nil && p.Repl == nil && !p.Length {
				name = p.Param.Value
			}
		}
		if value, some := d.expressions[name]; some {
			d.refuse("the value %s in $(( ))", value)
		}
		if octal := expressionText.MatchString(name) && !syntax.ValidName(name); octal && !d.posix {
			d.refuse("the number %s in $(( ))", name)
		}
		return true
	})
}

// lasts returns the statements by which a compound command may end.
func lasts(c syntax.Command) (all []*syntax.Stmt) {
	last := func(stmts []*syntax.Stmt) {
		if len(stmts) > 0 {
			all = append(all, stmts[len(stmts)-1])
		}
	}
	switch c := c.(type) {
	case *syntax.Block:
		last(c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			last(c.Then)
		}
	case *syntax.ForClause:
		last(c.Do)
	case *syntax.WhileClause:
		last(c.Do)
	case *syntax.CaseClause:
		for _, item := range c.Items {
			last(item.Stmts)
		}
	}
	return all
}

// tail notes the last of statements, and what it may end by.
func (d *dialect) tail(stmts []*syntax.Stmt) {
	if len(stmts) == 0 {
		return
	}
	last := stmts[len(stmts)-1]
	d.tails[last] = true
	switch last.Cmd.(type) {
	case *syntax.ForClause, *syntax.WhileClause:
		d.tailLoops[last.Cmd] = true
	}
	for _, inner := range lasts(last.Cmd) {
		d.tail([]*syntax.Stmt{inner})
	}
}

// forgiven writes a && b as if a; then b; fi at the end of a compound command: bash does not
// end a script by -e where a fails, and the interpreter does so at the compound.
func forgiven(s *syntax.Stmt) {
	b, ok := s.Cmd.(*syntax.BinaryCmd)
	if !ok || b.Op != syntax.AndStmt || s.Negated || s.Background {
		return
	}
	s.Cmd = &syntax.IfClause{Position: b.Pos(), Cond: []*syntax.Stmt{b.X}, Then: []*syntax.Stmt{b.Y}}
}

// tolerant reports whether set -e has no effect on the node, because what it is in is tested:
// the interpreter forgets that in a subshell.
func (d *dialect) tolerant() bool {
	for i := len(d.stack) - 2; i >= 0; i-- {
		child, _ := d.stack[i+1].(*syntax.Stmt)
		switch n := d.stack[i].(type) {
		case *syntax.FuncDecl, *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.Stmt:
			if n.Negated {
				return true
			}
		case *syntax.BinaryCmd:
			if (n.Op == syntax.AndStmt || n.Op == syntax.OrStmt) && n.X == child {
				return true
			}
		case *syntax.IfClause:
			if slices.Contains(n.Cond, child) {
				return true
			}
		case *syntax.WhileClause:
			if slices.Contains(n.Cond, child) {
				return true
			}
		}
	}
	return false
}

// tolerated returns the statements of a subshell so that set -e has no effect on them.
func tolerated(stmts []*syntax.Stmt) []*syntax.Stmt {
	exit := callOf("exit")
	exit.Args = append(exit.Args, &syntax.Word{Parts: []syntax.WordPart{&syntax.ParamExp{Short: true, Param: &syntax.Lit{Value: "?"}}}})
	return []*syntax.Stmt{{Cmd: &syntax.BinaryCmd{Op: syntax.OrStmt,
		X: &syntax.Stmt{Cmd: &syntax.Block{Stmts: stmts}}, Y: &syntax.Stmt{Cmd: exit}}}}
}

// known replaces variables that the interpreter lacks by what they are at that place: the
// line, and the function.
func (d *dialect) known(parts []syntax.WordPart) {
	if d.posix {
		return
	}
	for i, part := range parts {
		p, ok := part.(*syntax.ParamExp)
		if ok && p.Length && p.Param != nil && wholeIndex(p.Index) && d.run.isMap(p.Param.Value) { // the interpreter says 1
			count := callOf(own + "count")
			count.Args = append(count.Args, &syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{
				Parts: []syntax.WordPart{&syntax.ParamExp{Excl: true, Param: p.Param, Index: p.Index}}}}})
			parts[i] = &syntax.CmdSubst{Stmts: []*syntax.Stmt{{Cmd: count}}}
			continue
		}
		if !ok || p.Param == nil || p.Exp != nil || p.Repl != nil || p.Slice != nil || p.Length || p.Excl {
			continue
		}
		switch first := p.Index == nil || zeroIndex(p.Index); p.Param.Value {
		case "LINENO":
			if d.run.main || d.file != "" {
				parts[i] = &syntax.Lit{Value: strconv.Itoa(int(p.Pos().Line()))}
			}
		case "FUNCNAME":
			for _, outer := range slices.Backward(d.stack) {
				if f, ok := outer.(*syntax.FuncDecl); ok && f.Name != nil && first {
					parts[i] = &syntax.Lit{Value: f.Name.Value}
					break
				}
			}
		}
	}
}

// wholeIndex reports whether an index means all items of an array.
func wholeIndex(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

func zeroIndex(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && w.Lit() == "0"
}

// lookAtExpansion refuses what the interpreter expands otherwise.
func (d *dialect) lookAtExpansion(n *syntax.ParamExp) {
	if n.Param != nil && d.run.isMap(n.Param.Value) {
		n.Index = d.key(n.Index)
	}
	if n.Param != nil && n.Param.Value == "BASH_SOURCE" && d.file != "" && (n.Index == nil || zeroIndex(n.Index)) {
		n.Param.Value, n.Index = d.file, nil
	}
	if r := n.Repl; r != nil && !r.All && r.With == nil && r.Orig != nil && len(r.Orig.Parts) > 0 {
		if lit, ok := r.Orig.Parts[0].(*syntax.Lit); ok && len(lit.Value) > 0 && (lit.Value[0] == '%' || lit.Value[0] == '#') {
			op := map[byte]syntax.ParExpOperator{'%': syntax.RemLargeSuffix, '#': syntax.RemLargePrefix}[lit.Value[0]]
			lit.Value = lit.Value[1:]
			n.Exp, n.Repl = &syntax.Expansion{Op: op, Word: r.Orig}, nil // what is found at an end is removed
		}
	}
	if n.Repl != nil && n.Repl.With != nil && !d.posix {
		d.replacement(n.Repl)
	}
	switch {
	case n.Param == nil:
	case n.Param.Value == "BASH_SOURCE" && n.Index != nil && !zeroIndex(n.Index) && !d.posix:
		d.refuse("$BASH_SOURCE of callers")
	case slices.Contains(unknownVariables, n.Param.Value) && !d.posix:
		d.refuse("$%s", n.Param.Value)
	case n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil &&
		slices.Contains([]string{"Q", "A", "P", "K", "k", "a"}, n.Exp.Word.Lit()):
		d.refuse("${%s@%s}", n.Param.Value, n.Exp.Word.Lit())
	case n.Repl != nil && !n.Repl.All && n.Repl.Orig != nil && strings.HasPrefix(n.Repl.Orig.Lit(), "#"),
		n.Repl != nil && !n.Repl.All && n.Repl.Orig != nil && strings.HasPrefix(n.Repl.Orig.Lit(), "%"):
		d.refuse("${%s/%s/}", n.Param.Value, n.Repl.Orig.Lit())
	case wholeIndex(n.Index) && n.Exp != nil && n.Exp.Op <= syntax.ErrorUnsetOrNull:
		d.refuse("a default for all items of %s", n.Param.Value)
	case n.Exp != nil && n.Exp.Word != nil && !d.quoted() && slices.Contains([]syntax.ParExpOperator{
		syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AlternateUnset, syntax.AlternateUnsetOrNull,
	}, n.Exp.Op):
		if quotesBlanks(n.Exp.Word) {
			d.refuse("quotes around blanks in ${%s...} that has none around it", n.Param.Value)
		}
	}
}

// declareMaps notes the associative arrays of a declaration.
func (d *dialect) declareMaps(c *syntax.DeclClause) {
	mapped := false
	for _, a := range c.Args {
		if a.Name == nil && a.Value != nil {
			mapped = mapped || strings.HasPrefix(a.Value.Lit(), "-") && strings.Contains(a.Value.Lit(), "A")
		} else if a.Name != nil && mapped {
			d.run.declareMap(a.Name.Value)
		}
	}
}

// items gives the items of an associative array their keys: [KEY]=VALUE, or keys and values
// in turn.
func (d *dialect) items(name string, array *syntax.ArrayExpr) {
	bare := 0
	for _, e := range array.Elems {
		if e.Index = d.key(e.Index); e.Index == nil {
			bare++
		}
	}
	if bare == 0 {
		return
	}
	var pairs []*syntax.ArrayElem
	for pair := range slices.Chunk(array.Elems, 2) {
		one := &syntax.ArrayElem{Index: pair[0].Value, Value: &syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{}}}}
		if len(pair) > 1 {
			one.Value = pair[1].Value
		}
		pairs = append(pairs, one)
	}
	if bare < len(array.Elems) {
		d.refuse("an associative array %s with keys of some items", name)
		pairs = nil
	}
	array.Elems = pairs
}

// key returns the subscript of an associative array as the text that it is in bash: the
// parser, which does not know the kind of an array, makes a sum of node-ip.
func (d *dialect) key(index syntax.ArithmExpr) syntax.ArithmExpr {
	if index == nil {
		return nil
	}
	if _, ok := index.(*syntax.Word); ok {
		return index
	}
	from, to := int(index.Pos().Offset()), int(index.End().Offset())
	if from > to || to > len(d.source) {
		d.refuse("a subscript that is no plain text")
		return &syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{}}}
	}
	text := strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "`", "\\`").Replace(d.source[from:to])
	word, err := syntax.NewParser().Document(strings.NewReader(text))
	if err != nil {
		word = &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Value: d.source[from:to]}}}
	}
	return &syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: word.Parts}}}
}

func (run *scriptRun) declareMap(name string) {
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.maps == nil {
		run.maps = map[string]bool{}
	}
	run.maps[name] = true
}

func (run *scriptRun) isMap(name string) bool {
	run.mu.Lock()
	defer run.mu.Unlock()
	return run.maps[name]
}

// quoted reports whether the node is inside double quotes or assigned, and so not split.
func (d *dialect) quoted() bool {
	for _, n := range slices.Backward(d.stack[:len(d.stack)-1]) {
		switch n.(type) {
		case *syntax.DblQuoted, *syntax.Assign, *syntax.TestClause, *syntax.CaseClause, *syntax.Redirect:
			return true
		case *syntax.Stmt:
			return false
		}
	}
	return false
}

func quotesBlanks(w *syntax.Word) bool {
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.SglQuoted:
			if strings.ContainsAny(part.Value, " \t\n*?[") {
				return true
			}
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				if lit, ok := inner.(*syntax.Lit); ok && strings.ContainsAny(lit.Value, " \t\n*?[") {
					return true
				}
			}
		}
	}
	return false
}

// unquotedLet returns an expression of let in quotes, as the expression itself.
func unquotedLet(x syntax.ArithmExpr) syntax.ArithmExpr {
	w, ok := x.(*syntax.Word)
	if !ok || len(w.Parts) != 1 {
		return x
	}
	text := ""
	switch part := w.Parts[0].(type) {
	case *syntax.SglQuoted:
		text = part.Value
	case *syntax.DblQuoted:
		if len(part.Parts) != 1 {
			return nil
		}
		lit, ok := part.Parts[0].(*syntax.Lit)
		if !ok {
			return nil
		}
		text = lit.Value
	default:
		return x
	}
	expr, err := syntax.NewParser().Arithmetic(strings.NewReader(text))
	if err != nil {
		return nil
	}
	return expr
}

// lookAtCall refuses a trap on the exit of a subshell, and gives return outside of functions the
// meaning that it has in dash.
func (d *dialect) lookAtCall(n *syntax.CallExpr) {
	for i, a := range n.Assigns {
		if a.Name != nil && a.Name.Value == "" { // the parser takes += for one, which is a word
			n.Args = append(assignedWords(n.Assigns[i:]), n.Args...)
			n.Assigns = n.Assigns[:i]
			break
		}
	}
	if len(n.Args) == 0 {
		return
	}
	inFunction := false
	for _, outer := range d.stack {
		switch outer.(type) {
		case *syntax.FuncDecl:
			inFunction = true
		case *syntax.Subshell, *syntax.CmdSubst:
			if last := n.Args[len(n.Args)-1].Lit(); n.Args[0].Lit() == "trap" && len(n.Args) > 2 && (last == "EXIT" || last == "0") {
				d.refuse("a trap on the end of a subshell")
			}
		}
	}
	if n.Args[0].Lit() == "readonly" {
		for _, w := range n.Args[1:] {
			name, _, _ := strings.Cut(literalStart(w), "=")
			d.constants[name] = true
		}
	}
	if n.Args[0].Lit() != "return" {
		return
	}
	if d.posix && d.run.main && !inFunction {
		n.Args[0] = callOf("exit").Args[0]
	}
	if len(n.Args) == 1 {
		n.Args = append(n.Args, &syntax.Word{Parts: []syntax.WordPart{&syntax.ParamExp{Short: true, Param: &syntax.Lit{Value: "?"}}}})
	}
}

// assignedWords returns assignments as the words that they are written as.
func assignedWords(assigns []*syntax.Assign) (words []*syntax.Word) {
	for _, a := range assigns {
		start := a.Name.Value + "="
		if a.Append {
			start = a.Name.Value + "+="
		}
		w := &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: start, ValuePos: a.Pos(), ValueEnd: a.Pos()}}}
		if a.Value != nil {
			w.Parts = append(w.Parts, a.Value.Parts...)
		}
		words = append(words, w)
	}
	return words
}

// literalStart returns the literal text at the start of a word, before any expansion.
func literalStart(w *syntax.Word) string {
	if lit, ok := w.Parts[0].(*syntax.Lit); ok {
		return lit.Value
	}
	return ""
}

// edit rewrites what the interpreter does otherwise.
func (d *dialect) edit(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Stmt:
		if n.Cmd != nil {
			n.Cmd = d.command(n.Cmd)
		}
		if n.Background {
			inner := *n
			inner.Background = false
			*n = syntax.Stmt{Position: n.Position, Background: true, Cmd: &syntax.Block{Stmts: walled(&inner)}}
		}
		for _, r := range n.Redirs {
			if r.Op == syntax.RdrClob {
				r.Op = syntax.RdrOut
			}
		}
	case *syntax.BinaryCmd:
		if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
			n.X = &syntax.Stmt{Position: n.X.Position, Cmd: &syntax.Block{Stmts: walled(n.X)}}
			n.Y = &syntax.Stmt{Position: n.Y.Position, Cmd: &syntax.Subshell{Stmts: walled(n.Y)}}
		}
	case *syntax.CallExpr:
		d.escape(n.Args)
	case *syntax.WordIter:
		d.escape(n.Items)
	case *syntax.CmdSubst:
		if len(n.Stmts) == 1 && n.Stmts[0].Cmd == nil && len(n.Stmts[0].Redirs) == 1 && n.Stmts[0].Redirs[0].Op == syntax.RdrIn {
			n.Stmts[0].Cmd = callOf(own + "cat") // whose output is bounded
		} else if d.run.errexit && !d.posix { // bash does not inherit -e
			n.Stmts = append([]*syntax.Stmt{{Cmd: callOf(own + "tolerate")}}, n.Stmts...)
		}
	case *syntax.ParamExp:
		editExpansion(n)
		if n.Repl != nil {
			dashLast(n.Repl.Orig)
		}
	case *syntax.CaseItem:
		for _, w := range n.Patterns {
			dashLast(w)
		}
	case *syntax.BinaryTest:
		if w, ok := n.Y.(*syntax.Word); ok && (n.Op == syntax.TsMatch || n.Op == syntax.TsMatchShort || n.Op == syntax.TsNoMatch) {
			dashLast(w)
		}
	case *syntax.BinaryArithm:
		if n.Op == syntax.Quo || n.Op == syntax.Rem {
			n.Y = notZero(n.Y)
		}
	case *syntax.Word:
		for i, part := range n.Parts {
			if p, ok := part.(*syntax.ProcSubst); ok {
				n.Parts[i] = d.substitution(p)
			}
		}
	}
}

// escape keeps words of dash from being expanded by their braces.
func (d *dialect) escape(words []*syntax.Word) {
	for _, w := range words {
		for _, part := range w.Parts {
			if lit, ok := part.(*syntax.Lit); ok && d.posix && strings.Contains(lit.Value, "{") {
				lit.Value = escapeBraces(lit.Value)
			}
		}
	}
}

// editExpansion writes ${10} as ${@:10:1}, and quotes in a pattern so that they quote.
func editExpansion(n *syntax.ParamExp) {
	if n.Param != nil && len(n.Param.Value) > 1 && strings.Trim(n.Param.Value, "0123456789") == "" &&
		n.Slice == nil && n.Exp == nil && n.Repl == nil && !n.Length {
		number := func(text string) *syntax.Word {
			return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: text}}}
		}
		n.Slice = &syntax.Slice{Offset: number(n.Param.Value), Length: number("1")}
		n.Param.Value = "@"
	}
	if n.Exp == nil || n.Exp.Word == nil || n.Exp.Op < syntax.RemSmallSuffix || n.Exp.Op > syntax.RemLargePrefix {
		return
	}
	dashLast(n.Exp.Word)
	for i, part := range n.Exp.Word.Parts {
		if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
			if lit, ok := q.Parts[0].(*syntax.Lit); ok && !strings.ContainsAny(lit.Value, "\\'") {
				n.Exp.Word.Parts[i] = &syntax.Lit{Value: escapePattern(lit.Value)}
			}
		}
	}
}

// dashLast moves a - that a bracket expression begins with to its end, where the interpreter
// takes it for the letter that it is.
func dashLast(w *syntax.Word) {
	if w == nil {
		return
	}
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok && strings.Contains(lit.Value, "-") {
			lit.Value = leadingDash.ReplaceAllString(lit.Value, "[$1$2-]")
		}
	}
}

var leadingDash = regexp.MustCompile(`\[([!^]?)-([^\]\[\\]+)\]`)

// replacement writes what ${x/a/b} puts in so that the interpreter, which takes it as it is
// written, puts in what bash does: a backslash quotes, and & is what was found (bash(1),
// patsub_replacement).
func (d *dialect) replacement(r *syntax.Replace) {
	for i, part := range r.With.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || !strings.ContainsAny(lit.Value, "\\&") {
			continue
		}
		found := ""
		if r.Orig != nil {
			found = r.Orig.Lit()
		}
		var b strings.Builder
		for j := 0; j < len(lit.Value); j++ {
			switch c := lit.Value[j]; {
			case c == '\\' && j+1 < len(lit.Value):
				j++
				b.WriteByte(lit.Value[j])
			case c == '&' && (found == "" || strings.ContainsAny(found, "*?[\\#%")):
				d.refuse("& for what a pattern found, in ${x/%s/%s}", found, lit.Value)
				return
			case c == '&':
				b.WriteString(found)
			default:
				b.WriteByte(c)
			}
		}
		text := b.String()
		if !strings.ContainsAny(text, "\\\"'$`}") {
			lit.Value = text
			continue
		}
		text = strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "$", "\\$", "`", "\\`").Replace(text)
		r.With.Parts[i] = &syntax.DblQuoted{Parts: []syntax.WordPart{&syntax.Lit{Value: text, ValuePos: lit.ValuePos, ValueEnd: lit.ValueEnd}}}
	}
}

// escapePattern makes the letters of a pattern mean themselves.
func escapePattern(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune("*?[]", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// notZero wraps a divisor so that the script ends if it is 0, as in real shells.
func notZero(y syntax.ArithmExpr) syntax.ArithmExpr {
	if w, ok := y.(*syntax.Word); ok && strings.Trim(w.Lit(), "0") != "" && strings.Trim(w.Lit(), "0123456789") == "" {
		return y
	}
	zero := &syntax.Word{Parts: []syntax.WordPart{&syntax.ParamExp{Param: &syntax.Lit{Value: "division_by_zero"},
		Exp: &syntax.Expansion{Op: syntax.ErrorUnsetOrNull, Word: callOf("the divisor is 0").Args[0]}}}}
	return &syntax.ParenArithm{X: &syntax.BinaryArithm{
		Op: syntax.TernQuest, X: y, Y: &syntax.BinaryArithm{Op: syntax.TernColon, X: y, Y: zero},
	}}
}

// escapeBraces keeps { from being expanded: dash knows no braces.
func escapeBraces(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			b.WriteString(text[i : i+2])
			i++
			continue
		}
		if text[i] == '{' {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// walled returns statements that run one in a handler of this package, which contains what
// panics: the interpreter runs parts of pipes and jobs in goroutines of its own. They run in
// a subshell, so that one name is enough.
func walled(s *syntax.Stmt) []*syntax.Stmt {
	part := &syntax.FuncDecl{Name: &syntax.Lit{Value: wallPart}, Parens: true,
		Body: &syntax.Stmt{Cmd: &syntax.Block{Stmts: []*syntax.Stmt{s}}}}
	return []*syntax.Stmt{{Position: s.Position, Cmd: part}, {Position: s.Position, Cmd: callOf(own + "apart")}}
}

// wallPart is the function that walled declares.
const wallPart = own + "part"

// apart runs the function that walled declares, with the context of an exec handler.
func (s *Shell) apart(ctx context.Context) (err error) {
	h := interp.HandlerCtx(ctx)
	if l, some := ctx.Value(limitsKey{}).(limits); some {
		meter := s.guest.Usage.Meter(ctx) // a part holds what a statement of it can grow to
		defer meter.Close()
		if err := meter.Try(ownShare + int(l.script.largest.Load())); err != nil {
			fmt.Fprintf(h.Stderr, "sh: %v\n", err)
			return interp.ExitStatus(killedCode)
		}
	}
	if p := s.guest.Wall.Call("sh", func() { err = h.Builtin(ctx, []string{"eval", wallPart + ` "$@"`}) }); p != nil {
		fmt.Fprintf(h.Stderr, "%v\n", p)
		return interp.ExitStatus(contain.ExitCode)
	}
	return err
}

func (d *dialect) command(c syntax.Command) syntax.Command {
	switch c := c.(type) {
	case *syntax.WhileClause:
		if fails(c.Do) && (!d.run.errexit || d.tailLoops[c]) {
			d.loops++
			return withStatus(c, &c.Do, d.loops)
		}
	case *syntax.ForClause:
		if _, counts := c.Loop.(*syntax.CStyleLoop); counts && fails(c.Do) && (!d.run.errexit || d.tailLoops[c]) {
			d.loops++
			return withStatus(c, &c.Do, d.loops)
		}
	case *syntax.TimeClause: // how long it takes is not reported
		if c.Stmt != nil {
			return &syntax.Block{Stmts: []*syntax.Stmt{c.Stmt}}
		}
	case *syntax.ArithmCmd:
		if block := d.counted(c.X); countable(c.X) && block != nil {
			return block
		}
	case *syntax.CallExpr:
		if block := d.assigned(c); block != nil {
			return block
		}
		if d.posix && len(c.Args) > 0 {
			switch c.Args[0].Lit() {
			case "export", "readonly", "local":
				return declared(c)
			}
		}
	}
	return c
}

// assigned checks an assignment to a variable that the script makes read-only, which
// ends the shell.
func (d *dialect) assigned(c *syntax.CallExpr) syntax.Command {
	if len(c.Args) > 0 || d.checked[c] || !d.posix && d.alone(c) {
		return nil
	}
	for _, a := range c.Assigns {
		if a.Name != nil && d.constants[a.Name.Value] {
			check := callOf(own+"assign", a.Name.Value)
			inner := &syntax.CallExpr{Assigns: c.Assigns}
			d.checked[inner] = true
			return &syntax.Block{Stmts: []*syntax.Stmt{{Cmd: check}, {Cmd: inner}}}
		}
	}
	return nil
}

// fails reports whether the last command of a loop is one that may fail and end nothing.
func fails(do []*syntax.Stmt) bool {
	if len(do) == 0 {
		return false
	}
	last, ok := do[len(do)-1].Cmd.(*syntax.BinaryCmd)
	return ok && last.Op == syntax.AndStmt
}

// withStatus gives a loop the status of the last command that it ran, which the interpreter
// forgets.
func withStatus(loop syntax.Command, do *[]*syntax.Stmt, number int) syntax.Command {
	name := &syntax.Lit{Value: "BASH_LOOP_" + strconv.Itoa(number)}
	set := func(value syntax.WordPart) *syntax.Stmt {
		return &syntax.Stmt{Cmd: &syntax.CallExpr{Assigns: []*syntax.Assign{{Name: name, Value: &syntax.Word{Parts: []syntax.WordPart{value}}}}}}
	}
	zero := func() *syntax.Stmt { return set(&syntax.Lit{Value: "0"}) }
	*do = slices.Concat([]*syntax.Stmt{zero()}, *do, []*syntax.Stmt{set(&syntax.ParamExp{Short: true, Param: &syntax.Lit{Value: "?"}})})
	status := callOf(own + "status")
	status.Args = append(status.Args, &syntax.Word{Parts: []syntax.WordPart{&syntax.ParamExp{Param: name}}})
	return &syntax.Block{Stmts: []*syntax.Stmt{zero(), {Cmd: loop},
		{Cmd: &syntax.BinaryCmd{Op: syntax.AndStmt, X: &syntax.Stmt{Cmd: status}, Y: &syntax.Stmt{Cmd: callOf("true")}}}}}
}

// counted writes ((a[k]++)) and ((a[k] += 2)), which the interpreter knows of plain variables
// alone, as an assignment and a test of the value.
func (d *dialect) counted(x syntax.ArithmExpr) syntax.Command {
	var item, change syntax.ArithmExpr
	op, before := syntax.Add, false
	switch x := x.(type) {
	case *syntax.UnaryArithm:
		item, change, before = x.X, callOf("1").Args[0], x.Post
		if x.Op == syntax.Dec {
			op = syntax.Sub
		}
	case *syntax.BinaryArithm:
		item, change = x.X, x.Y
		if x.Op == syntax.SubAssgn {
			op = syntax.Sub
		}
	}
	p := indexed(item)
	if p == nil {
		return nil
	}
	value := func() *syntax.Word {
		return &syntax.Word{Parts: []syntax.WordPart{&syntax.ParamExp{Param: p.Param, Index: p.Index}}}
	}
	var changed syntax.ArithmExpr = &syntax.BinaryArithm{Op: op, X: value(), Y: &syntax.ParenArithm{X: change}}
	if b, ok := x.(*syntax.BinaryArithm); ok && b.Op == syntax.Assgn {
		changed = change
	}
	set := &syntax.CallExpr{Assigns: []*syntax.Assign{{Name: p.Param, Index: p.Index,
		Value: &syntax.Word{Parts: []syntax.WordPart{&syntax.ArithmExp{X: changed}}}}}}
	var test syntax.ArithmExpr = value()
	if before {
		undo := map[syntax.BinAritOperator]syntax.BinAritOperator{syntax.Add: syntax.Sub, syntax.Sub: syntax.Add}[op]
		test = &syntax.BinaryArithm{Op: undo, X: value(), Y: callOf("1").Args[0]}
	}
	d.checked[set] = true
	return &syntax.Block{Stmts: []*syntax.Stmt{{Cmd: set}, {Cmd: &syntax.ArithmCmd{X: test}}}}
}

// countable reports whether counted knows an expression.
func countable(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case *syntax.UnaryArithm:
		return x.Op == syntax.Inc || x.Op == syntax.Dec
	case *syntax.BinaryArithm:
		return x.Op == syntax.Assgn || x.Op == syntax.AddAssgn || x.Op == syntax.SubAssgn
	}
	return false
}

// indexed returns an expression that is an item of an array, or nil.
func indexed(x syntax.ArithmExpr) *syntax.ParamExp {
	if w, ok := x.(*syntax.Word); ok && len(w.Parts) == 1 {
		if p, ok := w.Parts[0].(*syntax.ParamExp); ok && p.Index != nil && p.Param != nil {
			return p
		}
	}
	return nil
}

// changesItem reports whether an expression changes an item of an array.
func changesItem(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.UnaryArithm:
		return (n.Op == syntax.Inc || n.Op == syntax.Dec) && indexed(n.X) != nil
	case *syntax.BinaryArithm:
		return strings.HasSuffix(n.Op.String(), "=") && !strings.ContainsAny(n.Op.String()[:1], "=!<>") && indexed(n.X) != nil ||
			n.Op == syntax.Assgn && indexed(n.X) != nil
	}
	return false
}

// alone reports whether a command is a line of its own at the top of a script: bash gives up
// the line at which a constant is assigned, and goes on with the next.
func (d *dialect) alone(c *syntax.CallExpr) bool {
	from, to := int(c.Pos().Offset()), int(c.End().Offset())
	if !d.run.main || from > to || to > len(d.source) {
		return false
	}
	return (from == 0 || d.source[from-1] == '\n') && (to == len(d.source) || d.source[to] == '\n')
}

// declared makes a clause of a command that declares variables, which bash's parser
// knows as a keyword.
func declared(c *syntax.CallExpr) syntax.Command {
	name := c.Args[0].Lit()
	out := &syntax.DeclClause{Variant: &syntax.Lit{Value: name, ValuePos: c.Args[0].Pos()}}
	for _, w := range c.Args[1:] {
		text := w.Lit()
		if text == "-p" || text == "--" && name != "local" {
			if text == "-p" {
				return callOf(own+"refuse", name+" -p")
			}
			continue
		}
		out.Args = append(out.Args, assignment(w))
	}
	if len(out.Args) == 0 && len(c.Args) == 1 {
		if name == "local" {
			return callOf("true")
		}
		return callOf(own+"refuse", "what "+name+" prints")
	}
	return out
}

// assignment reads NAME=VALUE in a word.
func assignment(w *syntax.Word) *syntax.Assign {
	first, ok := w.Parts[0].(*syntax.Lit)
	if !ok {
		return &syntax.Assign{Naked: true, Value: w}
	}
	name, rest, some := strings.Cut(first.Value, "=")
	switch {
	case !some && len(w.Parts) == 1 && syntax.ValidName(name):
		return &syntax.Assign{Naked: true, Name: &syntax.Lit{Value: name}}
	case !some || !syntax.ValidName(name):
		return &syntax.Assign{Naked: true, Value: w}
	}
	value := &syntax.Word{}
	if rest != "" {
		value.Parts = append(value.Parts, &syntax.Lit{Value: rest})
	}
	value.Parts = append(value.Parts, w.Parts[1:]...)
	if len(value.Parts) == 0 {
		value.Parts = []syntax.WordPart{&syntax.SglQuoted{}} // a word without parts cannot be printed
	}
	return &syntax.Assign{Name: &syntax.Lit{Value: name}, Value: value}
}
