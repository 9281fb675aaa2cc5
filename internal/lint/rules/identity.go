package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

func options(pod, lines string) string {
	return pod + "  securityContext:\n    windowsOptions:\n      " + lines + "\n" + container
}

// Patterns with which the API server checks the parts of a user name. Source: validation.go,
// validateWindowsSecurityContextOptions.
var (
	control       = regexp.MustCompile(`[[:cntrl:]]`)
	netBIOSDomain = regexp.MustCompile(`^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$`)
	dnsDomain     = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`)
)

// userChars are the characters that no Windows user name may contain.
var userChars = regexp.MustCompile(`["/\\:;|=,+*?<>@\[\]]`)

// eachOption runs check for each set value of a field of windowsOptions.
func eachOption(field string, check func(p *lint.Pass, pod *lint.Pod, v lint.Value)) func(*lint.Pass) {
	return func(p *lint.Pass) {
		for _, pod := range p.Set.Pods {
			if v := pod.Spec.At("securityContext", "windowsOptions", field); v.Exists() {
				check(p, pod, v)
			}
			for _, c := range pod.Containers() {
				if v := c.At("securityContext", "windowsOptions", field); v.Exists() {
					check(p, pod, v)
				}
			}
		}
	}
}

// userProblem returns the reason why the API server refuses a user name, or "".
func userProblem(name string) string {
	domain, user, both := strings.Cut(name, `\`)
	if !both {
		user, domain = domain, ""
	}
	switch {
	case name == "":
		return "the user name is empty"
	case strings.Count(name, `\`) > 1:
		return "more than one backslash"
	case control.MatchString(name):
		return "the user name has a control character"
	case len(domain) >= 256:
		return "the domain has more than 255 characters"
	case both && !netBIOSDomain.MatchString(domain) && !dnsDomain.MatchString(domain):
		return fmt.Sprintf("%q is neither a NetBIOS nor a DNS name of a domain", domain)
	case user == "" || strings.Trim(user, " .") == "":
		return "the user is empty, or dots and spaces alone"
	case len(user) > 104:
		return fmt.Sprintf("the user has %d characters, more than 104", len(user))
	case userChars.MatchString(user):
		return fmt.Sprintf("the user %q has a character that Windows does not allow", user)
	}
	return ""
}

// runsHostProcess reports whether any container is effectively a HostProcess container, in the same way as the API
// server: the pod's field does not count if every container overrides it.
func runsHostProcess(pod *lint.Pod) bool {
	return slices.ContainsFunc(pod.Containers(), func(c lint.Container) bool { return c.WindowsOption("hostProcess").True() })
}
