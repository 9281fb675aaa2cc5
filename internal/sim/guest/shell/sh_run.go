package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"casement.dev/casement/internal/limit"

	"mvdan.cc/sh/v3/syntax"
)

// runner is a POSIX shell or one of its subshells. It runs the syntax tree of the parser. Its variables, expansions,
// descriptors, jobs and traps are bash's, or dash's if posix is set. One goroutine uses a runner; a subshell is a
// copy.
type runner struct {
	shell *Shell
	ctx   context.Context // the subshell of a job has a separate context
	run   *shRun
	meter *limit.Meter

	posix, typed bool
	name         string // $0
	params       []string
	dir          string
	source       string // the source text of the syntax tree
	line, base   int    // the line of the running command, and of the text that eval runs
	text         string // the source text of the running command
	scopes       []map[string]*variable
	size         int // the size of all variables, in bytes
	grown, paid  int // the bytes of the running statement's expansions, and those that the meter counts
	funcs        map[string]*shFunction
	frames       []shFrame
	fds          map[int]*shFile
	options      map[string]bool // the options of set and shopt, by name
	aliases      map[string]string
	dirs         []string
	umask        string

	status, level int
	statuses      []int // PIPESTATUS
	substituted   bool  // a command substitution has set the status
	tested        int   // set -e has no effect while it is not 0
	loops         int
	jump          shJump
	jumps         int
	pid, last     int // $$ of the subshell, and $!
	jobs          []*job
	optionAt      int // the position of getopts within a word
	trapMu        sync.Mutex
	traps         map[string]string
	inherited     map[string]string // traps that a subshell shows and does not run
	pending       []string          // signals that were received
	trapping      bool
	after         []func() // runs after the current command
	started       time.Time
	random        uint32
	within        int // the depth of command substitutions
	expressions   int // the depth of arithmetic expressions
	before        int // the status before the running builtin
	end           context.CancelCauseFunc
	kept          func() // makes the redirections of the command permanent
}

// shRun has the data that all subshells of one script share.
type shRun struct {
	main  *runner
	watch *watch

	mu       sync.Mutex
	pids     int
	files    int
	order    int64
	matchers map[string]*shPattern
	compiled int // the size of the cached patterns, in bytes
	texts    map[string]*syntax.Word
	all      []*job
	ends     []func()
}

type shJump int

const (
	noJump shJump = iota
	breaks
	continues
	returns
	exits
)

type shFunction struct {
	body   *syntax.Stmt
	source string
	file   string
	base   int
	// exported is set if programs get the function, in a variable of the environment.
	exported bool
}

// shFrame is a call of a function, or of a file by source.
type shFrame struct {
	name, file string
	line       int // the line of the call
	params     []string
	outer      []string // the caller's parameters
}

// unwound is the panic that ends the current line, or with exit the shell.
type unwound struct {
	exit bool
	code int
}

// ended is the panic that ends a script at a bound or with its context.
type ended struct{ err error }

// signaled is the cause of the end of a job's context.
type signaled int

// Error names the signal.
func (s signaled) Error() string { return fmt.Sprintf("ended by signal %d", int(s)) }

// job is a command in the background.
type job struct {
	pid    int
	number int // the number for %1; 0 for a process substitution
	r      *runner
	text   string
	end    context.CancelCauseFunc
	done   chan struct{}
	status int
	order  int64 // the rank among the jobs that have ended
	waited bool
	script atomic.Pointer[runner] // the script that the job runs, which receives its signals
}

// jobKey is the context key of a job that is a single command.
type jobKey struct{}

func (s *Shell) runner(ctx context.Context, o Session, posix bool) *runner {
	r := &runner{shell: s, ctx: ctx, posix: posix, name: o.Name, params: o.Args, dir: o.Dir, meter: s.guest.Usage.Meter(ctx),
		run: &shRun{pids: 4000, matchers: map[string]*shPattern{}, texts: map[string]*syntax.Word{}}, pid: 4000,
		scopes: []map[string]*variable{{}}, funcs: map[string]*shFunction{}, fds: map[int]*shFile{}, options: map[string]bool{},
		aliases: map[string]string{}, traps: map[string]string{}, started: time.Now(), umask: o.Env[umaskName],
		random: uint32(time.Now().UnixNano())}
	r.run.main = r
	for n, v := range map[string]bool{"braceexpand": true, "hashall": true, "interactive-comments": true, "sourcepath": true,
		"checkwinsize": true, "cmdhist": true, "complete_fullquote": true, "extquote": true, "force_fignore": true, "globasciiranges": true,
		"globskipdots": true, "hostcomplete": true, "interactive_comments": true, "patsub_replacement": true, "progcomp": true,
		"promptvars": true} {
		r.options[n] = v
	}
	r.fds[0], r.fds[1], r.fds[2] = newFile(o.Stdin, nil, nil), newFile(nil, o.Stdout, nil), newFile(nil, o.Stderr, nil)
	for k, v := range o.Env {
		if k != umaskName && syntax.ValidName(k) {
			r.scopes[0][k] = &variable{text: v, set: true, exported: true}
			r.size += len(k) + len(v)
		}
	}
	for _, line := range s.shellVariables(o, posix) {
		k, v, _ := strings.Cut(line, "=")
		r.scopes[0][k] = &variable{text: v, set: true, integer: !posix && strings.HasSuffix(k, "ID"), readonly: !posix &&
			strings.HasSuffix(k, "ID")}
	}
	return r
}

// subshell returns a copy of the runner, which shares the open files.
func (r *runner) subshell() *runner {
	c := &runner{shell: r.shell, ctx: r.ctx, run: r.run, meter: r.shell.guest.Usage.Meter(r.ctx), posix: r.posix, name: r.name,
		params: r.params, dir: r.dir, source: r.source, line: r.line, base: r.base, size: r.size, umask: r.umask, text: r.text,
		funcs: maps.Clone(r.funcs), frames: slices.Clone(r.frames), fds: maps.Clone(r.fds), options: maps.Clone(r.options),
		aliases: maps.Clone(r.aliases), dirs: slices.Clone(r.dirs), status: r.status, statuses: r.statuses, level: r.level + 1,
		tested: r.tested, loops: r.loops, last: r.last, started: r.started, random: r.random*7 + 1, within: r.within,
		expressions: r.expressions, traps: map[string]string{},
		inherited: maps.Clone(r.inherited)}
	for _, scope := range r.scopes {
		one := make(map[string]*variable, len(scope))
		for name, v := range scope {
			one[name] = v.clone()
		}
		c.scopes = append(c.scopes, one)
	}
	for _, f := range c.fds {
		f.retain()
	}
	r.trapMu.Lock()
	if c.inherited == nil {
		c.inherited = map[string]string{}
	}
	maps.Copy(c.inherited, r.traps)
	for name, text := range r.traps {
		if text == "" || (name == "ERR" && r.options["errtrace"]) || ((name == "DEBUG" || name == "RETURN") && r.options["functrace"]) {
			c.traps[name] = text
		}
	}
	r.trapMu.Unlock()
	r.run.mu.Lock()
	r.run.pids++
	c.pid = r.run.pids
	r.run.mu.Unlock()
	return c
}

// whole runs f as the whole run of a shell, then its EXIT trap, and returns the status.
func (r *runner) whole(f func()) (code int) {
	defer func() {
		r.meter.Close()
		for _, file := range r.fds {
			file.release()
		}
	}()
	if err := r.meter.Try(ownShare); err != nil {
		fmt.Fprintf(r.stderr(), "sh: %v\n", err)
		return killedCode
	}
	code = r.shell.contained("sh", r.stderr(), func() int {
		return r.caught(func() {
			r.guarded(f)
			if text := r.atExit(); text != "" {
				status, exited := r.status, r.jump
				r.jump, r.tested = noJump, 0
				r.guarded(func() { r.evalText(text, 1) })
				if r.jump != exits {
					r.status, r.jump = status, exited
				}
			}
		})
	})
	if cause, some := errors.AsType[signaled](context.Cause(r.ctx)); some {
		return 128 + int(cause)
	}
	return code
}

// atExit removes and returns the EXIT trap.
func (r *runner) atExit() string {
	r.trapMu.Lock()
	defer r.trapMu.Unlock()
	text := r.traps["EXIT"]
	delete(r.traps, "EXIT")
	return text
}

// guarded runs f, and sets the status if f ends the shell.
func (r *runner) guarded(f func()) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case unwound:
			r.status, r.jump = v.code, exits
		default:
			panic(v)
		}
	}()
	f()
}

// caught runs f and returns the status, also if a bound ends it.
func (r *runner) caught(f func()) (code int) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case ended:
			fmt.Fprintf(r.stderr(), "%s: %v\n", r.name, v.err)
			code = killedCode
		default:
			panic(v)
		}
	}()
	if err := r.meter.Run(f); err != nil {
		fmt.Fprintf(r.stderr(), "%s: %v\n", r.name, err)
		return killedCode
	}
	return r.status
}

// tick ends a shell that was cancelled, and runs the traps of the received signals.
func (r *runner) tick() {
	if err := context.Cause(r.ctx); err != nil {
		if s, some := errors.AsType[signaled](err); some {
			panic(unwound{true, 128 + int(s)})
		}
		panic(ended{err})
	}
	r.trapMu.Lock()
	pending := r.pending
	r.pending = nil
	r.trapMu.Unlock()
	for _, name := range pending {
		r.trapped(name)
	}
}

// trapped runs a trap, and restores the status.
func (r *runner) trapped(name string) {
	text := r.traps[name]
	if text == "" || r.trapping {
		return
	}
	status, statuses, line := r.status, r.statuses, r.line
	r.trapping = true
	defer func() { r.trapping = false }()
	r.evalText(text, line)
	r.line = line
	if r.jump == noJump {
		r.status, r.statuses = status, statuses
	}
}

// grow counts n more bytes of the statement's expansions.
func (r *runner) grow(n int) {
	if r.grown += n; r.grown > maxExpanded {
		panic(ended{r.exceed(fmt.Sprintf("has a statement that expands to more than %d MiB", maxExpanded>>20))})
	}
	if over := r.grown - r.paid; over > ownShare {
		r.meter.Hold(over)
		r.paid += over
	}
}

func (r *runner) exceed(bound string) error {
	l, some := r.ctx.Value(limitsKey{}).(limits)
	if !some {
		return errors.New(bound)
	}
	return r.shell.exceed(l.used, bound)
}

// errorf writes an error message with the shell's name and the line.
func (r *runner) errorf(format string, a ...any) {
	fmt.Fprintf(r.stderr(), "%s%s\n", r.where(), fmt.Sprintf(format, a...))
}

func (r *runner) where() string {
	name := r.name
	if n := len(r.frames); n > 0 && r.frames[n-1].file != "" {
		name = r.frames[n-1].file
	}
	if r.typed {
		return name + ": "
	}
	return fmt.Sprintf("%s: %s%d: ", name, map[bool]string{false: "line "}[r.posix], r.line)
}

// fail writes an error message and sets the status.
func (r *runner) fail(code int, format string, a ...any) {
	r.errorf(format, a...)
	r.status = code
}

// fatal writes an error message and ends the shell.
func (r *runner) fatal(code int, format string, a ...any) {
	r.errorf(format, a...)
	panic(unwound{true, code})
}

// abandon writes an error message and ends the current line.
func (r *runner) abandon(format string, a ...any) {
	r.errorf(format, a...)
	panic(unwound{code: 1})
}

// refuse reports a feature that is not simulated, by name, and sets the status.
func (r *runner) refuse(format string, a ...any) {
	what := fmt.Sprintf(format, a...)
	r.shell.guest.Refused(what)
	r.fail(refusedCode, "casement does not simulate %s", what)
}

// maxDepth bounds the nesting of a script, in levels of its syntax tree, because each level needs stack. A pipe or &&
// takes two levels.
const maxDepth = 4000

// deepest returns the number of levels of a syntax tree, at most maxDepth+1.
func deepest(stmts []*syntax.Stmt) (most int) {
	for _, stmt := range stmts {
		depth := 0
		syntax.Walk(stmt, func(n syntax.Node) bool {
			if n == nil {
				depth--
				return true
			}
			most = max(most, depth+1)
			if depth >= maxDepth { // the walk needs stack too
				return false
			}
			depth++
			return true
		})
	}
	return most
}

// shallow ends a script that is nested too deep.
func (r *runner) shallow(stmts []*syntax.Stmt) {
	if deepest(stmts) > maxDepth {
		panic(ended{r.exceed(fmt.Sprintf("is nested more than %d levels deep", maxDepth))})
	}
}

// tree runs the statements of a text line by line: a failed expansion ends its line.
func (r *runner) tree(stmts []*syntax.Stmt) {
	r.shallow(stmts)
	for len(stmts) > 0 && r.jump == noJump {
		n := 1
		for n < len(stmts) && stmts[n].Pos().Line() == stmts[n-1].End().Line() {
			n++
		}
		r.unit(stmts[:n])
		stmts = stmts[n:]
	}
}

// unit runs statements. An error that ends the current line ends them, and the script continues after them.
func (r *runner) unit(stmts []*syntax.Stmt) {
	scopes, frames, tested, loops := r.scopes, r.frames, r.tested, r.loops
	source, base := r.source, r.base
	defer func() {
		v := recover()
		if u, some := v.(unwound); some && !u.exit && r.level == 0 && len(frames) == 0 {
			if len(r.frames) > len(frames) {
				r.params = r.frames[len(frames)].outer
			}
			r.scopes, r.frames, r.tested, r.loops = scopes, frames, tested, loops
			r.source, r.base, r.status, r.trapping = source, base, u.code, false
			if r.options["errexit"] {
				r.jump = exits
			}
			return
		}
		if v != nil {
			panic(v)
		}
	}()
	r.stmts(stmts)
}

func (r *runner) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		if r.jump != noJump {
			return
		}
		r.stmt(s)
	}
}

// quietly runs statements whose failure set -e ignores, and reports whether they succeeded.
func (r *runner) quietly(list []*syntax.Stmt) bool {
	r.tested++
	defer func() { r.tested-- }()
	r.stmts(list)
	return r.status == 0
}

func (r *runner) stmt(s *syntax.Stmt) {
	r.tick()
	r.line = r.base + int(s.Pos().Line())
	if s.Background {
		r.background(s)
		return
	}
	if s.Negated {
		r.tested++
	}
	ok := true
	if c, simple := s.Cmd.(*syntax.CallExpr); simple {
		r.at(c)
		ok = r.call(c, s.Redirs)
	} else {
		ok = r.redirected(s.Redirs, func() { r.command(s) })
	}
	if s.Negated {
		r.tested--
		if r.jump == noJump {
			r.status = map[bool]int{true: 1}[r.status == 0]
		}
		return
	}
	checked := !ok
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr, *syntax.DeclClause, *syntax.LetClause, *syntax.Subshell, *syntax.ArithmCmd, *syntax.TestClause:
		checked = true
	case *syntax.BinaryCmd:
		checked = c.Op == syntax.Pipe || c.Op == syntax.PipeAll
	}
	if checked && r.status != 0 && r.tested == 0 && r.jump == noJump {
		r.failed()
	}
}

// failed handles a command that fails outside of a condition: it reports the line, runs the ERR trap, and with set -e
// ends the shell.
func (r *runner) failed() {
	if r.level == 0 {
		r.run.watch.end(r.status)
	}
	if len(r.frames) == 0 || r.options["errtrace"] {
		r.trapped("ERR")
	}
	if r.options["errexit"] && r.jump == noJump {
		r.jump = exits
	}
}

func (r *runner) command(s *syntax.Stmt) {
	if s.Cmd == nil {
		r.status = 0
		return
	}
	r.at(s.Cmd)
	switch c := s.Cmd.(type) {
	case *syntax.Block:
		r.stmts(c.Stmts)
	case *syntax.Subshell:
		sub := r.subshell()
		r.status = sub.whole(func() { sub.stmts(c.Stmts) })
		r.tick()
	case *syntax.BinaryCmd:
		r.binary(c)
	case *syntax.IfClause:
		r.ifClause(c)
	case *syntax.WhileClause:
		r.loop(func() bool { return r.quietly(c.Cond) != c.Until }, c.Do, nil)
	case *syntax.ForClause:
		r.forClause(c)
	case *syntax.CaseClause:
		r.caseClause(c)
	case *syntax.FuncDecl:
		r.funcs[c.Name.Value] = &shFunction{body: c.Body, source: r.source, file: r.file(), base: r.base}
		r.status = 0
	case *syntax.ArithmCmd:
		r.trapped("DEBUG")
		r.trace("(( " + r.source[c.Left.Offset()+2:c.Right.Offset()] + " ))")
		r.truth(func() bool { return r.arithm(c.X) != 0 })
	case *syntax.LetClause: // let is a builtin; its arguments are expressions only after they are expanded
		r.evalText(`\let`+strings.TrimPrefix(r.snippet(c), "let"), r.line)
	case *syntax.TestClause:
		r.trapped("DEBUG")
		r.testClause(c)
	case *syntax.DeclClause:
		r.trapped("DEBUG")
		r.declClause(c)
	case *syntax.TimeClause:
		start := time.Now()
		if c.Stmt != nil {
			r.stmt(c.Stmt)
		}
		if seconds := time.Since(start).Seconds(); c.PosixFormat {
			fmt.Fprintf(r.stderr(), "real %.2f\nuser 0.00\nsys 0.00\n", seconds)
		} else {
			fmt.Fprintf(r.stderr(), "\nreal\t%dm%.3fs\nuser\t0m0.000s\nsys\t0m0.000s\n", int(seconds)/60, math.Mod(seconds, 60))
		}
	default:
		r.refuse("%s", strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", c), "*syntax."), "Clause")))
	}
}

// truth sets the status to the truth value of an expression. If the expression is wrong, the command fails, the line
// continues, and ok is false.
func (r *runner) truth(holds func() bool) (ok bool) {
	defer func() {
		v := recover()
		if u, some := v.(unwound); some && !u.exit {
			r.status = u.code
		} else if v != nil {
			panic(v)
		}
	}()
	r.status = map[bool]int{false: 1}[holds()]
	return true
}

// at records the running command.
func (r *runner) at(c syntax.Command) {
	from, to := int(c.Pos().Offset()), int(c.End().Offset())
	r.line = r.base + int(c.Pos().Line())
	switch c.(type) {
	case *syntax.CallExpr, *syntax.DeclClause, *syntax.TestClause, *syntax.ArithmCmd:
		if from <= to && to <= len(r.source) && !r.trapping {
			r.text = r.source[from:to]
		}
		if r.level == 0 && r.base == 0 && r.file() == "" {
			r.run.watch.call(r.line)
		}
	}
}

// file returns the name of the file that source runs, or "" in the script itself.
func (r *runner) file() string {
	if n := len(r.frames); n > 0 {
		return r.frames[n-1].file
	}
	return ""
}

// binary runs &&, || or a pipe.
func (r *runner) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt:
		if ok := r.quietly([]*syntax.Stmt{c.X}); ok == (c.Op == syntax.AndStmt) && r.jump == noJump {
			r.stmt(c.Y)
		}
		return
	}
	var parts []*syntax.Stmt
	var errs []bool // whether a part also pipes its standard error
	var flatten func(s *syntax.Stmt)
	flatten = func(s *syntax.Stmt) {
		if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) && len(s.Redirs) == 0 && !s.Negated {
			flatten(b.X)
			errs[len(errs)-1] = b.Op == syntax.PipeAll
			flatten(b.Y)
			return
		}
		parts, errs = append(parts, s), append(errs, false)
	}
	flatten(&syntax.Stmt{Cmd: c})
	r.pipeline(parts, errs)
}

// pipeline runs the parts of a pipe at the same time, each in a subshell; with lastpipe, the last part runs in this shell.
func (r *runner) pipeline(parts []*syntax.Stmt, errs []bool) {
	statuses := make([]int, len(parts))
	var wait sync.WaitGroup
	var in *shFile
	here := func() { r.stmt(parts[len(parts)-1]) }
	for i, part := range parts {
		last := i == len(parts)-1
		if last && r.options["lastpipe"] {
			before := r.fds[0]
			r.fds[0] = in
			here()
			r.fds[0] = before
			in.release()
			statuses[i] = r.status
			break
		}
		sub := r.subshell()
		if in != nil {
			sub.replace(0, in)
		}
		if !last {
			read, write := newPipe(r.ctx)
			sub.replace(1, write)
			if errs[i] {
				sub.replace(2, write.retain())
			}
			in = read
		}
		if c, simple := part.Cmd.(*syntax.CallExpr); simple && (len(c.Args) == 0 || r.funcs[c.Args[0].Lit()] == nil) {
			delete(sub.traps, "ERR") // a simple command has its own process, in which the shell's trap does not run
		}
		do := func() { statuses[i] = sub.whole(func() { sub.stmt(part) }) }
		if last {
			if part.Cmd != nil {
				r.at(part.Cmd)
			}
			do()
			break
		}
		wait.Add(1)
		r.shell.guest.Wall.Go(nil, "a part of a pipe", func() { defer wait.Done(); do() })
	}
	wait.Wait()
	r.statuses = statuses
	r.status = statuses[len(statuses)-1]
	if r.options["pipefail"] {
		for _, s := range statuses {
			if s != 0 {
				r.status = s
			}
		}
	}
	r.tick()
}

// background starts a job.
func (r *runner) background(s *syntax.Stmt) {
	sub := r.subshell()
	one := &job{pid: sub.pid, r: sub, done: make(chan struct{}), text: r.source[min(len(r.source), int(s.Pos().Offset())):]}
	if end := int(s.Semicolon.Offset()) - int(s.Pos().Offset()); end > 0 && end <= len(one.text) {
		one.text = strings.TrimSpace(one.text[:end])
	}
	sub.ctx, one.end = context.WithCancelCause(r.ctx)
	if c, simple := s.Cmd.(*syntax.CallExpr); simple && len(c.Args) > 0 && r.funcs[c.Args[0].Lit()] == nil {
		sub.ctx = context.WithValue(sub.ctx, jobKey{}, one)
	}
	sub.replace(0, newFile(noInput{}, nil, nil))
	inner := *s
	inner.Background = false
	r.run.mu.Lock()
	r.run.all = append(r.run.all, one)
	many := len(r.run.all) > maxJobs
	r.run.mu.Unlock()
	if many {
		panic(ended{r.exceed(fmt.Sprintf("starts more than %d jobs", maxJobs))})
	}
	one.number = 1
	for _, j := range r.jobs {
		if !j.waited {
			one.number = max(one.number, j.number+1)
		}
	}
	r.jobs = append(r.jobs, one)
	r.last, r.status = one.pid, 0
	r.start(one, func() { sub.stmt(&inner) })
}

// start runs a job; the outermost script waits for it.
func (r *runner) start(one *job, f func()) {
	l, some := r.ctx.Value(limitsKey{}).(limits)
	if some {
		l.used.jobs.Add(1)
	}
	r.shell.guest.Wall.Go(nil, "a job", func() {
		one.status = one.r.whole(f)
		r.run.mu.Lock()
		r.run.order++
		one.order = r.run.order
		r.run.mu.Unlock()
		close(one.done)
		if some {
			l.used.jobs.Done()
		}
	})
}

const maxJobs = 5000

func (r *runner) ifClause(c *syntax.IfClause) {
	for ; c != nil; c = c.Else {
		if len(c.Cond) == 0 || r.quietly(c.Cond) && r.jump == noJump { // else has no condition
			r.stmts(c.Then)
			return
		}
		if r.jump != noJump {
			return
		}
	}
	r.status = 0
}

// loop runs statements while a condition is true, and next after each pass.
func (r *runner) loop(more func() bool, do []*syntax.Stmt, next func()) {
	r.loops++
	defer func() { r.loops-- }()
	status := 0
	for {
		r.tick()
		if !more() || r.jump == exits || r.jump == returns {
			break
		}
		if r.jump == noJump {
			r.stmts(do)
			status = r.status
		}
		if r.jump == breaks || r.jump == continues {
			status = 0
			if r.jumps--; r.jumps > 0 {
				return // break or continue of an outer loop
			}
			jump := r.jump
			if r.jump = noJump; jump == breaks {
				break
			}
		}
		if r.jump != noJump {
			return
		}
		if next != nil {
			next()
		}
	}
	if r.jump == noJump {
		r.status = status
	}
}

func (r *runner) forClause(c *syntax.ForClause) {
	switch l := c.Loop.(type) {
	case *syntax.CStyleLoop:
		arithm := func(x syntax.ArithmExpr) bool { return x == nil || r.arithm(x) != 0 }
		arithm(l.Init)
		r.loop(func() bool { return arithm(l.Cond) }, c.Do, func() { arithm(l.Post) })
	case *syntax.WordIter:
		items := r.params
		if l.InPos.IsValid() {
			items = r.fields(l.Items)
		}
		i := -1
		if c.Select && len(items) > 0 {
			ended := false
			r.loop(func() bool { ended = !r.selectOnce(l.Name.Value, items); return !ended }, c.Do, nil)
			if ended && r.jump == noJump {
				r.status = 1
			}
			return
		}
		r.loop(func() bool {
			if i++; i >= len(items) {
				return false
			}
			r.trapped("DEBUG")
			if r.options["xtrace"] {
				r.trace(strings.TrimSuffix(r.source[min(len(r.source), int(c.Pos().Offset())):][:max(0,
					int(l.End().Offset())-int(c.Pos().Offset()))], ";"))
			}
			if err := r.set(l.Name.Value, items[i]); err != nil {
				r.fail(1, "%v", err)
				r.jump, r.jumps = breaks, 1
				return false
			}
			return true
		}, c.Do, nil)
	}
}

// selectOnce runs one pass of select: it prints the menu and reads a line.
func (r *runner) selectOnce(name string, items []string) bool {
	for i, item := range items { // in one column; bash prints long lists in several
		fmt.Fprintf(r.stderr(), "%*d) %s\n", len(strconv.Itoa(len(items))), i+1, item)
	}
	sign := "#? "
	if v := r.find("PS3"); v != nil {
		sign = v.text
	}
	fmt.Fprint(r.stderr(), sign)
	line, ok := r.readLine(r.fds[0].reader(), '\n', -1, false, false)
	if !ok && line == "" {
		fmt.Fprintln(r.stdout())
		r.status = 1
		return false
	}
	text := ""
	if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && n >= 1 && n <= len(items) {
		text = items[n-1]
	}
	return r.set("REPLY", line) == nil && r.set(name, text) == nil
}

func (r *runner) caseClause(c *syntax.CaseClause) {
	r.trace("case " + r.snippet(c.Word) + " in")
	text := r.word(c.Word)
	r.status = 0
	falls := false
	for _, item := range c.Items {
		hit := falls
		for _, p := range item.Patterns {
			hit = hit || r.matches(r.pattern(p), text)
		}
		if !hit {
			continue
		}
		r.stmts(item.Stmts)
		if item.Op == syntax.Break || r.jump != noJump {
			return
		}
		falls = item.Op == syntax.Fallthrough
	}
}

// call runs a simple command. Its words are expanded before its redirections are made. It reports whether the
// redirections succeeded.
func (r *runner) call(c *syntax.CallExpr, redirs []*syntax.Redirect) (ok bool) {
	grown, paid := r.grown, r.paid
	defer func() {
		r.meter.Hold(paid - r.paid)
		r.grown, r.paid = grown, paid
		after := r.after
		r.after = nil
		for _, f := range after {
			f()
		}
	}()
	if r.isAlias(c) {
		return r.redirected(redirs, func() { r.aliased(c) })
	}
	r.trapped("DEBUG")
	r.substituted = false
	var args []string
	if len(c.Args) > 0 {
		if first := c.Args[0].Lit(); r.posix && (first == "export" || first == "readonly" || first == "local") {
			args = append([]string{first}, r.assignments(c.Args[1:])...)
		} else {
			args = r.fields(c.Args)
		}
	}
	if len(args) == 0 {
		for _, a := range c.Assigns {
			r.assign(a)
		}
		if !r.substituted {
			r.status = 0
		}
		status := r.status
		ok = r.redirected(redirs, func() { r.status = status })
		r.statuses = []int{r.status}
		return ok
	}
	r.counted(args)
	temp := map[string]*variable{}
	for _, a := range c.Assigns {
		text := ""
		if a.Value != nil {
			text = r.assigned(a.Value)
		}
		if v := r.find(a.Name.Value); v != nil && v.readonly {
			r.fail(1, "%s: readonly variable", a.Name.Value)
			return true
		} else if a.Append && v != nil {
			text = v.text + text
		}
		temp[a.Name.Value] = &variable{text: text, set: true, exported: true}
		r.traceWords([]string{a.Name.Value + "=" + text}, true)
	}
	r.traceWords(args, false)
	if ok = r.redirected(redirs, func() { r.invoke(args, temp) }); !ok && r.posix && isSpecial(args[0]) {
		panic(unwound{true, 2}) // POSIX, Shell Command Language 2.8.1
	}
	if r.jump != exits {
		r.statuses = []int{r.status}
	}
	r.scopes[0]["_"] = &variable{text: args[len(args)-1], set: true}
	return ok
}

// counted counts one command and the size of its arguments, and ends a script that exceeds its bounds.
func (r *runner) counted(args []string) {
	if err := r.shell.counted(r.ctx); err != nil {
		panic(ended{err})
	}
	l, some := r.ctx.Value(limitsKey{}).(limits)
	if !some {
		return
	}
	words := int64(0)
	for _, word := range args {
		words += int64(len(word) + 16)
	}
	switch {
	case words > maxArguments:
		panic(ended{r.exceed(fmt.Sprintf("has a command of more than %d KiB", maxArguments>>10))})
	case l.used.written.Add(words) > maxWritten:
		panic(ended{r.exceed(fmt.Sprintf("writes more than %d MiB", maxWritten>>20))})
	}
}

// isAlias reports whether the first word of a command is an alias.
func (r *runner) isAlias(c *syntax.CallExpr) bool {
	if !r.options["expand_aliases"] && !r.posix || len(c.Args) == 0 {
		return false
	}
	_, some := r.aliases[c.Args[0].Lit()]
	return some
}

// aliased runs a command whose first word is an alias.
func (r *runner) aliased(c *syntax.CallExpr) {
	name := c.Args[0].Lit()
	text := r.aliases[name]
	rest := ""
	if len(c.Args) > 1 {
		rest = " " + r.source[c.Args[1].Pos().Offset():c.End().Offset()]
	}
	delete(r.aliases, name)
	defer func() { r.aliases[name] = text }()
	r.evalText(text+rest, r.line)
}

// invoke runs a function, a builtin or a program with temporary variables.
func (r *runner) invoke(args []string, temp map[string]*variable) {
	name := args[0]
	if f := r.funcs[name]; f != nil {
		r.function(f, args, temp)
		return
	}
	if b := r.builtin(name); b != nil {
		if name != "exec" && len(temp) > 0 {
			r.scopes = append(r.scopes, temp)
			defer func() {
				r.scopes = slices.DeleteFunc(r.scopes, func(s map[string]*variable) bool { return sameMap(s, temp) })
			}()
		}
		r.before, r.status = r.status, 0
		out := r.fds[1]
		b(r, args)
		if out.broken() && r.jump == noJump {
			panic(unwound{true, pipeCode})
		}
		return
	}
	r.program(args, temp)
}

func sameMap(a, b map[string]*variable) bool { return fmt.Sprintf("%p", a) == fmt.Sprintf("%p", b) }

// function calls a function of the script.
func (r *runner) function(f *shFunction, args []string, temp map[string]*variable) {
	if len(r.frames) > maxFunctions {
		panic(ended{r.exceed("has functions that call each other too deep")})
	}
	params, source, base, loops, line := r.params, r.source, r.base, r.loops, r.line
	r.frames = append(slices.Clip(r.frames), shFrame{name: args[0], file: f.file, line: line, params: args[1:], outer: params})
	r.params, r.source, r.base, r.loops = args[1:], f.source, f.base, 0
	r.scopes = append(r.scopes, temp)
	depth, trap := len(r.scopes), r.traps["RETURN"]
	r.stmt(f.body)
	if r.jump == returns {
		r.jump = noJump
	}
	if r.jump == noJump && (r.options["functrace"] || r.traps["RETURN"] != trap) {
		r.trapped("RETURN")
	}
	for _, v := range r.scopes[depth-1] {
		r.size -= v.bytes()
	}
	r.scopes, r.frames = r.scopes[:depth-1], r.frames[:len(r.frames)-1]
	r.params, r.source, r.base, r.loops, r.line = params, source, base, loops, line
}

// maxFunctions bounds the depth of function calls.
const maxFunctions = 800

// program runs a command of the table or a script file.
func (r *runner) program(args []string, temp map[string]*variable) {
	p := &Process{Args: args, Stdin: r.fds[0].reader(), Stdout: r.writer(1), Stderr: r.writer(2), Dir: r.dir, Env: r.environment(temp),
		posix: r.posix, fds: r.fds, where: r.where()}
	p.isSet = func(name string) bool { return r.isSet(name) }
	r.status = r.shell.launch(r.ctx, p, strings.TrimSuffix(r.where(), ": ")) & 0xff
	r.tick()
}

// environment returns the exported variables.
func (r *runner) environment(temp map[string]*variable) map[string]string {
	out := map[string]string{}
	for _, scope := range append(slices.Clip(r.scopes), temp) {
		for name, v := range scope {
			delete(out, name)
			if v.exported && v.set && v.kind == scalar {
				out[name] = v.text
			}
		}
	}
	for name, f := range r.funcs {
		if f.exported {
			out["BASH_FUNC_"+name+"%%"] = "() " + f.source[f.body.Pos().Offset():f.body.End().Offset()]
		}
	}
	if r.umask != "" {
		out[umaskName] = r.umask
	}
	return out
}

// evalText runs a text as a part of the script.
func (r *runner) evalText(text string, line int) {
	source, base, jump := r.source, r.base, r.jump
	r.jump = noJump
	stmts, parsed, complaint, tree := r.parse(text)
	defer r.meter.Hold(-tree)
	r.shallow(stmts)
	r.source, r.base = parsed, line-1
	r.status = map[bool]int{true: r.status}[len(stmts) > 0]
	for _, s := range stmts {
		if r.jump != noJump {
			break
		}
		r.stmt(s)
	}
	if complaint != "" && r.jump == noJump {
		r.complain(complaint)
	}
	r.source, r.base = source, base
	r.jump = cmp.Or(r.jump, jump)
}

func (r *runner) complain(complaint string) {
	if !r.posix && expansionError(complaint) {
		r.shell.guest.Refused(complaint)
		r.errorf("casement does not simulate an expansion of the script: %s", complaint)
		panic(unwound{true, refusedCode})
	}
	fmt.Fprintf(r.stderr(), "%s: %s\n", r.name, complaint)
	r.status = 2
	if r.posix {
		panic(unwound{true, 2})
	}
}

// parse returns the statements of a text, the text that they refer to, the parser's complaint or "", and the size of
// the tree in bytes. A shell parses and runs a script in turn: statements before a syntax error run.
func (r *runner) parse(text string) ([]*syntax.Stmt, string, string, int) {
	text = strings.ReplaceAll(text, "\r\n", carriageReturn+"\n")
	read := func(text string) ([]*syntax.Stmt, string, string, int) {
		stmts, complaint, at, tree := r.parsed(text)
		for n := 0; n < maxWrongNames && strings.HasSuffix(complaint, "invalid var name"); n++ { // bash reports it only at run time
			text = text[:at] + "''" + text[at:]
			r.meter.Hold(-tree)
			stmts, complaint, at, tree = r.parsed(text)
		}
		return stmts, text, complaint, tree
	}
	stmts, text, complaint, tree := read(text)
	for m := openDocument.FindStringSubmatch(complaint); m != nil; m = openDocument.FindStringSubmatch(complaint) {
		text = strings.TrimSuffix(text, "\n") + "\n" + m[1] + "\n" // the end of a text also ends its here-documents
		r.meter.Hold(-tree)
		stmts, text, complaint, tree = read(text)
	}
	if complaint != "" && !r.posix {
		if other := respelled(text); other != text {
			more, other, still, size := read(other)
			if still == "" {
				r.meter.Hold(-tree)
				return more, other, "", size
			}
			r.meter.Hold(-size)
		}
	}
	return stmts, text, complaint, tree
}

// carriageReturn replaces a carriage return at the end of a line, which the parser would drop; shells do not.
const carriageReturn = "\uf00d"

// respelled rewrites constructs that the parser does not know, or that it refuses before bash does.
func respelled(text string) string {
	text = casesInverted.ReplaceAllStringFunc(text, func(m string) string {
		return strings.TrimSuffix(strings.ReplaceAll(m, "~", "^"), "}") + "~~}"
	})
	text = expressionParts.ReplaceAllStringFunc(text, func(m string) string {
		if _, err := syntax.NewParser().Document(strings.NewReader(m)); err == nil {
			return m
		}
		return `$(("` + m[3:len(m)-2] + `"))`
	})
	text = plainLet.ReplaceAllString(text, `$1\let`)
	text = dottedKeys.ReplaceAllString(text, "$1['$2']$3")
	text = variableKeys.ReplaceAllString(text, `$1["$2$3"]$4`)
	return quotedKeys.ReplaceAllStringFunc(text, func(m string) string { return strings.ReplaceAll(m, "\"", "'") })
}

var (
	openDocument    = regexp.MustCompile("unclosed here-document `(.+)`")
	plainLet        = regexp.MustCompile(`((?m:^|[;&|({]|\bdo|\bthen|\belse)\s*)let\b`)
	casesInverted   = regexp.MustCompile(`(\$\{\w+)~(~?)\}`)
	expressionParts = regexp.MustCompile(`\$\(\([^()"]*\)\)`)
	dottedKeys      = regexp.MustCompile(`((?m:^|[\s;&|(]|\$\{[!#]?)\w*)\[(\w[\w ./:@%+-]*[ ./:@%+-][\w ./:@%+-]*)\](\+?=|[}:#%/^,@-])`)
	variableKeys    = regexp.MustCompile(`((?m:^|[\s;&|(]|\$\{[!#]?)\w*)\[([\w./:@%+-]*)(\$(?:[\w./:@%+$-]|\{\w+\})+)\](\+?=|[}:#%/^,@-])`)
	quotedKeys      = regexp.MustCompile(`\$\{\w+\["[^"$'\]]*"\]`)
)

// maxWrongNames bounds the wrong names in declarations of one text.
const maxWrongNames = 20

// parsed parses a text. complaint is the parser's error or "", offset is the position of the error, and tree the size
// of the tree in bytes.
func (r *runner) parsed(text string) (stmts []*syntax.Stmt, complaint string, offset, tree int) {
	lang := syntax.LangBash
	if r.posix {
		lang = syntax.LangPOSIX
	}
	in := &scriptReader{ctx: r.ctx, meter: r.meter, text: text}
	for s, err := range syntax.NewParser(syntax.Variant(lang)).StmtsSeq(in) {
		if complaint != "" {
			continue // after an error the parser may continue once, and the loop must let it
		}
		if err != nil {
			complaint = syntaxError(err)
			if pe, ok := errors.AsType[syntax.ParseError](err); ok {
				offset = min(int(pe.Pos.Offset()), len(text))
			}
			continue
		}
		if at := nameless(s); at.IsValid() {
			complaint = syntaxError(syntax.ParseError{Pos: at, Text: `")" unexpected`})
			continue
		}
		stmts = append(stmts, s)
	}
	r.readable(in)
	if complaint != "" {
		stmts = wholeLines(stmts, text)
	}
	if at, i := r.earlyExtglob(stmts); at.IsValid() {
		stmts, complaint = wholeLines(stmts[:i], text), syntaxError(syntax.ParseError{Pos: at, Text: `"(" unexpected`})
	}
	return stmts, complaint, offset, in.tree
}

// wholeLines returns the statements without those on the last, incomplete line: a shell reads a whole line before it
// runs it, so a syntax error at the end of the line comes first.
func wholeLines(stmts []*syntax.Stmt, text string) []*syntax.Stmt {
	for ; len(stmts) > 0; stmts = stmts[:len(stmts)-1] {
		rest, _, _ := strings.Cut(text[min(endOffset(stmts[len(stmts)-1]), len(text)):], "\n")
		if rest = strings.TrimLeft(rest, " \t;&"+carriageReturn); rest == "" || rest[0] == '#' {
			break
		}
	}
	return stmts
}

// endOffset returns the offset of the end of a statement, without its here-documents.
func endOffset(s *syntax.Stmt) int {
	last, documents := uint(0), map[*syntax.Word]bool{}
	syntax.Walk(s, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil:
		case *syntax.Stmt, *syntax.BinaryCmd, *syntax.FuncDecl, *syntax.TimeClause, *syntax.CoprocClause:
		case *syntax.Redirect:
			documents[n.Hdoc] = true
		case *syntax.Word:
			if documents[n] {
				return false
			}
			last = max(last, n.End().Offset())
		default:
			last = max(last, n.End().Offset())
		}
		return true
	})
	return int(last)
}

// earlyExtglob returns the position of the first extended pattern that bash does not yet accept, and the index of its
// statement: shopt -s extglob takes effect on the next line.
func (r *runner) earlyExtglob(stmts []*syntax.Stmt) (at syntax.Pos, i int) {
	on, next, line := r.options["extglob"], false, uint(0)
	for i, s := range stmts {
		on = on || next && s.Pos().Line() > line
		line = s.End().Line()
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.ExtGlob:
				if !on && !at.IsValid() {
					at = n.Pos()
				}
			case *syntax.Lit: // a sourced file may set it too
				next = next || n.Value == "extglob" || n.Value == "source" || n.Value == "." || n.Value == "eval"
			case *syntax.TestClause, *syntax.ParamExp: // extended patterns are always on there
				return false
			}
			return true
		})
		if at.IsValid() {
			return at, i
		}
	}
	return at, 0
}

// nameless returns the position of a function without a name. The parser accepts it in every language although only
// zsh has it.
func nameless(s *syntax.Stmt) (at syntax.Pos) {
	syntax.Walk(s, func(n syntax.Node) bool {
		if f, ok := n.(*syntax.FuncDecl); ok && f.Name == nil && !at.IsValid() {
			at = f.Pos()
		}
		return true
	})
	return at
}

// readable ends the shell if the reader stopped the parser.
func (r *runner) readable(in *scriptReader) {
	switch {
	case errors.Is(in.err, errDeep):
		panic(ended{r.exceed(in.err.Error())})
	case in.err != nil:
		panic(ended{in.err})
	}
}

// scriptReader passes a text to the parser and can stop the parser, which calls itself for each level of nesting and
// makes a tree many times as large as the text.
type scriptReader struct {
	ctx   context.Context // the parser takes no context
	meter *limit.Meter
	text  string
	tree  int // the size of the tree that the meter counts, in bytes
	err   error
}

var errDeep = errors.New("is nested too deep")

const (
	// maxStack bounds the stack frames of the parser, which needs about 25 for each level of a script.
	maxStack = 60_000
	// treeSize is the memory of the tree in bytes for each character that is not part of a word.
	treeSize = 400
)

// Read implements io.Reader. The parser reads a kilobyte at a time.
func (s *scriptReader) Read(b []byte) (int, error) {
	var frame [1]uintptr
	switch {
	case s.err != nil:
		return 0, s.err
	case s.text == "":
		return 0, io.EOF
	case runtime.Callers(maxStack, frame[:]) > 0:
		s.err = errDeep
		return 0, s.err
	}
	if s.err = context.Cause(s.ctx); s.err != nil {
		return 0, s.err
	}
	n := copy(b, s.text)
	size := n
	for _, c := range b[:n] {
		if c <= ' ' || strings.IndexByte(";&|<>()$`{}[]'\"!", c) >= 0 {
			size += treeSize
		}
	}
	if s.err = s.meter.Try(size); s.err != nil {
		return 0, s.err
	}
	s.text, s.tree = s.text[n:], s.tree+size
	return n, nil
}

// snippet returns the source text of a node.
func (r *runner) snippet(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from > to || to > len(r.source) {
		return ""
	}
	return r.source[from:to]
}

// trace writes a line of set -x.
func (r *runner) trace(text string) {
	if r.options["xtrace"] {
		sign := "+ "
		if v := r.find("PS4"); v != nil && !r.posix {
			options := r.options["xtrace"]
			r.options["xtrace"] = false
			sign = r.expandText(v.text)
			r.options["xtrace"] = options
		}
		if sign != "" {
			sign = strings.Repeat(sign[:1], r.within) + sign
		}
		fd := 2
		if n, err := strconv.Atoi(r.value("BASH_XTRACEFD")); err == nil && !r.posix {
			fd = n
		}
		fmt.Fprintf(r.writer(fd), "%s%s\n", sign, text)
	}
}

func (r *runner) traceWords(words []string, assignment bool) {
	if !r.options["xtrace"] {
		return
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		if name, value, some := strings.Cut(w, "="); some && assignment {
			quoted[i] = name + "=" + traceQuoted(value, true)
			continue
		}
		if quoted[i] = w; !r.posix || w != "[" && w != "]" {
			quoted[i] = traceQuoted(w, false)
		}
	}
	r.trace(strings.Join(quoted, " "))
}

func traceQuoted(word string, value bool) string {
	if word == "" && !value {
		return "''"
	}
	if quoted := quotedIfNeeded(word); quoted == word || strings.ContainsAny(word, "\x1b\r") {
		return quoted
	}
	return singleQuoted(word)
}
