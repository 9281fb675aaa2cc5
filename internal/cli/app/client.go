package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/input"
	"casement.dev/casement/internal/plane"
)

// Target selects the cluster that a command reads, by the usual flags.
type Target struct {
	Kubeconfig, Context, Namespace string
}

// AddFlags adds the flags of a command that reads the management cluster.
func (t *Target) AddFlags(c *cobra.Command) {
	c.Flags().StringVar(&t.Kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster (default $KUBECONFIG, else the local plane's)")
	c.Flags().StringVar(&t.Context, "context", "", "context of the kubeconfig")
	c.Flags().StringVarP(&t.Namespace, "namespace", "n", "default", "namespace of the Cluster API objects")
}

// ManagementKubeconfig returns the kubeconfig file that the user named, or else the local plane's.
func (a *App) ManagementKubeconfig(explicit string) string {
	if explicit == "" && os.Getenv("KUBECONFIG") == "" {
		return a.Dir.Kubeconfig()
	}
	return explicit
}

// ClientConfig returns the kubeconfig context that a command's flags select.
func (a *App) ClientConfig(t Target) clientcmd.ClientConfig {
	rules := kubeconfigs{clientcmd.NewDefaultClientConfigLoadingRules()}
	rules.ExplicitPath = a.ManagementKubeconfig(t.Kubeconfig)
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: t.Context})
}

// kubeconfigs are kubeconfig files that are read within bounds.
type kubeconfigs struct {
	*clientcmd.ClientConfigLoadingRules
}

// Load implements clientcmd.ClientConfigLoader.
func (k kubeconfigs) Load() (*clientcmdapi.Config, error) {
	files := k.GetLoadingPrecedence()
	if err := input.Named(input.Small, files...); err != nil {
		return nil, err
	}
	if len(files) == 1 {
		if info, err := os.Stat(files[0]); err == nil && !info.Mode().IsRegular() { // a pipe has no size to check
			data, err := input.File(files[0], input.Small)
			if err != nil {
				return nil, err
			}
			return clientcmd.Load(data)
		}
	}
	return k.ClientConfigLoadingRules.Load()
}

func (a *App) RestConfig(t Target) (*rest.Config, error) {
	if a.AsksPlane(t.Kubeconfig) {
		if err := a.PlaneRuns(); err != nil {
			return nil, fmt.Errorf("%w; or name another management cluster with --kubeconfig", err)
		}
	}
	cfg, err := a.ClientConfig(t).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w; start the local plane with 'casement up' or give --kubeconfig", err)
	}
	if err := input.Named(input.Small, cfg.CAFile, cfg.CertFile, cfg.KeyFile, cfg.BearerTokenFile); err != nil {
		return nil, fmt.Errorf("a file that the kubeconfig names: %w", err)
	}
	facts.Tune(cfg)
	return cfg, nil
}

// PlaneRuns returns an error if the local plane is not running or is still starting. A stopped plane leaves its
// kubeconfig file, and the API server of a starting plane does not serve all kinds yet.
func (a *App) PlaneRuns() error {
	ctx, cancel := context.WithTimeout(context.Background(), CompletePatience)
	defer cancel()
	status, err := plane.NewClient(a.Dir).Status(ctx)
	switch {
	case errors.Is(err, plane.ErrNotRunning):
		return err
	case err == nil && status.Phase == plane.PhaseStarting:
		return errors.New("the local plane is still starting; wait for it with: casement up")
	}
	return nil // a request to the API server shows any other error
}

func (a *App) Client(t Target) (client.Client, error) {
	cfg, err := a.RestConfig(t)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme,
		bootstrapv1.AddToScheme, controlplanev1.AddToScheme, addonsv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	c, err := client.New(cfg, facts.Options(scheme))
	if err != nil {
		return nil, fmt.Errorf("reach the cluster at %s: %w", cfg.Host, err)
	}
	return c, nil
}

// AsksPlane reports whether the kubeconfig is the local plane's.
func (a *App) AsksPlane(kubeconfig string) bool {
	return cmp.Or(kubeconfig, os.Getenv("KUBECONFIG"), a.Dir.Kubeconfig()) == a.Dir.Kubeconfig()
}

// OfPlane reports whether the flags select the local plane's API server through any file: $KUBECONFIG, or a copy of the
// plane's kubeconfig.
func (a *App) OfPlane(t Target) bool {
	if a.AsksPlane(t.Kubeconfig) {
		return true
	}
	own, err := clientcmd.LoadFromFile(a.Dir.Kubeconfig())
	if err != nil {
		return false
	}
	selected, err := a.ClientConfig(t).ClientConfig()
	if err != nil {
		return false
	}
	for _, cluster := range own.Clusters {
		if cluster.Server == selected.Host {
			return true
		}
	}
	return false
}

// CompletePatience is the maximum duration of a completion.
const CompletePatience = 2 * time.Second

// Bound returns the local address that the local plane listens on in place of a public address; the port differs if the
// original one requires privileges.
func (a *App) Bound(ctx context.Context, address string) string {
	s, err := plane.NewClient(a.Dir).Status(ctx)
	if err != nil {
		return address
	}
	for _, l := range s.Listeners {
		if l.Instead != "" && l.Instead == address {
			return l.Address
		}
	}
	return address
}

// WorkloadKubeconfig reads the admin kubeconfig from the secret that Cluster API keeps.
func WorkloadKubeconfig(ctx context.Context, c client.Client, cluster client.ObjectKey) ([]byte, error) {
	s := &corev1.Secret{}
	err := c.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: secret.Name(cluster.Name, secret.Kubeconfig)}, s)
	if apierrors.IsNotFound(err) {
		if _, err := facts.GetCluster(ctx, c, cluster); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("cluster %s has no kubeconfig yet; its control plane endpoint is not known "+
			"before the load balancer exists: casement tree %s", cluster, cluster.Name)
	}
	if err != nil {
		return nil, err
	}
	return s.Data[secret.KubeconfigDataName], nil
}
