package walk

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"casement.dev/casement/internal/redact"
)

// calicoWindows is the operator's name for Calico on Windows.
const calicoWindows = "calico-windows"

// calico finds a Calico operator that refuses to install Calico for Windows. It refuses unless IPAM is strict, the
// ConfigMap kubernetes-services-endpoint has the API server's endpoint, and the Installation names the service CIDRs.
func (w walker) calico() *finding {
	for _, d := range w.Calico {
		if d.Name == calicoWindows {
			return &finding{Step: "cni", At: "TigeraStatus/" + d.Name, Cause: "CalicoRefusesWindows",
				Says:     "Calico's operator does not install Calico for Windows",
				Evidence: []string{redact.Line(d.Reason+": "+d.Message, maxEvidence)}, Fix: "set what the " +
					"message names: strictAffinity of IPAM, ConfigMap kubernetes-services-endpoint, " +
					"serviceCIDRs of the Installation",
				Next: "kubectl get tigerastatus " + d.Name + " -o yaml"}
		}
	}
	return nil
}

// flannelBackend is the annotation in which flanneld records the parameters of its overlay.
const flannelBackend = "flannel.alpha.coreos.com/backend-data"

// minVNI is the smallest VXLAN network identifier that Windows accepts.
const minVNI = 4096

// overlay finds a node whose Flannel network identifier is too small for Windows.
func overlay(n *corev1.Node) *finding {
	data := n.Annotations[flannelBackend]
	var backend struct {
		VNI int `json:"VNI"`
	}
	if data == "" || json.Unmarshal([]byte(data), &backend) != nil || backend.VNI >= minVNI {
		return nil
	}
	return &finding{Step: "cni", At: "Node/" + n.Name, Cause: "VXLANMismatch",
		Says:     fmt.Sprintf("Flannel's VXLAN network identifier is below %d, which Windows does not accept", minVNI),
		Evidence: []string{fmt.Sprintf("%s: VNI %d", flannelBackend, backend.VNI)},
		Fix:      "VNI 4096 and port 4789 in Flannel's net-conf.json, on every node",
		Next:     "kubectl get configmap -n kube-flannel kube-flannel-cfg -o yaml"}
}

// unanswered matches the kubelet's message about a probe whose connection is not accepted. A hanging program accepts
// the connection and does not respond.
var unanswered = regexp.MustCompile(`dial tcp \S+: (i/o timeout|connectex: A connection attempt failed|.*no route to host)`)

// cutOff finds a Windows node whose kubelet reaches none of the probed pods.
func (w walker) cutOff(n *corev1.Node) *finding {
	if n.Status.NodeInfo.OperatingSystem != "windows" {
		return nil
	}
	evidence := ""
	for i := range w.Pods {
		p := &w.Pods[i]
		if p.Spec.NodeName != n.Name || p.Spec.HostNetwork || p.Status.Phase != corev1.PodRunning || !probed(p) {
			continue
		}
		line := ""
		for _, c := range p.Status.Conditions {
			starts := !c.LastTransitionTime.IsZero() && w.Taken.Sub(c.LastTransitionTime.Time) < slowReady
			if c.Type == corev1.PodReady && c.Status != corev1.ConditionTrue && !starts {
				line = w.unanswered(p)
			}
		}
		if line == "" {
			return nil // the kubelet reaches this pod, or the pod's own fault explains the probe
		}
		evidence = "Pod/" + p.Name + ": " + line
	}
	if evidence == "" {
		return nil
	}
	return &finding{Step: "cni", At: "Node/" + n.Name, Cause: "PodsCutOff",
		Says:     "no pod of the node is reached by the kubelet's probes: the pods run and have no network",
		Evidence: []string{redact.Line(evidence, maxEvidence)}, Fix: "recreate the node's HNS networks (restart " +
			"its CNI pod); on a nested Hyper-V host allow MAC address spoofing on the VM's adapter",
		Next: "casement logs " + n.Name + " cni hns"}
}

// probed reports whether a pod has a probe that uses the network.
func probed(p *corev1.Pod) bool {
	for _, c := range p.Spec.Containers {
		if r := c.ReadinessProbe; r != nil && (r.HTTPGet != nil || r.TCPSocket != nil || r.GRPC != nil) {
			return true
		}
	}
	return false
}

// unanswered returns the kubelet's warning that it cannot connect to a pod, or "".
func (w walker) unanswered(p *corev1.Pod) string {
	for _, e := range w.events(w.Warnings, p.UID) {
		if strings.Contains(e.Message, "probe failed") && unanswered.MatchString(e.Message) {
			return e.Message
		}
	}
	return ""
}
