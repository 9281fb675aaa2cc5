package azure

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/azure/permission"
	"casement.dev/casement/internal/cli/app"
)

func newAzurePermissions(a *app.App) *cobra.Command {
	var output, scope string
	var features []string
	c := &cobra.Command{
		Use:   "permissions",
		Short: "Print the Azure actions that casement-manager needs, or a role",
		Long: `Print which actions of Azure Resource Manager casement-manager needs, by feature, and
why: "call" is a call that it makes, "linked" what Azure checks because a call refers to
another resource, "data" a call to a key vault itself, "poll" asks for the end of an
operation, "unproven" is a call that no run of ours has made. With -o json it is a custom
role for az. Feature base is what every cluster needs; add those that yours use.

This is about the real Azure; nothing has to run.`,
		Example: `  casement azure permissions
  casement azure permissions --feature base,pools -o json --scope /subscriptions/ID > role.json
  az role definition create --role-definition role.json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			actions, err := permission.Actions(features...)
			if err != nil {
				return app.Usagef("%w", err)
			}
			if output == "table" || output == "wide" || output == "name" {
				return a.Print(output, actions, func(w io.Writer) { permissionTable(w, actions, output == "wide") })
			}
			role, err := permission.RoleOf(scope, features...)
			if err != nil {
				return app.Usagef("%w", err)
			}
			return a.Print(output, role, nil)
		},
	}
	c.Flags().StringSliceVar(&features, "feature", nil, "features, separated by commas (default all)")
	c.Flags().StringVar(&scope, "scope", "/subscriptions/SUBSCRIPTION_ID",
		"where the role may be assigned; a resource group will do when it exists")
	c.Flags().StringVarP(&output, "output", "o", "table", "table, wide, name, json or yaml")
	return c
}

func permissionTable(w io.Writer, actions []permission.Action, wide bool) {
	head := "ACTION\tFEATURE\tEVIDENCE"
	if wide {
		head += "\tWHY"
	}
	fmt.Fprintln(w, head)
	for _, x := range actions {
		fmt.Fprintf(w, "%s\t%s\t%s", x.Name, x.Feature, x.Evidence)
		if wide {
			fmt.Fprintf(w, "\t%s", x.Why)
		}
		fmt.Fprintln(w)
	}
}
