package kubelet

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Probes are not run: what a simulated container declares, it does. They fail where
// the machine's health says that no pod is reached.

// cutOff says whether probes of the pod are not answered.
func (w *worker) cutOff() bool {
	return w.k.c.Health().PodsCutOff && w.sandbox.ip.IsValid() && !w.pod.Spec.HostNetwork
}

func probedByNetwork(c *corev1.Container) bool {
	p := c.ReadinessProbe
	return p != nil && (p.HTTPGet != nil || p.TCPSocket != nil || p.GRPC != nil)
}

// warnCutOff says of each running container that its probe is not answered, in the
// kubelet's words.
func (w *worker) warnCutOff(ctx context.Context) {
	if !w.cutOff() {
		return
	}
	for _, c := range w.containers {
		if c.run != nil && probedByNetwork(&c.spec) {
			w.event(ctx, corev1.EventTypeWarning, "Unhealthy", fmt.Sprintf("Readiness probe failed: dial tcp %s:%s: i/o timeout", w.sandbox.ip, probePort(c.spec.ReadinessProbe)), c.fieldPath())
		}
	}
}

func probePort(p *corev1.Probe) string {
	switch {
	case p.HTTPGet != nil:
		return p.HTTPGet.Port.String()
	case p.TCPSocket != nil:
		return p.TCPSocket.Port.String()
	}
	return fmt.Sprint(p.GRPC.Port)
}
