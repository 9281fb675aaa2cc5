package azuresim

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/entra"
)

// Endpoint returns the URL of the resource manager and the token service: the address on which
// Start listens, or without Start a URL that only Do answers.
func (a *Azure) Endpoint() string { return a.endpoint }

// Client returns the application of the owner of this Azure; its secret permits everything.
func (a *Azure) Client() Client { return entra.Owner(a.server) }

// SecretFile returns the path of the file with DefaultClient's secret, which has mode 0600;
// "" for a server in memory.
func (a *Azure) SecretFile() string { return entra.SecretFile(a.server) }

// Admit lets an application log in from now on, until the server ends. It replaces an application
// with the same ID.
func (a *Azure) Admit(c Client) { entra.Admit(a.server, c) }

// ServeIdentity is the token endpoint of a machine's metadata service. It issues tokens only for
// the identities that are assigned to the machine, given by resource ID.
func (a *Azure) ServeIdentity(w http.ResponseWriter, r *http.Request, assigned []string) {
	entra.ServeIdentity(a.server, w, r, assigned)
}

// ServeAnyIdentity answers as the metadata service of a machine that has every identity. The caller
// must authenticate the client.
func (a *Azure) ServeAnyIdentity(w http.ResponseWriter, r *http.Request) {
	entra.ServeAnyIdentity(a.server, w, r)
}

// Credential returns a credential of Client for clients of the Azure SDK. It issues tokens in
// process; to log in over the network, use azidentity with the fields of Client.
func (a *Azure) Credential() azcore.TokenCredential { return credential{a.server} }

type credential struct{ server *engine.Server }

// GetToken implements azcore.TokenCredential.
func (c credential) GetToken(_ context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	audience := ""
	for _, scope := range options.Scopes {
		audience = strings.TrimSuffix(scope, "/.default")
	}
	return azcore.AccessToken{
		Token: c.server.Token(DefaultClient, DefaultClient, audience), ExpiresOn: time.Now().Add(engine.TokenLife),
	}, nil
}

// ClientOptions returns options that direct a client of the Azure SDK to this server: endpoint,
// authority and trust.
func (a *Azure) ClientOptions() policy.ClientOptions {
	options := policy.ClientOptions{Cloud: cloud.Configuration{
		ActiveDirectoryAuthorityHost: a.endpoint + "/",
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: a.endpoint, Audience: a.endpoint},
		},
	}}
	if a.stop == nil {
		options.Transport = a.server
		return options
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.CAPEM())
	options.Transport = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	return options
}
