package lint

import (
	"cmp"
	"time"
)

// Target describes the cluster that the manifests are meant for. The zero value is the newest Kubernetes and a cluster
// about which nothing else is known; a rule that needs other facts then reports nothing. The tags are the keys of the
// configuration file.
type Target struct {
	// Minor is the minor version of Kubernetes, 36 for 1.36; zero means the newest.
	Minor int `json:"-"`
	// Patch is the patch version; nil means the last one, which has every fix.
	Patch *int `json:"-"`
	// Windows are the Windows Server releases of the nodes, such as 2022. An empty list means that they are unknown.
	Windows []string `json:"windowsReleases,omitempty"`
	// Mixed is true if the cluster has Windows nodes and Linux nodes, so that a pod without an OS can be scheduled on
	// either. Otherwise such pods are treated as Linux pods.
	Mixed bool `json:"mixedCluster,omitempty"`
	// Taints are the taints of the Windows nodes; the default is none.
	Taints []Taint `json:"windowsTaints,omitempty"`
	// Sidecars are labels and annotations that request an injected container without an image for Windows, in addition
	// to those in the rules.
	Sidecars []string `json:"sidecars,omitempty"`
	// Gates are feature gates of the cluster that differ from their default.
	Gates map[string]bool `json:"featureGates,omitempty"`
	// Docker is true if the nodes run Docker instead of containerd; never from Kubernetes
	// 1.24 on.
	Docker bool `json:"docker,omitempty"`
	// Containerd is the release of containerd, such as 1.6; "" means a current release.
	Containerd string `json:"containerd,omitempty"`
	// NanoServerFloor and ServerCoreFloor are memory limits below which a container
	// of that base hardly starts; the defaults are 64Mi and 128Mi.
	NanoServerFloor string `json:"nanoServerMemoryFloor,omitempty"`
	ServerCoreFloor string `json:"serverCoreMemoryFloor,omitempty"`
	// StartupMinutes is the time in minutes that a Windows machine may take to become a node; the default is 20.
	StartupMinutes int `json:"windowsStartupMinutes,omitempty"`
}

// Taint is a taint of nodes.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect,omitempty"`
}

// Release is a Kubernetes release: 1.Minor.Patch.
type Release struct{ Minor, Patch int }

// Lacks reports whether the target's Kubernetes is older than all releases with a fix; fixes has the first
// such release of each minor.
func (t Target) Lacks(fixes ...Release) bool {
	if t.Minor == 0 {
		return false
	}
	oldest := fixes[0].Minor
	for _, f := range fixes {
		if f.Minor == t.Minor {
			return t.Patch != nil && *t.Patch < f.Patch
		}
		oldest = min(oldest, f.Minor)
	}
	return t.Minor < oldest
}

// AtLeast reports whether the target's Kubernetes is 1.minor or newer.
func (t Target) AtLeast(minor int) bool { return t.Minor == 0 || t.Minor >= minor }

// Startup returns the time that a Windows machine may take to become a node.
func (t Target) Startup() time.Duration {
	return time.Duration(cmp.Or(t.StartupMinutes, 20)) * time.Minute
}
