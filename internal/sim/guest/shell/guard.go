package shell

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// The interpreter of POSIX shells bounds no memory, and cannot be ended amid a statement.
// So what one statement can use is bounded from both sides: before each command and each
// pass of a loop the variables are measured, and before a script runs it is computed what
// its statements can make of variables of that size until they are measured again.

// Bounds of what a shell keeps in memory, in bytes.
const (
	// maxVariables bounds all variables together.
	maxVariables = 256 << 10
	// maxFactor bounds the length of variables in a script that replaces parts of variables, since
	// replacements multiply it.
	maxFactor = 16 << 10
	// maxArguments bounds the words of one command; Linux has 2 MiB.
	maxArguments = 1 << 20
	// maxDepth bounds how deep a script is nested, in levels of its tree, of which a pipe or && takes two.
	maxDepth = 4000
	// maxBraces bounds the braces of a word, which are taken apart in a time that is their square.
	maxBraces = 1000
	// maxCaptured bounds what a command substitution prints.
	maxCaptured = maxVariables + maxArguments
	// maxExpanded bounds what the words of a statement can become.
	maxExpanded = 256 << 20
)

// checkpoint is a file that cannot exist. Looking for it measures the variables: there is
// no other way from within a loop that runs no command.
const checkpoint = noTemp + "/checkpoint"

// measure ends a script whose variables, arguments or captured output are too large. It is
// called with the context of a handler.
func (s *Shell) measure(ctx context.Context, args []string) error {
	l, some := ctx.Value(limitsKey{}).(limits)
	if !some {
		return nil
	}
	h := interp.HandlerCtx(ctx)
	bound, arguments := l.used.bounds()
	var size int64
	for name, v := range h.Env.Each {
		size += int64(len(name) + len(v.Str))
		for _, item := range v.List {
			size += int64(len(item))
		}
		for key, item := range v.Map {
			size += int64(len(key) + len(item))
		}
	}
	words := weight(args)
	captured, _ := h.Stdout.(interface{ Len() int })
	switch {
	case size > bound:
		return s.exceed(l.used, fmt.Sprintf("has variables of more than %d KiB", bound>>10))
	case words > arguments:
		return s.exceed(l.used, fmt.Sprintf("has a command of more than %d KiB", arguments>>10))
	case l.used.written.Add(words) > maxWritten:
		return s.exceed(l.used, fmt.Sprintf("writes more than %d MiB", maxWritten>>20))
	case captured != nil && captured.Len() > maxVariables:
		return s.exceed(l.used, fmt.Sprintf("substitutes a command that prints more than %d KiB", maxVariables>>10))
	}
	return nil
}

// bounds returns the largest total size of variables, and of the arguments of a command, in bytes.
func (u *usage) bounds() (variables, arguments int64) {
	if u.factor.Load() {
		return maxFactor, maxFactor
	}
	return maxVariables, maxArguments
}

func weight(words []string) (size int64) {
	for _, word := range words {
		size += int64(len(word) + 16)
	}
	return size
}

// shallow refuses a script that is nested so deep that it takes long to read: parts of a tree are looked through from each of
// its levels.
func (s *Shell) shallow(ctx context.Context, file *syntax.File) error {
	depth, deepest := 0, 0
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			depth--
		} else {
			depth++
		}
		deepest = max(deepest, depth)
		return true
	})
	if l, some := ctx.Value(limitsKey{}).(limits); some && deepest > maxDepth {
		return s.exceed(l.used, fmt.Sprintf("is nested more than %d levels deep", maxDepth))
	}
	return nil
}

// guard refuses a script whose statements can become too large, and lets its loops
// measure the variables.
func (s *Shell) guard(ctx context.Context, file *syntax.File) error {
	l, some := ctx.Value(limitsKey{}).(limits)
	if !some {
		return nil
	}
	w := weigher{sizes: map[string]int64{}, each: maxVariables, arguments: maxArguments}
	syntax.Walk(file, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok && p.Repl != nil && p.Repl.With != nil && !literal(p.Repl.With) {
			w.each, w.arguments = maxFactor, maxFactor
		}
		return w.each > maxFactor
	})
	if w.each < maxVariables {
		l.used.factor.Store(true)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		w.node(n)
		switch n := n.(type) {
		case *syntax.ForClause:
			n.Do = slices.Concat(measuring(), n.Do)
			if _, counts := n.Loop.(*syntax.CStyleLoop); counts {
				n.Do = append(n.Do, measuring()...) // the interpreter ends such a loop after a command that failed
			}
		case *syntax.WhileClause:
			n.Do = slices.Concat(measuring(), n.Do)
		}
		return w.reason == ""
	})
	if w.reason != "" {
		return s.exceed(l.used, w.reason)
	}
	return l.script.grows(w.largest)
}

// begins measures what a script is given.
func (s *Shell) begins(ctx context.Context, o Session) error {
	l, some := ctx.Value(limitsKey{}).(limits)
	if !some {
		return nil
	}
	variables, arguments := l.used.bounds()
	size := int64(0)
	for name, value := range o.Env {
		size += int64(len(name) + len(value))
	}
	if size > variables || weight(o.Args) > arguments {
		return s.exceed(l.used, fmt.Sprintf("is given more than %d KiB", variables>>10))
	}
	return nil
}

// measuring returns the statement by which a loop measures. It prints nothing in a trace,
// and never fails.
func measuring() []*syntax.Stmt {
	test := &syntax.TestClause{X: &syntax.UnaryTest{
		Op: syntax.TsExists, X: &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: checkpoint}}},
	}}
	return []*syntax.Stmt{{Cmd: test}}
}

func literal(w *syntax.Word) bool {
	return !slices.ContainsFunc(w.Parts, func(part syntax.WordPart) bool {
		switch part := part.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
			return false
		case *syntax.DblQuoted:
			return !literal(&syntax.Word{Parts: part.Parts})
		}
		return true
	})
}

// weigher computes the largest size that words can have.
type weigher struct {
	sizes map[string]int64 // of variables that have been assigned
	each  int64            // of one that has not
	// arguments is the largest size of positional parameters.
	arguments int64
	// largest is the largest size that a statement can have.
	largest int64
	reason  string
}

// node counts a syntax node before its parts.
func (w *weigher) node(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.CallExpr:
		var all int64
		for _, word := range n.Args {
			all += w.word(word)
		}
		w.bounded(all)
	case *syntax.Redirect:
		w.bounded(w.word(n.Word) + w.word(n.Hdoc))
	case *syntax.Assign:
		size := w.word(n.Value)
		if n.Array != nil {
			for _, item := range n.Array.Elems {
				size += w.word(item.Value)
			}
		}
		if n.Name != nil {
			if n.Append {
				size += w.variable(n.Name.Value)
			}
			w.assign(n.Name.Value, size)
		}
	case *syntax.ForClause:
		if loop, ok := n.Loop.(*syntax.WordIter); ok {
			var all int64
			for _, word := range loop.Items {
				all += w.word(word)
			}
			w.assign(loop.Name.Value, all)
		}
	case *syntax.CaseClause:
		w.bounded(w.word(n.Word))
	case *syntax.UnaryTest:
		w.test(n.X)
	case *syntax.BinaryTest:
		w.test(n.X)
		w.test(n.Y)
	}
}

func (w *weigher) test(x syntax.TestExpr) {
	if word, ok := x.(*syntax.Word); ok {
		w.bounded(w.word(word))
	}
}

func (w *weigher) bounded(size int64) {
	w.largest = max(w.largest, min(size, maxExpanded))
	if size > maxExpanded && w.reason == "" {
		w.reason = fmt.Sprintf("has a statement that can grow to more than %d MiB", maxExpanded>>20)
	}
}

func (w *weigher) assign(name string, size int64) {
	w.bounded(size)
	w.sizes[name] = max(w.variable(name), size)
}

// variable returns the largest size of a variable.
func (w *weigher) variable(name string) int64 {
	if name == "@" || name == "*" || name != "" && name[0] >= '0' && name[0] <= '9' {
		return min(maxArguments, w.arguments)
	}
	return max(w.sizes[name], w.each)
}

// word returns the largest size of a word, whose braces multiply it.
func (w *weigher) word(word *syntax.Word) int64 {
	if word == nil {
		return 0
	}
	plain := *word
	plain.Parts = slices.Clone(word.Parts)
	open := 0
	for _, part := range plain.Parts {
		if text, ok := part.(*syntax.Lit); ok {
			open += strings.Count(text.Value, "{")
		}
	}
	if open > maxBraces {
		w.reason = cmp.Or(w.reason, fmt.Sprintf("has a word with more than %d braces", maxBraces))
		return 0
	}
	syntax.SplitBraces(&plain)
	count, size := w.parts(plain.Parts)
	if count > maxRange && w.reason == "" {
		w.reason = fmt.Sprintf("has a sequence of more than %d items", maxRange)
	}
	return min(count*size, 2*maxExpanded)
}

// parts counts the words that parts expand to, and weighs the largest.
func (w *weigher) parts(parts []syntax.WordPart) (count, size int64) {
	count, size = 1, 1
	for _, part := range parts {
		if braces, ok := part.(*syntax.BraceExp); ok {
			n, longest := w.braces(braces)
			count, size = min(count*n, maxExpanded), size+longest
			continue
		}
		size += w.part(part)
	}
	return count, size
}

// braces counts the words of a brace expansion, and weighs them.
func (w *weigher) braces(b *syntax.BraceExp) (count, size int64) {
	if b.Sequence {
		from, errFrom := strconv.ParseInt(b.Elems[0].Lit(), 10, 64)
		to, errTo := strconv.ParseInt(b.Elems[1].Lit(), 10, 64)
		switch {
		case errFrom == nil && errTo == nil && (to-from > maxRange || from-to > maxRange || to^from < 0 && max(to, from) > maxRange):
			return 2 * maxRange, 20
		case errFrom == nil && errTo == nil:
			return max(to-from, from-to) + 1, 20
		}
		return 256, 1 // letters
	}
	for _, elem := range b.Elems {
		words, longest := w.parts(elem.Parts)
		count, size = min(count+words, maxExpanded), max(size, longest)
	}
	return count, size
}

// part returns the largest size of a part of a word.
func (w *weigher) part(part syntax.WordPart) int64 {
	switch part := part.(type) {
	case *syntax.Lit:
		return int64(len(part.Value))
	case *syntax.SglQuoted:
		return int64(len(part.Value))
	case *syntax.DblQuoted:
		var size int64
		for _, inner := range part.Parts {
			size += w.part(inner)
		}
		return size
	case *syntax.ParamExp:
		return w.expansion(part)
	case *syntax.CmdSubst:
		if len(part.Stmts) == 1 && part.Stmts[0].Cmd == nil {
			return maxWritten // the content of a file
		}
		return maxCaptured
	}
	return 64 // a number, or a pattern
}

// expansion returns the largest size that a variable expands to.
func (w *weigher) expansion(p *syntax.ParamExp) int64 {
	if p.Length || p.Param == nil {
		return 20
	}
	size := w.variable(p.Param.Value)
	if p.Repl != nil {
		with := w.word(p.Repl.With)
		if literals := with - w.each; size <= w.each && literals >= 0 && literals < w.each { // all variables together have w.each
			size, with = w.each/2, w.each/2+literals
		}
		return min(size*(1+with), 2*maxExpanded)
	}
	if p.Exp == nil {
		return size
	}
	size = 4*size + w.word(p.Exp.Word) // quoting makes a text longer
	switch p.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		w.assign(p.Param.Value, size)
	}
	return size
}

// nested guards what a command runs as a script: the arguments of eval, a file that is
// sourced, an action of a trap. What cannot be parsed fails in the interpreter.
func (s *Shell) nested(ctx context.Context, run *scriptRun, args []string) ([]string, error) {
	switch {
	case args[0] == "shopt" && slices.Contains(args, "expand_aliases"):
		return []string{"true"}, nil // an alias is not seen before it runs
	case args[0] == "eval":
		text, err := s.guarded(ctx, run, strings.Join(args[1:], " "), "")
		return []string{"eval", text}, err
	case args[0] == "trap" && len(args) > 2 && !strings.HasPrefix(args[1], "-"):
		text, err := s.guarded(ctx, run, args[1], "")
		return slices.Concat([]string{"trap", text}, args[2:]), err
	case (args[0] == "source" || args[0] == ".") && len(args) > 1:
		data, err := s.guest.Root.ReadFile(s.guest.Root.Abs(interp.HandlerCtx(ctx).Dir, args[1]))
		if err != nil || len(data) > maxScript {
			return args, nil //nolint:nilerr // the interpreter says what is wrong
		}
		file := run.sourced.variable()
		text, err := s.guarded(ctx, run, string(data), file)
		return slices.Concat([]string{args[0], run.sourced.keep(file + "=" + single(args[1]) + "\n" + text)}, args[2:]), err
	}
	return args, nil
}

// guarded returns the text of a script with its guard; source is the variable with the name
// of its file.
func (s *Shell) guarded(ctx context.Context, run *scriptRun, text, source string) (string, error) {
	lang := syntax.LangBash
	if run.posix && !strings.Contains(text, own) {
		lang = syntax.LangPOSIX
	}
	file, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
	if err != nil {
		return text, nil //nolint:nilerr // it fails in the interpreter, too
	}
	if err := s.shallow(ctx, file); err != nil {
		return "", err
	}
	s.adapt(file, text, source, run)
	if err := s.guard(ctx, file); err != nil {
		return "", err
	}
	if err := s.measure(ctx, nil); err != nil {
		return "", err
	}
	var b strings.Builder
	err = syntax.NewPrinter().Print(&b, file)
	return b.String(), err
}

// scripts are texts that are sourced, by names that no file can have. It is safe for use
// from several goroutines.
type scripts struct {
	mu    sync.Mutex
	texts map[string]string
	count int
}

func (s *scripts) keep(text string) (name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	s.count++
	name = fmt.Sprintf("%s/%d", noTemp, s.count)
	s.texts[name] = text
	return name
}

// variable returns a name of its own for the name of a file that is sourced.
func (s *scripts) variable() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("BASH_SOURCE_%d", s.count)
}

// lookup returns a stored text and keeps it; take removes it.
func (s *scripts) lookup(name string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.texts[name]
	return text, ok
}

func (s *scripts) take(name string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.texts[name]
	delete(s.texts, name)
	return text, ok
}

// script is a text as a file.
type script struct{ io.Reader }

func (script) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (script) Close() error              { return nil }
