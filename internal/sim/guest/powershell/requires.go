package powershell

import (
	"regexp"
	"strings"
)

var (
	requiresLine    = regexp.MustCompile(`(?im)^[ \t]*#requires[ \t]+(.*)$`)
	requiresVersion = regexp.MustCompile(`(?i)-version[ \t]+([0-9.]+)`)
	requiresModules = regexp.MustCompile(`(?i)-modules?[ \t]+(.*)$`)
	requiresEdition = regexp.MustCompile(`(?i)-psedition[ \t]+([\w, \t]+)`)
)

// requires returns an error if a requirement of a script's #Requires statements (about_Requires) is not met.
func (r *run) requires(script string) error {
	if !strings.Contains(script, "#") {
		return nil
	}
	refuse := func(id, format string, a ...any) error {
		f := broken("ScriptRequiresException", id, "The script '"+base(r.file)+"' cannot be run because "+format, a...)
		f.category, f.target, f.ends = "ResourceUnavailable", base(r.file), true
		return f
	}
	for _, line := range requiresLine.FindAllStringSubmatch(script, -1) {
		if m := requiresVersion.FindStringSubmatch(line[1]); m != nil && orderVersions(m[1], "5.1") > 0 {
			return refuse("ScriptRequiresUnmatchedPSVersion", "it contained a \"#requires\" statement for Windows PowerShell %s. The version "+
				"of Windows PowerShell that is required by the script does not match the currently running version of Windows PowerShell 5.1.", m[1])
		}
		if m := requiresEdition.FindStringSubmatch(line[1]); m != nil && !strings.Contains(strings.ToLower(m[1]), "desktop") {
			return refuse("ScriptRequiresUnmatchedPSEdition", "it contained a \"#requires\" statement for PowerShell editions '%s'.", m[1])
		}
		m := requiresModules.FindStringSubmatch(line[1])
		if m == nil || strings.Contains(m[1], "@{") {
			continue
		}
		list, _, _ := strings.Cut(m[1], " -")
		for name := range strings.SplitSeq(list, ",") {
			name = strings.Trim(strings.TrimSpace(name), "'\"")
			if known := knownModules[strings.ToLower(name)]; !known && r.modules[strings.ToLower(name)] == nil {
				return refuse("ScriptRequiresMissingModules", "the following modules that are specified by the \"#requires\" statements of the "+
					"script are missing: %s.", name)
			}
		}
	}
	return nil
}
