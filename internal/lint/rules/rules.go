// Package rules is what casement knows about pods on Windows, as rules for the lint
// engine: what the API server refuses for them, what kubelet and containerd refuse
// or hang on, and what is ignored without a word. Each rule has its documentation
// and examples, which run as tests.
//
// It reads nothing and prints nothing. internal/cli and the webhook import it.
package rules

import (
	"cmp"
	"slices"

	"casement.dev/casement/internal/lint"
)

// All returns the rules, sorted by ID.
func All() []lint.Rule {
	all := slices.Concat(known(), placement(), forbidden(), resources(), volumes(), storage(), network(), services(), identity(), processes(), images(), azure(), bootstrap(), clusters(), addons(), tolerations(), runtimeClasses(), containers(), claims(), files(), podSecurity(), accounts(), names(), environment(), hosts())
	slices.SortFunc(all, func(a, b lint.Rule) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// eachContainer runs check for all containers of a pod.
func eachContainer(check func(p *lint.Pass, pod *lint.Pod, c lint.Container)) func(*lint.Pass, *lint.Pod) {
	return func(p *lint.Pass, pod *lint.Pod) {
		for _, c := range pod.Containers() {
			check(p, pod, c)
		}
	}
}

// say is a fix that a person has to make.
func say(text string) lint.Fix { return lint.Fix{Text: text} }

// safe is a fix that --fix makes.
func safe(text string, edits ...lint.Edit) lint.Fix { return lint.Fix{Text: text, Edits: edits} }

// Examples are pods like these, with what the rule is about put in.
const (
	windowsPod = `apiVersion: v1
kind: Pod
metadata:
  name: example
spec:
  os:
    name: windows
  nodeSelector:
    kubernetes.io/os: windows
`
	placedPod = `apiVersion: v1
kind: Pod
metadata:
  name: example
spec:
  nodeSelector:
    kubernetes.io/os: windows
`
	container = `  containers:
  - name: app
    image: mcr.microsoft.com/windows/nanoserver:ltsc2022
`
)
