// Package kubeflags lists the flags and feature gates that were removed from the programs of Kubernetes, with the minor
// version of the removal, and the flags that exist on only one operating system: a program does not start with an
// unknown flag. hack/flags generates dropped.go from the programs' sources.
//
// It has facts and does not judge configurations. Packages internal/lint, internal/preflight and internal/sim import it.
package kubeflags

import "slices"

// Dropped returns the first minor of Kubernetes 1 without a flag of a program, such as kubelet or kube-apiserver. ok is
// false if no minor version from 1.23 on dropped the flag. The kubelet's allow-privileged, which was dropped earlier,
// is included.
func Dropped(program, flag string) (minor int, ok bool) {
	if flag == "allow-privileged" && program == "kubelet" {
		return 15, true // kubernetes CHANGELOG-1.15; old guides still use the flag
	}
	minor, ok = dropped[program][flag]
	return minor, ok
}

// DroppedGate returns the first minor of Kubernetes 1 without a feature gate; ok is false if no minor version from 1.23
// on dropped it. All programs have the same gates.
func DroppedGate(name string) (minor int, ok bool) {
	minor, ok = gates[name]
	return minor, ok
}

// Lacks reports whether no release of a program since 1.22 has a flag on an operating system (linux or windows),
// although it has the flag on the other one: the kubelet on Windows has no flags of cAdvisor.
func Lacks(program, system, flag string) bool {
	of := only[program][flag]
	return of != "" && of != system
}

// libraries are the kubelet's flags that libraries define. Source: k8s.io/component-base logs/api/v1/options.go,
// version/verflag; pflag.
var libraries = []string{"v", "vmodule", "version", "log-flush-frequency", "logging-format", "log-text-split-stream",
	"log-text-info-buffer-size", "log-json-split-stream", "log-json-info-buffer-size", "help"}

// Never reports whether the kubelet has a flag in no minor version from 1.22 to Newest, for example because the flag is misspelt.
func Never(flag string) bool {
	_, gone := Dropped("kubelet", flag)
	return !gone && !kept[flag] && only["kubelet"][flag] == "" && !slices.Contains(libraries, flag)
}
