package kubeproc

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"

	"casement.dev/casement/internal/pki"
)

// keys are the keys and certificates of a management plane, all PEM. They are made once per state
// directory.
type keys struct {
	caCert, caKey, adminCert, adminKey []byte
}

// loadPKI reads the PKI below dir/pki, or creates it.
func loadPKI(dir, host string, names []string) (*keys, error) {
	dir = filepath.Join(dir, "pki")
	if _, err := os.Stat(filepath.Join(dir, "complete")); err != nil {
		if err := makePKI(dir, host, names); err != nil {
			return nil, err
		}
	}
	p := &keys{}
	for name, into := range map[string]*[]byte{
		"ca.crt": &p.caCert, "ca.key": &p.caKey, "admin.crt": &p.adminCert, "admin.key": &p.adminKey,
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		*into = data
	}
	return p, nil
}

func makePKI(dir, host string, names []string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	authority := x509.Certificate{
		Subject: pkix.Name{CommonName: "casement management"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	ca, err := issue(dir, "ca", authority, nil)
	if err != nil {
		return err
	}
	server := x509.Certificate{
		Subject: pkix.Name{CommonName: "kube-apiserver"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.ParseIP(host)},
		DNSNames:    append([]string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}, names...),
	}
	admin := clientTemplate("casement-admin", Administrators)
	for name, template := range map[string]x509.Certificate{"server": server, "admin": admin} {
		if _, err := issue(dir, name, template, ca); err != nil {
			return err
		}
	}
	if err := makeServiceAccountKey(dir); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "complete"), nil, 0o600)
}

func clientTemplate(user string, groups ...string) x509.Certificate {
	return x509.Certificate{
		Subject: pkix.Name{CommonName: user, Organization: groups}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// client returns a new certificate and key for a user.
func (k *keys) client(user string, groups ...string) (cert, key []byte, err error) {
	ca, err := tls.X509KeyPair(k.caCert, k.caKey)
	if err != nil {
		return nil, nil, err
	}
	pair, err := pki.Issue(clientTemplate(user, groups...), pki.Long, &ca)
	if err != nil {
		return nil, nil, err
	}
	return pki.PEM(pair)
}

// issue writes name.crt and name.key; signer signs the certificate, or the certificate is self-signed.
func issue(dir, name string, template x509.Certificate, signer *tls.Certificate) (*tls.Certificate, error) {
	pair, err := pki.Issue(template, pki.Long, signer)
	if err != nil {
		return nil, err
	}
	cert, key, err := pki.PEM(pair)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, name+".key"), key, 0o600); err != nil {
		return nil, err
	}
	return &pair, os.WriteFile(filepath.Join(dir, name+".crt"), cert, 0o600)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func makeServiceAccountKey(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := encodeKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "sa.key"), private, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "sa.pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o600)
}
