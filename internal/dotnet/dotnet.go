// Package dotnet writes and reads numbers, dates, spans of time and GUIDs as .NET does, has its composite
// formats, escapes addresses, and counts, changes and orders texts as it does. It is for programs that
// simulate one of .NET: Azure's deployment engine, and Windows PowerShell in a simulated machine. A Culture
// selects the output of .NET Framework, in which Windows PowerShell runs, where it differs from today's
// .NET.
//
// It has the invariant culture and en-US alone, knows no type of its callers, and limits no output:
// Composite reports how much it is about to write. It is pure and imports the standard library and
// golang.org/x/text alone. The local Azure and guests may import it.
package dotnet

import (
	"fmt"
	"strings"
)

// Culture is how a runtime writes in a culture.
type Culture struct {
	currency                       string
	day, longDay, clock, longClock string
	monthAndDay, yearAndMonth      string
	framework                      bool // doubles have 15 digits, precisions two, zero no sign
}

// Invariant returns the invariant culture of .NET.
func Invariant() *Culture {
	return &Culture{currency: "¤", day: "MM/dd/yyyy", longDay: "dddd, dd MMMM yyyy", clock: "HH:mm", longClock: "HH:mm:ss",
		monthAndDay: "MMMM dd", yearAndMonth: "yyyy MMMM"}
}

// FrameworkInvariant returns the invariant culture of .NET Framework.
func FrameworkInvariant() *Culture {
	c := Invariant()
	c.framework = true
	return c
}

// FrameworkUS returns the culture en-US of .NET Framework.
func FrameworkUS() *Culture {
	return &Culture{currency: "$", day: "M/d/yyyy", longDay: "dddd, MMMM d, yyyy", clock: "h:mm tt", longClock: "h:mm:ss tt",
		monthAndDay: "MMMM d", yearAndMonth: "MMMM yyyy", framework: true}
}

// Error is the message of a FormatException.
type Error string

// The messages of .NET Framework.
const (
	ErrInput     = Error("Input string was not in a correct format.")
	ErrSpecifier = Error("Format specifier was invalid.")
	ErrIndex     = Error("Index (zero based) must be greater than or equal to zero and less than the size of the argument list.")
	ErrDate      = Error("String was not recognized as a valid DateTime.")
	ErrWeekday   = Error("String was not recognized as a valid DateTime because the day of week was incorrect.")
	ErrCalendar  = Error("The DateTime represented by the string is not supported in calendar System.Globalization.GregorianCalendar.")
)

// Error implements error.
func (e Error) Error() string { return string(e) }

// GUID writes a GUID, given in the form D, in a form: N, D, B, P or X, "" is D.
func GUID(guid, form string) (string, error) {
	bare := strings.ReplaceAll(guid, "-", "")
	switch strings.ToUpper(form) {
	case "", "D":
		return guid, nil
	case "N":
		return bare, nil
	case "B":
		return "{" + guid + "}", nil
	case "P":
		return "(" + guid + ")", nil
	case "X":
		return fmt.Sprintf("{0x%s,0x%s,0x%s,{0x%s}}", bare[:8], bare[8:12], bare[12:16], strings.Join(pairs(bare[16:]), ",0x")), nil
	}
	return "", Error(`Format String can be only "D", "d", "N", "n", "P", "p", "B", "b", "X" or "x".`)
}

// pairs cuts a text in parts of two.
func pairs(s string) []string {
	var out []string
	for ; len(s) >= 2; s = s[2:] {
		out = append(out, s[:2])
	}
	return out
}

// cond returns one of two values.
func cond[T any](is bool, then, other T) T {
	if is {
		return then
	}
	return other
}
