package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/local"
)

func newLogs(a *app) *cobra.Command {
	var t target
	var follow bool
	c := &cobra.Command{
		Use:   "logs NODE|MACHINE",
		Short: "Show the console of a machine of the local plane: boot, cloud-init or cloudbase-init, kubeadm",
		Long: `Show the serial console of a machine: what its boot agent read from the bootstrap
data, what it did, and why it failed. NODE|MACHINE is the name of a Machine, of its
node, or of its VM. The local plane's guests have one; a VM in Azure does not yet.`,
		Example: "  casement logs demo-md-win-x7k2p\n  casement logs demo-md-w-x7k2p --follow",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			plane := local.NewClient(a.dir)
			id, err := a.vmID(cmd.Context(), plane, t, args[0])
			if err != nil {
				return err
			}
			return plane.Console(cmd.Context(), id, follow, a.Out)
		},
	}
	t.addFlags(c)
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on as the log grows")
	return c
}

// vmID finds the VM of a machine, a node or a VM name.
func (a *app) vmID(ctx context.Context, plane *local.Client, t target, name string) (string, error) {
	s, err := plane.Status(ctx)
	if err != nil {
		return "", err
	}
	for _, g := range s.Guests {
		if strings.EqualFold(g.Name, name) {
			return g.ID, nil
		}
	}
	c, err := a.client(t)
	if err != nil {
		return "", err
	}
	var machines clusterv1.MachineList
	if err := c.List(ctx, &machines, client.InNamespace(t.namespace)); err != nil {
		return "", err
	}
	var names []string
	for _, m := range machines.Items {
		names = append(names, m.Name)
		if m.Name != name && m.Status.NodeRef.Name != name {
			continue
		}
		if m.Spec.ProviderID == "" {
			return "", fmt.Errorf("machine %s has no VM yet: casement tree %s", name, m.Spec.ClusterName)
		}
		return strings.TrimPrefix(m.Spec.ProviderID, "azure://"), nil
	}
	return "", fmt.Errorf("no machine, node or VM is called %q in namespace %s; there are: %s", name, t.namespace, strings.Join(names, ", "))
}
