package controlplane

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	kubeadmapi "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	"k8s.io/kubernetes/cmd/kubeadm/app/constants"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/addons/dns"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/addons/proxy"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/bootstraptoken/clusterinfo"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/bootstraptoken/node"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/kubeconfig"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/kubelet"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/markcontrolplane"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/uploadconfig"

	"casement.dev/casement/internal/allowance"
)

// nodeTimeout limits the wait for the kubelet to register this machine's node.
const nodeTimeout = 2 * time.Minute

// upload runs the phases of kubeadm that need the API server. The kubeadm-config ConfigMap is first, as in kubeadm:
// Cluster API takes it as the sign that the control plane is initialized, and reads it once the load balancer forwards
// connections.
func (o options) upload(ctx context.Context, cfg *kubeadmapi.InitConfiguration, asked string, super clientset.Interface) error {
	admin, err := o.local(constants.AdminKubeConfigFileName)
	if err != nil {
		return err
	}
	client, err := kubeconfig.EnsureAdminClusterRoleBindingImpl(ctx, admin, super, constants.KubernetesAPICallRetryInterval, configTimeout)
	if err != nil {
		return fmt.Errorf("bind the admin role: %w", err)
	}
	public := cfg.DeepCopy()
	public.CertificatesDir = guestPKI
	addons := addonsOf(&public.ClusterConfiguration, asked)
	for _, step := range []struct {
		phase, text string
		do          func() error
	}{
		{"upload-config", "Storing the configuration used in ConfigMap \"kubeadm-config\"",
			func() error { return uploadConfig(ctx, public, asked, client) }},
		{"kubelet", "Creating a ConfigMap \"kubelet-config\"",
			func() error { return kubelet.CreateConfigMap(&public.ClusterConfiguration, client) }},
		{"bootstrap-token", "Configured RBAC rules for bootstrap tokens", func() error { return o.bootstrapTokens(public, client) }},
		{"addons", "Applied essential addon: CoreDNS", func() error { return dns.EnsureDNSAddon(addons, client, "", io.Discard, false) }},
		{"addons", "Applied essential addon: kube-proxy", func() error {
			return proxy.EnsureProxyAddon(addons, &cfg.LocalAPIEndpoint, client, "", io.Discard, false)
		}},
		{"mark-control-plane", "Marking the node " + cfg.NodeRegistration.Name + " as control-plane",
			func() error { return markNode(ctx, cfg, super) }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.phase, err)
		}
		o.say(step.phase, "%s", step.text)
	}
	fmt.Fprintln(o.out, "\nYour Kubernetes control-plane has initialized successfully!")
	return nil
}

func (o options) bootstrapTokens(cfg *kubeadmapi.InitConfiguration, client clientset.Interface) error {
	for _, rule := range []func(clientset.Interface) error{
		node.AllowBootstrapTokensToGetNodes, node.AllowBootstrapTokensToPostCSRs, node.AutoApproveNodeBootstrapTokens,
		node.AutoApproveNodeCertificateRotation, node.AllowAPIServerToAccessKubeletAPI, clusterinfo.CreateClusterInfoRBACRules,
	} {
		if err := rule(client); err != nil {
			return err
		}
	}
	if err := node.UpdateOrCreateTokens(client, false, cfg.BootstrapTokens); err != nil {
		return err
	}
	admin, err := o.kubeconfig(constants.AdminKubeConfigFileName)
	if err != nil {
		return err
	}
	server := "https://" + cfg.ControlPlaneEndpoint
	if cfg.ControlPlaneEndpoint == "" {
		server = fmt.Sprintf("https://%s:%d", cfg.LocalAPIEndpoint.AdvertiseAddress, cfg.LocalAPIEndpoint.BindPort)
	}
	for _, cluster := range admin.Clusters {
		cluster.Server = server
	}
	return clusterinfo.CreateBootstrapConfigMapIfNotExists(client, admin)
}

// uploadConfig stores the configuration with the version that the user requested.
func uploadConfig(ctx context.Context, cfg *kubeadmapi.InitConfiguration, asked string, client clientset.Interface) error {
	if err := uploadconfig.UploadConfiguration(cfg, client); err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		maps := client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
		cm, err := maps.Get(ctx, constants.KubeadmConfigConfigMap, metav1.GetOptions{})
		if err != nil {
			return err
		}
		key := constants.ClusterConfigurationConfigMapKey
		cm.Data[key] = strings.Replace(cm.Data[key], "kubernetesVersion: "+cfg.KubernetesVersion, "kubernetesVersion: "+asked, 1)
		_, err = maps.Update(ctx, cm, metav1.UpdateOptions{})
		return err
	})
}

// markNode labels and taints the node once the kubelet has registered it.
func markNode(ctx context.Context, cfg *kubeadmapi.InitConfiguration, client clientset.Interface) error {
	for left := allowance.New(nodeTimeout); ; {
		_, err := client.CoreV1().Nodes().Get(ctx, cfg.NodeRegistration.Name, metav1.GetOptions{})
		if err == nil {
			return markcontrolplane.MarkControlPlane(client, cfg.NodeRegistration.Name, cfg.NodeRegistration.Taints)
		}
		if !left.Wait(ctx, 100*time.Millisecond) {
			return fmt.Errorf("the kubelet did not register node %s within %s of this machine's time: %w",
				cfg.NodeRegistration.Name, nodeTimeout, err)
		}
	}
}
