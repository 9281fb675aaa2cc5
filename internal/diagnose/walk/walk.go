package walk

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/redact"
)

// cluster looks at what all machines need. A control plane whose trouble is one
// of its machines is reported by that machine.
func (f walker) cluster() *Answer {
	at := "Cluster/" + f.Cluster.Name
	if p := f.Cluster.Spec.Paused; p != nil && *p {
		return &Answer{Step: "owner", At: at, Cause: "Paused", Says: "the cluster is paused, so nothing is reconciled",
			Fix: "kubectl patch cluster " + f.Cluster.Name + " --type merge -p '{\"spec\":{\"paused\":false}}'", Next: "casement tree " + f.Cluster.Name}
	}
	if a := f.deleting(); a != nil {
		return a
	}
	if f.AzureCluster == nil && f.Cluster.Spec.InfrastructureRef.Kind == "AzureCluster" {
		return &Answer{Step: "owner", At: at, Cause: "AzureClusterMissing", Says: "the AzureCluster that the cluster names does not exist",
			Evidence: []string{"spec.infrastructureRef.name: " + f.Cluster.Spec.InfrastructureRef.Name}, Fix: "apply it", Next: "kubectl get azureclusters -n " + f.Cluster.Namespace}
	}
	if ac := f.AzureCluster; ac != nil {
		at, next := "AzureCluster/"+ac.Name, "kubectl describe azurecluster "+ac.Name+" -n "+ac.Namespace
		if c := specific(ac.GetConditions()); c != nil {
			return found("infrastructure", at, c.Reason, c.Message, next)
		}
	}
	if kcp := f.ControlPlane; kcp != nil {
		for i := range f.Machines {
			if m := &f.Machines[i]; controlPlane(m) {
				if a := f.machine(m); a != nil {
					return a
				}
			}
		}
		if c := bad(kcp.Status.Conditions, controlplanev1.KubeadmControlPlaneInitializedCondition, controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition, controlplanev1.KubeadmControlPlaneControlPlaneComponentsHealthyCondition); c != nil {
			return found("controlplane", "KubeadmControlPlane/"+kcp.Name, c.Reason, c.Message, "casement tree "+f.Cluster.Name)
		}
	}
	if f.Unreachable != "" {
		return found("workload", "Cluster/"+f.Cluster.Name, "APIServerUnreachable", f.Unreachable, "casement get kubeconfig "+f.Cluster.Name)
	}
	return f.calico()
}

func controlPlane(m *clusterv1.Machine) bool {
	_, ok := m.Labels[clusterv1.MachineControlPlaneLabel]
	return ok
}

// machine walks one machine from its bootstrap data to its node.
func (f walker) machine(m *clusterv1.Machine) *Answer {
	if !m.DeletionTimestamp.IsZero() {
		return f.leaving(m)
	}
	if m.Spec.InfrastructureRef.Kind == infrav1.AzureMachinePoolMachineKind {
		if a := f.instance(m); a != nil {
			return a
		}
		return f.node(m)
	}
	if a := f.bootstrap(m.Namespace, &m.Spec.Bootstrap); a != nil {
		return a
	}
	if a := f.infrastructure(m); a != nil {
		return a
	}
	return f.node(m)
}

func (f walker) bootstrap(namespace string, b *clusterv1.Bootstrap) *Answer {
	if b.DataSecretName != nil {
		return nil
	}
	at := "KubeadmConfig/" + b.ConfigRef.Name
	next := "kubectl describe kubeadmconfig " + b.ConfigRef.Name + " -n " + namespace
	if c := f.Configs[b.ConfigRef.Name]; c != nil {
		if b := bad(c.Status.Conditions, bootstrapv1.KubeadmConfigCertificatesAvailableCondition, bootstrapv1.KubeadmConfigDataSecretAvailableCondition); b != nil {
			return found("bootstrap", at, b.Reason, b.Message, next)
		}
	}
	return &Answer{Step: "bootstrap", At: at, Cause: "WaitingForBootstrapData", Says: "the bootstrap data is not rendered yet", Next: next}
}

// infrastructure looks at the VM; a guest that failed says more on its console.
func (f walker) infrastructure(m *clusterv1.Machine) *Answer {
	next := "casement logs " + m.Name
	a := f.AzureMachines[m.Spec.InfrastructureRef.Name]
	if a == nil {
		return &Answer{Step: "infrastructure", At: "Machine/" + m.Name, Cause: "AzureMachineMissing", Says: "the AzureMachine of the machine does not exist", Next: "kubectl describe machine " + m.Name + " -n " + m.Namespace}
	}
	at := "AzureMachine/" + a.Name
	c := specific(a.GetConditions())
	if c == nil {
		return nil
	}
	answer := found("infrastructure", at, c.Reason, c.Message, next)
	if c.Type == infrav1.BootstrapSucceededCondition || c.Type == infrav1.VMRunningCondition {
		if g := f.guest(m); g != nil && answer.Fix == "" {
			g.Evidence = append(g.Evidence, answer.Evidence...)
			return g
		}
	}
	if c.Reason == "InvalidBootstrapData" {
		answer.Step = "bootstrap"
	}
	if c.Type == infrav1.BootstrapSucceededCondition {
		answer.Step = "guest"
	}
	return answer
}

// guest reads the console, from its end: what failed last made the boot fail.
func (f walker) guest(m *clusterv1.Machine) *Answer {
	if f.Console == nil {
		return nil
	}
	lines := strings.Split(f.Console(m), "\n")
	for _, line := range slices.Backward(lines) {
		// The kubelet of a control plane starts before the API server that it asks.
		if controlPlane(m) && strings.Contains(line, "Unable to register node") {
			continue
		}
		if c, l, ok := cause.Classify(line); ok {
			return found("guest", "guest of Machine/"+m.Name, c.Name, l, "casement logs "+m.Name)
		}
	}
	return nil
}

func (f walker) node(m *clusterv1.Machine) *Answer {
	next := "casement logs " + m.Name
	name := m.Status.NodeRef.Name
	if name == "" {
		if a := f.unclaimed(m); a != nil {
			return a
		}
		if g := f.guest(m); g != nil {
			return g
		}
		return &Answer{Step: "node", At: "Machine/" + m.Name, Cause: "NotRegistered", Says: "the VM runs, but its kubelet has not registered a node", Next: next}
	}
	n := f.Nodes[name]
	if n == nil {
		if f.Unreachable != "" {
			return nil
		}
		return &Answer{Step: "node", At: "Node/" + name, Cause: "NodeDeleted", Says: "the machine's node is gone from the cluster", Fix: "restart the kubelet, or replace the machine", Remedy: "Restart-Service kubelet", Next: next}
	}
	for _, c := range n.Status.Conditions {
		pressure := c.Type == corev1.NodeDiskPressure || c.Type == corev1.NodeMemoryPressure || c.Type == corev1.NodePIDPressure
		if pressure && c.Status == corev1.ConditionTrue {
			return found("node", "Node/"+name, string(c.Type), c.Message, "kubectl describe node "+name)
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type != corev1.NodeReady || c.Status == corev1.ConditionTrue {
			continue
		}
		if a := f.inside(name, true); a != nil {
			a.Evidence = append(a.Evidence, redact.Line(c.Message, maxEvidence))
			return a
		}
		a := found("node", "Node/"+name, c.Reason, c.Message, "kubectl describe node "+name)
		if a.Cause == "CNIMissing" {
			a.Step = "cni"
			a.Says = fmt.Sprintf("no CNI has configured this %s node", n.Status.NodeInfo.OperatingSystem)
			a.Next = "kubectl get pods -A --field-selector spec.nodeName=" + name
		}
		return a
	}
	for _, a := range []*Answer{uninitialized(n), overlay(n), f.cutOff(n)} {
		if a != nil {
			return a
		}
	}
	if a := f.inside(name, true); a != nil {
		return a
	}
	return f.inside(name, false)
}

// unclaimed finds the node of a machine that Cluster API cannot match with it,
// because the cloud provider has not given it its provider ID. It is reported by the
// VM's name.
func (f walker) unclaimed(m *clusterv1.Machine) *Answer {
	a := f.AzureMachines[m.Spec.InfrastructureRef.Name]
	if a == nil || a.Spec.ProviderID == nil {
		return nil
	}
	n := f.Nodes[strings.ToLower(path.Base(*a.Spec.ProviderID))]
	if n == nil || n.Spec.ProviderID != "" {
		return nil
	}
	return uninitialized(n)
}

func uninitialized(n *corev1.Node) *Answer {
	const taint = "node.cloudprovider.kubernetes.io/uninitialized"
	if !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == taint }) {
		return nil
	}
	return &Answer{Step: "node", At: "Node/" + n.Name, Cause: "CloudProviderMissing", Says: "the cloud provider has not initialised the node, so pods are kept off", Evidence: []string{"taint " + taint},
		Fix: "look at the cloud node manager of this node's operating system", Next: "kubectl get pods -n kube-system -o wide"}
}

// pod looks at what the pod waits for, then at its events.
func (f walker) pod(p *corev1.Pod) *Answer {
	if p.Status.Phase == corev1.PodSucceeded {
		return nil
	}
	at, next := "Pod/"+p.Name, fmt.Sprintf("kubectl describe pod %s -n %s", p.Name, p.Namespace)
	if p.Status.Phase == corev1.PodFailed {
		return found("pod", at, p.Status.Reason, p.Status.Message, next)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return found("pod", at, c.Reason, c.Message, next)
		}
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		w := s.State.Waiting
		if w == nil || w.Reason == "PodInitializing" {
			continue
		}
		text := w.Message
		for _, e := range f.Warnings {
			if e.InvolvedObject.UID == p.UID {
				text += "\n" + e.Reason + ": " + e.Message
			}
		}
		if w.Reason == "CrashLoopBackOff" && f.Logs != nil {
			text = f.Logs(p, s.Name) + "\n" + text
		}
		if w.Reason == "ContainerCreating" && text == "" {
			continue // on its way
		}
		return found("pod", at, w.Reason, text, next)
	}
	return nil
}
