package azure

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/plane"
)

func newAzureResources(a *app.App) *cobra.Command {
	var output, group string
	c := &cobra.Command{
		Use:     "resources",
		Short:   "Show what is in the local Azure, by resource group",
		Example: "  casement azure resources\n  casement azure resources -g demo -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := plane.NewClient(a.Dir).AzureResources(cmd.Context())
			if err != nil {
				return err
			}
			list = slices.DeleteFunc(list, func(r plane.AzureResource) bool { return group != "" && !strings.EqualFold(group, r.Group) })
			return a.Print(output, list, func(w io.Writer) { resourceTree(w, list, output == "wide") })
		},
	}
	c.Flags().StringVarP(&group, "resource-group", "g", "", "only this resource group")
	c.Flags().StringVarP(&output, "output", "o", "table", "table, wide, name, json or yaml")
	return c
}

// resourceTree prints resources as a tree, indented below their groups and parents. It prints a location only if it
// differs from the group's, and of a resource with a power state only that state.
func resourceTree(w io.Writer, list []plane.AzureResource, wide bool) {
	if len(list) == 0 {
		fmt.Fprintln(w, "There is nothing in the local Azure.")
		return
	}
	slices.SortStableFunc(list, func(a, b plane.AzureResource) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Group), strings.ToLower(b.Group)),
			cmp.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID)))
	})
	fmt.Fprintln(w, "RESOURCE\tTYPE\tSTATE")
	place := ""
	for _, r := range list {
		name, typ := "  "+r.Name, r.Type[strings.LastIndex(r.Type, "/")+1:]
		switch {
		case typ == "resourceGroups":
			name, typ, place = r.Name, "resource group, "+r.Location, r.Location
		case r.Location != "" && r.Location != place:
			typ += ", " + r.Location
		}
		if strings.Count(r.Type, "/") > 1 {
			name = "  " + name
		}
		if wide {
			typ = r.ID
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", name, typ, strings.TrimPrefix(r.State, "Succeeded, "))
	}
}
