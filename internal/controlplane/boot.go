// Package controlplane does the work of `kubeadm init` and `kubeadm join --control-plane` on a control plane machine,
// with kubeadm's own packages, inside the root directory of a simulated VM: PKI, kubeconfigs and static pod manifests
// and, once the API server responds, the objects that kubeadm uploads to it. It starts no component: the VM's kubelet
// runs the manifests. Only cmd/casement-kube may import it, because it links Kubernetes.
package controlplane

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	kubeadmapi "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	"k8s.io/kubernetes/cmd/kubeadm/app/constants"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/certs"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/controlplane"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/etcd"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/kubeconfig"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/kubelet"
	configutil "k8s.io/kubernetes/cmd/kubeadm/app/util/config"

	"casement.dev/casement/internal/allowance"
	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/sim/staticpod"
)

// readyTimeout is the default limit of the wait for the API server (kubeadm's own default is four minutes).
const readyTimeout = 4 * time.Minute

// readyzTimeout is the timeout of one request to the API server.
const readyzTimeout = 30 * time.Second

// guestPKI is the directory of a guest's certificates, kubeadm's default.
const guestPKI = "/etc/kubernetes/pki"

type options struct {
	root, config, nodeName, loopback, egress string
	addresses                                []string
	out                                      io.Writer
}

// Main runs `boot init` or `boot join` and returns the exit code.
func Main(args []string, out, errOut io.Writer) int {
	o := options{out: out}
	commands := map[string]func(context.Context) error{
		"init": func(ctx context.Context) error { return o.init(ctx) },
		"join": func(ctx context.Context) error { return o.join(ctx) },
	}
	if len(args) == 0 || commands[args[0]] == nil {
		fmt.Fprintln(errOut, "usage: boot init|join --root DIR --config FILE --node-name NAME --address IP[,IP] --loopback IP [--egress SOCKET]")
		return 2
	}
	flags := flag.NewFlagSet("boot "+args[0], flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.StringVar(&o.root, "root", "", "root directory of the VM")
	flags.StringVar(&o.config, "config", "/run/kubeadm/kubeadm.yaml", "kubeadm configuration, as a path inside the VM")
	flags.StringVar(&o.nodeName, "node-name", "", "name of the node when the configuration has none")
	flags.Func("address", "addresses of the VM in its network, by commas; the first one is its own", func(list string) error {
		o.addresses = strings.Split(list, ",")
		return nil
	})
	flags.StringVar(&o.loopback, "loopback", "", "address of 127.0.0.0/8 that the VM's sockets are on")
	flags.StringVar(&o.egress, "egress", "", "unix socket that dials from inside the VM, by HTTP CONNECT")
	if err := flags.Parse(args[1:]); err != nil {
		return 2
	}
	if err := commands[args[0]](context.Background()); err != nil {
		fmt.Fprintf(errOut, "error: %v\n", err)
		return 1
	}
	return 0
}

// path returns the path on this computer of a path in the guest; ".." cannot leave the root directory.
func (o options) path(guest string) string { return filepath.Join(o.root, path.Clean("/"+guest)) }

func (o options) say(phase, format string, args ...any) {
	fmt.Fprintf(o.out, "[%s] "+format+"\n", append([]any{phase}, args...)...)
}

// init is idempotent: it keeps the files of an earlier interrupted run.
func (o options) init(ctx context.Context) error {
	data, err := o.read(o.config)
	if err != nil {
		return fmt.Errorf("read --config: %w", err)
	}
	asked, data := replaceVersion(data, constants.CurrentKubernetesVersion.String())
	cfg, err := o.load(asked, data)
	if err != nil {
		return err
	}
	o.say("init", "Using Kubernetes version: %s", asked)
	if err := o.write(cfg); err != nil {
		return err
	}
	client, err := o.await(ctx, cfg, constants.SuperAdminKubeConfigFileName)
	if err != nil {
		return err
	}
	return o.upload(ctx, cfg, asked, client)
}

// load reads the configuration for the requested release, and sets the values that only this machine knows.
func (o options) load(asked string, data []byte) (*kubeadmapi.InitConfiguration, error) {
	data, converted, err := convert(data, asked)
	if err != nil {
		return nil, err
	}
	if converted {
		o.say("config", "The configuration of %s is read as %s, the oldest that the embedded kubeadm knows", v1beta3, v1beta4)
	}
	data, dropped, err := dropLostGates(data)
	if err != nil {
		return nil, err
	}
	for _, gate := range dropped {
		o.say("config", "WARNING: dropped the feature gate %s, which the embedded kubeadm no longer has", gate)
	}
	patched, err := setAdvertiseAddress(data, o.addresses, o.nodeName)
	if err != nil {
		return nil, err
	}
	cfg, err := configutil.BytesToInitConfiguration(patched, true)
	if err != nil {
		return nil, fmt.Errorf("read the kubeadm configuration: %w", err)
	}
	cfg.CertificatesDir = o.path(guestPKI)
	cfg.APIServer.CertSANs = appendNew(cfg.APIServer.CertSANs, o.loopback)
	if cfg.Etcd.Local != nil {
		cfg.Etcd.Local.ServerCertSANs = appendNew(cfg.Etcd.Local.ServerCertSANs, o.loopback)
		cfg.Etcd.Local.PeerCertSANs = appendNew(cfg.Etcd.Local.PeerCertSANs, o.loopback)
	}
	return cfg, nil
}

func appendNew(list []string, item string) []string {
	for _, have := range list {
		if have == item {
			return list
		}
	}
	return append(list, item)
}

// write writes the files that the kubelet and the components need to start.
func (o options) write(cfg *kubeadmapi.InitConfiguration) error {
	o.say("certs", "Using certificateDir folder %q", guestPKI)
	keys := cheapKeys(cfg)
	if err := certs.CreatePKIAssets(keys); err != nil {
		return fmt.Errorf("certs: %w", err)
	}
	o.say("kubeconfig", "Using kubeconfig folder %q", constants.KubernetesDir)
	if err := o.kubeconfigs(keys, constants.AdminKubeConfigFileName, constants.SuperAdminKubeConfigFileName,
		constants.KubeletKubeConfigFileName,
		constants.ControllerManagerKubeConfigFileName, constants.SchedulerKubeConfigFileName); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	kubeletDir := o.path("/var/lib/kubelet")
	if err := os.MkdirAll(kubeletDir, 0o700); err != nil {
		return err
	}
	o.say("kubelet-start", "Writing kubelet environment file and configuration to %q", "/var/lib/kubelet")
	if err := kubelet.WriteKubeletDynamicEnvFile(&cfg.ClusterConfiguration, &cfg.NodeRegistration, false, kubeletDir); err != nil {
		return fmt.Errorf("kubelet-start: %w", err)
	}
	instance := &kubeletconfig.KubeletConfiguration{ContainerRuntimeEndpoint: cfg.NodeRegistration.CRISocket}
	if err := kubelet.WriteInstanceConfigToDisk(instance, kubeletDir); err != nil {
		return fmt.Errorf("kubelet-start: %w", err)
	}
	if err := kubelet.WriteConfigToDisk(&cfg.ClusterConfiguration, kubeletDir, "", io.Discard); err != nil {
		return fmt.Errorf("kubelet-start: %w", err)
	}
	return o.manifests(cfg)
}

// cheapKeys returns a configuration with ECDSA keys where kubeadm's default is RSA-2048: generating ten RSA keys takes
// two seconds of processor time, and each connection to the API server needs a signature. The uploaded configuration
// keeps the user's setting.
func cheapKeys(cfg *kubeadmapi.InitConfiguration) *kubeadmapi.InitConfiguration {
	if cmp.Or(cfg.EncryptionAlgorithm, kubeadmapi.EncryptionAlgorithmRSA2048) != kubeadmapi.EncryptionAlgorithmRSA2048 {
		return cfg
	}
	cheap := cfg.DeepCopy()
	cheap.EncryptionAlgorithm = kubeadmapi.EncryptionAlgorithmECDSAP256
	return cheap
}

// manifests writes the static pods with the paths inside the guest.
func (o options) manifests(cfg *kubeadmapi.InitConfiguration) error {
	dir := o.path(filepath.Join(constants.KubernetesDir, constants.ManifestsSubDirName))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	o.say("control-plane", "Using manifest folder %q", filepath.Join(constants.KubernetesDir, constants.ManifestsSubDirName))
	guest := cfg.DeepCopy()
	guest.CertificatesDir = guestPKI
	if guest.Etcd.Local != nil {
		o.say("etcd", "Creating static Pod manifest for local etcd")
		if err := os.MkdirAll(o.path(guest.Etcd.Local.DataDir), 0o700); err != nil {
			return err
		}
		staged := guest.DeepCopy()
		if err := etcd.CreateLocalEtcdStaticPodManifestFile(dir, "", staged.NodeRegistration.Name,
			&stagedEtcd(staged, o.root).ClusterConfiguration, &staged.LocalAPIEndpoint, false); err != nil {
			return fmt.Errorf("etcd: %w", err)
		}
		if err := unroot(filepath.Join(dir, "etcd.yaml"), o.root); err != nil {
			return err
		}
	}
	if err := controlplane.CreateInitStaticPodManifestFiles(dir, "", guest, false); err != nil {
		return fmt.Errorf("control-plane: %w", err)
	}
	return nil
}

// stagedEtcd prefixes etcd's data directory with the guest's root while kubeadm creates it.
func stagedEtcd(cfg *kubeadmapi.InitConfiguration, root string) *kubeadmapi.InitConfiguration {
	cfg.Etcd.Local.DataDir = options{root: root}.path(cfg.Etcd.Local.DataDir)
	return cfg
}

// unroot restores the guest's paths in a manifest.
func unroot(file, root string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.ReplaceAll(string(data), root, "")), 0o600)
}

// kubeconfigs writes the kubeconfigs of the named components. They contain the control plane endpoint or the VM's own
// address, as in a real guest; the program that runs the components on this machine translates the addresses.
func (o options) kubeconfigs(cfg *kubeadmapi.InitConfiguration, names ...string) error {
	for _, name := range names {
		file := filepath.Join(o.path(constants.KubernetesDir), name)
		if _, err := os.Stat(file); err == nil {
			continue // from an interrupted run
		}
		if err := kubeconfig.CreateKubeConfigFile(name, o.path(constants.KubernetesDir), cfg); err != nil {
			return err
		}
		if err := o.redirect(file, cfg); err != nil {
			return err
		}
	}
	return nil
}

// redirect sets this machine's own API server at the loopback address in a kubeconfig, for the time in which the load
// balancer's frontend does not respond yet.
func (o options) redirect(file string, cfg *kubeadmapi.InitConfiguration) error {
	c, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return err
	}
	for _, cluster := range c.Clusters {
		cluster.Server = "https://" + net.JoinHostPort(o.loopback, strconv.Itoa(int(cfg.LocalAPIEndpoint.BindPort)))
	}
	return clientcmd.WriteToFile(*c, file)
}

// read returns the content of a file of the guest.
func (o options) read(guest string) ([]byte, error) {
	return guestfs.At(o.root).ReadFile(strings.TrimPrefix(path.Clean("/"+guest), "/"))
}

// kubeconfig reads one of the machine's kubeconfigs. It keeps only known fields, because the guest may have written the
// file and this machine's own client uses it.
func (o options) kubeconfig(name string) (*clientcmdapi.Config, error) {
	data, err := o.read(path.Join(constants.KubernetesDir, name))
	if err != nil {
		return nil, err
	}
	made, err := staticpod.Remake(data, constants.KubernetesDir, o.read)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", path.Join(constants.KubernetesDir, name), err)
	}
	return clientcmd.Load(made)
}

// local returns a client with one of the machine's kubeconfigs, for the API server in that file.
func (o options) local(name string) (clientset.Interface, error) {
	config, err := o.kubeconfig(name)
	if err != nil {
		return nil, err
	}
	rest, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	return clientset.NewForConfig(o.dialing(rest))
}

// await waits until the API server is ready and returns a client with one of the
// machine's kubeconfigs.
func (o options) await(ctx context.Context, cfg *kubeadmapi.InitConfiguration, name string) (clientset.Interface, error) {
	limit := readyTimeout
	if t := cfg.Timeouts; t != nil && t.ControlPlaneComponentHealthCheck != nil && t.ControlPlaneComponentHealthCheck.Duration > 0 {
		limit = t.ControlPlaneComponentHealthCheck.Duration
	}
	o.say("wait-control-plane", "Waiting for the kubelet to boot up the control plane as static Pods. This can take up to %s", limit)
	client, err := o.local(name)
	if err != nil {
		return nil, err
	}
	start, left := time.Now(), allowance.New(limit)
	for {
		err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Timeout(readyzTimeout).Do(ctx).Error()
		if err == nil {
			o.say("control-plane-check", "kube-apiserver is healthy after %s", time.Since(start).Round(time.Millisecond))
			return client, nil
		}
		if !left.Wait(ctx, 50*time.Millisecond) {
			return nil, fmt.Errorf("wait-control-plane: the API server was not ready within %s of this machine's time: %w", limit, err)
		}
	}
}
