package powershell

import (
	_ "embed"
	"strings"
	"sync"
)

// The files real_*.txt list names of real PowerShell. A name that is listed and not simulated is refused by
// name; a name that is not listed does not exist, and PowerShell's own error reports it.
//
// real_parameters.txt has the parameters of cmdlets, as Get-Command of PowerShell 7.6 lists them.
// real_members.txt has the members of types, as reflection lists them. real_modules.txt has the cmdlets of
// modules. real_aliases.txt has the aliases of Windows PowerShell 5.1.
//
// real_short_names.txt has the full names of types with short names, real_types.txt the types without one,
// real_bases.txt the base classes of exceptions, real_enumerations.txt enumerations with their members.
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
	// aliases are the commands of aliases in Windows PowerShell 5.1, by alias.
	aliases = listing(aliasNames)
	// typeNames are the full names of types, by short name.
	typeNames = listing(shortNames)
	// bases are the base classes of exceptions, by key. Exceptions that are not listed derive from
	// SystemException, or in System.Management.Automation from RuntimeException.
	bases = listing(baseNames)
	// enumerationTypes are the members of enumerations, by the enumeration's key. A value follows its member after =.
	enumerationTypes = func() map[string]string {
		out := map[string]string{}
		for full, members := range listing(enumerationNames) {
			out[typeKey(full)] = members
		}
		return out
	}()
)

// listing parses lines with a name and a blank before the value.
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

// moduleOf returns the name of a cmdlet's module.
func moduleOf(cmdlet string) string {
	for line := range strings.Lines(moduleNames) {
		if name, rest, _ := strings.Cut(strings.TrimSpace(line), ": "); strings.Contains(" "+rest+" ", " "+cmdlet+" ") {
			return name
		}
	}
	return "Microsoft.PowerShell (simulated by casement)"
}

// hasPrefix reports whether a list has a name with a prefix.
func hasPrefix(list, name string) bool { return strings.Contains(list, " "+strings.ToLower(name)) }

// lacksMember reports whether a type is listed and has no member with a name.
func lacksMember(kind, name string) bool {
	known, ok := realMembers()[strings.ToLower(kind)]
	return ok && !strings.Contains(known, " "+strings.ToLower(name)+" ")
}
