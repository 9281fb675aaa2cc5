package image

import (
	_ "embed"
	"strings"
)

// system is the script syntax of an operating system. Calls name a library function as PowerShell spells it, with its
// parameters; in sh the same functions have their own spelling, with positional arguments in the same order.
type system struct {
	// library are the functions that all scripts share.
	library string
	// restart is the exit code with which a script requests a restart of the machine.
	restart int
	// call formats a call of a function with its parameters and their values.
	call func(function string, with ...string) string
	// wrap returns a script with calls, in which a failing call exits with code 1.
	wrap func(calls []string) string
}

//go:embed script/windows.ps1
var windowsLibrary string

//go:embed script/linux.sh
var linuxLibrary string

// systems are the script syntaxes by operating system.
var systems = map[string]system{
	// 3010 is ERROR_SUCCESS_REBOOT_REQUIRED.
	osWindows: {windowsLibrary, 3010, callPowerShell, wrapPowerShell},
	// 194 is 3010 modulo 256, because an exit code has eight bits.
	osLinux: {linuxLibrary, 194, callSh, wrapSh},
}

// callPowerShell formats a call as "Verb-Noun -Name 'value'".
func callPowerShell(function string, with ...string) string {
	for i := 0; i+1 < len(with); i += 2 {
		function += " -" + with[i] + " " + quote(with[i+1])
	}
	return function
}

// wrapPowerShell returns a script: the library and the calls. A call that fails ends the script with code
// 1.
func wrapPowerShell(calls []string) string {
	return windowsLibrary + "\ntry {\n  " + strings.Join(calls, "\n  ") +
		"\n} catch {\n  Write-Output \"FAILED: $($_.Exception.Message)\"\n  exit 1\n}\nexit 0\n"
}

// quote returns a text as a PowerShell literal, in which typographic quotes are escaped too.
func quote(s string) string {
	return "'" + strings.NewReplacer("'", "''", "\u2018", "\u2018\u2018", "\u2019", "\u2019\u2019", "\u201a",
		"\u201a\u201a", "\u201b", "\u201b\u201b").Replace(s) + "'"
}

// callSh formats a call as "verb_noun 'value'": Register-Kubelet is register_kubelet, Get-ContainerImage
// get_container_image.
func callSh(function string, with ...string) string {
	var out strings.Builder
	for i, r := range function {
		upper := r >= 'A' && r <= 'Z'
		switch {
		case r == '-':
			out.WriteByte('_')
			continue
		case upper && i > 0 && function[i-1] != '-':
			out.WriteByte('_')
		}
		out.WriteString(strings.ToLower(string(r)))
	}
	for i := 0; i+1 < len(with); i += 2 {
		out.WriteString(" " + quoteSh(with[i+1]))
	}
	return out.String()
}

// wrapSh returns a script: the library, whose functions exit with code 1 on failure, and calls.
func wrapSh(calls []string) string {
	return linuxLibrary + "\n" + strings.Join(calls, "\n") + "\nexit 0\n"
}

// quoteSh returns a text as a literal of sh.
func quoteSh(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
