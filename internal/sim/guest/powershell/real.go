package powershell

import (
	_ "embed"
	"strings"
	"sync"
)

// real_parameters.txt has the parameters of cmdlets as Get-Command of PowerShell 7.6 names them, and
// real_members.txt the members of types as reflection names them. What is in them and not
// simulated is refused by name; what is not in them does not exist, which PowerShell reports.
var (
	//go:embed real_parameters.txt
	parameterNames string
	//go:embed real_members.txt
	memberNames string
)

var (
	realParameters = sync.OnceValue(func() map[string]string { return table(parameterNames, " ") })
	realMembers    = sync.OnceValue(func() map[string]string { return table(memberNames, ": ") })
)

func table(text, separator string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), separator)
		out[strings.ToLower(name)] = " " + strings.ToLower(rest) + " "
	}
	return out
}

// hasPrefix reports whether a name of a list begins so.
func hasPrefix(list, name string) bool { return strings.Contains(list, " "+strings.ToLower(name)) }

// lacksMember reports whether a value's type has no member of a name.
func lacksMember(kind, name string) bool {
	known, ok := realMembers()[strings.ToLower(kind)]
	return ok && !strings.Contains(known, " "+strings.ToLower(name)+" ")
}
