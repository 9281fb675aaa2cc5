package walk

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/redact"
)

// machine examines one machine from its bootstrap data to its node.
func (w walker) machine(m *clusterv1.Machine) *finding {
	if !m.DeletionTimestamp.IsZero() {
		return w.leaving(m)
	}
	return first(func() *finding { return w.bootPath(m) }, func() *finding { return w.laterFaults(m) })
}

// laterFaults finds the faults of a machine that do not prevent it from becoming a node.
func (w walker) laterFaults(m *clusterv1.Machine) *finding {
	describe := "kubectl describe machine " + m.Name + " -n " + m.Namespace
	if a := w.paused("Machine/"+m.Name, m, describe); a != nil {
		return a
	}
	if e := m.Status.CertificatesExpiryDate; !e.IsZero() && !w.Taken.IsZero() && e.Sub(w.Taken) < soonExpired {
		a := &finding{Step: "controlplane", At: "Machine/" + m.Name, Type: "Field", Cause: "CertificatesExpire",
			Says:     "the certificates of the control plane machine expire soon, or have expired",
			Evidence: []string{"status.certificatesExpiryDate: " + e.UTC().Format(time.RFC3339)},
			Fix: "replace the machine before: set spec.rollout.before.certificatesExpiryDays of the KubeadmControlPlane, " +
				"or spec.rollout.after", Next: describe}
		return a
	}
	if am := w.AzureMachines[m.Spec.InfrastructureRef.Name]; am != nil {
		if a := w.status(said{"infrastructure", cause.Azure, "AzureMachine/" + am.Name,
			"kubectl describe azuremachine " + am.Name + " -n " + m.Namespace}, later(am.GetConditions())); a != nil {
			return a
		}
	}
	notes, whole := w.RecordedNotes(m)
	if !whole && w.Taken.Sub(m.CreationTimestamp.Time) < slowAzure {
		notes = w.BootNotes(m)
	}
	if a := w.failedBootCommand(m, notes); a != nil {
		return a
	}
	return w.left(said{"owner", "", "Machine/" + m.Name, describe}, m.Status.Conditions)
}

// failedBootCommand finds, from the notes about its boot, a machine whose bootstrap data had a failed command that did not
// prevent it from becoming a node: the batch files of cloudbase-init and the runcmd of cloud-init continue after a
// failed command.
func (w walker) failedBootCommand(m *clusterv1.Machine, notes []string) *finding {
	var failed, rest []string
	for _, note := range notes {
		if cause.Harmless(note) {
			rest = append(rest, note)
		} else {
			failed = append(failed, note)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return &finding{Step: "guest", At: guestOf(m), Type: sources[cause.Guest], Cause: cause.CommandFailed, Notes: rest,
		Says:     "a command of the bootstrap data failed, and the boot went on: what the command does is missing on the machine",
		Evidence: failed, Fix: "correct the command in the bootstrap template that the machine comes from, and replace the machine",
		Next: "casement logs " + m.Name + " -n " + m.Namespace}
}

// soonExpired is the remaining validity of a certificate below which it is a fault.
const soonExpired = 7 * 24 * time.Hour

// paused finds the annotation that pauses an object.
func (w walker) paused(at string, o metav1.Object, next string) *finding {
	if _, is := o.GetAnnotations()[clusterv1.PausedAnnotation]; !is {
		return nil
	}
	kind, name, _ := strings.Cut(at, "/")
	return &finding{Step: "owner", At: at, Type: "Field", Cause: "Paused", Says: at + " is paused, so nothing is done about it",
		Evidence: []string{"metadata.annotations: " + clusterv1.PausedAnnotation},
		Fix:      "kubectl annotate " + strings.ToLower(kind) + " " + name + " -n " + o.GetNamespace() + " " + clusterv1.PausedAnnotation + "-",
		Harm:     "whoever paused it may have had a reason", Next: next}
}

// bootPath examines a machine from its bootstrap data to its node.
func (w walker) bootPath(m *clusterv1.Machine) *finding {
	if m.Spec.InfrastructureRef.Kind == infrav1.AzureMachinePoolMachineKind {
		return first(func() *finding { return w.instance(m) }, func() *finding { return w.registered(m) })
	}
	if a := w.bootstrap(m.Namespace, &m.Spec.Bootstrap); a != nil && !a.Waiting {
		return a
	} else if vm := w.infrastructure(m); a != nil || vm != nil {
		// The VM's own finding comes first, unless it only waits for the bootstrap data; then a has more details.
		if a != nil {
			vm = unlessCause(vm, infrav1.WaitingForBootstrapDataReason)
		}
		return first(func() *finding { return vm }, func() *finding { return a })
	}
	return w.registered(m)
}

// unlessCause returns the finding, or nil if it has the given cause.
func unlessCause(a *finding, cause string) *finding {
	if a != nil && a.Cause == cause {
		return nil
	}
	return a
}

func (w walker) bootstrap(namespace string, b *clusterv1.Bootstrap) *finding {
	if b.DataSecretName != nil {
		return nil
	}
	s := said{"bootstrap", cause.Data, "KubeadmConfig/" + b.ConfigRef.Name,
		"kubectl describe kubeadmconfig " + b.ConfigRef.Name + " -n " + namespace}
	config := w.Configs[b.ConfigRef.Name]
	if config == nil {
		return w.waits(s, "WaitingForBootstrapData", "the bootstrap data to be rendered", w.Cluster.CreationTimestamp.Time)
	}
	c := bad(config.Status.Conditions, bootstrapv1.KubeadmConfigCertificatesAvailableCondition,
		bootstrapv1.KubeadmConfigDataSecretAvailableCondition)
	if c == nil {
		return w.waits(s, "WaitingForBootstrapData", "the bootstrap data to be rendered", config.CreationTimestamp.Time)
	}
	if w.initializing() && strings.Contains(strings.ToLower(c.Message), "waiting for") || c.Message == "" && w.initializing() {
		return w.waits(s, "WaitingForBootstrapData", "the bootstrap data: "+reported(c), c.LastTransitionTime.Time)
	}
	if since := c.LastTransitionTime.Time; strings.HasPrefix(c.Message, "Waiting for") && w.Taken.Sub(since) < slowStatus {
		return w.waits(s, "WaitingForBootstrapData", "the bootstrap data: "+reported(c), since)
	}
	return s.condition(c)
}

// infrastructure examines the VM; if the guest failed, the console has more details.
func (w walker) infrastructure(m *clusterv1.Machine) *finding {
	a := w.AzureMachines[m.Spec.InfrastructureRef.Name]
	if a == nil {
		return w.applying(m, &finding{Step: "infrastructure", At: "Machine/" + m.Name, Cause: "AzureMachineMissing",
			Says:     "the AzureMachine of the machine does not exist",
			Evidence: []string{"spec.infrastructureRef.name: " + m.Spec.InfrastructureRef.Name},
			Fix:      "delete the Machine, so that its set makes another",
			Next:     "kubectl describe machine " + m.Name + " -n " + m.Namespace})
	}
	c := specific(a.GetConditions())
	if c == nil || c.Type == infrav1.BootstrapSucceededCondition && w.joined(m) {
		return nil // the reason why the node waits has more details than an ended boot
	}
	s := said{"infrastructure", cause.Azure, "AzureMachine/" + a.Name, w.showCommand(m)}
	if c.Type == infrav1.BootstrapSucceededCondition {
		s.step, s.kind, s.at = "guest", cause.Guest, guestOf(m)
	}
	answer := w.status(s, c)
	if c.Reason == infrav1.WaitingForBootstrapDataReason && m.Spec.Bootstrap.DataSecretName != nil {
		return w.secretless(s, m, c)
	}
	if since := c.LastTransitionTime.Time; c.Reason == "Creating" && w.Console != nil && w.Taken.Sub(since) > slowStatus {
		if line := cause.Latest(strings.Split(w.Console(m), "\n")); line != "" {
			answer.with("its boot log ends with: " + line)
		}
	}
	if c.Type == infrav1.BootstrapSucceededCondition || c.Type == infrav1.VMRunningCondition {
		if g := w.guest(m); g != nil && (g.Step == "controlplane" || answer.Unknown || answer.Fix == "" || answer.Follows ||
			g.Cause == answer.Cause && len(g.Notes) > 0) {
			if g.Step == "guest" { // the machine's message says nothing about a program on it that ends
				g.addEvidence(answer.Evidence)
			}
			return g
		}
	}
	if c.Reason == "InvalidBootstrapData" {
		answer.Step = "bootstrap"
		answer.Next = "kubectl describe kubeadmconfig " + m.Spec.Bootstrap.ConfigRef.Name + " -n " + m.Namespace
	}
	if c.Reason == vmStopped {
		answer.Says, answer.Fix = "somebody else than casement stopped the virtual machine",
			"az vm start, or delete the Machine, so that its set makes another"
	}
	return w.azureObstacle(answer)
}

// secretless returns the finding for a machine whose bootstrap data is in a Secret that, according to the condition,
// cannot be used.
func (w walker) secretless(s said, m *clusterv1.Machine, c *metav1.Condition) *finding {
	a := s.condition(c)
	a.Step, a.Unknown, a.Cause = "bootstrap", false, "BootstrapSecretMissing"
	a.Says = "the Secret with the machine's bootstrap data does not exist, or has no data, so no virtual machine is made"
	a.Next = "kubectl describe machine " + m.Name + " -n " + m.Namespace
	a.Fix = "make the Secret that spec.bootstrap.dataSecretName names, with the key value"
	if ref := m.Spec.Bootstrap.ConfigRef; ref.Name != "" {
		a.Fix = "kubectl delete machine " + m.Name + " -n " + m.Namespace
		a.Harm = "the machine goes, and its set makes another one, with bootstrap data of its own"
	}
	a.with("spec.bootstrap.dataSecretName: " + *m.Spec.Bootstrap.DataSecretName)
	return w.soon(a, "the Secret with the machine's bootstrap data")
}

// vmStopped is the provider's condition reason for a VM that is powered off.
const vmStopped = "VMStopped"

// showCommand returns the command that shows more about a machine: its boot log if its VM was ever running, otherwise the
// conditions of its infrastructure.
func (w walker) showCommand(m *clusterv1.Machine) string {
	describe := "kubectl describe " + strings.ToLower(m.Spec.InfrastructureRef.Kind) + " " +
		m.Spec.InfrastructureRef.Name + " -n " + m.Namespace
	am := w.AzureMachines[m.Spec.InfrastructureRef.Name]
	if am == nil {
		return describe
	}
	stopped := bad(am.GetConditions(), infrav1.VMRunningCondition)
	if am.Spec.ProviderID == nil && am.Status.VMState == nil || stopped != nil && !inProgress(stopped.Reason) {
		return describe
	}
	return "casement logs " + m.Name + " -n " + m.Namespace
}

// guestOf returns the name of a machine's guest in an answer.
func guestOf(m *clusterv1.Machine) string { return "guest of Machine/" + m.Name }

// guest examines the console from its end, because the last failure stopped the boot. A consequence is reported only if
// its root cause is not on the console.
func (w walker) guest(m *clusterv1.Machine) *finding {
	if w.Console == nil || w.joined(m) {
		return nil
	}
	s := said{"guest", cause.Guest, guestOf(m), "casement logs " + m.Name + " -n " + m.Namespace}
	lines := slices.DeleteFunc(strings.Split(w.Console(m), "\n"), func(line string) bool {
		// The kubelet of a control plane starts before the API server that it connects to.
		return isControlPlane(m) && strings.Contains(line, "Unable to register node")
	})
	c, line, ok := cause.Last(cause.Guest, lines)
	if isControlPlane(m) && (!ok || c.Follows) {
		if a := w.dies([]clusterv1.Machine{*m}, nil); a != nil {
			return a
		}
	}
	if !ok {
		return nil
	}
	boot := cause.ReadBoot(lines)
	line = boot.Explain(c, line)
	a := s.because(c.Name, line)
	a.Notes = slices.DeleteFunc(shown(boot.Notes()), func(note string) bool { // casement's script repeats the commands that it runs
		return len(a.Evidence) > 0 && strings.Contains(note, strings.TrimPrefix(a.Evidence[0], "guest: "))
	})
	asks := strings.Contains(line, "JWS signature") || c.Name == "ClusterInfoMissing" || c.Name == "JoinConfigUnread"
	if since := w.booted(m); asks && !since.IsZero() && (w.Taken.Sub(since) < slowToken || w.rolling()) {
		// The controller manager signs a new token, and a starting control plane creates its ConfigMaps; kubeadm
		// retries until they exist.
		waiting := w.waits(s, a.Cause, "the cluster to sign the machine's bootstrap token, and to have what kubeadm reads to join", since)
		waiting.Evidence = a.Evidence
		return waiting
	}
	if c.Name == "APINameUnresolved" {
		return w.azureObstacle(a)
	}
	if !c.Follows || c.Name == cause.CommandFailed || c.Name == cause.AgentFailed {
		return a
	}
	if since := m.CreationTimestamp.Time; !since.IsZero() && w.Taken.Sub(since) < slowStatus {
		waiting := w.waits(s, a.Cause, "the machine to reach the API server", since)
		waiting.Evidence = a.Evidence
		return waiting
	}
	return w.azureObstacle(a)
}

// joined reports whether a machine has a node, even one that Cluster API has not matched yet: failures of the join in
// the boot log are then no longer relevant.
func (w walker) joined(m *clusterv1.Machine) bool {
	if w.Nodes[m.Status.NodeRef.Name] != nil {
		return true
	}
	a := w.AzureMachines[m.Spec.InfrastructureRef.Name]
	if a == nil || a.Spec.ProviderID == nil {
		return false
	}
	n := w.nodeOf(*a.Spec.ProviderID, a.Status.Addresses)
	return n != nil && (n.Spec.ProviderID == "" || strings.EqualFold(n.Spec.ProviderID, *a.Spec.ProviderID))
}

// booted returns the time at which a machine's VM began to run, or otherwise the time at which the machine was created.
func (w walker) booted(m *clusterv1.Machine) time.Time {
	since := m.CreationTimestamp.Time
	if am := w.AzureMachines[m.Spec.InfrastructureRef.Name]; am != nil {
		if c := condition(am.GetConditions(), infrav1.VMRunningCondition); c != nil && c.Status == metav1.ConditionTrue &&
			c.LastTransitionTime.After(since) {
			since = c.LastTransitionTime.Time
		}
	}
	return since
}

// shown formats notes for an answer.
func shown(notes []string) []string {
	var out []string
	for _, note := range notes {
		out = append(out, redact.Line(note, maxEvidence))
	}
	return out
}

// bootEndedWithoutNode finds a machine whose boot has ended without a node: kubeadm ends only after the node exists. Source: the
// phases of kubeadm join, k8s.io/kubernetes cmd/kubeadm/app/cmd/join.go.
func (w walker) bootEndedWithoutNode(s said, m *clusterv1.Machine) *finding {
	since := w.booted(m)
	if w.Console == nil || since.IsZero() || w.Taken.Sub(since) < slowStatus {
		return nil
	}
	line := cause.Complaint(strings.Split(w.Console(m), "\n"))
	if line == "" {
		return nil
	}
	a := s.unknown("", "BootEnded", line, since)
	a.Says = "the boot agent is done and the machine is no node; the cause is not known here"
	a.Fix = "read the boot log from its end: " + w.showCommand(m)
	return a
}

// registered examines the steps from a running VM to its node.
func (w walker) registered(m *clusterv1.Machine) *finding {
	name := m.Status.NodeRef.Name
	if name == "" {
		if a := w.unclaimed(m); a != nil {
			return a
		}
		if a := w.vmNotRunning(m); a != nil {
			return a
		}
		if g := w.guest(m); g != nil {
			return g
		}
		s := said{"node", cause.Node, "Machine/" + m.Name, w.showCommand(m)}
		since := m.CreationTimestamp.Time
		if am := w.AzureMachines[m.Spec.InfrastructureRef.Name]; am != nil {
			if ready := condition(am.GetConditions(), clusterv1.ReadyCondition); ready != nil {
				since = ready.LastTransitionTime.Time
			}
		}
		if a := w.bootEndedWithoutNode(s, m); a != nil {
			return a
		}
		if !since.IsZero() && w.Taken.Sub(since) < slowAzure {
			waiting := w.waits(s, "NotRegistered", "the machine's kubelet to register its node", since)
			if w.Console != nil {
				waiting.with(w.bootProgress(m, since))
			}
			return waiting
		}
		a := &finding{Step: s.step, At: s.at, Cause: "NotRegistered",
			Says:     "the VM runs, but its kubelet has not registered a node",
			Evidence: []string{"status.nodeRef of Machine/" + m.Name + " is empty, and no node has its name, address or provider ID"},
			Fix:      "read the boot log from its end; replace the machine when it shows nothing", Next: s.next}
		if w.Console != nil {
			a.with(lastLine(w.Console(m)))
		}
		return a
	}
	n := w.Nodes[name]
	if n != nil {
		a := w.node(n)
		if off := w.vmNotRunning(m); a != nil && off != nil {
			off.Evidence = append(off.Evidence, a.Evidence...)
			return off
		}
		return a
	}
	if w.Unreachable != "" {
		return nil
	}
	h := condition(m.Status.Conditions, clusterv1.MachineNodeHealthyCondition)
	if h != nil && w.Taken.Sub(h.LastTransitionTime.Time) < justApplied {
		// The node was created, or its machine deleted, between the reads of their lists.
		return w.waits(said{"node", cause.Node, "Node/" + name, w.showCommand(m)}, "NodeDeleted",
			"the node of Machine/"+m.Name+", which was not read", h.LastTransitionTime.Time)
	}
	return &finding{Step: "node", At: "Node/" + name, Cause: "NodeDeleted", Says: "the machine's node is gone from the cluster",
		Evidence: []string{"status.nodeRef.name of Machine/" + m.Name + ": " + name}, Fix: "restart the kubelet, or replace the machine",
		Remedy: "Restart-Service kubelet", Next: w.showCommand(m)}
}

// bootProgress describes the progress of a boot that has not ended: the error that its log repeats or, after a while, its last line.
func (w walker) bootProgress(m *clusterv1.Machine, since time.Time) string {
	lines := strings.Split(w.Console(m), "\n")
	if line := cause.Repeated(lines); line != "" {
		return line
	}
	if line := cause.Latest(lines); line != "" && w.Taken.Sub(since) > justApplied {
		return "its boot log ends with: " + line
	}
	return ""
}

// unclaimed finds the node of a machine that Cluster API has not matched to it: the cloud provider has not set the
// node's provider ID, or the ID belongs to another VM.
func (w walker) unclaimed(m *clusterv1.Machine) *finding {
	a := w.AzureMachines[m.Spec.InfrastructureRef.Name]
	if a == nil || a.Spec.ProviderID == nil {
		return nil
	}
	n := w.nodeOf(*a.Spec.ProviderID, a.Status.Addresses)
	if n == nil {
		return nil
	}
	if n.Spec.ProviderID == "" {
		return first(func() *finding { return w.noCNI(n) }, func() *finding { return w.uninitialized(n) },
			func() *finding { return w.anonymous(n, m) })
	}
	s := said{"node", cause.Node, "Node/" + n.Name, "kubectl get node " + n.Name + " -o jsonpath='{.spec.providerID}'"}
	if strings.EqualFold(n.Spec.ProviderID, *a.Spec.ProviderID) {
		return w.overdue(w.waits(s, "NodeNotMatched", "Cluster API to match the node with Machine/"+m.Name,
			n.CreationTimestamp.Time), n.CreationTimestamp.Time, slowStatus)
	}
	return &finding{Step: s.step, At: s.at, Cause: "ProviderIDMismatch", Says: "the node has another provider ID " +
		"than the machine's virtual machine, so Cluster API does not take it for the machine's",
		Evidence: []string{"Node " + n.Spec.ProviderID, "AzureMachine " + *a.Spec.ProviderID},
		Fix:      "delete the Node and restart the machine's kubelet, or replace the machine", Next: s.next}
}

// anonymous finds a node to which no cloud provider will assign a provider ID, because its kubelet did not request it:
// with an external cloud provider the kubelet registers the node with a taint, which stays until the provider ID is
// set.
func (w walker) anonymous(n *corev1.Node, m *clusterv1.Machine) *finding {
	a := w.waits(said{"node", cause.Node, "Node/" + n.Name, w.showCommand(m)}, "ProviderIDMissing",
		"the node's provider ID, by which Cluster API finds the node of Machine/"+m.Name, n.CreationTimestamp.Time)
	a.Type = "Field"
	a.Evidence = []string{"spec.providerID is empty, and spec.taints has no " + uninitializedTaint}
	if w.Taken.Sub(n.CreationTimestamp.Time) < slowStatus {
		return a
	}
	a.Waiting = false
	a.Says = "the node is there without a provider ID, and its kubelet did not ask the cloud provider for one, so Cluster API does not " +
		"find the node of Machine/" + m.Name
	a.Fix = "give the kubelet cloud-provider: external (joinConfiguration.nodeRegistration.kubeletExtraArgs of the bootstrap template), " +
		"and replace the machine"
	return a
}

// nodeOf returns the node of a VM by its provider ID, its name or its addresses, or nil.
func (w walker) nodeOf(id string, addresses []clusterv1.MachineAddress) *corev1.Node {
	if n := w.Nodes[strings.ToLower(path.Base(id))]; n != nil {
		return n
	}
	for _, n := range w.Nodes {
		if strings.EqualFold(n.Spec.ProviderID, id) {
			return n
		}
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP && slices.ContainsFunc(addresses,
				func(own clusterv1.MachineAddress) bool { return own.Address == a.Address }) {
				return n
			}
		}
	}
	return nil
}

// uninitializedTaint keeps pods off a node until the cloud provider has initialized it. Source:
// kubernetes.io/docs/reference/labels-annotations-taints.
const uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"

// uninitialized finds a node that the cloud provider has not initialized; for a new node the finding is Waiting.
func (w walker) uninitialized(n *corev1.Node) *finding {
	if !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == uninitializedTaint }) {
		return nil
	}
	if a := cmp.Or(starved(n), w.agent(n, managesNodes)); a != nil {
		return a
	}
	s := said{"node", cause.Node, "Node/" + n.Name, "kubectl get pods -n kube-system -o wide"}
	if born := n.CreationTimestamp.Time; !born.IsZero() && w.Taken.Sub(born) < slowStatus {
		return w.waits(s, "CloudProviderMissing", "the cloud provider to initialise the new node", born)
	}
	if a := w.failedChart(cloudCharts); a != nil {
		return a
	}
	if m := w.machineOn(n); m != nil {
		if a := w.unidentified(m); a != nil {
			return a
		}
	}
	a := &finding{Step: s.step, At: s.at, Cause: "CloudProviderMissing",
		Says:     "the cloud provider has not initialised the node, so pods are kept off",
		Evidence: []string{"taint " + uninitializedTaint},
		Fix:      "look at the cloud node manager of this node's operating system", Next: s.next}
	manages := func(d appsv1.DaemonSet) bool { return managesNodes(&d) }
	if !w.notRead("DaemonSets") && !slices.ContainsFunc(w.Workloads.DaemonSets, manages) {
		a.Evidence = append(a.Evidence, "no DaemonSet is called cloud-node-manager")
		a.Fix = "casement addons install cloud-provider-azure --cluster " + w.Cluster.Name + w.in()
	}
	return a
}

// notRead reports whether objects of a kind could not be read.
func (w walker) notRead(kind string) bool {
	return slices.ContainsFunc(w.NotExamined, func(gap string) bool { return strings.HasPrefix(gap, kind) })
}
