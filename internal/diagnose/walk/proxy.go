package walk

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// proxies reports whether the pods of a spec run kube-proxy.
func proxies(name string, spec *corev1.PodSpec) bool {
	return strings.Contains(name, "kube-proxy") || slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool {
		return strings.Contains(c.Image, "kube-proxy")
	})
}

// replacesProxy reports whether a DaemonSet does kube-proxy's work: Cilium, or Calico with eBPF. Sources:
// docs.cilium.io/en/stable/network/kubernetes/kubeproxy-free, docs.tigera.io/calico/latest/operations/ebpf.
func replacesProxy(d *appsv1.DaemonSet) bool {
	return strings.Contains(d.Name, "cilium") || slices.ContainsFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
			return e.Name == "FELIX_BPFENABLED" && strings.EqualFold(e.Value, "true")
		})
	})
}

// osOf returns the operating system that the pods of a spec are for.
func osOf(spec *corev1.PodSpec) string {
	if os := spec.NodeSelector[corev1.LabelOSStable]; os != "" {
		return os
	}
	return "linux"
}

// unproxied finds a node with a CNI on which no kube-proxy runs, so that it does not reach services.
func (w walker) unproxied(n *corev1.Node) *finding {
	os := n.Status.NodeInfo.OperatingSystem
	born := n.CreationTimestamp.Time
	young := !born.IsZero() && w.Taken.Sub(born) < slowStatus
	unread := w.notRead("DaemonSets") || w.PodsOf != nil && !w.PodsOf[n.Name]
	if young || unread || w.Unreachable != "" || !w.installsCNI(os) || w.withoutProxy() && os != "windows" {
		return nil
	}
	for i := range w.Pods {
		if p := &w.Pods[i]; p.Spec.NodeName == n.Name && proxies(p.Name, &p.Spec) {
			return nil
		}
	}
	var of []string
	var last time.Time
	for i := range w.Workloads.DaemonSets {
		d := &w.Workloads.DaemonSets[i]
		if os != "windows" && replacesProxy(d) {
			return nil
		}
		if proxies(d.Name, &d.Spec.Template.Spec) && osOf(&d.Spec.Template.Spec) == os {
			of, last = append(of, d.Namespace+"/"+d.Name), latest(last, changed(d, true)) // the status changes with each pod that is replaced
		}
	}
	a := &finding{Step: "node", At: "Node/" + n.Name, Type: "Field", Cause: "KubeProxyMissing", Since: last,
		Says:     "no pod of a kube-proxy runs on the node, so its pods do not reach services, unless another program does its work",
		Evidence: []string{fmt.Sprintf("no pod on the node runs kube-proxy; no DaemonSet for %s nodes does", os)},
		Fix:      "casement addons install " + w.proxyAddon(os) + " --cluster " + w.Cluster.Name + w.in(),
		Next:     "kubectl get daemonsets -A"}
	if len(of) > 0 {
		a.Evidence = []string{"no pod on the node runs kube-proxy; DaemonSet " + strings.Join(of, ", ") + " has none there"}
		a.Fix = "see why the DaemonSet has no pod on the node: its selector, its tolerations, and who deleted the pod"
	} else if os != "windows" {
		a.Fix = "apply kubeadm's addon again: kubeadm init phase addon kube-proxy, on a control plane machine"
	}
	return w.soon(a, "the DaemonSet to replace its pod on the node")
}

// withoutProxy reports whether the cluster is configured to have no kube-proxy.
func (w walker) withoutProxy() bool {
	if w.ControlPlane == nil {
		return false
	}
	spec := &w.ControlPlane.Spec.KubeadmConfigSpec
	return slices.ContainsFunc(spec.InitConfiguration.SkipPhases, func(phase string) bool { return strings.HasSuffix(phase, "kube-proxy") }) ||
		slices.Contains(spec.InitConfiguration.SkipPhases, "addon")
}

// proxyAddon returns the addon that installs kube-proxy on nodes of an operating system; it depends on the installed CNI.
func (w walker) proxyAddon(os string) string {
	for i := range w.Workloads.DaemonSets {
		if name := w.Workloads.DaemonSets[i].Name; osOf(&w.Workloads.DaemonSets[i].Spec.Template.Spec) == os {
			for _, cni := range []string{"flannel", "azure-cni"} {
				if strings.Contains(name, cni) {
					return cni + "-" + os
				}
			}
		}
	}
	return "calico-" + os
}
