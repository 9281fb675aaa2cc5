// Package rules has the rules of the lint engine about pods on Windows: settings that the API server refuses, that
// kubelet and containerd refuse or hang on, and that are silently ignored. Each rule has its documentation and
// examples, which run as tests.
//
// It reads nothing and prints nothing. internal/cli, preflight and the webhook import it.
package rules

import (
	"cmp"
	"slices"

	"casement.dev/casement/internal/lint"
)

// All returns the rules, sorted by ID.
func All() []lint.Rule {
	all := append(forbidden(), []lint.Rule{
		k8s001, win001, win002, win003, win004, win005, win006, win007, win008, win009, win010, win011,
		win012, win013, win014, win015, win127, win128, win129, win130, win131, win132, win201, win202,
		win203, win204, win205, win206, win207, win208, win209, win301, win302, win303, win304, win305,
		win306, win307, win308, win309, win310, win311, win312, win313, win314, win315, win316, win317,
		win318, win319, win320, win321, win322, win323, win324, win325, win326, win327, win401, win402, win403, win404,
		win405, win406, win407, win408, win409, win410, win411, win412, win413, win414, win415, win416,
		win501, win502, win503, win504, win505, win506, win507, win508, win509, win510, win511, win512,
		win513, win514, win515, win516, win517, win518, win601, win602, win603, win604, win605, win606, win607,
		win608, win609, win610, win611, win612, win613, win701, win702, win703, win704, win705, win706,
		win707, win708, win709, win710, win711, win801, win802, win803, win804, win805, win806, win807, win808,
		win809, win810, win811, win812, win813, win814, win815, win816, win817, win818, win819, win820,
		win821, win822, win823, win824, win825, win826, win827, win828, win829, win830, win831,
	}...)
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

// say returns a fix that the user has to make.
func say(text string) lint.Fix { return lint.Fix{Text: text} }

// safe returns a fix that --fix makes.
func safe(text string, edits ...lint.Edit) lint.Fix { return lint.Fix{Text: text, Edits: edits} }

// Pods for the examples, with placeholders for the fields that a rule checks.
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
