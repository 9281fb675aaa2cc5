package powershell

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/sim/guest/machine"
)

// The following constants bound one run of a script.
const (
	maxSteps = 1_000_000
	// maxValue is the maximum size of a value in bytes. The guest's account bounds the memory of all values together.
	maxValue = 16 << 20
	// maxCalls is the maximum depth of function calls.
	maxCalls = 250
	// maxItems is the maximum length of a range or list.
	maxItems = 1 << 20
)

// sink receives the output values of a statement.
type sink func(any) error

// run is the state of a PowerShell.
type run struct {
	ctx     context.Context
	m       *machine.Machine
	host    Host
	session Session
	dir     string
	// stack are the directories that Push-Location stored.
	stack []string

	site
	global *scope
	// pending is the output of statements that a jump left.
	pending []any
	// redirected are the sinks of redirected streams, by stream number.
	redirected [7]sink
	lastExit   any
	ok         bool
	exited     bool
	errors     *array
	// tries is the number of try statements around the current statement.
	tries int
	// skipped is the part of all waits that was skipped.
	skipped time.Duration
	// slept is the total time for which the script has waited.
	slept        time.Duration
	steps, calls int
	meter        *limit.Meter
	// modules are the imported modules by name; loading is the module whose script runs.
	modules map[string]*module
	loading *module
	jobs    jobList
	// transcripts are the active transcripts. The last one is the innermost.
	transcripts []transcript
	// using is the scope in which a job's $using: finds variables, or nil outside of jobs.
	using *scope
	// defined are the names of all functions that the script has defined so far.
	defined map[string]bool
	// width is the line width of Out-String -Width and similar parameters, or 0.
	width int
	// web is set after Add-Type has loaded System.Web, which Windows PowerShell does not load at its start.
	web bool
}

// site is the place of execution: the scope, and the text and file of the running code.
type site struct {
	scope        *scope
	source, file string
	// frames are the calls of the running functions, outermost first; where is the byte offset of the running statement.
	frames []frame
	where  int
	// catching is the number of catch blocks around the running statement, within one function.
	catching int
}

// frame is a call of a function, with the position of the call.
type frame struct {
	name, file, source string
	where              int
}

// cell is a variable.
type cell struct {
	value any
	kind  string // the type to which assigned values are converted
	// checks are the validators of assigned values.
	checks []validator
	// fixed is the option ReadOnly or Constant, or ""; a private cell is visible in its own scope only.
	fixed   string
	private bool
}

// scope is a scope with its variables, functions and aliases.
type scope struct {
	vars      map[string]*cell
	functions map[string]function
	aliases   map[string]string
	parent    *scope
	script    bool
	// kept are the lists of common parameters such as -ErrorVariable, by stream number.
	kept [7]*array
	// wroteError is set by $PSCmdlet.WriteError. $? is then false after the function.
	wroteError bool
	// home is the scope of the module in which the scope's code is written, or nil.
	home *scope
	// caller is the scope of the caller if it is not the parent, else nil.
	caller *scope
}

func newScope(parent *scope) *scope {
	s := &scope{vars: map[string]*cell{}, functions: map[string]function{}, parent: parent}
	if parent != nil {
		s.home = parent.home
	}
	return s
}

// outer returns the scope of the caller.
func (s *scope) outer() *scope {
	if s.caller != nil {
		return s.caller
	}
	return s.parent
}

// step counts a step, and returns an error if the script has exceeded its bound.
func (r *run) step() error {
	if r.steps++; r.steps > maxSteps {
		return &LimitError{fmt.Sprintf("takes more than %d steps", maxSteps)}
	}
	return r.ctx.Err()
}

// take counts the bytes of values that are about to be allocated, and returns an error if the script exceeds its bound.
func (r *run) take(size int) error {
	if size > maxValue {
		return &LimitError{fmt.Sprintf("makes a value of more than %d MiB", maxValue>>20)}
	}
	if err := r.meter.Try(size); err != nil {
		return &LimitError{fmt.Sprintf("asks for more memory, and %v", err)}
	}
	return nil
}

// text returns the text of a value, and counts its bytes.
func (r *run) text(v any) (string, error) {
	left := maxValue
	if !measure(v, &left, 0) {
		return "", &LimitError{fmt.Sprintf("makes a value of more than %d MiB", maxValue>>20)}
	}
	if err := r.take(maxValue - left); err != nil {
		return "", err
	}
	if a, ok := v.(*array); ok {
		if separator, ok := r.lookup("ofs"); ok && separator != nil && text(separator) != " " {
			parts := make([]string, len(a.items))
			for i, item := range a.items {
				parts[i] = textOf(item, 1)
			}
			return r.joined(parts, text(separator))
		}
	}
	return text(v), nil
}

// measure subtracts the size of a value's text from left, and reports whether left stays positive.
func measure(v any, left *int, level int) bool {
	size := 8
	if level > maxLevels {
		return false
	}
	switch v := v.(type) {
	case string:
		size += len(v)
	case []byte:
		size += 4 * len(v)
	case function:
		size += len(v.text)
	case *array:
		for _, item := range v.items {
			if !measure(item, left, level+1) {
				return false
			}
		}
	case *hashtable:
		for _, item := range v.values {
			if !measure(item, left, level+1) {
				return false
			}
		}
	case *object:
		for _, f := range v.fields {
			size += len(f.name)
			if !measure(f.value, left, level+1) {
				return false
			}
		}
	}
	*left -= size
	return *left > 0
}

// find returns the cell of a variable in the innermost scope that has it, or nil.
func (r *run) find(name string) *cell {
	for s := r.scope; s != nil; s = s.parent {
		if c := s.vars[name]; c != nil && (!c.private || s == r.scope) {
			return c
		}
	}
	return nil
}

func (r *run) lookup(name string) (any, bool) {
	if c := r.find(name); c != nil {
		return c.value, true
	}
	return nil, false
}

// preference returns the value of a preference variable in lower case.
func (r *run) preference(name string) string {
	v, _ := r.lookup(name)
	return strings.ToLower(text(v))
}

// scopeOf splits a name such as script:name into the scope and the rest. If the prefix is not a scope, as in
// env:PATH, drive is the prefix. The scope is nil without a prefix.
func (r *run) scopeOf(name string) (s *scope, rest, drive string) {
	prefix, rest, ok := strings.Cut(name, ":")
	if !ok {
		return nil, name, ""
	}
	switch prefix {
	case "global":
		return r.global, rest, ""
	case "script":
		for s := r.scope; s != nil; s = s.parent {
			if s.script {
				return s, rest, ""
			}
		}
		return r.global, rest, ""
	case "local", "private":
		return r.scope, rest, ""
	case "variable":
		return nil, rest, ""
	}
	return nil, rest, prefix
}

// get returns the value of a variable.
func (r *run) get(v variable) (any, error) {
	switch v.name {
	case "?":
		return r.ok, nil
	case "lastexitcode":
		if r.lastExit == nil && r.strict() {
			break
		}
		return r.lastExit, nil
	case "pwd":
		return pathObject(r.dir), nil
	case "input":
		a, _ := r.find("input").valueOr().(*array)
		if a == nil || a.kind != kindEnumerator {
			break
		}
		once := *a
		a.items = nil
		return &once, nil
	case "_", "psitem":
		value, _ := r.lookup("_")
		return value, nil
	}
	s, name, drive := r.scopeOf(v.name)
	switch {
	case drive == "env":
		if value, ok := r.env(name); ok {
			return value, nil
		}
		return nil, nil
	case drive == "function":
		if f, ok := r.function(name); ok {
			return f, nil
		}
		return nil, nil
	case drive == "using" && r.using != nil:
		for s := r.using; s != nil; s = s.parent {
			if c := s.vars[name]; c != nil {
				return c.value, nil
			}
		}
		return nil, nil
	case drive == "using":
		return nil, lacking("$using: (no session is simulated)")
	case drive != "":
		data, err := r.readText(drive + ":" + name)
		return data, err
	case s != nil:
		if name == "lastexitcode" {
			return r.lastExit, nil
		}
		if c := s.vars[name]; c != nil {
			return c.value, nil
		}
		return nil, nil
	}
	value, ok := r.lookup(name)
	if ok {
		return value, nil
	}
	switch name {
	case "executioncontext":
		return system("System.Management.Automation.EngineIntrinsics", nil, "InvokeCommand",
			system("System.Management.Automation.CommandInvocationIntrinsics", nil), "SessionState",
			system("System.Management.Automation.SessionState", nil, "Path", system("System.Management.Automation.PathIntrinsics", nil))), nil
	case "formatenumerationlimit", "foreach":
		return nil, lacking("$%s", name)
	}
	if r.strict() && name != "matches" && name != "psboundparameters" {
		f := broken("RuntimeException", "VariableIsUndefined",
			"The variable '$%s' cannot be retrieved because it has not been set.", cmp.Or(v.shown, name))
		f.target = cmp.Or(v.shown, name)
		return nil, f
	}
	return nil, nil
}

// strictness returns the version of Set-StrictMode, or 0.
func (r *run) strictness() int64 { v, _ := r.lookup("casement:strict"); n, _ := v.(int64); return n }

func (r *run) strict() bool { return r.strictness() > 0 }

// set assigns a value to a variable in the innermost scope, or in the scope that the name contains.
func (r *run) set(name string, value any) error {
	s, rest, drive := r.scopeOf(name)
	switch {
	case drive == "env":
		return r.setEnv(rest, value)
	case drive == "function":
		f, ok := value.(function)
		if !ok {
			return lacking("a function that is no script block")
		}
		f.name = rest
		r.scope.functions[strings.ToLower(rest)] = f
		return nil
	case drive != "":
		return lacking("assignment to $%s:", drive)
	}
	if strings.HasSuffix(rest, "actionpreference") || rest == "warningpreference" || rest == "verbosepreference" ||
		rest == "informationpreference" || rest == "debugpreference" || rest == "progresspreference" {
		action, err := toEnumeration("management.automation.actionpreference", value)
		if err != nil {
			return untyped(err)
		}
		value = action
	}
	switch rest {
	case "true", "false", "null", "?", "error", "host", "pid", "home", "pshome":
		if rest == "null" {
			return nil // a value that is assigned to $null is discarded
		}
		return notWritable(rest)
	case "lastexitcode":
		r.lastExit = value
		return nil
	}
	if s == nil {
		s = r.scope
	}
	c := s.vars[rest]
	if c == nil {
		c = &cell{}
		s.vars[rest] = c
	}
	if c.fixed != "" {
		return notWritable(rest)
	}
	c.private = c.private || strings.HasPrefix(name, "private:")
	if c.kind != "" {
		converted, err := r.convert(c.kind, value)
		if c.kind == "bool" || c.kind == "boolean" {
			converted, err = r.converted(parameter{kinds: []string{c.kind}}, value)
		}
		if err != nil {
			return untyped(err)
		}
		value = converted
	}
	for _, by := range c.checks {
		if why, err := r.check(by, value); err != nil {
			return err
		} else if why != "" {
			return broken("ValidationMetadataException", "ValidateSetFailure",
				"The variable cannot be validated because the value %s is not a valid value for the %s variable.", text(value), rest)
		}
	}
	c.value = value
	return nil
}

// untyped makes an error the failure of a value that cannot be converted to its variable's type.
func untyped(err error) error {
	if f := failed(err); f != nil {
		f.exception.kind = "System.Management.Automation.ArgumentTransformationMetadataException"
		f.id, f.category = "RuntimeException", "MetadataError"
	}
	return err
}

func notWritable(name string) *failure {
	return broken("SessionStateUnauthorizedAccessException", "VariableNotWritable",
		"Cannot overwrite variable %s because it is read-only or constant.", name)
}

// env returns an environment variable. Names ignore case.
func (r *run) env(name string) (string, bool) {
	for k, v := range r.session.Env {
		if strings.EqualFold(k, name) {
			return v, true
		}
	}
	return "", false
}

// setEnv sets an environment variable of the process. An empty value removes it.
func (r *run) setEnv(name string, value any) error {
	for k := range r.session.Env {
		if strings.EqualFold(k, name) {
			delete(r.session.Env, k)
			name = k
		}
	}
	if s := text(value); s != "" {
		if err := r.take(len(s)); err != nil {
			return err
		}
		r.session.Env[name] = s
	}
	return nil
}

func (r *run) function(name string) (function, bool) {
	for s := r.scope; s != nil; s = s.parent {
		if f, ok := s.functions[name]; ok {
			return f, true
		}
	}
	return function{}, false
}

// now returns the script's time: the guest's clock and the skipped part of waits.
func (r *run) now() time.Time { return r.m.Clock.Now().In(localZone).Add(r.skipped) }
