// Package gmsa renders the manifests that give pods the identity of a group managed service account: the credential
// spec, the permissions to use it, and the admission webhook of kubernetes-sigs/windows-gmsa.
//
// It renders text, and accesses no cluster and no domain. internal/cli and tests may import it.
package gmsa

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"embed"
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"text/template"
	"time"

	"casement.dev/casement/internal/pki"
)

//go:embed spec.yaml webhook.yaml
var manifests embed.FS

// Image is the webhook's image.
const Image = "registry.k8s.io/gmsa-webhook/k8s-gmsa-webhook:v0.13.0"

// KeyVaultPlugin is the plug-in of Container Credential Guard that reads a user's credential
// from a key vault.
// Source: github.com/microsoft/Azure-Key-Vault-Plugin-gMSA.
const KeyVaultPlugin = "{CCC2A336-D7F3-4818-A213-272B7924213E}"

// Spec is a credential spec with its users.
type Spec struct {
	// Account is the name of the gMSA, without $.
	Account string
	// Domain is the DNS name of the account's domain, and NetBIOS its short name.
	Domain, NetBIOS string
	// SID and GUID identify the domain (Get-ADDomain).
	SID, GUID string
	// Secret is the URL of a key vault's secret with DOMAIN\USER:PASSWORD, and Identity is the principal ID of the
	// machines' identity that reads it. Both are for machines that are not joined to the domain, and "" for joined
	// machines.
	Secret, Identity string
	// Users are the service accounts that may use the credential spec.
	Users []User
}

// User is a service account.
type User struct{ Namespace, Name string }

// Name returns the name of the GMSACredentialSpec.
func (s Spec) Name() string { return strings.ToLower(strings.ReplaceAll(s.Account, "_", "-")) }

// Plugin returns the plug-in's ID.
func (Spec) Plugin() string { return KeyVaultPlugin }

var (
	accountText = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$`)
	domainText  = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)
	sidText     = regexp.MustCompile(`^S-1-5-21-\d+-\d+-\d+$`)
	guidText    = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	labelText   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
)

// maxAccount is the maximum number of characters of a gMSA's name, without its $. Source:
// learn.microsoft.com/powershell/module/activedirectory/new-adserviceaccount.
const maxAccount = 15

// check returns an error for a value that Active Directory or Kubernetes does not allow.
func (s Spec) check() error {
	switch {
	case !accountText.MatchString(s.Account) || len(s.Account) > maxAccount:
		return fmt.Errorf("gMSA %q: a name has 1 to %d letters, digits, hyphens and underscores; leave the $ out", s.Account, maxAccount)
	case !domainText.MatchString(s.Domain) || !strings.Contains(s.Domain, "."):
		return fmt.Errorf("domain %q: give its DNS name, such as corp.example", s.Domain)
	case !domainText.MatchString(s.NetBIOS) || len(s.NetBIOS) > 15:
		return fmt.Errorf("NetBIOS name %q of domain %s: it has 1 to 15 characters", s.NetBIOS, s.Domain)
	case !sidText.MatchString(s.SID):
		return fmt.Errorf("SID %q of domain %s: it has the form S-1-5-21-A-B-C; (Get-ADDomain).DomainSID.Value shows it", s.SID, s.Domain)
	case !guidText.MatchString(s.GUID):
		return fmt.Errorf("GUID %q of domain %s: (Get-ADDomain).ObjectGuid shows it", s.GUID, s.Domain)
	}
	for _, u := range s.Users {
		if !labelText.MatchString(u.Namespace) || !labelText.MatchString(strings.ReplaceAll(u.Name, ".", "-")) {
			return fmt.Errorf("service account %s/%s: give NAMESPACE/NAME", u.Namespace, u.Name)
		}
	}
	if s.Secret == "" && s.Identity == "" {
		return nil
	}
	if u, err := url.Parse(s.Secret); err != nil || u.Scheme != "https" ||
		!strings.HasPrefix(u.Path, "/secrets/") || strings.ContainsAny(s.Secret, "; \n'\"") {
		return fmt.Errorf("secret %q: give the address https://VAULT/secrets/NAME", s.Secret)
	}
	if !guidText.MatchString(s.Identity) {
		return fmt.Errorf("identity %q: give the principal ID of the user-assigned identity, a GUID", s.Identity)
	}
	return nil
}

// Manifest returns the GMSACredentialSpec, a ClusterRole for its use, and the bindings.
func (s Spec) Manifest() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return render("spec.yaml", s)
}

// webhookLife is the validity of the webhook's certificate.
const webhookLife = 10 * 365 * 24 * time.Hour

// Webhook returns the manifest of the admission webhook with the CRD, in its own namespace. Each call creates a new
// certificate and key, so each manifest differs.
func Webhook(namespace, image string) ([]byte, error) {
	if !labelText.MatchString(namespace) {
		return nil, fmt.Errorf("namespace %q: it is no name of a namespace", namespace)
	}
	if image == "" || strings.ContainsAny(image, " \n'\"{}") {
		return nil, fmt.Errorf("image %q: give REGISTRY/NAME:TAG", image)
	}
	authority, err := pki.Issue(x509.Certificate{
		Subject: pkix.Name{CommonName: "gmsa-webhook-ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, webhookLife, nil)
	if err != nil {
		return nil, err
	}
	name := "gmsa-webhook." + namespace + ".svc"
	serving, err := pki.Issue(x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, webhookLife, &authority)
	if err != nil {
		return nil, err
	}
	bundle, _, err := pki.PEM(authority)
	if err != nil {
		return nil, err
	}
	cert, key, err := pki.PEM(serving)
	if err != nil {
		return nil, err
	}
	encode := base64.StdEncoding.EncodeToString
	return render("webhook.yaml", map[string]string{
		"Namespace": namespace, "Image": image, "Authority": encode(bundle), "Certificate": encode(cert), "Key": encode(key),
	})
}

func render(file string, dot any) ([]byte, error) {
	t, err := template.ParseFS(manifests, file)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, dot)
	return out.Bytes(), err
}
