package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/input"
	"casement.dev/casement/internal/plane"
)

// target selects the cluster that a command reads, by the usual flags.
type target struct {
	kubeconfig, context, namespace string
}

// addFlags adds the flags of a command that reads the management cluster.
func (t *target) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&t.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster (default $KUBECONFIG, else the local plane's)")
	c.Flags().StringVar(&t.context, "context", "", "context of the kubeconfig")
	c.Flags().StringVarP(&t.namespace, "namespace", "n", "default", "namespace of the Cluster API objects")
}

// managementKubeconfig returns the kubeconfig file that the user named, or that of the local plane.
func (a *app) managementKubeconfig(explicit string) string {
	if explicit == "" && os.Getenv("KUBECONFIG") == "" {
		return a.dir.Kubeconfig()
	}
	return explicit
}

// clientConfig returns the kubeconfig context that a command's flags select.
func (a *app) clientConfig(t target) clientcmd.ClientConfig {
	rules := kubeconfigs{clientcmd.NewDefaultClientConfigLoadingRules()}
	rules.ExplicitPath = a.managementKubeconfig(t.kubeconfig)
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: t.context})
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

func (a *app) restConfig(t target) (*rest.Config, error) {
	if a.asksPlane(t.kubeconfig) {
		if err := a.planeRuns(); err != nil {
			return nil, fmt.Errorf("%w; or name another management cluster with --kubeconfig", err)
		}
	}
	cfg, err := a.clientConfig(t).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w; start the local plane with 'casement up' or give --kubeconfig", err)
	}
	if err := input.Named(input.Small, cfg.CAFile, cfg.CertFile, cfg.KeyFile, cfg.BearerTokenFile); err != nil {
		return nil, fmt.Errorf("a file that the kubeconfig names: %w", err)
	}
	facts.Tune(cfg)
	return cfg, nil
}

// planeRuns returns an error if the local plane is not running, as its kubeconfig file remains, or is still starting,
// as its API server does not serve all kinds yet.
func (a *app) planeRuns() error {
	ctx, cancel := context.WithTimeout(context.Background(), completePatience)
	defer cancel()
	status, err := plane.NewClient(a.dir).Status(ctx)
	switch {
	case errors.Is(err, plane.ErrNotRunning):
		return err
	case err == nil && status.Phase == plane.PhaseStarting:
		return errors.New("the local plane is still starting; wait for it with: casement up")
	}
	return nil // another trouble shows when the API server is asked
}

func (a *app) client(t target) (client.Client, error) {
	cfg, err := a.restConfig(t)
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
