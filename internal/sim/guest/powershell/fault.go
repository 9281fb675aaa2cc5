package powershell

import (
	"errors"
	"fmt"
	"strings"
)

// failure is an ErrorRecord, an error of PowerShell.
type failure struct {
	exception exception
	id        string
	// command is the name of the command that reports the failure, or "".
	command string
	target  any
	details string
	// advice is the RecommendedAction of ErrorDetails.
	advice string
	// category is the name of an ErrorCategory. If it is empty, the class of the exception decides.
	category string
	// source is the line of the script, stack the stack of function calls.
	source, stack string
	// invoked is the name by which the failed command was called.
	invoked string
	line    int
	column  int
	script  string
	// ends is set for a terminating error, such as of throw or ErrorAction Stop: the script ends unless it catches the error.
	ends bool
	// stopped is set if an action Stop ended the command: SilentlyContinue of a caller does not let the script continue.
	stopped bool
	// leaves is set while the failure ends an advanced function, whose caller continues.
	leaves bool
	// quiet is set once the failure has been printed.
	quiet bool
	// stops is set for a failure that ends its statement even if the cmdlet's -ErrorAction would continue.
	stops bool
	// whole is set if the id stays without the name of a cmdlet.
	whole bool
}

type exception struct {
	kind, message string
	inner         *exception
	// more has additional properties of the exception's class.
	more *object
	// record is the error record that contains the exception.
	record *failure
}

// withProperty sets a property of the failure's exception.
func (f *failure) withProperty(name string, value any) *failure {
	if f.exception.more == nil {
		f.exception.more = custom()
	}
	f.exception.more.set(name, value)
	return f
}

// is reports whether an exception's class is a class or derived from it.
func (e exception) is(wanted string) bool {
	for have := typeKey(e.kind); have != ""; have = baseOf(have) {
		if have == wanted {
			return true
		}
	}
	return false
}

func (e exception) String() string { return e.kind + ": " + e.message }

// Error returns the message of the exception.
func (f *failure) Error() string { return f.exception.message }

// String returns the text of the error record.
func (f *failure) String() string {
	if f.details != "" {
		return f.details
	}
	return f.exception.message
}

// position returns the position of a failure, with file and line number. The text of the line is not shown,
// because it can contain secrets.
func (f *failure) position() string {
	if f.line <= 0 {
		return ""
	}
	where := "line:"
	if f.script != "" {
		where = f.script + ":"
	}
	return fmt.Sprintf("At %s%d char:%d\r\n", where, f.line, f.column)
}

// reporter returns the command that an error record names. Write-Error names its caller.
func (f *failure) reporter() string {
	if f.command == "Write-Error" && f.invoked != "" {
		return f.invoked
	}
	return f.command
}

// printed returns the error record as the console shows it.
func (f *failure) printed() string {
	var b strings.Builder
	if f.command != "" {
		b.WriteString(f.reporter() + " : ")
	}
	b.WriteString(f.String() + "\r\n" + f.position())
	if f.id != "" {
		category, _ := f.categoryInfo().get("text")
		fmt.Fprintf(&b, "    + CategoryInfo          : %s\r\n    + FullyQualifiedErrorId : %s\r\n", text(category), f.id)
	}
	return b.String()
}

// broken returns a failure that ends its statement.
func broken(kind, id, format string, a ...any) *failure {
	if !strings.Contains(kind, ".") {
		kind = "System.Management.Automation." + kind
	}
	return &failure{exception: exception{kind: kind, message: fmt.Sprintf(format, a...)}, id: id}
}

// stop makes a failure end the script, as the action Stop does.
func (f *failure) stop() *failure {
	f.ends, f.stopped = true, true
	return f
}

// thrown returns the failure of a .NET exception, whose class is named without System.
func thrown(class, format string, a ...any) *failure {
	return broken("System."+class, class[strings.LastIndexByte(class, '.')+1:], format, a...)
}

// unsimulated is the error of a feature of PowerShell that casement does not simulate. A script cannot catch
// it, and ends with exit code 1.
type unsimulated struct {
	what string
	// before is set if nothing of the script has run.
	before bool
	line   int
	column int
	script string
}

// Error returns a message with the name of the feature and the position.
func (u *unsimulated) Error() string {
	where := "line:"
	if u.script != "" {
		where = u.script + ":"
	}
	at := ""
	if u.line > 0 {
		at = fmt.Sprintf("\r\nAt %s%d char:%d", where, u.line, u.column)
	}
	ends := "; the script ends here"
	if u.before {
		ends = "; nothing of the script was run"
	}
	return "casement does not simulate " + u.what + ends + at
}

func lacking(format string, a ...any) error { return &unsimulated{what: fmt.Sprintf(format, a...)} }

// LimitError is the error of a script that exceeds a bound of the simulation.
type LimitError struct{ Bound string }

// Error returns a message with the bound.
func (e *LimitError) Error() string {
	return "the script was ended, because it " + e.Bound + " (a bound of the simulation)"
}

type (
	exitSignal   struct{ code int }
	jumpSignal   struct{ word, label string }
	returnSignal struct{}
	// stopSignal ends the earlier stages of a pipeline, because a stage, its owner, needs no more input.
	stopSignal struct{ owner any }
)

func (exitSignal) Error() string   { return "exit" }
func (j jumpSignal) Error() string { return j.word }
func (returnSignal) Error() string { return "return" }
func (stopSignal) Error() string   { return "the pipeline has been stopped" }

// failed returns the failure in an error, or nil for a signal, a bound, an unsimulated feature, or no error.
func failed(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	return nil
}

// trace returns the stack of calls in the format of ScriptStackTrace, innermost first. line is the current line.
func (r *run) trace(line int) string {
	at := func(name, file string, line int) string {
		if name == "" || name == file {
			name = "<ScriptBlock>"
		}
		if file == "" {
			file = "<No file>"
		}
		return fmt.Sprintf("at %s, %s: line %d", name, file, line)
	}
	var out []string
	file := r.file
	for i := len(r.frames) - 1; i >= 0 && len(out) < 32; i-- {
		out = append(out, at(r.frames[i].name, file, line))
		line, _ = lineAndColumn(r.frames[i].source, r.frames[i].where)
		file = r.frames[i].file
	}
	if len(r.frames) == 0 || r.frames[0].name != r.session.File {
		out = append(out, at("", file, line))
	}
	return strings.Join(out, "\n")
}

// located sets the position of a node in an error that has none, and returns the error.
func (r *run) located(err error, n node) error {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*failure](err); ok && f.line == 0 {
		f.line, f.column = lineAndColumn(r.source, n.at())
		f.script = r.file
		f.stack = r.trace(f.line)
		f.source = lineOf(r.source, f.line)
	}
	if u, ok := errors.AsType[*unsimulated](err); ok && u.line == 0 {
		u.line, u.column = lineAndColumn(r.source, n.at())
		u.script = r.file
	}
	return err
}
