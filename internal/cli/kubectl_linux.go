//go:build !client

package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/kubeproc"
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
			binary, err := kubeproc.Find()
			if err != nil {
				return err
			}
			if os.Getenv("KUBECONFIG") == "" {
				if !slices.ContainsFunc(args, asksNoPlane) {
					if err := a.planeRuns(); err != nil {
						fmt.Fprintf(a.Err, "casement: %v\n", err)
					}
				}
				if err := os.Setenv("KUBECONFIG", a.dir.Kubeconfig()); err != nil {
					return err
				}
			}
			return syscall.Exec(binary, append([]string{"kubectl"}, args...), os.Environ())
		},
	}
}

// asksNoPlane reports whether an argument makes kubectl use another server, or no server.
func asksNoPlane(arg string) bool {
	flag, _, _ := strings.Cut(arg, "=")
	return slices.Contains([]string{"--kubeconfig", "--server", "-s", "--client", "--help", "-h"}, flag)
}
