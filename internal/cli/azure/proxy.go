package azure

import (
	"fmt"
	"net/url"
	"strings"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/plane"
)

// proxyHint returns the line about the proxy, or "" if there is none.
func proxyHint(z plane.Azure, state string) string {
	if z.Proxy == "" {
		return ""
	}
	return `  eval "$(casement azure env --for proxy` + state + `)"  for clients with Azure's public names
`
}

// proxyEnv prints the variables that direct all clients to the proxy and leave their endpoints unchanged.
func proxyEnv(a *app.App, z plane.Azure, secret string) error {
	if z.Proxy == "" {
		return fmt.Errorf("the local Azure runs without a proxy; start it with: casement azure serve --proxy 127.0.0.1:0")
	}
	at := proxyAddress(z, secret)
	exports(a.Out, [][2]string{
		{"HTTPS_PROXY", at}, {"HTTP_PROXY", at}, {"https_proxy", at}, {"http_proxy", at},
		{"NO_PROXY", "localhost,127.0.0.1"}, {"no_proxy", "localhost,127.0.0.1"},
		{"SSL_CERT_FILE", z.CAFile}, {"CURL_CA_BUNDLE", z.CAFile}, {"REQUESTS_CA_BUNDLE", z.CAFile},
		{"AZURE_TENANT_ID", z.TenantID}, {"AZURE_SUBSCRIPTION_ID", z.SubscriptionID},
		{"AZURE_CLIENT_ID", z.ClientID}, {"AZURE_CLIENT_SECRET", secret},
	})
	return nil
}

// proxyAddress returns the proxy's URL with the user name and password that it requires.
func proxyAddress(z plane.Azure, secret string) string {
	return (&url.URL{Scheme: "http", User: url.UserPassword("casement", secret), Host: strings.TrimPrefix(z.Proxy, "http://")}).String()
}
