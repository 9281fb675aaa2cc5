package controlplane

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	kubeadmapi "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	"k8s.io/kubernetes/cmd/kubeadm/app/constants"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/certs"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/controlplane"

	"casement.dev/casement/internal/allowance"
)

// join does the control plane's part of `kubeadm join --control-plane`, for a machine whose kubelet has already joined.
// It is idempotent, like init.
func (o options) join(ctx context.Context) error {
	data, err := o.read(o.config)
	if err != nil {
		return fmt.Errorf("read --config: %w", err)
	}
	cfg, err := o.joined(ctx, data)
	if err != nil {
		return err
	}
	o.say("certs", "Using certificateDir folder %q", guestPKI)
	if shared, err := certs.SharedCertificateExists(&cfg.ClusterConfiguration); !shared || err != nil {
		return fmt.Errorf("certs: the shared certificates of the control plane are not all in %s: bootstrap "+
			"data has to write the cluster's CAs and the service account key: %w", guestPKI, err)
	}
	keys := cheapKeys(cfg)
	if err := certs.CreatePKIAssets(keys); err != nil {
		return fmt.Errorf("certs: %w", err)
	}
	o.say("kubeconfig", "Using kubeconfig folder %q", constants.KubernetesDir)
	if err := o.kubeconfigs(keys, constants.AdminKubeConfigFileName, constants.ControllerManagerKubeConfigFileName,
		constants.SchedulerKubeConfigFileName); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	dir := o.path(filepath.Join(constants.KubernetesDir, constants.ManifestsSubDirName))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	guest := cfg.DeepCopy()
	guest.CertificatesDir = guestPKI
	if cfg.Etcd.Local != nil {
		if err := o.joinEtcd(ctx, guest, dir); err != nil {
			return fmt.Errorf("etcd-join: %w", err)
		}
	}
	o.say("control-plane", "Using manifest folder %q", filepath.Join(constants.KubernetesDir, constants.ManifestsSubDirName))
	if err := controlplane.CreateInitStaticPodManifestFiles(dir, "", guest, false); err != nil {
		return fmt.Errorf("control-plane: %w", err)
	}
	client, err := o.client(constants.AdminKubeConfigFileName)
	if err != nil {
		return err
	}
	// The node is marked before the components are ready, as kubeadm does: Cluster API reads the marks when the
	// components are ready, and not again for minutes.
	if err := markNode(ctx, cfg, client); err != nil {
		return fmt.Errorf("mark-control-plane: %w", err)
	}
	o.say("mark-control-plane", "Marking the node %s as control-plane", cfg.NodeRegistration.Name)
	if _, err := o.await(ctx, cfg, constants.AdminKubeConfigFileName); err != nil {
		return err
	}
	fmt.Fprintln(o.out, "\nThis node has joined the cluster and a new control plane instance was created")
	return nil
}

// configTimeout is the timeout of the read of the cluster's configuration, as in kubeadm (kubernetesAPICall in its timeouts).
const configTimeout = time.Minute

// joined returns the configuration that init would use: the cluster's part from its ConfigMap, and the machine's part
// from the JoinConfiguration.
func (o options) joined(ctx context.Context, data []byte) (*kubeadmapi.InitConfiguration, error) {
	init, err := initConfiguration(data)
	if err != nil {
		return nil, err
	}
	client, err := o.client(constants.KubeletKubeConfigFileName)
	if err != nil {
		return nil, err
	}
	var cm *corev1.ConfigMap
	for left := allowance.New(configTimeout); ; {
		cm, err = client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, constants.KubeadmConfigConfigMap, metav1.GetOptions{})
		if err == nil {
			break
		}
		if !left.Wait(ctx, time.Second) {
			return nil, fmt.Errorf("read the cluster's configuration: %w", err)
		}
	}
	cluster := cm.Data[constants.ClusterConfigurationConfigMapKey]
	if cluster == "" {
		return nil, fmt.Errorf("the ConfigMap %s has no key %s", constants.KubeadmConfigConfigMap,
			constants.ClusterConfigurationConfigMapKey)
	}
	asked, whole := replaceVersion([]byte(cluster+"\n---\n"+string(init)), constants.CurrentKubernetesVersion.String())
	return o.load(asked, whole)
}

// client returns a client that connects from inside the machine, with the credentials of one of
// its kubeconfigs, to the API server that its kubelet joined.
func (o options) client(name string) (clientset.Interface, error) {
	c, err := o.kubeconfig(name)
	if err != nil {
		return nil, err
	}
	joined, err := o.kubeconfig(constants.KubeletKubeConfigFileName)
	if err != nil {
		return nil, err
	}
	for _, theirs := range joined.Clusters {
		for _, cluster := range c.Clusters {
			cluster.Server = theirs.Server
		}
	}
	config, err := clientcmd.NewDefaultClientConfig(*c, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	return clientset.NewForConfig(o.dialing(config))
}

// dialing makes a client connect through the machine's own network.
func (o options) dialing(config *rest.Config) *rest.Config {
	if o.egress != "" {
		config.Dial = func(ctx context.Context, _, address string) (net.Conn, error) { return o.dial(ctx, address) }
	}
	return config
}

// dial connects from inside the machine, by HTTP CONNECT on its egress socket: the guest may have written the
// addresses, so they must be interpreted inside the machine.
func (o options) dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	if o.egress == "" {
		return d.DialContext(ctx, "tcp", address)
	}
	conn, err := d.DialContext(ctx, "unix", o.egress)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address); err != nil {
		conn.Close()
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 1), nil)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	if resp.StatusCode != http.StatusOK {
		conn.Close()
		return nil, fmt.Errorf("dial %s: %s", address, resp.Status)
	}
	return conn, nil
}
