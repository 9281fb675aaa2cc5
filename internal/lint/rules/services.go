package rules

import (
	"regexp"
)

// securityAnnotation matches the two annotations that the fields have replaced.
var securityAnnotation = regexp.MustCompile(`^(container\.apparmor\.security\.beta|seccomp\.security\.alpha)\.kubernetes\.io/`)

func aliases(hostProcess bool) string {
	process := ""
	if hostProcess {
		process = "  hostNetwork: true\n  securityContext:\n    windowsOptions:\n      hostProcess: true\n" +
			"      runAsUserName: NT AUTHORITY\\SYSTEM\n"
	}
	return windowsPod + "  hostAliases:\n  - ip: 10.0.0.9\n    hostnames: [db]\n" + process + container
}

func annotated(line string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\n  annotations:\n    " + line +
		"\nspec:\n  nodeSelector:\n    kubernetes.io/os: windows\n" + container
}
