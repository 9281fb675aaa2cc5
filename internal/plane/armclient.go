package plane

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/bastion"
)

// publicAudience is the audience of tokens for ARM.
const publicAudience = "https://management.azure.com"

// managementScope is the scope of tokens for ARM.
const managementScope = publicAudience + "/.default"

// ARM returns a client of the local Azure that logs in as the plane's own application.
func (a Azure) ARM() (*arm.Client, error) {
	transport, err := a.transport()
	if err != nil {
		return nil, err
	}
	credential, err := a.credential(transport)
	if err != nil {
		return nil, err
	}
	return arm.New(arm.Config{Cloud: a.cloud(), SubscriptionID: a.SubscriptionID, TenantID: a.TenantID,
		Credential: credential, Transport: transport})
}

// Bastion returns a Bastion host of the local Azure. Its DNS name resolves only through the local Azure.
func (a Azure) Bastion(dnsName string) (bastion.Host, error) {
	transport, err := a.transport()
	if err != nil {
		return bastion.Host{}, err
	}
	credential, err := a.credential(transport)
	if err != nil {
		return bastion.Host{}, err
	}
	at := strings.TrimPrefix(a.Endpoint, "https://")
	return bastion.Host{DNSName: dnsName, Credential: credential, Scope: managementScope,
		TLS: transport.Transport.(*http.Transport).TLSClientConfig.Clone(),
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, at)
		}}, nil
}

// ClientSecret reads the secret of the plane's own application.
func (a Azure) ClientSecret() (string, error) {
	data, err := os.ReadFile(a.SecretFile)
	if err != nil {
		return "", fmt.Errorf("read the secret of the local Azure's application: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

func (a Azure) transport() (*http.Client, error) {
	var roots *x509.CertPool // nil means the system's certificates
	if a.Outside {
		roots, _ = x509.SystemCertPool()
	}
	if a.CAFile != "" {
		pem, err := os.ReadFile(a.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read Azure's certificate authority: %w", err)
		}
		if roots == nil {
			roots = x509.NewCertPool()
		}
		roots.AppendCertsFromPEM(pem)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}, nil
}

func (a Azure) cloud() cloud.Configuration {
	return cloud.Configuration{ActiveDirectoryAuthorityHost: cmp.Or(a.Authority, a.Endpoint),
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: a.Endpoint, Audience: cmp.Or(a.Audience, publicAudience)}}}
}

func (a Azure) credential(transport *http.Client) (azcore.TokenCredential, error) {
	secret, err := a.ClientSecret()
	if err != nil {
		return nil, err
	}
	credential, err := azidentity.NewClientSecretCredential(a.TenantID, a.ClientID, secret, &azidentity.ClientSecretCredentialOptions{
		ClientOptions: azcore.ClientOptions{Cloud: a.cloud(), Transport: transport}, DisableInstanceDiscovery: true})
	if err != nil {
		return nil, fmt.Errorf("log in to the local Azure: %w", err)
	}
	return credential, nil
}
