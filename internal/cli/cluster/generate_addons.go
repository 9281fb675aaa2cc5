package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/addons"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/lint/registry"
)

func newGenerateAddons(a *app.App) *cobra.Command {
	var namespace, kubernetes string
	var resolve bool
	c := &cobra.Command{
		Use:   "addons [NAME...]",
		Short: "Print the addons of our flavors as ClusterResourceSets",
		Long: `Print the addons that clusters of our flavors ask for by labels (network, cloud
provider, storage, logs and metrics of Windows nodes), as ClusterResourceSets of one
namespace with their ConfigMaps. A management cluster needs them once in each namespace
that has clusters. Names choose some of them; 'casement addons list' shows all.

Images have a version. --resolve-digests asks their registries for the digest that each
version has now and pins it: keep what is printed, and a version that is moved later
changes nothing. It fails where a registry does not answer.`,
		Example: `  casement generate addons | kubectl apply --server-side -f -
  casement generate addons --target-namespace team-a | kubectl apply --server-side -f -
  casement generate addons csi-proxy
  casement generate addons windows-exporter windows-logs --resolve-digests > addons.yaml`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, names []string) error {
			p := addons.Params{KubernetesVersion: kubernetes}
			if resolve {
				var err error
				if p.Digests, err = digests(cmd.Context(), p, names); err != nil {
					return err
				}
			}
			objects, err := addons.ClusterResourceSets(namespace, p, names...)
			if err != nil {
				return err
			}
			for _, o := range objects {
				data, err := yaml.Marshal(o)
				if err != nil {
					return err
				}
				if _, err := a.Data().Write(append([]byte("---\n"), data...)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVarP(&namespace, "target-namespace", "n", "default", "namespace of the objects")
	c.Flags().StringVar(&kubernetes, "kubernetes-version", kuberelease.Default, "Kubernetes version that the addons are chosen for")
	c.Flags().BoolVar(&resolve, "resolve-digests", false, "ask registries for the digests of the images, and pin them")
	return c
}

// digests reads from registries the digests of the images of the named addons, or of all addons if none is named.
func digests(ctx context.Context, p addons.Params, names []string) (map[string]string, error) {
	var images []string
	for _, a := range addons.All() {
		if len(names) > 0 && !slices.Contains(names, a.Name) {
			continue
		}
		some, err := a.Images(p)
		if err != nil {
			return nil, err
		}
		images = append(images, some...)
	}
	slices.Sort(images)
	out, err := registry.Digests(ctx, slices.Compact(images), registry.Options{})
	if err != nil {
		return nil, fmt.Errorf("digests are not known, so nothing is printed (run it where the registries answer, "+
			"or leave out --resolve-digests):\n%w", err)
	}
	return out, nil
}
