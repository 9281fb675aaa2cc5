package kubeproc

import (
	"runtime/debug"
	"strings"
)

// Version returns the release of the embedded Kubernetes, such as v1.36.0, or "unknown" in a program that was built
// without module information. The libraries that this program links have the same release, numbered v0.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == "k8s.io/client-go" {
			return "v1" + strings.TrimPrefix(m.Version, "v0")
		}
	}
	return "unknown"
}
