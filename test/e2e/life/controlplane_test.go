package life

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

// TestControlPlane scales a control plane from one machine to three, lets it lose a machine, and
// scales it back.
func TestControlPlane(t *testing.T) {
	if !*full {
		t.Skip("only with -full: it takes minutes")
	}
	l := &life{t: t, cell: "control plane", p: plane.New(t)}
	l.p.Run(nil, "up")
	l.do("create", func() {
		l.p.Run(l.p.Create("demo", "default"), "kubectl", "apply", "-f", "-")
		l.p.Run(nil, "wait", "demo", "--timeout", "4m")
	})
	l.do("scale 1 to 3", func() { l.controlPlane(3) })
	l.do("loss of one of 3", l.loseControlPlane)
	l.do("scale 3 to 5", func() { l.controlPlane(5) })
	l.do("scale 5 to 3", func() { l.controlPlane(3) })
	l.do("scale 3 to 1", func() { l.controlPlane(1) })
	l.do("rollout", func() {
		l.renew(`{"spec":{"rollout":{"after":"` + time.Now().UTC().Format(time.RFC3339) + `"}}}`)
	})
	// Certificates are valid for a year, so "366 days before they expire" is now.
	l.do("renew certificates", func() { l.renew(`{"spec":{"rollout":{"before":{"certificatesExpiryDays":366}}}}`) })
	l.do("delete", l.delete)
	t.Log("\n" + table(l.rows))
}

// renew patches the control plane, which has one machine, and waits until another machine has
// replaced that machine.
func (l *life) renew(patch string) {
	before := l.controlPlaneMachines()
	l.management("patch", "kubeadmcontrolplane", "demo-control-plane", "--type", "merge", "-p", patch)
	l.until("another machine", func() string {
		if slices.Contains(l.controlPlaneMachines(), before[0]) {
			return "still " + before[0]
		}
		return ""
	})
	// With this setting machines would be replaced without end, because the certificates of new
	// machines also expire within that time.
	l.management("patch", "kubeadmcontrolplane", "demo-control-plane", "--type", "merge", "-p", `{"spec":{"rollout":null}}`)
	l.until("control plane", func() string { return l.missingControlPlane(1) })
}

func (l *life) controlPlane(n int) {
	l.management("scale", "kubeadmcontrolplane", "demo-control-plane", "--replicas", fmt.Sprint(n))
	l.until("control plane", func() string { return l.missingControlPlane(n) })
}

// missingControlPlane returns how the control plane differs from one of n ready machines.
func (l *life) missingControlPlane(n int) string {
	got := l.management("get", "kubeadmcontrolplane", "demo-control-plane", "-o",
		"jsonpath={.spec.replicas}/{.status.replicas}/{.status.readyReplicas}/{.status.upToDateReplicas}/{.status.availableReplicas}")
	if want := fmt.Sprintf("%[1]d/%[1]d/%[1]d/%[1]d/%[1]d", n); got != want {
		return "replicas " + got + ", not " + want
	}
	return ""
}

func (l *life) controlPlaneMachines() []string {
	return strings.Fields(l.management("get", "machines", "-l", "cluster.x-k8s.io/control-plane", "-o",
		"jsonpath={.items[*].metadata.name}"))
}

// loseControlPlane deletes the VM of one of three control plane machines. A health check lets
// KubeadmControlPlane replace the machine.
func (l *life) loseControlPlane() {
	l.p.Run(fmt.Appendf(nil, healthCheck, "cluster.x-k8s.io/control-plane", `""`), "kubectl", "apply", "-f", "-")
	machines := l.controlPlaneMachines()
	id := l.management("get", "azuremachine", machines[0], "-o", "jsonpath={.spec.providerID}")
	l.p.Azure("DELETE", relative(strings.TrimPrefix(id, "azure://")), computeVersion, nil)
	l.until("another machine", func() string {
		if slices.Contains(l.controlPlaneMachines(), machines[0]) {
			return machines[0] + " is still there"
		}
		return l.missingControlPlane(3)
	})
	l.management("delete", "machinehealthcheck", "demo-win")
}
