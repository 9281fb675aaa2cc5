//go:build !client

package local

import (
	"cmp"
	"os"
	"strings"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/cli/azure"
	"casement.dev/casement/internal/manager"
	"casement.dev/casement/internal/plane/supervisor"
)

// outside returns the Azure that the environment variables describe, if the plane is to use it; otherwise nil.
func (k planeKind) outside() (*supervisor.Outside, error) {
	switch {
	case k.azure == "local":
		return nil, nil
	case k.azure != "env":
		return nil, app.Usagef("--azure is local or env, not %q", k.azure)
	case k.bare || k.azureOf != "" || k.public.Proxy != "" || k.public.Clients != "":
		return nil, app.Usagef("--azure env excludes each of --bare, --azure-of, --proxy and --clients, which are about a local Azure")
	}
	o := &supervisor.Outside{
		SubscriptionID: os.Getenv("AZURE_SUBSCRIPTION_ID"), TenantID: os.Getenv("AZURE_TENANT_ID"),
		ClientID: os.Getenv("AZURE_CLIENT_ID"), ClientSecret: os.Getenv("AZURE_CLIENT_SECRET"),
		CAFile: os.Getenv("AZURE_CA_FILE"),
		Endpoints: manager.Endpoints{
			AuthorityHost:           cmp.Or(os.Getenv("AZURE_AUTHORITY_HOST"), "https://login.microsoftonline.com/"),
			ResourceManagerEndpoint: cmp.Or(os.Getenv("AZURE_RESOURCE_MANAGER_ENDPOINT"), azure.PublicEndpoint),
		},
	}
	o.ResourceManagerAudience = cmp.Or(os.Getenv("AZURE_RESOURCE_MANAGER_AUDIENCE"), o.ResourceManagerEndpoint)
	var missing []string
	for _, v := range [][2]string{{"AZURE_SUBSCRIPTION_ID", o.SubscriptionID}, {"AZURE_TENANT_ID", o.TenantID},
		{"AZURE_CLIENT_ID", o.ClientID}, {"AZURE_CLIENT_SECRET", o.ClientSecret}} {
		if v[1] == "" {
			missing = append(missing, v[0])
		}
	}
	if len(missing) > 0 {
		return nil, app.Usagef("--azure env needs %s in the environment", strings.Join(missing, ", "))
	}
	return o, nil
}
