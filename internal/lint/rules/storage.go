package rules

import (
	"regexp"
	"strings"
)

// absoluteOnWindows matches a path with a drive or a leading backslash, or with .. between backslashes.
var absoluteOnWindows = regexp.MustCompile(`^([A-Za-z]:|\\)|(^|\\)\.\.(\\|$)`)

// withVolume returns a Windows pod with a volume.
func withVolume(lines string) string {
	return windowsPod + container + "  volumes:\n  - name: data\n" + lines
}

// withMount returns a Windows pod with a mount.
func withMount(lines string) string {
	return windowsPod + container + "    volumeMounts:\n    - name: data\n      mountPath: C:/data\n" + lines +
		"  volumes:\n  - name: data\n    emptyDir: {}\n"
}

func isPipe(path string) bool {
	return strings.HasPrefix(strings.ReplaceAll(path, "/", `\`), `\\.\pipe\`)
}

// pipe mounts containerd's named pipe at a path.
func pipe(at string) string {
	return windowsPod + container + "    volumeMounts:\n    - name: runtime\n      mountPath: '" + at +
		"'\n  volumes:\n  - name: runtime\n    hostPath:\n      path: '\\\\.\\pipe\\containerd-containerd'\n"
}
