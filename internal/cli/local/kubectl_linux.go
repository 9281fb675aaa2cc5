//go:build !client

package local

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/kubeproc"
)

func NewKubectl(a *app.App) *cobra.Command {
	var rest []string
	return &cobra.Command{
		Use:   "kubectl [ARGS]",
		Short: "Run the upstream kubectl that is built in",
		Long: `Run the upstream kubectl that is built into casement-kube, for machines without
one. Without KUBECONFIG or --kubeconfig it talks to the local management cluster;
--state DIR comes before kubectl's own arguments.`,
		Example:            "  casement kubectl get clusters\n  casement kubectl --kubeconfig demo.kubeconfig get nodes -o wide",
		DisableFlagParsing: true,
		PersistentPreRunE: func(_ *cobra.Command, args []string) error {
			var stateDir string
			stateDir, rest = ownState(args)
			return a.Settle(stateDir)
		},
		RunE: func(*cobra.Command, []string) error {
			binary, err := kubeproc.Find()
			if err != nil {
				return err
			}
			if os.Getenv("KUBECONFIG") == "" {
				if !slices.ContainsFunc(rest, bypassesPlane) {
					if err := a.PlaneRuns(); err != nil {
						fmt.Fprintf(a.Err, "casement: %v\n", err)
					}
				}
				if err := os.Setenv("KUBECONFIG", a.Dir.Kubeconfig()); err != nil {
					return err
				}
			}
			return syscall.Exec(binary, append([]string{"kubectl"}, rest...), os.Environ())
		},
	}
}

// ownState removes casement's --state, which kubectl does not know, from the beginning of a command line that cobra
// does not parse. A flag of the same name at a later position belongs to a command that kubectl runs in a container.
func ownState(args []string) (dir string, rest []string) {
	for len(args) > 0 {
		if value, is := strings.CutPrefix(args[0], "--state="); is {
			dir, args = value, args[1:]
			continue
		}
		if args[0] != "--state" || len(args) < 2 {
			break
		}
		dir, args = args[1], args[2:]
	}
	return dir, args
}

// bypassesPlane reports whether an argument makes kubectl use another server, or no server.
func bypassesPlane(arg string) bool {
	flag, _, _ := strings.Cut(arg, "=")
	return slices.Contains([]string{"--kubeconfig", "--server", "-s", "--client", "--help", "-h"}, flag)
}
