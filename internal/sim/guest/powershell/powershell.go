// Package powershell runs PowerShell in a simulated Windows guest as Windows PowerShell 5.1 does. It has a
// parser and evaluator of the language, and cmdlets for the guest's files, registry, services, network and
// users. It starts no process and opens no connection: its host runs programs, waits and sends requests.
//
// The package ignores nothing silently. A feature that is not simulated ends the script with an error that
// names the feature and an exit code other than 0. A command of the table noEffect does nothing and writes a
// mark. Only internal/sim/guest/shell imports it.
package powershell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"casement.dev/casement/internal/sim/guest/machine"
)

// Program is the call of a program by a script.
type Program struct {
	// Args are the program's name in the script's spelling, and its arguments.
	Args   []string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Env    map[string]string
	Dir    string
}

// Request is an HTTP request of a script.
type Request struct {
	Method, URL string
	Headers     map[string]string
	Body        []byte
}

// Answer is the response to an HTTP request.
type Answer struct {
	Status  int
	Headers map[string]string
	Body    []byte
}

// Host gives a script access to the programs and the network of the guest.
type Host interface {
	// Start runs a program until it ends; found is false if the guest has no program of that name.
	Start(ctx context.Context, p *Program) (code int, found bool)
	// Has reports whether the guest has a program with a name, and returns its path.
	Has(name string) (path string, ok bool)
	// Ask sends an HTTP request in the guest's network. It returns an error if no server answers.
	Ask(ctx context.Context, r Request) (Answer, error)
	// Sleep waits for a duration. It may wait less, and returns the skipped part, which the script's time adds
	// to the guest's clock.
	Sleep(ctx context.Context, d time.Duration) (time.Duration, error)
	// Enter starts a script within another one. The caller calls leave at the script's end.
	Enter(ctx context.Context, script string) (inner context.Context, leave func(), err error)
	// Overrun reports that a bound ended a script.
	Overrun(reason string)
}

// Session is the environment of a script. The streams and Env must not be nil.
type Session struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Env    map[string]string
	Dir    string
	// File is the path of the script's file, or "" for a command.
	File string
	// Args are the arguments of the script.
	Args []string
	User string
	// Marks is the writer for the marks of commands without effect; nil means Stderr.
	Marks io.Writer
}

// Shell is a PowerShell. It keeps variables, functions and its directory between scripts. Only one goroutine may use it.
type Shell struct{ r *run }

// New starts a PowerShell in a guest.
func New(m *machine.Machine, h Host, s Session) *Shell {
	global := newScope(nil)
	r := &run{
		m: m, host: h, session: s, dir: s.Dir, site: site{scope: global}, global: global, ok: true, errors: newArray(), ctx: context.Background(),
		meter: m.Usage.Meter(context.Background()),
	}
	r.errors.kind = "ArrayList"
	global.script = true
	for name, value := range map[string]any{
		"true": true, "false": false, "null": nil, "erroractionpreference": "Continue",
		"warningpreference": "Continue", "verbosepreference": "SilentlyContinue",
		"debugpreference": "SilentlyContinue", "informationpreference": "SilentlyContinue",
		"progresspreference": "Continue", "confirmpreference": "High", "errorview": "NormalView",
		"whatifpreference": false, "ofs": " ", "error": r.errors, "psculture": "en-US", "psuiculture": "en-US",
		"shellid": "Microsoft.PowerShell",
		"home":    s.Env["USERPROFILE"], "pshome": `C:\Windows\System32\WindowsPowerShell\v1.0`, "pid": int64(4242),
		"host":           hostObject(),
		"profile":        s.Env["USERPROFILE"] + `\Documents\WindowsPowerShell\Microsoft.PowerShell_profile.ps1`,
		"psversiontable": versionTable(m.Image.Build), "outputencoding": "ascii", "myinvocation": nil,
		"maximumhistorycount": int64(4096), "psdefaultparametervalues": newHash(), "psemailserver": "",
	} {
		global.vars[name] = &cell{value: value}
	}
	return &Shell{r}
}

// Close releases the memory of the shell's values.
func (s *Shell) Close() { s.r.meter.Close() }

// Dir returns the current directory.
func (s *Shell) Dir() string { return s.r.dir }

// File runs a script as powershell.exe -File does. It returns the script's exit code, or 1 if an error ended the script, or 0.
func (s *Shell) File(ctx context.Context, script string) int {
	code, _ := s.script(ctx, script)
	return code
}

// Command runs a script as powershell.exe -Command does. It returns the script's exit code, or 1 if an error
// ended the script or its last statement failed, or 0.
func (s *Shell) Command(ctx context.Context, script string) int {
	code, ended := s.script(ctx, script)
	if !ended && !s.r.ok {
		return 1
	}
	return code
}

// Line runs a line of a user's input. It returns the exit code so far, and whether the shell has ended.
// incomplete is true if the text needs more lines.
func (s *Shell) Line(ctx context.Context, line string) (code int, done, incomplete bool) {
	if e, ok := errors.AsType[*ParseError](parseOnly(line)); ok && e.Incomplete && !e.Missing {
		return 0, false, true
	}
	code, ended := s.script(ctx, line)
	done = ended && s.r.exited
	if !done && !s.r.ok {
		code = 1
	}
	return code, done, false
}

func parseOnly(text string) error { _, err := parse(text); return err }

// script runs text in the shell's own scope. ended is false if the text ran to its end.
func (s *Shell) script(ctx context.Context, text string) (code int, ended bool) {
	r := s.r
	r.exited, r.ok = false, true
	ctx, leave, err := r.host.Enter(ctx, text)
	defer leave()
	if err != nil {
		r.print(r.session.Stderr, err.Error()+"\r\n")
		return 1, true
	}
	r.ctx = ctx
	body, err := parse(text)
	if err != nil {
		r.print(r.session.Stderr, err.Error()+"\r\n")
		r.ok = false
		return 1, true
	}
	r.source, r.file = body.source, r.session.File
	if err := r.requires(body.source); err != nil {
		return r.outcome(err)
	}
	if err := r.precheck(body); err != nil {
		return r.outcome(err)
	}
	shown := &printer{r: r}
	err = r.top(body, shown)
	shown.flush(err)
	return r.outcome(err)
}

// outcome returns the exit code for the result of a script, and reports whether the script ended early. It writes the error.
func (r *run) outcome(err error) (code int, ended bool) {
	if err == nil {
		return 0, false
	}
	if exit, ok := errors.AsType[exitSignal](err); ok {
		r.exited = true
		return exit.code, true
	}
	if _, ok := errors.AsType[returnSignal](err); ok {
		return 0, false
	}
	if _, ok := errors.AsType[jumpSignal](err); ok {
		return 0, true
	}
	r.ok = false
	if f := failed(err); f != nil {
		if !f.quiet {
			r.print(r.session.Stderr, f.printed())
		}
		return 1, true
	}
	if limit, ok := errors.AsType[*LimitError](err); ok {
		r.host.Overrun(limit.Error())
	}
	if cause := context.Cause(r.ctx); cause != nil {
		err = cause
	}
	r.print(r.session.Stderr, err.Error()+"\r\n")
	return 1, true
}

// top runs the body of the shell's script with the session's arguments.
func (r *run) top(body *block, out *printer) error {
	if r.session.File != "" {
		r.scope.vars["psscriptroot"] = &cell{value: parent(r.session.File)}
		r.scope.vars["pscommandpath"] = &cell{value: r.session.File}
		r.scope.vars["myinvocation"] = &cell{value: r.invocation(r.session.File, "", 0)}
	}
	args := make([]argumentValue, 0, len(r.session.Args))
	for _, a := range r.session.Args {
		args = append(args, scriptArgument(a))
	}
	return r.body(function{name: r.session.File, body: body, source: r.source, file: r.file}, args, nil, out.put)
}

// scriptArgument parses an argument of -File. -Name and -Name:value are parameters.
func scriptArgument(a string) argumentValue {
	if len(a) < 2 || a[0] != '-' || !isLetter(a[1]) {
		return argumentValue{value: a, has: true}
	}
	name, value, joined := strings.Cut(a[1:], ":")
	out := argumentValue{parameter: name, text: a}
	if joined {
		out.value, out.has, out.joined = value, true, true
		switch strings.ToLower(value) {
		case "$true":
			out.value = true
		case "$false":
			out.value = false
		}
	}
	return out
}

func (r *run) print(w io.Writer, text string) { fmt.Fprint(w, text) }

func hostObject() *object {
	return system("System.Management.Automation.Internal.Host.InternalHost", nil, "Name", "ConsoleHost", "Version",
		psVersion(), "CurrentCulture", "en-US", "CurrentUICulture", "en-US")
}

func psVersion() *object {
	return system("System.Version", nil, "Major", int64(5), "Minor", int64(1), "Build", int64(20348), "Revision", int64(1), "text",
		"5.1 (simulated by casement)")
}

func versionTable(build string) *hashtable {
	h := newHash()
	h.set("PSVersion", psVersion())
	h.set("PSEdition", "Desktop")
	h.set("BuildVersion", version(build))
	h.set("CLRVersion", version("4.0.30319.42000"))
	return h
}
