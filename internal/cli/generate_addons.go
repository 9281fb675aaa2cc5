package cli

import (
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/addons"
	"casement.dev/casement/internal/kuberelease"
)

func newGenerateAddons(a *app) *cobra.Command {
	var namespace, kubernetes string
	c := &cobra.Command{
		Use:   "addons [NAME...]",
		Short: "Print the addons of our flavors as ClusterResourceSets",
		Long: `Print the addons that clusters of our flavors ask for by labels (network, cloud
provider, storage), as ClusterResourceSets of one namespace with their ConfigMaps. A
management cluster needs them once in each namespace that has clusters. Names choose
some of them; 'casement addons list' shows all.`,
		Example: `  casement generate addons | kubectl apply --server-side -f -
  casement generate addons --target-namespace team-a | kubectl apply --server-side -f -
  casement generate addons csi-proxy`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, names []string) error {
			objects, err := addons.ClusterResourceSets(namespace, addons.Params{KubernetesVersion: kubernetes}, names...)
			if err != nil {
				return err
			}
			for _, o := range objects {
				data, err := yaml.Marshal(o)
				if err != nil {
					return err
				}
				if _, err := a.data().Write(append([]byte("---\n"), data...)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVarP(&namespace, "target-namespace", "n", "default", "namespace of the objects")
	c.Flags().StringVar(&kubernetes, "kubernetes-version", kuberelease.Default, "Kubernetes version that the addons are chosen for")
	return c
}
