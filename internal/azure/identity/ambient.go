package identity

import "cmp"

// AzureCLI is the user who is logged in to Azure's command line. No AzureClusterIdentity can use it: it is for
// interactive tools.
const AzureCLI Type = "AzureCLI"

// Ambient returns the identity, environment and subscription that the environment variables
// of the Azure SDK set. If they set no credential, the identity is AzureCLI. Source:
// https://learn.microsoft.com/azure/developer/go/sdk/authentication/authentication-overview.
func Ambient(getenv func(string) string) (environment, subscriptionID string, s Source, c Cloud) {
	s = Source{
		Type: AzureCLI, TenantID: getenv("AZURE_TENANT_ID"), ClientID: getenv("AZURE_CLIENT_ID"),
		ClientSecret: getenv("AZURE_CLIENT_SECRET"), CertificatePath: getenv("AZURE_CLIENT_CERTIFICATE_PATH"),
		Password: getenv("AZURE_CLIENT_CERTIFICATE_PASSWORD"), TokenFile: getenv("AZURE_FEDERATED_TOKEN_FILE"),
	}
	switch {
	case s.ClientID == "":
	case s.ClientSecret != "":
		s.Type = ServicePrincipal
	case s.CertificatePath != "":
		s.Type = ServicePrincipalCertificate
	case s.TokenFile != "":
		s.Type = WorkloadIdentity
	}
	c = Cloud{
		AuthorityHost: getenv("AZURE_AUTHORITY_HOST"), ResourceManagerEndpoint: getenv("AZURE_RESOURCE_MANAGER_ENDPOINT"),
		ResourceManagerAudience: getenv("AZURE_RESOURCE_MANAGER_AUDIENCE"), CAFile: getenv("AZURE_CA_FILE"),
	}
	// Only an Azure outside the public clouds sets an endpoint of the resource manager.
	c.DisableInstanceDiscovery = c.AuthorityHost != "" && c.ResourceManagerEndpoint != ""
	return cmp.Or(getenv("AZURE_ENVIRONMENT"), PublicCloud), getenv("AZURE_SUBSCRIPTION_ID"), s, c
}
