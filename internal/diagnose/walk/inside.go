package walk

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"casement.dev/casement/internal/diagnose/facts"
)

// mark is the text that precedes a probe's output.
const mark = "=== casement "

// Script returns the PowerShell script that runs all probes; ParseInside parses its output. Each probe's output is
// formatted separately, because otherwise the output of the first command in a script decides how PowerShell formats
// the objects of all others (about_Format.ps1xml).
func Script() string {
	var b strings.Builder
	b.WriteString(`if (Test-Path C:\k\debug\hns.psm1) { Import-Module C:\k\debug\hns.psm1 }` + "\n")
	for _, p := range Probes() {
		if p.reads == "" {
			fmt.Fprintf(&b, "Write-Output '%s%s'\n& { %s } | Out-String -Width 200\n", mark, p.Name, p.Command)
		}
	}
	return b.String()
}

// ParseInside splits the output of Script by probe.
func ParseInside(out string) facts.Inside {
	in := facts.Inside{}
	name := ""
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		if n, ok := strings.CutPrefix(line, mark); ok {
			name = strings.TrimSpace(n)
			in[name] += ""
			continue
		}
		if name != "" {
			in[name] += line + "\n"
		}
	}
	return in
}

// inside returns the first fault that the basic probes, or the other probes, found on a node.
func (w walker) inside(node string, basic bool) *finding {
	for _, p := range Probes() {
		if a := w.judge(p, node); p.basic == basic && a != nil {
			return a
		}
	}
	return nil
}

// judge returns a probe's finding for a node; nil if it found no fault or did not run.
func (w walker) judge(p Probe, node string) *finding {
	out, seen := w.Inside[node][cmp.Or(p.reads, p.Name)]
	if !seen {
		return nil
	}
	evidence := p.judge(out, surroundings{pods: w.podsOn(node), node: w.Nodes[node], cluster: w.Cluster})
	if evidence == "" {
		return nil
	}
	return &finding{Step: "node", At: "Node/" + node, Cause: p.Name, Says: p.Says, Fix: p.Fix,
		Evidence: []string{evidence}, Remedy: p.Remedy, Breaks: p.Breaks,
		Next: "casement ssh " + node + " -- powershell " + strings.Split(p.Command, ";")[0]}
}

func (w walker) podsOn(node string) int {
	n := 0
	for i := range w.Pods {
		if p := &w.Pods[i]; p.Spec.NodeName == node && p.Status.Phase == corev1.PodRunning {
			n++
		}
	}
	return n
}
