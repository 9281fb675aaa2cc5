package supervisor

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"

	"casement.dev/casement/internal/pki"
)

// webhookCertificate returns a certificate for host, signed by the CA. It is created at each start.
func webhookCertificate(host string, caCert, caKey []byte) (*tls.Certificate, error) {
	ca, err := tls.X509KeyPair(caCert, caKey)
	if err != nil {
		return nil, fmt.Errorf("read the CA: %w", err)
	}
	pair, err := pki.Issue(x509.Certificate{
		Subject:     pkix.Name{CommonName: "casement webhooks"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.ParseIP(host)},
	}, pki.Long, &ca)
	return &pair, err
}
