package supervisor

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// managementName is the name with which guests connect to the management API server, if Options.ManagementRoute permits it.
const managementName = "management.casement.internal"

// managementAddress is managementName with the port that guests use.
const managementAddress = managementName + ":6443"

// route returns the address on this machine to which an address outside of the guests' networks is routed, or "".
func (s *supervisor) route(address string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.opts.ManagementRoute || !strings.EqualFold(address, managementAddress) || s.management == nil {
		return ""
	}
	return strings.TrimPrefix(s.management.plane.Server(), "https://")
}

// announceRoute writes the address of the management API server for guests into the ConfigMap cluster-info of
// kube-public, as kubeadm does for its clusters; without a route it writes nothing.
func (s *supervisor) announceRoute(ctx context.Context) error {
	if !s.opts.ManagementRoute {
		return nil
	}
	cl, err := s.planeClient()
	if err != nil {
		return err
	}
	ca, _ := s.management.plane.CA()
	config := clientcmdapi.NewConfig()
	config.Clusters[""] = &clientcmdapi.Cluster{Server: "https://" + managementAddress, CertificateAuthorityData: ca}
	text, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("write the kubeconfig of cluster-info: %w", err)
	}
	info := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: "cluster-info"},
		Data:       map[string]string{"kubeconfig": string(text)},
	}
	if err := applyObject(ctx, cl, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespacePublic}}); err != nil {
		return fmt.Errorf("make the namespace of cluster-info: %w", err)
	}
	if err := applyObject(ctx, cl, info); err != nil {
		return fmt.Errorf("announce the route to the management API server: %w", err)
	}
	return nil
}
