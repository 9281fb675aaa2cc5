package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	casementarm "casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/plane"
)

func newAzurePrepare(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "prepare FILE|-",
		Short: "Make in the local Azure what a cluster's manifest takes for granted",
		Long: `Make the user-assigned identities that a manifest gives to its machines, with their
resource groups, in the local Azure. Templates of CAPZ name such an identity, which its
users create by hand in their subscription before the first cluster. What is there stays
as it is.`,
		Example: `  casement generate cluster demo --from cluster-template-windows.yaml > demo.yaml
  casement azure prepare demo.yaml && casement kubectl apply -f demo.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := io.Reader(os.Stdin)
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			ids, err := machineIdentities(in)
			if err != nil {
				return fmt.Errorf("read %s: %w", args[0], err)
			}
			s, err := plane.NewClient(a.dir).Status(cmd.Context())
			if err != nil {
				return err
			}
			client, err := s.Azure.ARM()
			if err != nil {
				return err
			}
			return a.prepare(cmd.Context(), client, ids)
		},
	}
}

// API versions of what prepare makes.
const (
	groupVersion    = "2021-04-01"
	identityVersion = "2023-01-31"
)

// prepare makes the identities that are not there yet.
func (a *app) prepare(ctx context.Context, client *casementarm.Client, ids []*arm.ResourceID) error {
	if len(ids) == 0 {
		fmt.Fprintln(a.Out, "The manifest takes nothing for granted.")
	}
	for _, id := range ids {
		_, err := client.Get(ctx, id.String(), identityVersion)
		if err == nil {
			fmt.Fprintf(a.Out, "identity %s in %s is there\n", id.Name, id.ResourceGroupName)
			continue
		}
		if casementarm.ClassOf(err) != casementarm.NotFound {
			return fmt.Errorf("read identity %s: %w", id, err)
		}
		group := "/subscriptions/" + id.SubscriptionID + "/resourceGroups/" + id.ResourceGroupName
		body := map[string]string{"location": plane.Location}
		if _, err := client.Put(ctx, group, groupVersion, body); err != nil {
			return fmt.Errorf("make resource group %s: %w", id.ResourceGroupName, err)
		}
		if _, err := client.Put(ctx, id.String(), identityVersion, body); err != nil {
			return fmt.Errorf("make identity %s: %w", id, err)
		}
		fmt.Fprintf(a.Out, "identity %s in %s made\n", id.Name, id.ResourceGroupName)
	}
	return nil
}

// machineIdentities returns the user-assigned identities that a manifest's machines
// have, each once, by their IDs.
func machineIdentities(in io.Reader) ([]*arm.ResourceID, error) {
	found := map[string]*arm.ResourceID{}
	for decoder := yaml.NewDecoder(in); ; {
		var document any
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			var out []*arm.ResourceID
			for _, key := range slices.Sorted(maps.Keys(found)) {
				out = append(out, found[key])
			}
			return out, nil
		case err != nil:
			return nil, err
		}
		if err := collectIdentities(document, found); err != nil {
			return nil, err
		}
	}
}

// collectIdentities finds the providerID of each entry of userAssignedIdentities below a
// value, wherever templates have it.
func collectIdentities(v any, found map[string]*arm.ResourceID) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := collectIdentities(e, found); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, e := range v {
			entries, isList := e.([]any)
			if key != "userAssignedIdentities" || !isList {
				if err := collectIdentities(e, found); err != nil {
					return err
				}
				continue
			}
			for _, entry := range entries {
				fields, _ := entry.(map[string]any)
				text, _ := fields["providerID"].(string)
				id, err := arm.ParseResourceID("/" + strings.TrimLeft(strings.TrimPrefix(text, "azure://"), "/"))
				if err != nil {
					return fmt.Errorf("userAssignedIdentities: providerID %q is no resource ID: %w", text, err)
				}
				found[strings.ToLower(id.String())] = id
			}
		}
	}
	return nil
}
