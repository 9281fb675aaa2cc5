package cli

import (
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/kube"
)

func newKubectl(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [ARGS]",
		Short: "Run the upstream kubectl that is built in",
		Long: `Run the upstream kubectl that is built into casement-kube, for machines without
one. Without KUBECONFIG or --kubeconfig it talks to the local management cluster.`,
		Example:            "  casement kubectl get clusters\n  casement kubectl --kubeconfig demo.kubeconfig get nodes -o wide",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			binary, err := kube.Find()
			if err != nil {
				return err
			}
			env := os.Environ()
			if os.Getenv("KUBECONFIG") == "" {
				env = append(env, "KUBECONFIG="+a.dir.Kubeconfig())
			}
			return syscall.Exec(binary, append([]string{"kubectl"}, args...), env)
		},
	}
}
