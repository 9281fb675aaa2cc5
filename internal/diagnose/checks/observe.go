package checks

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
	server "casement.dev/casement/internal/windows"
)

// maxName is the length of a computer name in NetBIOS, in characters.
const maxName = 15

func nodes(f *facts.Snapshot) []*corev1.Node {
	var out []*corev1.Node
	for _, name := range slices.Sorted(maps.Keys(f.Nodes)) {
		out = append(out, f.Nodes[name])
	}
	return out
}

func windows(n *corev1.Node) bool { return n.Status.NodeInfo.OperatingSystem == "windows" }

func noProviderID(f *facts.Snapshot) []Finding {
	var out []Finding
	for _, n := range nodes(f) {
		if n.Spec.ProviderID == "" {
			out = append(out, Finding{At: "Node/" + n.Name, Evidence: []string{"spec.providerID is empty"}})
		}
	}
	return out
}

// noUsers finds Windows machines whose bootstrap config contains no SSH key.
func noUsers(f *facts.Snapshot) []Finding {
	var out []Finding
	ofSet := map[string]*bootstrapv1.KubeadmConfig{} // the configs of a set's machines are equal
	for i := range f.Machines {
		m := &f.Machines[i]
		if c := f.Configs[m.Spec.Bootstrap.ConfigRef.Name]; c != nil {
			ofSet[m.Labels[clusterv1.MachineSetNameLabel]] = c
		}
	}
	for i := range f.Machines {
		m := &f.Machines[i]
		am, c := f.AzureMachines[m.Spec.InfrastructureRef.Name], f.Configs[m.Spec.Bootstrap.ConfigRef.Name]
		if set := m.Labels[clusterv1.MachineSetNameLabel]; c == nil && set != "" {
			c = ofSet[set]
		}
		if am == nil || c == nil || am.Spec.OSDisk.OSType != infrav1.WindowsOS {
			continue
		}
		has := false
		for _, u := range c.Spec.Users {
			has = has || len(u.SSHAuthorizedKeys) > 0
		}
		if !has {
			out = append(out, Finding{At: "Machine/" + m.Name,
				Evidence: []string{"KubeadmConfig " + c.Name + " has no users with sshAuthorizedKeys"}})
		}
	}
	return out
}

// longNames finds nodes whose names are longer than a computer name may be, and nodes to which two machines refer.
func longNames(f *facts.Snapshot) []Finding {
	var out []Finding
	for _, n := range nodes(f) {
		if windows(n) && len(n.Name) > maxName {
			out = append(out, Finding{At: "Node/" + n.Name, Evidence: []string{fmt.Sprintf("%d characters", len(n.Name))}})
		}
	}
	owner := map[string]string{}
	for i := range f.Machines {
		m := &f.Machines[i]
		name := m.Status.NodeRef.Name
		if other := owner[name]; name != "" && other != "" {
			out = append(out, Finding{At: "Node/" + name,
				Evidence: []string{"machines " + other + " and " + m.Name + " both have this node"}})
		}
		owner[name] = m.Name
	}
	return out
}

// waitingProxies finds kube-proxies on Windows whose logs show that they wait for the CNI's network.
func waitingProxies(f *facts.Snapshot) []Finding {
	var out []Finding
	for i := range f.Pods {
		p := &f.Pods[i]
		n := f.Nodes[p.Spec.NodeName]
		if f.Logs == nil || n == nil || !windows(n) || ready(n) || !strings.Contains(p.Name, "kube-proxy") || len(p.Spec.Containers) == 0 {
			continue
		}
		if log := f.Logs(p, p.Spec.Containers[0].Name); strings.Contains(log, "Waiting for") && strings.Contains(log, "HNS network") {
			out = append(out, Finding{
				At: "Pod/" + p.Name, Evidence: []string{"its log says that it waits for the HNS network"},
				Next: "kubectl logs -n " + p.Namespace + " " + p.Name,
			})
		}
	}
	return out
}

func ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// needsNewPause reports whether a kernel version belongs to a Windows release for which older pause images have no variant.
func needsNewPause(kernel string) bool {
	r, ok := server.ReleaseByBuild(kernel)
	return ok && r.Pause != ""
}

// newBuildSandboxes finds pods whose sandbox fails because of its image, on a node for which needsNewPause is true.
func newBuildSandboxes(f *facts.Snapshot) []Finding {
	var out []Finding
	for _, a := range walk.All(f) {
		name, isPod := strings.CutPrefix(a.At, "Pod/")
		if !isPod || a.Means.Cause != "PauseImageMissing" {
			continue
		}
		for i := range f.Pods {
			n := f.Nodes[f.Pods[i].Spec.NodeName]
			if f.Pods[i].Name == name && n != nil && needsNewPause(n.Status.NodeInfo.KernelVersion) {
				out = append(out, Finding{At: a.At, Evidence: a.Lines(), Next: a.Next()})
			}
		}
	}
	return out
}

// badBuilds finds nodes whose Windows build has known regressions.
func badBuilds(f *facts.Snapshot) []Finding {
	var out []Finding
	for _, name := range slices.Sorted(maps.Keys(f.Nodes)) {
		kernel := f.Nodes[name].Status.NodeInfo.KernelVersion
		for _, r := range server.Judge(kernel, server.HitsHost).Found {
			out = append(out, Finding{At: "Node/" + name, Cause: r.Name(), Fix: r.Remedy(), Next: "kubectl describe node " + name,
				Evidence: []string{"status.nodeInfo.kernelVersion: " + kernel, r.Source}})
		}
	}
	return out
}

// newBuilds reports whether a node has a Windows build about which nothing is known.
func newBuilds(f *facts.Snapshot) bool {
	for _, n := range f.Nodes {
		if kernel := n.Status.NodeInfo.KernelVersion; windows(n) && kernel != "" && !server.Judge(kernel, server.HitsHost).Known {
			return true
		}
	}
	return false
}
