package cli

import (
	"github.com/spf13/cobra"

	"casement.dev/casement/config"
)

func newGenerateLintWebhook(a *app) *cobra.Command {
	var image string
	var certManager bool
	c := &cobra.Command{
		Use:   "lint-webhook",
		Short: "Print the lint webhook for a workload cluster alone",
		Long: `Print what the admission webhook of the workload rules needs in a cluster of which
casement manages nothing: casement-manager with --lint-only, its rights, its certificate
and the webhook configuration. A management cluster has the webhook already.

Without --cert-manager a certificate for ten years is made now: the output holds its
private key, and another run makes another one.`,
		Example: `  casement generate lint-webhook --image registry.example/casement-manager:v0.1.0 | kubectl apply -f -
  casement generate lint-webhook --image registry.example/casement-manager:v0.1.0 --cert-manager`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if image == "" {
				return usagef("name the manager's image: --image REGISTRY/casement-manager:VERSION")
			}
			text, err := config.LintComponents(image, certManager)
			if err != nil {
				return err
			}
			_, err = a.Out.Write(text)
			return err
		},
	}
	c.Flags().StringVar(&image, "image", "", "image of casement-manager, from a registry of yours")
	c.Flags().BoolVar(&certManager, "cert-manager", false, "let the cluster's cert-manager make the certificate")
	return c
}
