package walk

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/redact"
)

// How long things may take before that they take long is a fault.
const (
	// slowAzure bounds what Azure does with one resource, and a guest's boot.
	slowAzure = 20 * time.Minute
	// slowStatus bounds how long a controller takes to report what it has seen.
	slowStatus = 2 * time.Minute
	// slowToken bounds how long the controller manager takes to sign a bootstrap token.
	slowToken = time.Minute
	// justApplied bounds how long the objects of one manifest take to be there.
	justApplied = 30 * time.Second
)

// cluster looks at what all machines need. A control plane whose trouble is one
// of its machines is reported by that machine.
func (f walker) cluster() *Answer {
	at := "Cluster/" + f.Cluster.Name
	if p := f.Cluster.Spec.Paused; p != nil && *p {
		return &Answer{Step: "owner", At: at, Cause: "Paused",
			Says: "the cluster is paused, so nothing is reconciled", Evidence: []string{"spec.paused: true"},
			Fix: "kubectl patch cluster " + f.Cluster.Name + " -n " + f.Cluster.Namespace +
				" --type merge -p '{\"spec\":{\"paused\":false}}'",
			Next: "casement tree " + f.Cluster.Name + " -n " + f.Cluster.Namespace}
	}
	if a := f.deleting(); a != nil {
		return a
	}
	return first(f.owner, f.infra, f.topology, f.controlPlane, f.reached, f.calico)
}

// owner finds what the cluster, its infrastructure or its control plane names and does
// not exist.
func (f walker) owner() *Answer {
	if f.AzureCluster == nil && f.Cluster.Spec.InfrastructureRef.Kind == "AzureCluster" {
		return f.applying(&f.Cluster.ObjectMeta, &Answer{Step: "owner", At: "Cluster/" + f.Cluster.Name,
			Cause: "AzureClusterMissing", Says: "the AzureCluster that the cluster names does not exist",
			Evidence: []string{"spec.infrastructureRef.name: " + f.Cluster.Spec.InfrastructureRef.Name},
			Fix:      "apply it", Next: "kubectl get azureclusters -n " + f.Cluster.Namespace})
	}
	for _, kind := range []string{"Cluster/", "AzureCluster/", "KubeadmControlPlane/"} {
		if a := f.dangles(kind, "owner"); a != nil {
			return a
		}
	}
	return nil
}

// applying makes an answer about something that is not there one that waits while the
// object that names it is new: the objects of one manifest come one after another.
func (f walker) applying(from metav1.Object, a *Answer) *Answer {
	if born := from.GetCreationTimestamp().Time; !born.IsZero() && f.Taken.Sub(born) < justApplied {
		a.Waiting = true
	}
	return a
}

// dangles finds a reference to what does not exist, of an object by its KIND/NAME or
// the beginning of it.
func (f walker) dangles(from, step string) *Answer {
	for _, r := range f.Dangling {
		if !strings.HasPrefix(r.From, from) {
			continue
		}
		plural := strings.ToLower(r.Kind) + "s"
		if strings.HasSuffix(plural, "ss") {
			plural = strings.TrimSuffix(plural, "s") + "es"
		}
		if strings.HasSuffix(plural, "ys") {
			plural = strings.TrimSuffix(plural, "ys") + "ies"
		}
		a := &Answer{Step: step, At: r.From, Cause: r.Kind + "Missing", Says: "the " + r.Kind + " that " + r.From + " names does not exist",
			Evidence: []string{r.Field + ": " + r.Kind + " " + r.Namespace + "/" + r.Name}, Fix: "apply it, or correct " + r.Field,
			Next: "kubectl get " + plural + " -n " + r.Namespace}
		if strings.HasSuffix(r.Kind, "Template") {
			a.Cause, a.Step = "TemplateMissing", "template"
		}
		if born := f.Cluster.CreationTimestamp.Time; !born.IsZero() && f.Taken.Sub(born) < justApplied {
			a.Waiting, a.Says = true, "waiting for "+r.Kind+" "+r.Name+" to be applied"
		}
		if r.Why != "" {
			a.Evidence, a.Next = append(a.Evidence, r.Why), "kubectl api-resources --api-group infrastructure.cluster.x-k8s.io"
		}
		return a
	}
	return nil
}

// infra looks at the cluster's network and load balancers.
func (f walker) infra() *Answer {
	ac := f.AzureCluster
	if ac == nil {
		return nil
	}
	s := said{"infrastructure", cause.Azure, "AzureCluster/" + ac.Name, "kubectl describe azurecluster " + ac.Name + " -n " + ac.Namespace}
	c := specific(ac.GetConditions())
	if c != nil && c.Reason == "IdentityNotFound" && f.Taken.Sub(c.LastTransitionTime.Time) < slowStatus {
		// owner has found it: it was applied after the AzureCluster.
		return f.waits(s, c.Reason, s.at+" to be reconciled with its identity, which exists", c.LastTransitionTime.Time)
	}
	return f.status(s, c)
}

// status is an answer about a condition that explains why an object is not Ready, or nil.
func (f walker) status(s said, c *metav1.Condition) *Answer {
	switch {
	case c == nil:
		return nil
	case c.Type == clusterv1.PausedCondition:
		return &Answer{Step: s.step, At: s.at, Cause: "Paused",
			Says: s.at + " is paused, so nothing is done about it", Evidence: evidence(c.Message),
			Fix: "remove the annotation cluster.x-k8s.io/paused", Next: s.next}
	case inProgress(c.Reason):
		what := c.Message
		if what == "" {
			what = s.at + ", which reports " + c.Reason
		}
		return f.overdue(f.waits(s, c.Reason, what, c.LastTransitionTime.Time), c.LastTransitionTime.Time, slowAzure)
	}
	return s.because(c.Reason, c.Message)
}

// evidence is a text as evidence, where there is one.
func evidence(text string) []string {
	if text = redact.Line(text, maxEvidence); text != "" {
		return []string{text}
	}
	return nil
}

// topology looks at what a ClusterClass makes of the cluster.
func (f walker) topology() *Answer {
	c := bad(f.Cluster.Status.Conditions, clusterv1.ClusterTopologyReconciledCondition)
	if c == nil || !f.Cluster.Spec.Topology.IsDefined() {
		return nil
	}
	s := said{"owner", cause.Admission, "Cluster/" + f.Cluster.Name,
		"kubectl describe cluster " + f.Cluster.Name + " -n " + f.Cluster.Namespace}
	if c.Reason == clusterv1.ClusterTopologyReconciledFailedReason ||
		c.Reason == clusterv1.ClusterTopologyReconciledClusterClassNotReconciledReason {
		a := s.because(c.Reason, c.Message)
		if a.Fix == "" {
			a.Says = "Cluster API cannot make the cluster that its ClusterClass and topology describe"
			a.Fix = "correct spec.topology of the Cluster, or the ClusterClass, as the message says"
		}
		return a
	}
	return f.waits(s, c.Reason, c.Message, c.LastTransitionTime.Time)
}

// controlPlane looks at the control plane's machines, and then at what it says of itself.
func (f walker) controlPlane() *Answer {
	kcp := f.ControlPlane
	if kcp == nil {
		return nil
	}
	if a := each(f.machinesWhere(isControlPlane), f.machine)(); a != nil {
		return a
	}
	s := said{"controlplane", cause.Admission, "KubeadmControlPlane/" + kcp.Name,
		"kubectl describe kubeadmcontrolplane " + kcp.Name + " -n " + kcp.Namespace}
	if a := f.refusal(s, kcp.UID, kcp.Spec.Replicas, kcp.Status.Replicas); a != nil {
		return a
	}
	c := bad(kcp.Status.Conditions, controlplanev1.KubeadmControlPlaneCertificatesAvailableCondition,
		controlplanev1.KubeadmControlPlaneInitializedCondition,
		controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition,
		controlplanev1.KubeadmControlPlaneControlPlaneComponentsHealthyCondition)
	if c == nil {
		return nil
	}
	young := !c.LastTransitionTime.IsZero() && f.Taken.Sub(c.LastTransitionTime.Time) < slowStatus
	starts := c.Status == metav1.ConditionUnknown || c.Type == controlplanev1.KubeadmControlPlaneInitializedCondition
	if young && (starts || f.rolling()) {
		return f.waits(s, c.Reason, "the control plane: "+reported(c), c.LastTransitionTime.Time)
	}
	a := s.because(c.Reason, c.Message)
	a.Says = "the control plane is not well: " + c.Type + " is " + string(c.Status)
	if a.Fix == "" {
		a.Fix = "see the machine that the message names: casement why MACHINE, casement logs MACHINE"
	}
	return a
}

// rolling says that machines of the control plane are coming or going.
func (f walker) rolling() bool {
	return slices.ContainsFunc(f.machinesWhere(isControlPlane), func(m clusterv1.Machine) bool {
		return !m.DeletionTimestamp.IsZero() || f.Taken.Sub(m.CreationTimestamp.Time) < slowStatus
	})
}

// reported is what a condition says in a line.
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

// reached looks at whether the cluster's API server answers. Before its control plane is
// initialized nothing is asked of it.
func (f walker) reached() *Answer {
	if f.Unreachable == "" {
		return nil
	}
	s := said{"workload", cause.Reach, "Cluster/" + f.Cluster.Name, "casement tree " + f.Cluster.Name + " -n " + f.Cluster.Namespace}
	if f.initializing() {
		return f.overdue(f.waits(s, "APIServerUnreachable", "the control plane to answer",
			f.Cluster.CreationTimestamp.Time), f.Cluster.CreationTimestamp.Time, slowAzure)
	}
	a := f.barred(s.because("APIServerUnreachable", f.Unreachable))
	if a.Cause == "NoRouteToAPI" && f.rolling() {
		a.Waiting, a.Says = true, "waiting for the API server, while machines of the control plane are replaced"
	}
	return a
}

// initializing says that the control plane has never answered yet.
func (f walker) initializing() bool {
	done := f.Cluster.Status.Initialization.ControlPlaneInitialized
	return !f.Cluster.CreationTimestamp.IsZero() && (done == nil || !*done)
}

// available finds that Cluster API does not call the cluster available, where nothing
// else says why.
func (f walker) available() *Answer {
	c := bad(f.Cluster.Status.Conditions, clusterv1.ClusterAvailableCondition)
	if c == nil {
		return nil
	}
	s := said{"owner", cause.Admission, "Cluster/" + f.Cluster.Name, "casement tree " + f.Cluster.Name + " -n " + f.Cluster.Namespace}
	if f.initializing() || f.Taken.Sub(c.LastTransitionTime.Time) < slowStatus {
		return f.waits(s, c.Reason, "Cluster API to call the cluster available: "+reported(c), c.LastTransitionTime.Time)
	}
	return &Answer{Step: s.step, At: s.at, Cause: c.Reason,
		Says:     "Cluster API does not call the cluster available: its condition Available is " + string(c.Status),
		Evidence: evidence(reported(c)), Fix: "see what the message names", Next: s.next}
}
