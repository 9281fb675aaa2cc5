package walk

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/redact"
)

// The times after which an operation that has not ended is a fault.
const (
	// slowAzure is for an operation of Azure on one resource, and for a guest's boot.
	slowAzure = 20 * time.Minute
	// slowStatus is for a controller's report of a change in a status.
	slowStatus = 2 * time.Minute
	// slowToken is for the controller manager's signature of a bootstrap token.
	slowToken = time.Minute
	// justApplied is for the creation of all objects of one manifest.
	justApplied = 30 * time.Second
)

// cluster examines the objects that all machines depend on. A control plane fault that is caused by one of its machines
// is left to the examination of that machine.
func (w walker) cluster() *finding {
	at := "Cluster/" + w.Cluster.Name
	if ptr.Deref(w.Cluster.Spec.Paused, false) {
		return &finding{Step: "owner", At: at, Cause: "Paused", Waiting: !w.outstanding(),
			Says: "the cluster is paused, so nothing is reconciled", Evidence: []string{"spec.paused: true"},
			Fix: "kubectl patch cluster " + w.Cluster.Name + " -n " + w.Cluster.Namespace +
				" --type merge -p '{\"spec\":{\"paused\":false}}'",
			Next: "casement tree " + w.Cluster.Name + " -n " + w.Cluster.Namespace}
	}
	if a := w.deleting(); a != nil {
		return a
	}
	return first(w.owner, w.infra, w.topology, w.controlPlane, w.serverUnreachable, w.calico)
}

// outstanding reports whether some work on the cluster waits for its controller: a deletion, a change that was not
// observed yet, or a machine without a node. A pause that delays nothing is no fault.
func (w walker) outstanding() bool {
	waits := func(o metav1.Object, observed int64) bool {
		return o.GetDeletionTimestamp() != nil || observed < o.GetGeneration()
	}
	return w.Cluster.DeletionTimestamp != nil || w.initializing() ||
		w.ControlPlane != nil && waits(w.ControlPlane, w.ControlPlane.Status.ObservedGeneration) ||
		slices.ContainsFunc(w.Machines, func(m clusterv1.Machine) bool {
			return m.DeletionTimestamp != nil || m.Status.NodeRef.Name == ""
		}) ||
		slices.ContainsFunc(w.Deployments, func(d clusterv1.MachineDeployment) bool { return waits(&d, d.Status.ObservedGeneration) }) ||
		slices.ContainsFunc(w.Sets, func(s clusterv1.MachineSet) bool { return waits(&s, s.Status.ObservedGeneration) }) ||
		slices.ContainsFunc(w.Pools, func(p clusterv1.MachinePool) bool { return waits(&p, p.Status.ObservedGeneration) })
}

// owner finds references of the cluster, its infrastructure or its control plane to nonexistent objects.
func (w walker) owner() *finding {
	if w.AzureCluster == nil && w.Cluster.Spec.InfrastructureRef.Kind == "AzureCluster" {
		return w.applying(&w.Cluster.ObjectMeta, &finding{Step: "owner", At: "Cluster/" + w.Cluster.Name,
			Cause: "AzureClusterMissing", Says: "the AzureCluster that the cluster names does not exist",
			Evidence: []string{"spec.infrastructureRef.name: " + w.Cluster.Spec.InfrastructureRef.Name},
			Fix:      "apply it", Next: "kubectl get azureclusters -n " + w.Cluster.Namespace})
	}
	for _, kind := range []string{"Cluster/", "AzureCluster/", "KubeadmControlPlane/"} {
		if a := w.dangles(kind, "owner"); a != nil {
			return a
		}
	}
	return nil
}

// applying turns a finding about a missing object into a Waiting one if the object that refers to it is new or was just
// changed: the objects of one manifest are created one after another, and lists are read one after another too.
func (w walker) applying(from metav1.Object, a *finding) *finding {
	if a != nil && w.fresh(from) {
		a.Waiting = true
	}
	return a
}

// fresh reports whether an object was created or changed within the time justApplied.
func (w walker) fresh(o metav1.Object) bool {
	last := changed(o, false)
	return !last.IsZero() && w.Taken.Sub(last) < justApplied
}

// changed returns the time at which an object, including its status if status is true, was created or last changed;
// zero if it is not known.
func changed(o metav1.Object, status bool) time.Time {
	last := o.GetCreationTimestamp().Time
	for _, entry := range o.GetManagedFields() {
		if entry.Time != nil && (status || entry.Subresource == "") {
			last = latest(last, entry.Time.Time)
		}
	}
	return last
}

// dangles finds a dangling reference of an object, by its KIND/NAME or a prefix of that.
func (w walker) dangles(from, step string) *finding {
	for i := range w.Dangling {
		r := &w.Dangling[i]
		if r.From != from && !(strings.HasSuffix(from, "/") && strings.HasPrefix(r.From, from)) {
			continue
		}
		a := missing(r, step)
		if w.fresh(&w.Cluster.ObjectMeta) || w.fresh(w.object(r.From)) {
			a.Waiting, a.Says = true, "waiting for "+r.Kind+" "+r.Name+" to be applied"
		}
		return a
	}
	return nil
}

// object returns an object of the management cluster by its KIND/NAME; an empty one if it was not read.
func (w walker) object(at string) metav1.Object {
	kind, name, _ := strings.Cut(at, "/")
	var all []metav1.Object
	switch kind {
	case "AzureCluster":
		if w.AzureCluster != nil {
			all = append(all, w.AzureCluster)
		}
	case "KubeadmControlPlane":
		if w.ControlPlane != nil {
			all = append(all, w.ControlPlane)
		}
	case "AzureMachine":
		if am := w.AzureMachines[name]; am != nil {
			all = append(all, am)
		}
	case "AzureMachinePool":
		if pool := w.AzurePools[name]; pool != nil {
			all = append(all, pool)
		}
	case "MachineDeployment":
		all = pointers(w.Deployments, func(d *clusterv1.MachineDeployment) metav1.Object { return d })
	case "MachineSet":
		all = pointers(w.Sets, func(s *clusterv1.MachineSet) metav1.Object { return s })
	case "MachinePool":
		all = pointers(w.Pools, func(p *clusterv1.MachinePool) metav1.Object { return p })
	}
	if i := slices.IndexFunc(all, func(o metav1.Object) bool { return o.GetName() == name }); i >= 0 {
		return all[i]
	}
	return &metav1.ObjectMeta{}
}

// pointers returns the items of a list as objects.
func pointers[T any](items []T, object func(*T) metav1.Object) (all []metav1.Object) {
	for i := range items {
		all = append(all, object(&items[i]))
	}
	return all
}

// missing returns the finding for a dangling reference.
func missing(r *facts.Reference, step string) *finding {
	plural := strings.ToLower(r.Kind) + "s"
	if strings.HasSuffix(plural, "ss") {
		plural = strings.TrimSuffix(plural, "s") + "es"
	}
	if strings.HasSuffix(plural, "ys") {
		plural = strings.TrimSuffix(plural, "ys") + "ies"
	}
	a := &finding{Step: step, At: r.From, Cause: r.Kind + "Missing", Says: "the " + r.Kind + " that " + r.From + " names does not exist",
		Evidence: []string{r.Field + ": " + r.Kind + " " + r.Namespace + "/" + r.Name}, Fix: "apply it, or correct " + r.Field,
		Next: strings.TrimSuffix("kubectl get "+plural+" -n "+r.Namespace, " -n ")}
	if r.Kind == "Node" { // a kubelet creates Nodes
		kind, name, _ := strings.Cut(r.From, "/")
		a.Fix = "kubectl delete " + strings.ToLower(kind) + " " + name
		a.Harm = "see first that no machine of the node runs any more"
	}
	if strings.HasSuffix(r.Kind, "Template") {
		a.Cause, a.Step = "TemplateMissing", "template"
	}
	if r.Why != "" {
		_, group, _ := strings.Cut(r.Why, r.Kind+".")
		a.Evidence, a.Next = append(a.Evidence, r.Why), "kubectl api-resources --api-group "+group
	}
	return a
}

// infra examines the cluster's network and load balancers.
func (w walker) infra() *finding {
	ac := w.AzureCluster
	if ac == nil {
		return nil
	}
	s := said{"infrastructure", cause.Azure, "AzureCluster/" + ac.Name, "kubectl describe azurecluster " + ac.Name + " -n " + ac.Namespace}
	c := specific(ac.GetConditions())
	if c != nil && c.Reason == "IdentityNotFound" && w.Taken.Sub(c.LastTransitionTime.Time) < slowStatus {
		// The identity was created after the AzureCluster and exists now.
		return w.waits(s, c.Reason, s.at+" to be reconciled with its identity, which exists", c.LastTransitionTime.Time)
	}
	if c == nil {
		c = later(ac.GetConditions())
	}
	return w.status(s, c)
}

// status returns the finding for a condition that explains why an object is not Ready, or nil.
func (w walker) status(s said, c *metav1.Condition) *finding {
	switch {
	case c == nil:
		return nil
	case c.Type == clusterv1.PausedCondition && w.pausedAsAll(s.at):
		return nil // the finding about the cluster reports it
	case c.Type == clusterv1.PausedCondition && w.resumed(s.at):
		return w.waits(s, "Resumed", s.at+", which is not paused any more, to be seen by its controller", time.Time{})
	case c.Type == clusterv1.PausedCondition:
		return &finding{Step: s.step, At: s.at, Cause: "Paused",
			Says: s.at + " is paused, so nothing is done about it", Evidence: evidence(c.Message),
			Fix: "remove the annotation " + clusterv1.PausedAnnotation, Type: c.Type,
			Since: c.LastTransitionTime.Time, Harm: "whoever paused it may have had a reason", Next: s.next}
	case inProgress(c.Reason):
		what := c.Message
		if what == "" {
			what = s.at + ", which reports " + c.Reason
		}
		return w.overdue(w.waits(s, c.Reason, what, c.LastTransitionTime.Time), c.LastTransitionTime.Time, slowAzure)
	}
	a := s.condition(c)
	if since := c.LastTransitionTime.Time; passes(a.Cause) && !since.IsZero() && w.Taken.Sub(since) < patience {
		waiting := w.waits(s, a.Cause, "Azure: "+reported(c), since)
		waiting.Type, waiting.Reason, waiting.Evidence = a.Type, a.Reason, a.Evidence
		return waiting
	}
	return a
}

// pausedBy reports whether an annotation of an object pauses it, and whether its cluster is paused.
func (w walker) pausedBy(at string) (annotation, cluster bool) {
	_, annotation = w.object(at).GetAnnotations()[clusterv1.PausedAnnotation]
	return annotation, ptr.Deref(w.Cluster.Spec.Paused, false)
}

// pausedAsAll reports whether an object is paused only because its cluster is paused.
func (w walker) pausedAsAll(at string) bool {
	annotation, cluster := w.pausedBy(at)
	return cluster && !annotation
}

// resumed reports whether neither an object nor its cluster is paused any more, because of a recent change: the
// condition Paused may be outdated then.
func (w walker) resumed(at string) bool {
	annotation, cluster := w.pausedBy(at)
	last := latest(changed(w.object(at), false), changed(w.Cluster, false))
	return !annotation && !cluster && !last.IsZero() && w.Taken.Sub(last) < slowStatus
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// evidence returns a text as a list of evidence; the list is empty for "".
func evidence(text string) []string {
	if text = redact.Line(text, maxEvidence); text != "" {
		return []string{text}
	}
	return nil
}

// topology examines the conditions of the cluster's topology, if it has a ClusterClass.
func (w walker) topology() *finding {
	c := bad(w.Cluster.Status.Conditions, clusterv1.ClusterTopologyReconciledCondition)
	if c == nil || !w.Cluster.Spec.Topology.IsDefined() {
		return nil
	}
	s := said{"owner", cause.Admission, "Cluster/" + w.Cluster.Name,
		"kubectl describe cluster " + w.Cluster.Name + " -n " + w.Cluster.Namespace}
	if c.Reason == clusterv1.ClusterTopologyReconciledFailedReason ||
		c.Reason == clusterv1.ClusterTopologyReconciledClusterClassNotReconciledReason {
		a := s.condition(c)
		if a.Unknown {
			a.Unknown, a.Cause = false, "TopologyNotReconciled"
			a.Says = "Cluster API cannot make the cluster that its ClusterClass and topology describe"
			a.Fix = "correct spec.topology of the Cluster, or the ClusterClass, as the message says"
		}
		return a
	}
	a := w.waits(s, c.Reason, c.Message, c.LastTransitionTime.Time)
	if a.Evidence = evidence(reported(c)); strings.HasSuffix(c.Reason, "Deferred") { // a user has deferred the upgrade
		a.Says = "waiting for whoever has put off an upgrade since " + age(w.Taken.Sub(c.LastTransitionTime.Time))
		a.Fix = "take the annotation topology.cluster.x-k8s.io/defer-upgrade or hold-upgrade-sequence off the MachineDeployment's entry " +
			"under spec.topology.workers of the Cluster, and the upgrade goes on"
		return a
	}
	if !w.growing() { // the duration of an upgrade of many machines has no limit
		a = w.overdue(a, c.LastTransitionTime.Time, slowAzure)
	}
	return a
}

// controlPlane examines the control plane's machines, and then its conditions.
func (w walker) controlPlane() *finding {
	kcp := w.ControlPlane
	if kcp == nil {
		return nil
	}
	if a := each(w.machinesWhere(isControlPlane), w.machine)(); a != nil {
		return a
	}
	s := said{"controlplane", cause.Admission, "KubeadmControlPlane/" + kcp.Name,
		"kubectl describe kubeadmcontrolplane " + kcp.Name + " -n " + kcp.Namespace}
	health := s // a message of Cluster API about machines and etcd is no refusal by an API server
	health.kind = ""
	if a := w.paused(s.at, kcp, s.next); a != nil {
		return a
	}
	if c := condition(kcp.Status.Conditions, clusterv1.PausedCondition); c != nil && c.Status == metav1.ConditionTrue {
		return w.status(s, c)
	}
	if a := w.refusal(s, kcp.UID, kcp.Spec.Replicas, kcp.Status.Replicas); a != nil {
		return a
	}
	c := bad(kcp.Status.Conditions, controlplanev1.KubeadmControlPlaneCertificatesAvailableCondition,
		controlplanev1.KubeadmControlPlaneInitializedCondition,
		controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition,
		controlplanev1.KubeadmControlPlaneControlPlaneComponentsHealthyCondition)
	if c == nil {
		if w.growing() {
			return nil
		}
		return w.left(health, kcp.Status.Conditions)
	}
	if w.pastNodes(c.Message) {
		return w.waits(s, c.Reason, "the control plane to see that its former Node is gone: "+reported(c), c.LastTransitionTime.Time)
	}
	if a := each(w.Pods, w.program)(); a != nil && !a.Waiting {
		return a
	}
	if !c.LastTransitionTime.IsZero() && w.Taken.Sub(c.LastTransitionTime.Time) < slowStatus { // a single failed probe is no fault
		return w.waits(s, c.Reason, "the control plane: "+reported(c), c.LastTransitionTime.Time)
	}
	a := health.condition(c)
	a.Says = "the control plane is not well: " + c.Type + " is " + string(c.Status)
	a.Fix = "see the machine that the message names: casement why MACHINE, casement logs MACHINE"
	return a
}

// program examines a pod if it is a static pod of a control plane machine, which the kubelet runs by itself.
func (w walker) program(p *corev1.Pod) *finding {
	n := w.Nodes[p.Spec.NodeName]
	if _, static := p.Annotations[corev1.MirrorPodAnnotationKey]; !static || n == nil || p.Namespace != metav1.NamespaceSystem {
		return nil
	}
	if _, controls := n.Labels[controlPlane]; !controls {
		return nil
	}
	return w.pod(p)
}

// withoutMachine matches Cluster API's message about a control plane node that no machine has. Source:
// sigs.k8s.io/cluster-api controlplane/kubeadm/internal/workload_cluster_conditions.go.
var withoutMachine = regexp.MustCompile(`^\* Control plane Node (\S+) does not have a corresponding Machine$`)

// pastNodes reports whether a message about the control plane only concerns nodes without a machine that no longer
// exist: Cluster API updates the message in its next pass.
func (w walker) pastNodes(message string) bool {
	if w.Unreachable != "" {
		return false
	}
	for line := range strings.SplitSeq(strings.TrimSpace(message), "\n") {
		of := withoutMachine.FindStringSubmatch(strings.TrimSpace(line))
		if of == nil || w.Nodes[of[1]] != nil {
			return false
		}
	}
	return true
}

// rolling reports whether machines of the control plane are being created or deleted.
func (w walker) rolling() bool {
	return slices.ContainsFunc(w.machinesWhere(isControlPlane), func(m clusterv1.Machine) bool {
		return !m.DeletionTimestamp.IsZero() || w.Taken.Sub(m.CreationTimestamp.Time) < slowStatus
	})
}

// reported formats a condition as one line.
func reported(c *metav1.Condition) string {
	if c.Message == "" {
		return c.Type + " is " + string(c.Status) + " (" + c.Reason + ")"
	}
	return strings.Join(strings.Fields(c.Message), " ")
}

func isControlPlane(m *clusterv1.Machine) bool {
	_, ok := m.Labels[clusterv1.MachineControlPlaneLabel]
	return ok
}

// serverUnreachable examines whether the cluster's API server responds, unless its control plane is not initialized yet.
func (w walker) serverUnreachable() *finding {
	if w.Unreachable == "" {
		return nil
	}
	s := said{"workload", cause.Reach, "Cluster/" + w.Cluster.Name, "casement tree " + w.Cluster.Name + " -n " + w.Cluster.Namespace}
	if w.initializing() {
		return w.overdue(w.waits(s, "APIServerUnreachable", "the control plane to answer",
			w.Cluster.CreationTimestamp.Time), w.Cluster.CreationTimestamp.Time, slowAzure)
	}
	if w.Slow { // the API server responds, but slowly
		a := w.waits(s, "APIServerSlow", "the API server, which has answered some of the questions and not others in time", time.Time{})
		a.Evidence = evidence(w.Unreachable)
		return a
	}
	a := w.azureObstacle(s.because("APIServerUnreachable", w.Unreachable))
	if a.Cause != "NoRouteToAPI" && a.Cause != "APIRefused" {
		return a
	}
	if w.rolling() {
		a.Waiting, a.Says = true, "waiting for the API server, while machines of the control plane are replaced"
		return a
	}
	return first(func() *finding { return w.dies(w.machinesWhere(isControlPlane), a.Evidence) },
		func() *finding { return w.waitingIfRecent(a) })
}

// waitingIfRecent turns a refused connection or a late response into a Waiting finding while Cluster API's own probe has not
// failed for long: the programs of a starting or restarting control plane need some time, and a busy API server may
// respond late.
func (w walker) waitingIfRecent(a *finding) *finding {
	c := condition(w.Cluster.Status.Conditions, clusterv1.ClusterRemoteConnectionProbeCondition)
	late := a.Cause == "NoRouteToAPI" && strings.Contains(w.Unreachable, "deadline exceeded")
	if a.Cause != "APIRefused" && !late || c == nil ||
		c.Status != metav1.ConditionTrue && w.Taken.Sub(c.LastTransitionTime.Time) > slowStatus {
		return a
	}
	a.Waiting, a.Cause, a.Fix, a.Harm = true, "APIServerStarts", "", ""
	a.Says = "waiting for the API server, which is not up yet: Cluster API has reached it a short time ago"
	if late {
		a.Cause = "APIServerLate"
		a.Says = "waiting for the API server, which does not answer in time: Cluster API has reached it a short time ago"
	}
	return a
}

// staticEnd matches a simulated machine's console message about a program of its control plane that ended by itself.
var staticEnd = regexp.MustCompile(`casement: the static pod kube-system/(etcd|kube-apiserver)\S* ended with code \d+(.*)`)

// programDies is the cause in the finding of dies.
const programDies = "ControlPlaneProgramDies"

// again is the number of times that a program has to end after its machine booted until this is a fault: an API server
// ends once or twice until its etcd responds.
const again = 3

// dies finds, for an API server that does not respond, a control plane machine among the given ones whose etcd or API
// server ends repeatedly, for example because a loss of power has damaged its data, or because it does not accept a
// flag.
func (w walker) dies(machines []clusterv1.Machine, unreached []string) *finding {
	if w.Console == nil {
		return nil
	}
	for _, program := range []string{"etcd", "kube-apiserver"} {
		for _, m := range machines {
			console := w.Console(&m)
			if at := strings.LastIndex(console, " boots: "); at >= 0 {
				console = console[at:]
			}
			ends := slices.DeleteFunc(staticEnd.FindAllStringSubmatch(console, -1), func(end []string) bool { return end[1] != program })
			if len(ends) < again {
				continue
			}
			a := &finding{Step: "controlplane", At: "Machine/" + m.Name, Cause: programDies,
				Says: fmt.Sprintf("%s of a control plane machine ends again and again, so the API server does not answer", program),
				Evidence: append([]string{redact.Line(fmt.Sprintf("%s (%d times since it booted)", ends[len(ends)-1][0], len(ends)), maxEvidence)},
					unreached...),
				Fix: "read its log, and correct the flag or file of the kubeadm configuration that it names; where most of the control " +
					"plane machines are well, delete the Machine, and another one takes its place; else restore etcd from a backup, or " +
					"make the cluster again",
				Next: "casement ssh " + cmp.Or(m.Status.NodeRef.Name, m.Name) +
					" -- 'sudo tail /var/log/pods/kube-system_" + program + "*/" + program + "/0.log'"}
			if c, _, ok := cause.Classify(cause.Guest, "", ends[len(ends)-1][2]); ok && !c.Follows && c.Name != "KubeletEnds" {
				a.Cause, a.Says, a.Fix = c.Name, c.Says, c.Fix
			}
			return a
		}
	}
	return nil
}

// initializing reports whether the control plane has never been initialized.
func (w walker) initializing() bool {
	done := w.Cluster.Status.Initialization.ControlPlaneInitialized
	return !w.Cluster.CreationTimestamp.IsZero() && (done == nil || !*done)
}

// available finds that the cluster's Available condition is not True, if nothing else was found.
func (w walker) available() *finding {
	c := bad(w.Cluster.Status.Conditions, clusterv1.ClusterAvailableCondition)
	if c == nil {
		return nil
	}
	s := said{"owner", cause.Admission, "Cluster/" + w.Cluster.Name, "casement tree " + w.Cluster.Name + " -n " + w.Cluster.Namespace}
	if w.initializing() || w.scaling() || w.Taken.Sub(c.LastTransitionTime.Time) < slowStatus {
		return w.waits(s, c.Reason, "Cluster API to call the cluster available: "+reported(c), c.LastTransitionTime.Time)
	}
	return &finding{Step: s.step, At: s.at, Cause: c.Reason,
		Says:     "Cluster API does not call the cluster available: its condition Available is " + string(c.Status),
		Evidence: evidence(reported(c)), Fix: "see what the message names", Next: s.next}
}

// scaling reports whether the missing machines of a MachineDeployment are being created: its newest machine is young. A
// set creates its machines one after another, which takes long for a hundred machines, so the age of the condition is
// no evidence.
func (w walker) scaling() bool {
	return slices.ContainsFunc(w.Deployments, func(d clusterv1.MachineDeployment) bool {
		return fewer(d.Spec.Replicas, d.Status.AvailableReplicas) && slices.ContainsFunc(w.Machines, func(m clusterv1.Machine) bool {
			return m.Labels[clusterv1.MachineDeploymentNameLabel] == d.Name && w.Taken.Sub(m.CreationTimestamp.Time) < slowAzure
		})
	})
}
