// Package kubeflags knows which flags and feature gates the programs of Kubernetes have lost, and with
// which minor, and which flags exist on one system only: a program does not start with a flag that it does
// not know. dropped.go is generated from their sources by hack/flags.
//
// It has plain facts and judges no configuration. Packages internal/lint, internal/preflight and
// internal/sim import it.
package kubeflags

import "slices"

// Dropped returns the first minor of Kubernetes 1 without a flag of a program, such as kubelet or
// kube-apiserver. ok is false if no minor from 1.23 on dropped the flag. The kubelet's allow-privileged,
// which was dropped earlier, is known too.
func Dropped(program, flag string) (minor int, ok bool) {
	if flag == "allow-privileged" && program == "kubelet" {
		return 15, true // kubernetes CHANGELOG-1.15; old guides still have it
	}
	minor, ok = dropped[program][flag]
	return minor, ok
}

// DroppedGate returns the first minor of Kubernetes 1 without a feature gate; ok is false if no minor from
// 1.23 on dropped it. Every program has the same gates.
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

// Never reports whether the kubelet has a flag in no minor from 1.22 to Newest, for example because it is
// misspelt.
func Never(flag string) bool {
	_, gone := Dropped("kubelet", flag)
	return !gone && !kept[flag] && only["kubelet"][flag] == "" && !slices.Contains(libraries, flag)
}
