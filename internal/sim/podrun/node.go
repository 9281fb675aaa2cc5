package podrun

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"casement.dev/casement/internal/pki"
)

// kubeletPort is the port to which API servers connect for a node's logs.
const kubeletPort = 10250

// register creates the Node, or adopts the Node of an earlier run.
func (r *Runner) register(ctx context.Context) error {
	nodes := r.client.CoreV1().Nodes()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: NodeName,
		Labels: map[string]string{
			corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH, corev1.LabelHostname: NodeName,
		},
		Annotations: map[string]string{
			"casement.dev/simulated": "pods on this node are processes of the machine that the local plane runs on",
		},
	}}
	live, err := nodes.Create(ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		live, err = nodes.Get(ctx, NodeName, metav1.GetOptions{})
	}
	if err != nil {
		return fmt.Errorf("register node %s: %w", NodeName, err)
	}
	if len(live.Spec.Taints) > 0 {
		// Admission taints each new node until a controller, which does not run here, finds the
		// node ready.
		live.Spec.Taints = nil
		if live, err = nodes.Update(ctx, live, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("register node %s: %w", NodeName, err)
		}
	}
	live.Status = nodeStatus(time.Now())
	if _, err := nodes.UpdateStatus(ctx, live, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("report node %s: %w", NodeName, err)
	}
	return nil
}

func nodeStatus(now time.Time) corev1.NodeStatus {
	room := corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(int64(runtime.NumCPU()), resource.DecimalSI),
		// The memory of this computer is no limit here.
		corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	return corev1.NodeStatus{
		Capacity: room, Allocatable: room,
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: nodeIP.String()}},
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "ProcessesRun", Message: "pods run as processes",
			LastHeartbeatTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now),
		}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: kubeletPort}},
		NodeInfo: corev1.NodeSystemInfo{
			OperatingSystem: "linux", Architecture: runtime.GOARCH, OSImage: "casement local plane (simulated)",
			ContainerRuntimeVersion: "process://1", KubeletVersion: "v0.0.0-casement",
		},
	}
}

// selfSigned returns the certificate of the kubelet API. API servers without a configured CA for
// kubelets do not verify it.
func selfSigned() (tls.Certificate, error) {
	return pki.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "system:node:" + NodeName}}, pki.Long, nil)
}
