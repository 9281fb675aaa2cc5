package walk

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/diagnose/facts"
)

// controller is an object that creates pods, with the fields that all such kinds have.
type controller struct {
	kind string
	meta *metav1.ObjectMeta
	// labels are the labels of its pods.
	labels map[string]string
	// asked and have are the desired and the actual number of pods.
	asked, have int32
	// refused is a condition with the reason why pods are not created, or nil.
	refused *refusal
	// off is true if no pods are requested: a suspended Job, or no replicas.
	off bool
}

// refusal is the reason and the message of a condition.
type refusal struct{ reason, message string }

// controllers returns all objects that create pods. A Deployment is represented by its ReplicaSets.
func (w walker) controllers() (out []controller) {
	workloads := &w.Workloads
	for i := range workloads.ReplicaSets {
		r := &workloads.ReplicaSets[i]
		c := controller{kind: "ReplicaSet", meta: &r.ObjectMeta, labels: r.Spec.Template.Labels,
			asked: deref(r.Spec.Replicas), have: r.Status.Replicas}
		for _, cond := range r.Status.Conditions {
			if cond.Type == appsv1.ReplicaSetReplicaFailure && cond.Status == corev1.ConditionTrue {
				c.refused = &refusal{cond.Reason, cond.Message}
			}
		}
		out = append(out, c)
	}
	for i := range workloads.StatefulSets {
		s := &workloads.StatefulSets[i]
		out = append(out, controller{kind: "StatefulSet", meta: &s.ObjectMeta, labels: s.Spec.Template.Labels,
			asked: deref(s.Spec.Replicas), have: s.Status.Replicas,
			off: isNone(s.Spec.Replicas)})
	}
	for i := range workloads.DaemonSets {
		d := &workloads.DaemonSets[i]
		out = append(out, controller{kind: "DaemonSet", meta: &d.ObjectMeta, labels: d.Spec.Template.Labels,
			asked: d.Status.DesiredNumberScheduled, have: d.Status.CurrentNumberScheduled})
	}
	for i := range workloads.Jobs {
		out = append(out, jobOf(&workloads.Jobs[i]))
	}
	return out
}

func jobOf(j *batchv1.Job) controller {
	c := controller{kind: "Job", meta: &j.ObjectMeta, off: j.Spec.Suspend != nil && *j.Spec.Suspend}
	if j.Status.CompletionTime == nil && j.Status.Active+j.Status.Succeeded+j.Status.Failed == 0 {
		c.asked = 1
	}
	for _, cond := range j.Status.Conditions {
		if cond.Type == batchv1.JobFailed && cond.Status == corev1.ConditionTrue {
			c.refused, c.asked, c.have = &refusal{cond.Reason, cond.Message}, 1, 0
		}
		if cond.Type == batchv1.JobSuspended && cond.Status == corev1.ConditionTrue {
			c.asked = 0
		}
	}
	return c
}

// workloads examines all workloads in the cluster: controllers without pods, the pods, the claims and the services.
func (w walker) workloads() *finding {
	return first(each(w.controllers(), w.controller), each(w.Pods, w.current), each(w.Workloads.Claims, w.claim),
		each(w.Workloads.Services, w.service), each(w.Workloads.Deployments, w.rollout))
}

// current examines a pod of the cluster, unless its failure is outdated.
func (w walker) current(p *corev1.Pod) *finding {
	if w.replaced(p) {
		return nil
	}
	return w.pod(p)
}

// replaced reports whether the failure of a pod is outdated: its ReplicaSet, which leaves failed pods behind (mostly
// evicted ones), has other pods that are Ready. Source: pkg/controller/podgc of Kubernetes, which deletes the oldest of
// 12500.
func (w walker) replaced(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed && slices.ContainsFunc(w.Workloads.ReplicaSets, func(r appsv1.ReplicaSet) bool {
		return ownedBy(p, r.UID) && r.Status.ReadyReplicas >= deref(r.Spec.Replicas)
	})
}

// everyWorkload adds the findings about all workloads in the cluster.
func (w walker) everyWorkload(add func(*finding)) {
	every(w.controllers(), w.controller, add)
	every(w.Pods, w.current, add)
	every(w.Workloads.Claims, w.claim, add)
	every(w.Workloads.Services, w.service, add)
	every(w.Workloads.Deployments, w.rollout, add)
}

// controller examines why an object creates fewer pods than its spec requires.
func (w walker) controller(c *controller) *finding {
	if c.have >= c.asked || !c.meta.DeletionTimestamp.IsZero() {
		return nil
	}
	s := said{"admission", cause.Admission, c.kind + "/" + c.meta.Name,
		fmt.Sprintf("kubectl describe %s %s -n %s", strings.ToLower(c.kind), c.meta.Name, c.meta.Namespace)}
	many := fmt.Sprintf("%d of %d pods exist", c.have, c.asked)
	if c.refused != nil && c.kind == "Job" {
		if w.succeeded(c) {
			return nil
		}
		return w.failedJob(s, c)
	}
	if c.refused != nil {
		return s.because(c.refused.reason, c.refused.message).with(many)
	}
	for _, e := range w.events(w.Warnings, c.meta.UID) {
		if strings.HasPrefix(e.Reason, "Failed") && !w.madeSince(c, when(e)) {
			return s.because(e.Reason, e.Message).with(many)
		}
	}
	if c.meta.CreationTimestamp.IsZero() {
		return nil
	}
	return w.waits(s, "PodsMissing", "its controller to make pods: "+many, c.meta.CreationTimestamp.Time)
}

// madeSince reports whether a controller has created a pod after a time: an earlier refusal is then outdated.
func (w walker) madeSince(c *controller, t time.Time) bool {
	return slices.ContainsFunc(w.Pods, func(p corev1.Pod) bool { return ownedBy(&p, c.meta.UID) && p.CreationTimestamp.After(t) })
}

// succeeded reports whether a later Job of the same CronJob has completed: the failure of an earlier Job, which the
// CronJob keeps, is then outdated.
func (w walker) succeeded(c *controller) bool {
	owner := metav1.GetControllerOf(c.meta)
	return owner != nil && slices.ContainsFunc(w.Workloads.Jobs, func(j batchv1.Job) bool {
		return ownedBy(&j, owner.UID) && j.CreationTimestamp.After(c.meta.CreationTimestamp.Time) && j.Status.CompletionTime != nil
	})
}

// failedJob examines a failed Job; the end of its last pod explains the failure.
func (w walker) failedJob(s said, c *controller) *finding {
	a := &finding{Step: "pod", At: s.at, Cause: "JobFailed", Says: "the Job has given up: " +
		c.refused.reason, Evidence: evidence(c.refused.message),
		Fix:  "correct what its pods fail of, delete the Job and create it again",
		Next: fmt.Sprintf("kubectl logs job/%s -n %s", c.meta.Name, c.meta.Namespace)}
	for i := range w.Pods {
		p := &w.Pods[i]
		if !ownedBy(p, c.meta.UID) || p.Status.Phase != corev1.PodFailed {
			continue
		}
		for _, container := range p.Status.ContainerStatuses {
			t := container.State.Terminated
			if t == nil || t.ExitCode == 0 {
				continue
			}
			a.with(fmt.Sprintf("Pod/%s: container %s ended with exit code %d (%s) %s", p.Name, container.Name,
				t.ExitCode, t.Reason, t.Message))
			if known, _, ok := cause.Classify(cause.Container, t.Reason, t.Message); ok {
				a.Cause, a.Says, a.Fix = known.Name, known.Says, known.Fix
			}
			return a
		}
	}
	return a
}

// rollout finds a Deployment that makes no progress although its pods show no fault.
func (w walker) rollout(d *appsv1.Deployment) *finding {
	s := said{"workload", cause.Admission, "Deployment/" + d.Name, "kubectl rollout status deployment/" + d.Name + " -n " + d.Namespace}
	for _, c := range d.Status.Conditions {
		seen := d.Status.ObservedGeneration >= d.Generation || !w.fresh(d)
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && seen {
			return &finding{Step: s.step, At: s.at, Cause: c.Reason,
				Says: "the Deployment's rollout makes no progress", Evidence: evidence(c.Message),
				Fix:  "look at its newest ReplicaSet's pods, or kubectl rollout undo",
				Next: "kubectl describe deployment " + d.Name + " -n " + d.Namespace}
		}
	}
	if a := w.unmadeSets(s, d); a != nil {
		return a
	}
	if d.Spec.Paused {
		return w.waits(s, "DeploymentPaused", "its rollout to be resumed: spec.paused is true", d.CreationTimestamp.Time)
	}
	return nil
}

// unmadeSets finds a Deployment without a ReplicaSet and without a message, so that its controller has not observed it.
func (w walker) unmadeSets(s said, d *appsv1.Deployment) *finding {
	made := slices.ContainsFunc(w.Workloads.ReplicaSets, func(r appsv1.ReplicaSet) bool {
		return r.Namespace == d.Namespace && (ownedBy(&r, d.UID) || d.Spec.Selector != nil && selects(d.Spec.Selector, r.Spec.Template.Labels))
	})
	since := changed(d, false)
	if made || since.IsZero() || d.Status.ObservedGeneration >= d.Generation || w.notRead("ReplicaSets") {
		return nil
	}
	a := w.waits(s, "NotObserved", "the Deployment's controller to make a ReplicaSet", since)
	a.Type = "Field"
	a.Evidence = []string{fmt.Sprintf("status.observedGeneration: %d; metadata.generation: %d; no ReplicaSet is its own",
		d.Status.ObservedGeneration, d.Generation)}
	a.Fix = "see whether the control plane's kube-controller-manager runs: kubectl get pods -n kube-system -o wide"
	return w.overdue(a, since, slowStatus)
}

// running returns the walk for an object of the workload cluster, or nil if there is no such object.
func (w walker) running(o facts.Object) func() *finding {
	is := func(m *metav1.ObjectMeta) bool { return m.Name == o.Name && m.Namespace == o.Namespace }
	workloads := &w.Workloads
	if found := w.found(o); found != nil && found.GetDeletionTimestamp() != nil && o.Kind != "Pod" {
		return func() *finding { return w.ends(o.Kind, found) }
	}
	switch o.Kind {
	case "Pod":
		return of(w.Pods, func(p *corev1.Pod) bool { return is(&p.ObjectMeta) }, w.forPod)
	case "Service":
		return of(workloads.Services, func(s *corev1.Service) bool { return is(&s.ObjectMeta) }, w.forService)
	case "PersistentVolumeClaim":
		return of(workloads.Claims, func(c *corev1.PersistentVolumeClaim) bool { return is(&c.ObjectMeta) }, w.claim)
	case "Deployment":
		return of(workloads.Deployments, func(d *appsv1.Deployment) bool { return is(&d.ObjectMeta) }, func(d *appsv1.Deployment) *finding {
			a := first(func() *finding { return w.ownedFault(d.UID) }, func() *finding { return w.rollout(d) },
				func() *finding {
					return w.askedForNone(&controller{kind: "Deployment", meta: &d.ObjectMeta, off: isNone(d.Spec.Replicas)})
				})
			if d.Spec.Paused && (a == nil || a.Waiting) {
				return &finding{Step: "workload", At: "Deployment/" + d.Name, Type: "Field", Cause: "Paused",
					Says:     "the Deployment is paused, so changes of its template are not rolled out",
					Evidence: []string{"spec.paused: true"}, Fix: "kubectl rollout resume deployment/" + d.Name + " -n " + d.Namespace,
					Harm: "whoever paused it may have had a reason", Next: "kubectl describe deployment " + d.Name + " -n " + d.Namespace}
			}
			return a
		})
	}
	all := w.controllers()
	return of(all, func(c *controller) bool { return c.kind == o.Kind && is(c.meta) }, func(c *controller) *finding {
		if c.kind == "DaemonSet" && c.asked == 0 {
			return w.unplacedDaemonSet(c)
		}
		return first(func() *finding { return w.controller(c) }, func() *finding { return w.ownedFault(c.meta.UID) },
			func() *finding { return w.ungoverned(c) }, func() *finding { return w.outdated(c) },
			func() *finding { return w.askedForNone(c) })
	})
}

// found returns the object of the workload cluster that a user named, if it is of a kind with a walk, or nil.
func (w walker) found(o facts.Object) metav1.Object {
	var all []metav1.Object
	switch o.Kind {
	case "Service":
		all = pointers(w.Workloads.Services, func(s *corev1.Service) metav1.Object { return s })
	case "PersistentVolumeClaim":
		all = pointers(w.Workloads.Claims, func(c *corev1.PersistentVolumeClaim) metav1.Object { return c })
	case "Deployment":
		all = pointers(w.Workloads.Deployments, func(d *appsv1.Deployment) metav1.Object { return d })
	default:
		for _, c := range w.controllers() {
			if o.Kind == c.kind {
				all = append(all, c.meta)
			}
		}
	}
	i := slices.IndexFunc(all, func(m metav1.Object) bool { return m.GetName() == o.Name && m.GetNamespace() == o.Namespace })
	if i < 0 {
		return nil
	}
	return all[i]
}

// ends reports why an object of the workload cluster that is being deleted still exists: its finalizers, warnings of
// their owners, the pods that use a claim, and the pods that end before their owner.
func (w walker) ends(kind string, o metav1.Object) *finding {
	s := said{"object", cause.Service, kind + "/" + o.GetName(),
		fmt.Sprintf("kubectl describe %s %s -n %s", strings.ToLower(kind), o.GetName(), o.GetNamespace())}
	a := w.beingDeleted(s, o, o.GetDeletionTimestamp().Time)
	for i := range w.Pods {
		p := &w.Pods[i]
		if p.Namespace == o.GetNamespace() && (ownedBy(p, o.GetUID()) || kind == "PersistentVolumeClaim" && claims(p, o.GetName())) {
			if a.with("Pod/" + p.Name + " is there still"); len(a.Evidence) > maxNodes {
				break
			}
		}
	}
	for _, e := range w.events(w.Warnings, o.GetUID()) {
		if said := s.because(e.Reason, e.Message); when(e).After(o.GetDeletionTimestamp().Time) {
			if !said.Unknown {
				a.Waiting, a.Cause, a.Says, a.Fix, a.Harm = false, said.Cause, said.Says, said.Fix, ""
			}
			a.Evidence = append(said.Evidence, a.Evidence...)
			break
		}
	}
	return a
}

// ungoverned finds a StatefulSet that names a nonexistent Service: its pods run, but have no names in DNS.
func (w walker) ungoverned(c *controller) *finding {
	for i := range w.Workloads.StatefulSets {
		s := &w.Workloads.StatefulSets[i]
		if s.UID != c.meta.UID || s.Name != c.meta.Name || s.Spec.ServiceName == "" ||
			slices.ContainsFunc(w.Workloads.Services, func(v corev1.Service) bool {
				return v.Name == s.Spec.ServiceName && v.Namespace == s.Namespace
			}) {
			continue
		}
		return w.applying(s, &finding{Step: "workload", At: "StatefulSet/" + s.Name, Type: "Field", Cause: "ServiceMissing",
			Says:     "the Service that gives the StatefulSet's pods their names in DNS does not exist",
			Evidence: []string{"spec.serviceName: " + s.Spec.ServiceName + "; namespace " + s.Namespace + " has no such Service"},
			Fix:      "create it with clusterIP None and the pods' labels as its selector; spec.serviceName cannot be changed",
			Next:     "kubectl get services -n " + s.Namespace})
	}
	return nil
}

// outdated reports, for a StatefulSet or DaemonSet that a user named, that its pods keep the previous template because
// its update strategy requires it.
func (w walker) outdated(c *controller) *finding {
	strategy := ""
	for i := range w.Workloads.StatefulSets {
		s := &w.Workloads.StatefulSets[i]
		u := s.Spec.UpdateStrategy
		switch {
		case s.UID != c.meta.UID || s.Name != c.meta.Name || s.Status.UpdatedReplicas >= s.Status.Replicas:
		case u.Type == appsv1.OnDeleteStatefulSetStrategyType:
			strategy = "spec.updateStrategy.type: OnDelete"
		case u.RollingUpdate != nil && deref(u.RollingUpdate.Partition) > 0:
			strategy = fmt.Sprintf("spec.updateStrategy.rollingUpdate.partition: %d; pods with a smaller ordinal keep the former template",
				*u.RollingUpdate.Partition)
		}
	}
	for i := range w.Workloads.DaemonSets {
		d := &w.Workloads.DaemonSets[i]
		if d.UID == c.meta.UID && d.Name == c.meta.Name && d.Status.UpdatedNumberScheduled < d.Status.CurrentNumberScheduled &&
			d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
			strategy = "spec.updateStrategy.type: OnDelete"
		}
	}
	if strategy == "" {
		return nil
	}
	s := said{"workload", cause.Admission, c.kind + "/" + c.meta.Name,
		fmt.Sprintf("kubectl describe %s %s -n %s", strings.ToLower(c.kind), c.meta.Name, c.meta.Namespace)}
	a := w.waits(s, "OldTemplateKept", "its update strategy to be changed, or its pods to be deleted: they have the "+
		"former template", time.Time{})
	a.Type, a.Evidence = "Field", []string{strategy}
	return a
}

// askedForNone reports, for an object that a user named and that has no other fault, that it requests no pods.
func (w walker) askedForNone(c *controller) *finding {
	s := said{"workload", cause.Admission, c.kind + "/" + c.meta.Name,
		fmt.Sprintf("kubectl describe %s %s -n %s", strings.ToLower(c.kind), c.meta.Name, c.meta.Namespace)}
	switch {
	case !c.off:
		return nil
	case c.kind == "Job":
		return suspension(s, "the Job is suspended, so it makes no pods")
	}
	return w.waits(s, "NoReplicas", "pods to be asked for: spec.replicas is 0", time.Time{})
}

// isNone reports whether a number of replicas is zero; nil means one.
func isNone(replicas *int32) bool { return replicas != nil && *replicas == 0 }

// unplacedDaemonSet explains a DaemonSet that no node fits.
func (w walker) unplacedDaemonSet(c *controller) *finding {
	for i := range w.Workloads.DaemonSets {
		d := &w.Workloads.DaemonSets[i]
		if d.UID != c.meta.UID || d.Name != c.meta.Name {
			continue
		}
		if d.Status.ObservedGeneration < d.Generation && w.fresh(d) { // the controller has not counted the nodes yet
			return w.waits(said{"workload", cause.Admission, "DaemonSet/" + d.Name, "kubectl get daemonset " + d.Name + " -n " + d.Namespace},
				"NotObserved", "the DaemonSet's controller to see its present spec", d.CreationTimestamp.Time)
		}
		return &finding{Step: "workload", At: "DaemonSet/" + d.Name, Type: "Field", Cause: "NoNodeFits", Says: "no node " +
			"fits the DaemonSet, so it has no pods",
			Evidence: []string{fmt.Sprintf("status.desiredNumberScheduled: 0; nodeSelector %v, %d "+
				"nodes", d.Spec.Template.Spec.NodeSelector, len(w.Nodes))},
			Fix: "correct its nodeSelector, affinity or tolerations, or label the nodes", Next: "kubectl get nodes --show-labels"}
	}
	return nil
}

// ownedFault examines the objects that an object of the workload cluster owns: ReplicaSets, and pods with their nodes.
func (w walker) ownedFault(uid types.UID) *finding { return first(w.owned(uid)...) }

// owned returns the functions that examine the objects that an object owns.
func (w walker) owned(uid types.UID) (checks []func() *finding) {
	for _, c := range w.controllers() {
		if ownedBy(c.meta, uid) {
			checks = append(append(checks, func() *finding { return w.controller(&c) }), w.owned(c.meta.UID)...)
		}
	}
	for i := range w.Pods {
		if p := &w.Pods[i]; ownedBy(p, uid) && !w.replaced(p) {
			checks = append(checks, func() *finding { return w.forPod(p) })
		}
	}
	return checks
}

// parts returns the functions that examine the objects that an object of the workload cluster owns, or the pods that a
// service selects.
func (w walker) parts(o metav1.Object) (checks []func() *finding) {
	if s, is := o.(*corev1.Service); is {
		for _, p := range w.selected(s) {
			checks = append(checks, func() *finding { return w.forPod(p) })
		}
	}
	return append(checks, w.owned(o.GetUID())...)
}
