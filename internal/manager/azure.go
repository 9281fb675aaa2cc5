package manager

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"casement.dev/casement/internal/azure/identity"
)

// Azure has the endpoints of a cloud that is not Microsoft's: a local Azure or an Azure Stack. For empty fields, the
// values of the cluster's azureEnvironment apply.
type Azure struct {
	// Endpoints are the endpoints of every cloud that Clouds does not name.
	Endpoints
	// Clouds has the endpoints of clouds by their names in a cluster's spec.azureEnvironment; "" is AzurePublicCloud.
	Clouds map[string]Endpoints
	// CAFile has certificate authorities, in PEM, that are trusted in addition to the system's, for every cloud.
	CAFile string
	// Local limits connections to every cloud to this machine, for the local plane; no flag sets it.
	Local *identity.Local
	// TokenFile contains the federated token of workload identities; "" means the file in AZURE_FEDERATED_TOKEN_FILE.
	TokenFile string
}

// Endpoints are the endpoints of one cloud.
type Endpoints struct {
	// AuthorityHost is the host that issues tokens, such as https://login.microsoftonline.com/.
	AuthorityHost string
	// ResourceManagerEndpoint is the URL of the resource manager.
	ResourceManagerEndpoint string
	// ResourceManagerAudience is the audience of requested tokens; it defaults to ResourceManagerEndpoint.
	ResourceManagerAudience string
}

// Environment variables that set Azure's defaults.
const (
	envAuthorityHost           = "AZURE_AUTHORITY_HOST"
	envResourceManagerEndpoint = "AZURE_RESOURCE_MANAGER_ENDPOINT"
	envResourceManagerAudience = "AZURE_RESOURCE_MANAGER_AUDIENCE"
	envCAFile                  = "AZURE_CA_FILE"
)

func (a *Azure) addFlags(flags *pflag.FlagSet, getenv func(string) string) {
	flags.StringVar(&a.AuthorityHost, "azure-authority-host", getenv(envAuthorityHost),
		"URL that issues tokens, instead of the cloud's own ("+envAuthorityHost+")")
	flags.StringVar(&a.ResourceManagerEndpoint, "azure-resource-manager-endpoint",
		getenv(envResourceManagerEndpoint),
		"URL of the resource manager, instead of the cloud's own ("+envResourceManagerEndpoint+")")
	flags.StringVar(&a.ResourceManagerAudience, "azure-resource-manager-audience",
		getenv(envResourceManagerAudience),
		"audience of tokens for the resource manager ("+envResourceManagerAudience+")")
	flags.StringVar(&a.CAFile, "azure-ca-file", getenv(envCAFile),
		"certificate authorities to trust beside the system's, in PEM ("+envCAFile+")")
	flags.Func("azure-cloud", "NAME=RESOURCE_MANAGER_URL,LOGIN_URL[,AUDIENCE] of the cloud that a cluster's "+
		"azureEnvironment calls NAME, before the three flags above; once for each cloud", a.addCloud)
}

func (a *Azure) addCloud(value string) error {
	name, rest, _ := strings.Cut(value, "=")
	parts := strings.Split(rest, ",")
	if name == "" || len(parts) < 2 || len(parts) > 3 {
		return fmt.Errorf("%q is not NAME=RESOURCE_MANAGER_URL,LOGIN_URL or NAME=RESOURCE_MANAGER_URL,LOGIN_URL,AUDIENCE", value)
	}
	if _, twice := a.Clouds[name]; twice {
		return fmt.Errorf("the cloud %s is given twice", name)
	}
	e := Endpoints{ResourceManagerEndpoint: parts[0], AuthorityHost: parts[1]}
	if len(parts) == 3 {
		e.ResourceManagerAudience = parts[2]
	}
	if a.Clouds == nil {
		a.Clouds = map[string]Endpoints{}
	}
	a.Clouds[name] = e
	return nil
}

func (a *Azure) validate() []error {
	var errs []error
	check := func(flag, value string) {
		if parsed, err := url.Parse(value); err != nil || parsed.Scheme != "https" || parsed.Host == "" {
			errs = append(errs, fmt.Errorf("--%s: %q is not an https URL", flag, value))
		}
	}
	if a.AuthorityHost != "" {
		check("azure-authority-host", a.AuthorityHost)
	}
	if a.ResourceManagerEndpoint != "" {
		check("azure-resource-manager-endpoint", a.ResourceManagerEndpoint)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Clouds)) {
		check("azure-cloud: "+name, a.Clouds[name].ResourceManagerEndpoint)
		check("azure-cloud: "+name, a.Clouds[name].AuthorityHost)
	}
	if a.CAFile != "" {
		if _, err := os.Stat(a.CAFile); err != nil {
			errs = append(errs, fmt.Errorf("--azure-ca-file: %w", err))
		}
	}
	return errs
}

// clouds returns the overrides for each environment: with configured endpoints and without named clouds, no other Azure is used.
func (a *Azure) clouds() map[string]identity.Cloud {
	out := map[string]identity.Cloud{}
	for _, name := range []string{identity.PublicCloud, "AzureChinaCloud", "AzureUSGovernmentCloud"} {
		out[name] = a.cloud(a.Endpoints)
	}
	for name, e := range a.Clouds {
		out[cmp.Or(name, identity.PublicCloud)] = a.cloud(e)
	}
	return out
}

func (a *Azure) cloud(e Endpoints) identity.Cloud {
	return identity.Cloud{
		AuthorityHost:           e.AuthorityHost,
		ResourceManagerEndpoint: e.ResourceManagerEndpoint, ResourceManagerAudience: e.ResourceManagerAudience,
		CAFile:                   a.CAFile,
		DisableInstanceDiscovery: e.AuthorityHost != "",
		Local:                    a.Local,
	}
}
