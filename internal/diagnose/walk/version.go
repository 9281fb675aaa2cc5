package walk

import (
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// version finds a machine whose node runs another Kubernetes version than the machine's spec. The kubelet comes from
// the image or the bootstrap data, so waiting changes nothing, and Cluster API never considers the machine up to date.
func (w walker) version(m *clusterv1.Machine) *finding {
	n := w.Nodes[m.Status.NodeRef.Name]
	if n == nil || m.Spec.Version == "" {
		return nil
	}
	runs, asked := n.Status.NodeInfo.KubeletVersion, "v"+strings.TrimPrefix(m.Spec.Version, "v")
	if runs == "" || runs == asked || strings.HasPrefix(runs, asked+"+") || strings.HasPrefix(asked, runs+"+") ||
		w.Taken.Sub(n.CreationTimestamp.Time) < slowStatus {
		return nil
	}
	return &finding{Step: "node", At: "Node/" + n.Name, Type: "Field", Cause: "KubeletVersion",
		Says: "the node's kubelet is not of the version that the machine asks for, which its image or its bootstrap data brings; " +
			"Cluster API does not call the machine up to date",
		Evidence: []string{"status.nodeInfo.kubeletVersion: " + runs, "spec.version of Machine/" + m.Name + ": " + m.Spec.Version},
		Fix:      "choose an image of " + asked + ", which casement images list --gallery shows, or ask for " + runs,
		Next:     "kubectl get node " + n.Name + " -o wide"}
}
