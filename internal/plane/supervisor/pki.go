package supervisor

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"casement.dev/casement/internal/pki"
)

// serveWith writes tls.crt and tls.key for host into dir, signed by the CA. They
// are made again at each start.
func serveWith(dir, host string, caCert, caKey []byte) error {
	ca, err := tls.X509KeyPair(caCert, caKey)
	if err != nil {
		return fmt.Errorf("read the CA: %w", err)
	}
	pair, err := pki.Issue(x509.Certificate{
		Subject:     pkix.Name{CommonName: "casement webhooks"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.ParseIP(host)},
	}, pki.Long, &ca)
	if err != nil {
		return err
	}
	cert, key, err := pki.PEM(pair)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "tls.crt"), cert, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600)
}
