package rules

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"casement.dev/casement/internal/lint"
)

// posix matches an absolute path of Linux.
var posix = regexp.MustCompile(`^/(etc|tmp|var/log|usr|opt)(/|$)`)

// expansion matches the references that Kubernetes expands in commands.
var expansion = regexp.MustCompile(`(\$*)\$\(([A-Za-z_.-][A-Za-z0-9_.-]*)\)`)

// dollars matches PowerShell's variable $$, which Kubernetes replaces by a single dollar.
var dollars = regexp.MustCompile(`(^|[^$])\$\$($|[^A-Za-z_({$?])`)

// systemDirectory matches the system directories of Windows images.
var systemDirectory = regexp.MustCompile(`(?i)^c:[\\/]+(windows|users|program files|programdata)([\\/]|$)`)

// withVariable returns a Windows pod with one environment variable.
func withVariable(name, value string) string {
	return windowsPod + container + "    env:\n    - name: " + name + "\n      value: '" + value + "'\n"
}

// withShell returns a Windows pod that runs a line of PowerShell.
func withShell(text string) string {
	return windowsPod + "  containers:\n  - name: app\n    image: mcr.microsoft.com/windows/servercore:ltsc2022\n    env:\n" +
		"    - name: NAME\n      value: web\n    command: [powershell, -Command, '" + text + "']\n"
}

// olderContainerd reports whether the target has a containerd older than 1.minor.
func olderContainerd(t lint.Target, minor int) bool {
	var major, own int
	n, _ := fmt.Sscanf(strings.TrimPrefix(t.Containerd, "v"), "%d.%d", &major, &own)
	return n == 2 && cmp.Or(cmp.Compare(major, 1), cmp.Compare(own, minor)) < 0
}

func deadline(seconds int) string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: example\nspec:\n"+
		"  progressDeadlineSeconds: %d\n  template:\n    spec:\n      nodeSelector:\n        kubernetes.io/os: windows\n"+
		"      containers:\n      - name: app\n        image: mcr.microsoft.com/windows/nanoserver:ltsc2022\n", seconds)
}
