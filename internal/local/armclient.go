package local

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"casement.dev/casement/internal/azure/arm"
)

// ARM is a client of the local Azure, which gives a token to any application.
func (a Azure) ARM() (*arm.Client, error) {
	pem, err := os.ReadFile(a.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read the local Azure's certificate authority: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	transport := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	where := cloud.Configuration{ActiveDirectoryAuthorityHost: a.Endpoint, Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
		cloud.ResourceManager: {Endpoint: a.Endpoint, Audience: "https://management.azure.com"}}}
	credential, err := azidentity.NewClientSecretCredential(a.TenantID, "casement", "local", &azidentity.ClientSecretCredentialOptions{
		ClientOptions: azcore.ClientOptions{Cloud: where, Transport: transport}, DisableInstanceDiscovery: true})
	if err != nil {
		return nil, fmt.Errorf("log in to the local Azure: %w", err)
	}
	return arm.New(arm.Config{Cloud: where, SubscriptionID: a.SubscriptionID, TenantID: a.TenantID, Credential: credential, Transport: transport})
}
