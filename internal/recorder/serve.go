package recorder

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"net/http"
	"time"

	"casement.dev/casement/internal/pki"
)

// life is the validity of a recorder's certificate, longer than any recording.
const life = 30 * 24 * time.Hour

// Certificate creates the certificate of a recorder that listens at host, and returns it with the authority, in PEM,
// that clients have to trust. The keys exist only in memory.
func Certificate(host string) (pair tls.Certificate, trust []byte, err error) {
	authority, err := pki.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "casement recorder's authority"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, life, nil)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	template := x509.Certificate{
		Subject: pkix.Name{CommonName: "casement recorder"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		KeyUsage:    x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = append(template.IPAddresses, ip)
	} else if host != "" {
		template.DNSNames = append(template.DNSNames, host)
	}
	if pair, err = pki.Issue(template, life, &authority); err != nil {
		return tls.Certificate{}, nil, err
	}
	trust, _, err = pki.PEM(authority)
	return pair, trust, err
}

// Serve serves a listener over TLS until ctx ends; calls in progress are completed first.
func (r *Recorder) Serve(ctx context.Context, l net.Listener, pair tls.Certificate) error {
	server := &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}}
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		ended <- server.Shutdown(last)
	}()
	if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}
