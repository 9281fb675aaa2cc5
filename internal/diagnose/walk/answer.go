// Package walk finds the first thing that is wrong with a cluster, machine, node
// or pod: it walks from the owner over bootstrap, infrastructure, guest and node
// to the pod, and stops where the trouble begins. The walk is pure: gathered
// objects in, an answer out. It changes nothing, never guesses beyond what an
// object or a console says, and shows no secrets. The command line imports it.
package walk

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/redact"
)

// Answer is the first thing that is wrong, or a healthy object.
type Answer struct {
	// Object is what was asked about.
	Object string `json:"object"`
	// Healthy says that nothing on the way is wrong.
	Healthy bool `json:"healthy"`
	// Step is where the walk stopped: owner, controlplane, bootstrap,
	// infrastructure, guest, node, cni or pod; At is the object there.
	Step string `json:"step,omitempty"`
	At   string `json:"at,omitempty"`
	// Cause is the name of a known cause, or the reason that the object gives.
	Cause    string   `json:"cause,omitempty"`
	Says     string   `json:"says,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
	Fix      string   `json:"fix,omitempty"`
	// Remedy is PowerShell that repairs the node and does no other harm, where there
	// is such a thing.
	Remedy string `json:"remedy,omitempty"`
	// Next is a command that shows more.
	Next string `json:"next,omitempty"`
}

// maxEvidence is the length of a line of evidence, in characters.
const maxEvidence = 400

// found makes an answer of what an object says. reason is used where no known
// cause is in the text.
func found(step, at, reason, text, next string) *Answer {
	a := &Answer{Step: step, At: at, Cause: reason, Next: next}
	line := text
	if c, l, ok := cause.Classify(reason + ": " + text); ok {
		a.Cause, a.Says, a.Fix, line = c.Name, c.Says, c.Fix, strings.TrimPrefix(l, reason+": ")
		if strings.TrimSpace(line) == "" {
			line = text
		}
	}
	if line = strings.TrimPrefix(redact.Line(line, maxEvidence), "* "); line != "" {
		a.Evidence = []string{line}
	}
	if a.Says == "" {
		a.Says = fmt.Sprintf("%s reports %s", at, reason)
	}
	return a
}

// forCluster walks the cluster, its network, its control plane, then each of its
// machine pools, machines and pods.
func (f walker) forCluster() Answer {
	a := f.cluster()
	for i := range f.Pools {
		if a != nil {
			break
		}
		a = f.pool(&f.Pools[i])
	}
	for i := range f.Machines {
		if a != nil {
			break
		}
		if a = f.machine(&f.Machines[i]); a != nil && a.Cause == deletionUnderWay {
			a = nil // an update and a scaling down delete machines
		}
	}
	for i := range f.Pods {
		if a != nil {
			break
		}
		a = f.pod(&f.Pods[i])
	}
	return done(a, "Cluster/"+f.Cluster.Name)
}

// forMachine walks what the machine needs, and then the machine. A pool that is
// in trouble is named only when its machine is well.
func (f walker) forMachine(m *clusterv1.Machine) Answer {
	a := f.cluster()
	if a == nil || a.Step == "workload" || a.Step == "cni" {
		if own := f.machine(m); own != nil {
			a = own
		}
	}
	if pool := f.poolOf(m); a == nil && pool != nil {
		a = f.pool(pool)
	}
	return done(a, "Machine/"+m.Name)
}

// forPool walks the cluster, the machine pool, and its machines.
func (f walker) forPool(p *clusterv1.MachinePool) Answer {
	a := f.cluster()
	if a == nil {
		a = f.pool(p)
	}
	for i := range f.Machines {
		if m := &f.Machines[i]; a == nil && f.poolOf(m) == p {
			a = f.machine(m)
		}
	}
	return done(a, "MachinePool/"+p.Name)
}

// forPod walks the pod's node where it has one, and the pod.
func (f walker) forPod(p *corev1.Pod) Answer {
	for i := range f.Machines {
		if m := &f.Machines[i]; p.Spec.NodeName != "" && m.Status.NodeRef.Name == p.Spec.NodeName {
			if a := f.machine(m); a != nil {
				return done(a, "Pod/"+p.Name)
			}
		}
	}
	return done(f.pod(p), "Pod/"+p.Name)
}

func done(a *Answer, object string) Answer {
	if a == nil {
		return Answer{Object: object, Healthy: true}
	}
	a.Object = object
	return *a
}

// bad returns the first of the named conditions that is not True, or nil. A
// condition that is not there says nothing.
func bad(conditions []metav1.Condition, types ...string) *metav1.Condition {
	for _, t := range types {
		for i := range conditions {
			if c := &conditions[i]; c.Type == t && c.Status != metav1.ConditionTrue {
				return c
			}
		}
	}
	return nil
}
