package identity

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"casement.dev/casement/internal/input"
)

// Error names the field of an AzureClusterIdentity, or of its secret, that makes it
// unusable. It never contains the field's value.
type Error struct{ Field, Reason, Fix string }

// Error returns one line: the field, the reason and the fix.
func (e *Error) Error() string { return e.Field + " " + e.Reason + ": " + e.Fix }

// load reads the files of the source, so that changed content is noticed, and checks that nothing is missing.
func (s *Source) load() error {
	if s.Type == UserAssignedIdentityCredential {
		return s.loadCredentials()
	}
	if s.Type == ServicePrincipalCertificate && len(s.Certificate) == 0 && s.CertificatePath != "" {
		data, err := input.File(s.CertificatePath, input.Small)
		if err != nil {
			return &Error{"spec.certPath", "cannot be read", "mount the certificate there (" + reasonOf(err) + ")"}
		}
		s.Certificate = data
	}
	return s.check()
}

func (s *Source) check() error {
	switch s.Type {
	case ServicePrincipal, ManualServicePrincipal, ServicePrincipalCertificate, WorkloadIdentity, UserAssignedIdentityCredential:
		if s.TenantID == "" {
			return &Error{"spec.tenantID", "is empty", "set the ID of the Entra tenant"}
		}
		if s.ClientID == "" {
			return &Error{"spec.clientID", "is empty", "set the client ID of the identity"}
		}
	case UserAssignedMSI:
		if s.ClientID == "" && s.ResourceID == "" {
			return &Error{"spec.clientID", "is empty", "set the client ID of the managed identity"}
		}
		return nil
	case AzureCLI:
		return nil
	default:
		return &Error{"spec.type", fmt.Sprintf("is %q, which is not known", s.Type), "use WorkloadIdentity, " +
			"ServicePrincipal, ServicePrincipalCertificate, UserAssignedMSI or UserAssignedIdentityCredential"}
	}
	switch {
	case (s.Type == ServicePrincipal || s.Type == ManualServicePrincipal) && s.ClientSecret == "":
		return &Error{"spec.clientSecret", "names a secret in which the key clientSecret has no value",
			"put the service principal's password there"}
	case s.Type == ServicePrincipalCertificate && len(s.Certificate) == 0:
		return &Error{"spec.clientSecret", "names a secret without a certificate, and spec.certPath is empty",
			"put a PEM or PKCS#12 certificate there, or set spec.certPath"}
	}
	return nil
}

// loadCredentials reads the file that the data plane of managed identities writes: it has the client, the tenant and a
// PKCS#12 certificate.
func (s *Source) loadCredentials() error {
	const field = "spec.userAssignedIdentityCredentialsPath"
	if s.CredentialsPath == "" {
		return &Error{field, "is empty", "set the path of the identity's credentials file"}
	}
	data, err := input.File(s.CredentialsPath, input.Small)
	if err != nil {
		return &Error{field, "cannot be read", "mount the credentials there (" + reasonOf(err) + ")"}
	}
	var file struct {
		ClientID     string `json:"client_id"`
		TenantID     string `json:"tenant_id"`
		ClientSecret string `json:"client_secret"`
	}
	if json.Unmarshal(data, &file) != nil {
		return &Error{field, "is not JSON", "write the file again"}
	}
	if s.Certificate, err = base64.StdEncoding.DecodeString(file.ClientSecret); err != nil || len(s.Certificate) == 0 {
		return &Error{field, "has no certificate in client_secret", "write the file again"}
	}
	s.ClientID, s.TenantID = file.ClientID, file.TenantID
	return s.check()
}

// reasonOf returns why a file could not be read, without repeating its path.
func reasonOf(err error) string {
	if pathError, ok := errors.AsType[*os.PathError](err); ok {
		return pathError.Err.Error()
	}
	return err.Error()
}

// credential returns the SDK's credential for the source.
func (s Source) credential(env environment) (azcore.TokenCredential, error) {
	options := policy.ClientOptions{Cloud: env.cloud, Transport: env.transport, Retry: policy.RetryOptions{MaxRetries: -1}}
	switch s.Type {
	case ServicePrincipal, ManualServicePrincipal:
		return wrap(azidentity.NewClientSecretCredential(s.TenantID, s.ClientID, s.ClientSecret,
			&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: env.private}))
	case ServicePrincipalCertificate, UserAssignedIdentityCredential:
		certificates, key, err := azidentity.ParseCertificates(s.Certificate, []byte(s.Password))
		if err != nil {
			return nil, &Error{"spec.clientSecret", "has no usable certificate with its key",
				"store it as PEM or PKCS#12, with its password under the key password if it has one"}
		}
		return wrap(azidentity.NewClientCertificateCredential(s.TenantID, s.ClientID, certificates, key,
			&azidentity.ClientCertificateCredentialOptions{
				ClientOptions: options, DisableInstanceDiscovery: env.private, SendCertificateChain: true,
			}))
	case AzureCLI:
		return wrap(azidentity.NewAzureCLICredential(&azidentity.AzureCLICredentialOptions{TenantID: s.TenantID}))
	case WorkloadIdentity:
		return wrap(azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
			ClientOptions: options, DisableInstanceDiscovery: env.private,
			ClientID: s.ClientID, TenantID: s.TenantID, TokenFilePath: s.TokenFile,
		}))
	}
	if env.local != nil {
		return &managed{local: env.local, transport: env.transport, clientID: s.ClientID, resourceID: s.ResourceID}, nil
	}
	o := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: options, ID: azidentity.ClientID(s.ClientID)}
	if s.ClientID == "" {
		o.ID = azidentity.ResourceID(s.ResourceID)
	}
	return wrap(azidentity.NewManagedIdentityCredential(o))
}

// wrap returns a nil interface instead of the typed nil that a constructor returns with an error.
func wrap[T azcore.TokenCredential](credential T, err error) (azcore.TokenCredential, error) {
	if err != nil {
		return nil, &Error{"spec", "is refused by the Azure SDK", err.Error()}
	}
	return credential, nil
}
