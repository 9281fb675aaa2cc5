package powershell

import (
	_ "embed"
	"strings"
	"sync"
)

// real_parameters.txt has the parameters of cmdlets as Get-Command of PowerShell 7.6 names them, and
// real_members.txt the members of types as reflection names them. What is in them and not
// simulated is refused by name; what is not in them does not exist, which PowerShell reports.
//
// real_modules.txt has the cmdlets of modules.
// real_aliases.txt has the aliases of Windows PowerShell 5.1. real_short_names.txt has the full names of types by short ones,
// real_types.txt those that have none, real_bases.txt the classes above exceptions, real_enumerations.txt enumerations with their members.
var (
	//go:embed real_parameters.txt
	parameterNames string
	//go:embed real_members.txt
	memberNames string
	//go:embed real_modules.txt
	moduleNames string
	//go:embed real_aliases.txt
	aliasNames string
	//go:embed real_types.txt
	typeList string
	//go:embed real_short_names.txt
	shortNames string
	//go:embed real_bases.txt
	baseNames string
	//go:embed real_enumerations.txt
	enumerationNames string
)

var (
	// aliases are commands by the aliases of 5.1.
	aliases = listing(aliasNames)
	// typeNames are the types that the simulation knows, by their short names.
	typeNames = listing(shortNames)
	// bases are the classes of exceptions below others, by keys; all others are below Exception alone
	// or, in System.Management.Automation, below RuntimeException.
	bases = listing(baseNames)
	// enumerationTypes are enumerations with their members and, behind =, their values.
	enumerationTypes = func() map[string]string {
		out := map[string]string{}
		for full, members := range listing(enumerationNames) {
			out[typeKey(full)] = members
		}
		return out
	}()
)

// listing reads lines of a name and what belongs to it.
func listing(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		out[name] = rest
	}
	return out
}

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

// moduleOf returns the module of a cmdlet.
func moduleOf(cmdlet string) string {
	for line := range strings.Lines(moduleNames) {
		if name, rest, _ := strings.Cut(strings.TrimSpace(line), ": "); strings.Contains(" "+rest+" ", " "+cmdlet+" ") {
			return name
		}
	}
	return "Microsoft.PowerShell (simulated by casement)"
}

// hasPrefix reports whether a name of a list begins so.
func hasPrefix(list, name string) bool { return strings.Contains(list, " "+strings.ToLower(name)) }

// lacksMember reports whether a value's type has no member of a name.
func lacksMember(kind, name string) bool {
	known, ok := realMembers()[strings.ToLower(kind)]
	return ok && !strings.Contains(known, " "+strings.ToLower(name)+" ")
}
