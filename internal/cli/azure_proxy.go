package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/sim/proxy"
)

// azurePublic are the flags by which the local Azure stands for the public one.
type azurePublic struct {
	proxy, clients string
}

func (p *azurePublic) flags(f *pflag.FlagSet) {
	f.StringVar(&p.proxy, "proxy", "", "address of an HTTPS proxy that answers for Azure's public names (default none)")
	f.StringVar(&p.clients, "clients", "", "file of applications that may log in beside the plane's own, YAML or JSON")
}

func (p *azurePublic) apply(opts *plane.Options) error {
	opts.Proxy = p.proxy
	if p.clients == "" {
		return nil
	}
	data, err := os.ReadFile(p.clients)
	if err != nil {
		return fmt.Errorf("read the clients: %w", err)
	}
	var file struct {
		Clients []azuresim.Client `json:"clients"`
	}
	// The error is not shown: it may quote a line with a secret.
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		return fmt.Errorf("%s: it must have a list \"clients\" of id with secret, certificate or federated (issuer, subject, audience), and nothing else", p.clients)
	}
	for i, c := range file.Clients {
		if c.ID == "" || c.Secret == "" && c.Certificate == "" && len(c.Federated) == 0 {
			return fmt.Errorf("%s: clients[%d] needs an id, and a secret, certificate or federated credential", p.clients, i)
		}
	}
	if len(file.Clients) == 0 {
		return fmt.Errorf("%s: it lists no clients, so that nobody could log in", p.clients)
	}
	opts.Clients = file.Clients
	return nil
}

// proxyHint is the line about the proxy, if there is one.
func proxyHint(z plane.Azure, state string) string {
	if z.Proxy == "" {
		return ""
	}
	return `  eval "$(casement azure env --for proxy` + state + `)"  for clients with Azure's public names
`
}

// proxyEnv points every client at the proxy and leaves its endpoints alone.
func (a *app) proxyEnv(z plane.Azure, secret string) error {
	if z.Proxy == "" {
		return fmt.Errorf("the local Azure runs without a proxy; start it with: casement azure serve --proxy 127.0.0.1:0")
	}
	at := proxy.URL(strings.TrimPrefix(z.Proxy, "http://"), secret)
	exports(a.Out, [][2]string{
		{"HTTPS_PROXY", at}, {"HTTP_PROXY", at}, {"https_proxy", at}, {"http_proxy", at}, {"NO_PROXY", "localhost,127.0.0.1"}, {"no_proxy", "localhost,127.0.0.1"},
		{"SSL_CERT_FILE", z.CAFile}, {"CURL_CA_BUNDLE", z.CAFile}, {"REQUESTS_CA_BUNDLE", z.CAFile},
		{"AZURE_TENANT_ID", z.TenantID}, {"AZURE_SUBSCRIPTION_ID", z.SubscriptionID}, {"AZURE_CLIENT_ID", z.ClientID}, {"AZURE_CLIENT_SECRET", secret},
	})
	return nil
}
