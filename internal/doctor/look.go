package doctor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/why"
)

// maxName is what NetBIOS leaves of a computer name, in characters.
const maxName = 15

// minVNI is the least VXLAN network identifier that Windows accepts.
const minVNI = 4096

func nodes(f *why.Facts) []*corev1.Node {
	var out []*corev1.Node
	for _, name := range slices.Sorted(maps.Keys(f.Nodes)) {
		out = append(out, f.Nodes[name])
	}
	return out
}

func windows(n *corev1.Node) bool { return n.Status.NodeInfo.OperatingSystem == "windows" }

func noProviderID(f *why.Facts) []Finding {
	var out []Finding
	for _, n := range nodes(f) {
		if n.Spec.ProviderID == "" {
			out = append(out, Finding{At: "Node/" + n.Name, Evidence: []string{"spec.providerID is empty"}})
		}
	}
	return out
}

func vxlan(f *why.Facts) []Finding {
	const annotation = "flannel.alpha.coreos.com/backend-data"
	var out []Finding
	for _, n := range nodes(f) {
		data := n.Annotations[annotation]
		var backend struct {
			VNI int `json:"VNI"`
		}
		if data == "" || json.Unmarshal([]byte(data), &backend) != nil || backend.VNI >= minVNI {
			continue
		}
		out = append(out, Finding{At: "Node/" + n.Name, Evidence: []string{fmt.Sprintf("%s: VNI %d", annotation, backend.VNI)}})
	}
	return out
}

// noUsers finds Windows machines whose bootstrap config installs no key.
func noUsers(f *why.Facts) []Finding {
	var out []Finding
	for i := range f.Machines {
		m := &f.Machines[i]
		am, c := f.AzureMachines[m.Spec.InfrastructureRef.Name], f.Configs[m.Spec.Bootstrap.ConfigRef.Name]
		if am == nil || c == nil || am.Spec.OSDisk.OSType != infrav1.WindowsOS {
			continue
		}
		has := false
		for _, u := range c.Spec.Users {
			has = has || len(u.SSHAuthorizedKeys) > 0
		}
		if !has {
			out = append(out, Finding{At: "Machine/" + m.Name, Evidence: []string{"KubeadmConfig " + c.Name + " has no users with sshAuthorizedKeys"}})
		}
	}
	return out
}

func longNames(f *why.Facts) []Finding {
	var out []Finding
	for _, n := range nodes(f) {
		if windows(n) && len(n.Name) > maxName {
			out = append(out, Finding{At: "Node/" + n.Name, Evidence: []string{fmt.Sprintf("%d characters", len(n.Name))}})
		}
	}
	return out
}
