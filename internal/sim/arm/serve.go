package arm

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"
)

const certLife = 10 * 365 * 24 * time.Hour

// serving is the CA and the certificate signed by it.
type serving struct {
	ca   []byte
	cert tls.Certificate
}

// loadServing reads the CA below dir or makes it; the serving certificate is new
// each time.
func loadServing(dir string) (*serving, error) {
	caCert, caKey, err := loadCA(dir)
	if err != nil {
		return nil, fmt.Errorf("the local Azure's CA: %w", err)
	}
	ca, err := tls.X509KeyPair(caCert, caKey)
	if err != nil {
		return nil, fmt.Errorf("the local Azure's CA: %w", err)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "casement local Azure"}, DNSNames: certified(),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		KeyUsage:    x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	certPEM, keyPEM, err := issue(template, ca.Leaf, ca.PrivateKey)
	if err != nil {
		return nil, err
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	return &serving{ca: caCert, cert: cert}, err
}

func loadCA(dir string) (cert, key []byte, err error) {
	if dir != "" {
		cert, err = os.ReadFile(filepath.Join(dir, "ca.crt"))
		if err == nil {
			key, err = os.ReadFile(filepath.Join(dir, "ca.key"))
			return cert, key, err
		}
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "casement local Azure CA"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if cert, key, err = issue(template, nil, nil); err != nil || dir == "" {
		return cert, key, err
	}
	if err := os.WriteFile(filepath.Join(dir, "ca.key"), key, 0o600); err != nil {
		return nil, nil, err
	}
	return cert, key, os.WriteFile(filepath.Join(dir, "ca.crt"), cert, 0o644)
}

func issue(template, parent *x509.Certificate, parentKey any) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, nil, err
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(certLife)
	if parent == nil {
		parent, parentKey = template, private
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, private.Public(), parentKey)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), nil
}

// CAPEM is the certificate that clients have to trust.
func (s *Server) CAPEM() []byte { return bytes.Clone(s.pki.ca) }

// Serve answers on a listener over TLS until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, TLSConfig: s.TLS()}
	end := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer end()
	if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the local Azure: %w", err)
	}
	return nil
}

// answered serves a request; false means that the connection was dropped.
func answered(h http.Handler, w http.ResponseWriter, r *http.Request) (ok bool) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		} else if p != nil {
			ok = false
		}
	}()
	h.ServeHTTP(w, r)
	return true
}

// roundTrip answers r in process.
func roundTrip(h http.Handler, r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = io.NopCloser(bytes.NewReader(nil))
	}
	rec := httptest.NewRecorder()
	if !answered(h, rec, in) {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, io.ErrUnexpectedEOF)
	}
	resp := rec.Result()
	resp.Request = r
	return resp, nil
}
