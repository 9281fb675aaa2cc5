package cluster

import (
	"github.com/spf13/cobra"

	"casement.dev/casement/config"
	"casement.dev/casement/internal/cli/app"
)

func newGenerateLintWebhook(a *app.App) *cobra.Command {
	var image string
	c := &cobra.Command{
		Use:   "lint-webhook",
		Short: "Print the lint webhook for a workload cluster alone",
		Long: `Print what the admission webhook of the workload rules needs in a cluster of which
casement manages nothing: casement-manager with --lint-only, which makes its certificate
itself, its rights, and the webhook configuration. A management cluster has the webhook
already. In a workload cluster of the local plane it is refused: its container ends with a
line that says so, as a simulated one would let everything pass.`,
		Example: `  casement generate lint-webhook --image registry.example/casement-manager:v0.1.0 | kubectl apply -f -
  kubectl label namespace shop casement.dev/lint=enforce`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if image == "" {
				return app.Usagef("name the manager's image: --image REGISTRY/casement-manager:VERSION")
			}
			text, err := config.LintComponents(image)
			if err != nil {
				return err
			}
			_, err = a.Data().Write(text)
			return err
		},
	}
	c.Flags().StringVar(&image, "image", "", "image of casement-manager, from a registry of yours")
	return c
}
