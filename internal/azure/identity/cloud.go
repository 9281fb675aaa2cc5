package identity

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"

	"casement.dev/casement/internal/input"
)

// PublicCloud is the environment of a cluster that sets none.
const PublicCloud = "AzurePublicCloud"

// Configuration returns the SDK's configuration of an environment, changed by the overrides of a Cloud.
func Configuration(environment string, override Cloud) (cloud.Configuration, error) {
	var base cloud.Configuration
	switch cmp.Or(environment, PublicCloud) {
	case PublicCloud:
		base = cloud.AzurePublic
	case "AzureChinaCloud":
		base = cloud.AzureChina
	case "AzureUSGovernmentCloud":
		base = cloud.AzureGovernment
	default:
		if override.AuthorityHost == "" || override.ResourceManagerEndpoint == "" {
			return base, fmt.Errorf("spec.azureEnvironment is %q, which is not known: use AzurePublicCloud, "+
				"AzureChinaCloud or AzureUSGovernmentCloud, or configure its endpoints", environment)
		}
	}
	// The SDK's own configurations are shared and must not be changed.
	base.Services = maps.Clone(base.Services)
	if base.Services == nil {
		base.Services = map[cloud.ServiceName]cloud.ServiceConfiguration{}
	}
	if override.AuthorityHost != "" {
		base.ActiveDirectoryAuthorityHost = override.AuthorityHost
	}
	if endpoint := override.ResourceManagerEndpoint; endpoint != "" {
		base.Services[cloud.ResourceManager] = cloud.ServiceConfiguration{
			Endpoint: endpoint, Audience: strings.TrimSuffix(cmp.Or(override.ResourceManagerAudience, endpoint), "/"),
		}
	}
	for what, address := range map[string]string{"authority host": base.ActiveDirectoryAuthorityHost,
		"resource manager endpoint": base.Services[cloud.ResourceManager].Endpoint} {
		// The SDK sends no token over plain HTTP.
		if u, err := url.Parse(address); err != nil || u.Scheme != "https" || u.Host == "" {
			return base, fmt.Errorf("%s of %s is %q: it has to be an https URL", what, environment, address)
		}
	}
	return base, nil
}

func (p *Pool) environment(name string) (environment, error) {
	if env, ok := p.clouds[name]; ok {
		return env, nil
	}
	override := p.config.Clouds[cmp.Or(name, PublicCloud)]
	configuration, err := Configuration(name, override)
	if err != nil {
		return environment{}, err
	}
	transport, err := transporter(override)
	if err != nil {
		return environment{}, err
	}
	env := environment{cloud: configuration, transport: transport, private: override.DisableInstanceDiscovery, local: override.Local}
	p.clouds[name] = env
	return env, nil
}

// trusted returns the CA certificates of the system and the Cloud; nil if the Cloud has none.
func trusted(c Cloud) (*x509.CertPool, error) {
	if c.CAFile == "" && len(c.CAData) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if len(c.CAData) > 0 && !pool.AppendCertsFromPEM(c.CAData) {
		return nil, fmt.Errorf("the configured CA data has no PEM certificate")
	}
	if c.CAFile == "" {
		return pool, nil
	}
	data, err := input.File(c.CAFile, input.Small)
	if err != nil {
		return nil, fmt.Errorf("read the CA file: %w", err)
	}
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("the CA file %s has no PEM certificate", c.CAFile)
	}
	return pool, nil
}

func tlsConfig(pool *x509.CertPool) *tls.Config {
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}
