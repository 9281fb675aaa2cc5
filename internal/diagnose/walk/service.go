package walk

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/diagnose/facts"
)

// service examines whether a service's load balancer was created, and whether its ports match those of its pods.
func (w walker) service(s *corev1.Service) *finding {
	at := said{"service", cause.Service, "Service/" + s.Name, fmt.Sprintf("kubectl describe service %s -n %s", s.Name, s.Namespace)}
	if !s.DeletionTimestamp.IsZero() {
		if w.Taken.Sub(s.DeletionTimestamp.Time) < slowAzure {
			return nil // Azure deletes the load balancer first
		}
		return w.ends("Service", s)
	}
	if a := w.unnamedPort(at, s); a != nil {
		return a
	}
	if s.Name == "kube-dns" && s.Namespace == "kube-system" && len(s.Spec.Selector) > 0 && len(w.selected(s)) == 0 &&
		w.Taken.Sub(s.CreationTimestamp.Time) > slowStatus && !w.growing() &&
		!slices.ContainsFunc(w.makers(s), func(c controller) bool { return c.asked > 0 }) {
		return &finding{Step: at.step, At: at.at, Type: "Field", Cause: "ClusterDNSGone", Says: "no pod serves the " +
			"cluster's DNS, so no name resolves in pods",
			Evidence: []string{"selector " + labels.Set(s.Spec.Selector).String() + " matches no pod of kube-system"},
			Fix:      "look at the Deployment coredns: its replicas, or who deleted it", Next: "kubectl get deployment coredns -n kube-system"}
	}
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer || len(s.Status.LoadBalancer.Ingress) > 0 {
		return nil
	}
	for _, e := range w.events(w.Warnings, s.UID) {
		if !strings.Contains(e.Reason, "LoadBalancer") {
			continue // the API server also warns about addresses that it repairs
		}
		a := at.because(e.Reason, e.Message)
		if a.Unknown {
			a.Says, a.Fix = "the cloud provider cannot make the service's load balancer",
				"correct what the message names; see the cloud controller manager's log"
		}
		return w.tried(a, s.CreationTimestamp.Time, "the cloud controller manager to make the load balancer")
	}
	since := s.CreationTimestamp.Time
	maker := "the cloud controller manager"
	if class := s.Spec.LoadBalancerClass; class != nil {
		maker = "the controller of class " + *class
	}
	pending := w.waits(at, "LoadBalancerPending", maker+" to make the load balancer", since)
	if !since.IsZero() && w.Taken.Sub(since) < slowStatus {
		return pending
	}
	const manager = "cloud-controller-manager"
	i := slices.IndexFunc(w.Pods, func(p corev1.Pod) bool { return strings.Contains(p.Name, manager) })
	makes := func(c controller) bool { return strings.Contains(c.meta.Name, manager) && c.asked > 0 }
	if i < 0 && s.Spec.LoadBalancerClass == nil && !slices.ContainsFunc(w.controllers(), makes) {
		return &finding{Step: at.step, At: at.at, Cause: "CloudControllerMissing",
			Says:     "no cloud controller manager runs, so nothing makes the service's load balancer",
			Evidence: []string{"status.loadBalancer is empty; no pod is called cloud-controller-manager"},
			Fix:      "casement addons install cloud-provider, or install cloud-provider-azure", Next: "kubectl get pods -A -o wide"}
	}
	pending.Waiting, pending.Fix = false, "read the log of the cloud controller manager"
	pending.Type, pending.Evidence = "Field", []string{"status.loadBalancer is empty"}
	if class := s.Spec.LoadBalancerClass; class != nil {
		pending.Evidence = []string{"spec.loadBalancerClass: " + *class + "; status.loadBalancer is empty"}
		pending.Fix = "see whether the controller of this class runs; the cloud controller manager makes none of a class"
		i = -1
	}
	pending.Says = "the service has no load balancer " + age(w.Taken.Sub(since)) + " after it was created"
	if i >= 0 {
		pending.Next = fmt.Sprintf("kubectl logs -n %s %s", w.Pods[i].Namespace, w.Pods[i].Name)
	}
	return pending
}

// selected returns the pods that a service selects.
func (w walker) selected(s *corev1.Service) (out []*corev1.Pod) {
	if len(s.Spec.Selector) == 0 {
		return nil
	}
	matches := labels.SelectorFromSet(s.Spec.Selector)
	for i := range w.Pods {
		if p := &w.Pods[i]; p.Namespace == s.Namespace && matches.Matches(labels.Set(p.Labels)) && p.DeletionTimestamp.IsZero() {
			out = append(out, p)
		}
	}
	return out
}

// unnamedPort finds a named target port that no pod of the service has.
func (w walker) unnamedPort(at said, s *corev1.Service) *finding {
	pods := w.selected(s)
	for _, port := range s.Spec.Ports {
		if port.TargetPort.Type != intstr.String || port.TargetPort.StrVal == "" || len(pods) == 0 {
			continue
		}
		has := slices.ContainsFunc(pods, func(p *corev1.Pod) bool {
			return slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool {
				return slices.ContainsFunc(c.Ports, func(own corev1.ContainerPort) bool { return own.Name == port.TargetPort.StrVal })
			})
		})
		if !has {
			return w.applying(s, &finding{Step: at.step, At: at.at, Cause: "TargetPortUnknown",
				Says:     "the service sends to a port that none of its pods has",
				Evidence: []string{fmt.Sprintf("targetPort %s; %d pods are selected", port.TargetPort.StrVal, len(pods))},
				Fix:      "name a port of the pods' containers, or give its number", Next: at.next})
		}
	}
	return nil
}

// undeclared finds a numeric target port that no container of a service's pods declares, although they declare others.
// Such a port may work nevertheless, so it is only reported for a service that the user named.
func undeclared(s *corev1.Service, pods []*corev1.Pod) *finding {
	for _, port := range s.Spec.Ports {
		if port.TargetPort.Type != intstr.Int || len(pods) == 0 {
			continue
		}
		wanted, declared, has := int32(port.TargetPort.IntValue()), []int32{}, false
		if wanted == 0 {
			wanted = port.Port
		}
		for _, p := range pods {
			for _, c := range p.Spec.Containers {
				for _, own := range c.Ports {
					declared, has = append(declared, own.ContainerPort), has || own.ContainerPort == wanted
				}
			}
		}
		if len(declared) > 0 && !has {
			slices.Sort(declared)
			return &finding{Step: "service", At: "Service/" + s.Name, Type: "Field", Cause: "TargetPortUndeclared",
				Says:     "the service sends to a port that no container of its pods declares",
				Evidence: []string{fmt.Sprintf("targetPort %d; the pods' containers declare %v", wanted, slices.Compact(declared))},
				Fix:      "correct targetPort, unless the program listens there all the same",
				Next:     fmt.Sprintf("kubectl describe service %s -n %s", s.Name, s.Namespace)}
		}
	}
	return nil
}

// forService examines a service, whether its selector matches pods, and then those pods.
func (w walker) forService(s *corev1.Service) *finding {
	pods := w.selected(s)
	if makers := w.makers(s); len(s.Spec.Selector) > 0 && len(pods) == 0 && len(makers) > 0 {
		return w.podless(s, makers)
	}
	if len(s.Spec.Selector) > 0 && len(pods) == 0 {
		return w.applying(s, &finding{Step: "service", At: "Service/" + s.Name, Cause: "SelectorMatchesNothing",
			Says:     "the service's selector matches no pod of its namespace",
			Evidence: []string{"selector " + labels.Set(s.Spec.Selector).String()}, Fix: "correct the selector, or the pods' labels",
			Next: fmt.Sprintf("kubectl get pods -n %s --show-labels", s.Namespace)})
	}
	checks := []func() *finding{func() *finding { return w.service(s) }, func() *finding { return undeclared(s, pods) }}
	for _, p := range pods {
		checks = append(checks, func() *finding { return w.forPod(p) })
	}
	return first(append(checks, func() *finding { return w.local(s, pods) })...)
}

// makers returns the controllers whose pods a service selects, by their templates or by their ended pods.
func (w walker) makers(s *corev1.Service) (out []controller) {
	matches := labels.SelectorFromSet(s.Spec.Selector)
	for _, c := range w.controllers() {
		ends := func(p corev1.Pod) bool { return ownedBy(&p, c.meta.UID) && matches.Matches(labels.Set(p.Labels)) }
		if c.meta.Namespace == s.Namespace && (c.labels != nil && matches.Matches(labels.Set(c.labels)) || slices.ContainsFunc(w.Pods, ends)) {
			out = append(out, c)
		}
	}
	return out
}

// podless examines a service without pods whose selector matches controllers' templates: the controllers may be unable
// to create pods, have no replicas, or be replacing their pods.
func (w walker) podless(s *corev1.Service, makers []controller) *finding {
	if a := each(makers, func(c *controller) *finding {
		return first(func() *finding { return w.controller(c) }, func() *finding { return w.ownedFault(c.meta.UID) })
	})(); a != nil {
		return a
	}
	at := said{"service", cause.Service, "Service/" + s.Name, fmt.Sprintf("kubectl get pods -n %s --show-labels", s.Namespace)}
	a := w.waits(at, "NoPods", "pods that it selects", time.Time{})
	a.Type, a.Evidence = "Field", []string{"selector " + labels.Set(s.Spec.Selector).String()}
	for _, c := range makers {
		a.with(fmt.Sprintf("%s/%s makes such pods, and is asked for %d", c.kind, c.meta.Name, c.asked))
	}
	return a
}

// local reports the nodes that cannot reach a service whose traffic stays on its node. It returns nil if a DaemonSet
// creates the pods, because then this is intended; nodes of other operating systems are ignored.
func (w walker) local(s *corev1.Service, pods []*corev1.Pod) *finding {
	if s.Spec.InternalTrafficPolicy == nil || *s.Spec.InternalTrafficPolicy != corev1.ServiceInternalTrafficPolicyLocal {
		return nil
	}
	serves, systems := map[string]bool{}, map[string]bool{}
	for _, p := range pods {
		if o := metav1.GetControllerOf(p); o != nil && o.Kind == "DaemonSet" {
			return nil
		}
		if n := w.Nodes[p.Spec.NodeName]; n != nil {
			serves[n.Name], systems[n.Status.NodeInfo.OperatingSystem] = true, true
		}
	}
	var without []string
	for name, n := range w.Nodes {
		_, controls := n.Labels[controlPlane]
		if !serves[name] && systems[n.Status.NodeInfo.OperatingSystem] && !controls {
			without = append(without, name)
		}
	}
	if len(without) == 0 {
		return nil
	}
	slices.Sort(without)
	return &finding{Step: "service", At: "Service/" + s.Name, Type: "Field", Cause: "TrafficStaysLocal",
		Says: "the service sends only to pods of the caller's own node, and nodes have none: what runs there gets no answer",
		Evidence: []string{fmt.Sprintf("spec.internalTrafficPolicy: Local; no pod of it on %d nodes: %s", len(without),
			strings.Join(without[:min(len(without), maxNodes)], ", "))},
		Fix:  "set spec.internalTrafficPolicy to Cluster, or let a DaemonSet make the pods",
		Next: fmt.Sprintf("kubectl get pods -n %s -o wide", s.Namespace)}
}

// maxNodes is the maximum number of nodes in an answer.
const maxNodes = 5

// claim examines why a claim has no volume. Waiting for the first consumer is no fault.
func (w walker) claim(c *corev1.PersistentVolumeClaim) *finding {
	s := said{"volume", cause.Volume, "PersistentVolumeClaim/" + c.Name, fmt.Sprintf("kubectl describe pvc %s -n %s", c.Name, c.Namespace)}
	if c.Status.Phase == corev1.ClaimLost {
		return &finding{Step: s.step, At: s.at, Cause: "VolumeLost",
			Says:     "the volume that the claim is bound to is gone",
			Evidence: []string{"spec.volumeName: " + c.Spec.VolumeName},
			Fix:      "restore the volume, or delete the claim", Next: s.next}
	}
	if v := w.named("PersistentVolume", "", c.Spec.VolumeName); v != nil && v.GetDeletionTimestamp() != nil && c.DeletionTimestamp.IsZero() {
		return &finding{Step: s.step, At: "PersistentVolume/" + v.GetName(), Type: "Field", Cause: "VolumeDeleting",
			Since:    v.GetDeletionTimestamp().Time,
			Says:     "the volume that the claim is bound to is being deleted: it ends when the claim does, and no deletion can be taken back",
			Evidence: []string{fmt.Sprintf("metadata.deletionTimestamp; finalizers %v; bound to %s/%s", v.GetFinalizers(), c.Namespace, c.Name)},
			Fix:      "copy the data, or set persistentVolumeReclaimPolicy to Retain and bind the disk to a new volume, before the claim is deleted",
			Next:     "kubectl describe persistentvolume " + v.GetName()}
	}
	if c.Status.Phase != corev1.ClaimPending || !c.DeletionTimestamp.IsZero() {
		return nil
	}
	for _, e := range w.events(w.Warnings, c.UID) {
		a := s.because(e.Reason, e.Message)
		if a.Cause == "StorageClassMissing" && w.classMade(c) {
			continue
		}
		return a
	}
	if a := w.sourceless(s, c); a != nil {
		return a
	}
	return w.unmade(s, c)
}

// unmade examines a claim that waits without a warning: for its driver, for the volume that it names, or for a volume
// that fits. If it waits for its first consumer, the driver is not needed yet, and this is no fault.
func (w walker) unmade(s said, c *corev1.PersistentVolumeClaim) *finding {
	since := c.CreationTimestamp.Time
	for i := range w.Pods { // the driver is called only if there is a consumer
		if p := &w.Pods[i]; p.Namespace == c.Namespace && p.CreationTimestamp.After(since) && claims(p, c.Name) {
			since = p.CreationTimestamp.Time
		}
	}
	wait := func(name, what, seen, fix string) *finding {
		a := w.waits(s, name, what, since)
		a.Type, a.Evidence, a.Fix = "Field", []string{"status.phase: Pending; " + seen}, fix
		return w.overdue(a, since, slowStatus)
	}
	switch driver := c.Annotations["volume.kubernetes.io/storage-provisioner"]; {
	case driver != "":
		return wait("VolumeNotMade", "driver "+driver+" to make the claim's volume", "volume.kubernetes.io/storage-provisioner: "+driver,
			"see whether the driver's controller runs, and what it says: kubectl get csidrivers; kubectl get pods -A")
	case c.Spec.VolumeName != "":
		return wait("VolumeNotBound", "the volume that the claim names", "spec.volumeName: "+c.Spec.VolumeName,
			"make the volume, or correct spec.volumeName; one that exists may be another claim's: kubectl get pv "+c.Spec.VolumeName)
	case c.Spec.StorageClassName == nil || *c.Spec.StorageClassName == "":
		return wait("NoStorageClass", "a volume that fits the claim, which has no StorageClass", "spec.storageClassName is empty",
			"name a StorageClass in the claim (kubectl get storageclasses), or make a PersistentVolume that fits it")
	}
	return nil
}

// claims reports whether a pod uses a claim.
func claims(p *corev1.Pod, name string) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == name
	})
}

// classMade reports whether the StorageClass of a claim exists, so that a warning about it is no longer valid.
func (w walker) classMade(c *corev1.PersistentVolumeClaim) bool {
	return c.Spec.StorageClassName != nil && slices.ContainsFunc(w.Workloads.Classes, func(class storagev1.StorageClass) bool {
		return class.Name == *c.Spec.StorageClassName
	})
}

// sourceless finds a claim whose content comes from an object that does not exist, such as a snapshot.
func (w walker) sourceless(s said, c *corev1.PersistentVolumeClaim) *finding {
	i := slices.IndexFunc(w.Dangling, func(r facts.Reference) bool { return r.From == s.at && r.Namespace == c.Namespace })
	if i < 0 {
		return nil
	}
	a := missing(&w.Dangling[i], s.step)
	a.Type = "Field"
	return a
}
