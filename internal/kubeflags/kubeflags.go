// Package kubeflags knows which flags and feature gates the programs of Kubernetes have lost, and with which
// minor, and which flags they have on one system alone: a program that is given one that it lacks does
// not start. dropped.go is generated from their sources by hack/flags.
//
// It holds plain facts and judges no configuration. Packages internal/lint, internal/preflight and internal/sim import it.
package kubeflags

import "slices"

// Dropped returns the minor of Kubernetes 1 that is the first without a flag of a program, such
// as kubelet or kube-apiserver; ok is false for one that
// no minor from 1.23 on dropped, but for the kubelet's allow-privileged.
func Dropped(program, flag string) (minor int, ok bool) {
	if flag == "allow-privileged" && program == "kubelet" {
		return 15, true // kubernetes CHANGELOG-1.15; old guides still have it
	}
	minor, ok = dropped[program][flag]
	return minor, ok
}

// DroppedGate returns the minor of Kubernetes 1 that is the first without a feature gate; ok is false for one that no minor from
// 1.23 on dropped. Every program has the same gates.
func DroppedGate(name string) (minor int, ok bool) {
	minor, ok = gates[name]
	return minor, ok
}

// Lacks reports whether no release since 1.22 of a program has a flag on a system, linux or
// windows, which it has on another: the kubelet on Windows has no flags of cAdvisor.
func Lacks(program, system, flag string) bool {
	of := only[program][flag]
	return of != "" && of != system
}

// libraries are the kubelet's flags of libraries. Source: k8s.io/component-base logs/api/v1/options.go, version/verflag; pflag.
var libraries = []string{"v", "vmodule", "version", "log-flush-frequency", "logging-format", "log-text-split-stream",
	"log-text-info-buffer-size", "log-json-split-stream", "log-json-info-buffer-size", "help"}

// Never reports whether the kubelet of no minor from 1.22 to Newest has a flag, as of one that is misspelt.
func Never(flag string) bool {
	_, gone := Dropped("kubelet", flag)
	return !gone && !kept[flag] && only["kubelet"][flag] == "" && !slices.Contains(libraries, flag)
}
