// Package dotnet formats and parses numbers, dates, time spans and GUIDs as .NET does, has its composite formats,
// escapes URIs, and measures, changes and orders strings as .NET does. It is for simulations of programs on .NET:
// Azure's deployment engine, and Windows PowerShell in a simulated machine. A Culture selects the output of .NET
// Framework, on which Windows PowerShell runs, where it differs from current .NET.
//
// It has only the invariant culture and en-US, uses no types of its callers, and limits no output: Composite reports
// the number of bytes that it is about to write. It is pure and imports only the standard library and
// golang.org/x/text. The local Azure and guests may import it.
package dotnet

import (
	"fmt"
	"strings"
)

// Culture has the formats of a culture in a .NET runtime.
type Culture struct {
	currency                       string
	day, longDay, clock, longClock string
	monthAndDay, yearAndMonth      string
	framework                      bool // doubles have 15 digits, precisions have two, and a zero has no sign
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

// Messages of .NET Framework.
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

// GUID formats a GUID, given in the form D, in the form N, D, B, P or X; "" means D.
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

// pairs splits a text into parts of two characters.
func pairs(s string) []string {
	var out []string
	for ; len(s) >= 2; s = s[2:] {
		out = append(out, s[:2])
	}
	return out
}

// cond returns then if is is true, otherwise other.
func cond[T any](is bool, then, other T) T {
	if is {
		return then
	}
	return other
}
