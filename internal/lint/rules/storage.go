package rules

import (
	"regexp"
	"strings"
)

// outsideVolume matches a subPath that the kubelet on Windows refuses: with a drive, a leading backslash, or a `..` element.
var outsideVolume = regexp.MustCompile(`^([A-Za-z]:|\\)|(^|\\)\.\.(\\|$)`)

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
