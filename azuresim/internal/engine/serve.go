package engine

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/pki"
	"casement.dev/casement/internal/private"
)

// serving contains the CA certificate and the serving certificate that the CA signed.
type serving struct {
	ca   []byte
	cert tls.Certificate
}

// loadServing reads the CA from files in dir, or creates it; the serving certificate is new
// at each start.
func loadServing(dir string, hosts []string) (*serving, error) {
	caCert, caKey, err := loadCA(dir)
	if err != nil {
		return nil, err
	}
	ca, err := tls.X509KeyPair(caCert, caKey)
	if err == nil && !ca.Leaf.IsCA {
		err = errors.New("the certificate is not one of an authority")
	}
	if err != nil {
		return nil, fmt.Errorf("%s and %s do not make a certificate authority: %w; put them back, or delete "+
			"both to get a new one that clients have to trust then",
			filepath.Join(dir, caCertFile), filepath.Join(dir, caKeyFile), err)
	}
	cert, err := pki.Issue(x509.Certificate{
		Subject: pkix.Name{CommonName: "casement local Azure"}, DNSNames: append([]string{"localhost"}, hosts...),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		KeyUsage:    x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, pki.Long, &ca)
	return &serving{ca: caCert, cert: cert}, err
}

// The names of the CA's files.
const (
	caCertFile = "ca.crt"
	caKeyFile  = "ca.key"
)

// loadCA reads the CA's certificate and key, or creates both.
func loadCA(dir string) (cert, key []byte, err error) {
	if dir != "" {
		cert, key, err = readCA(filepath.Join(dir, caCertFile), filepath.Join(dir, caKeyFile))
		if err != nil || cert != nil {
			return cert, key, err
		}
	}
	ca, err := pki.Issue(x509.Certificate{
		Subject: pkix.Name{CommonName: "casement local Azure CA"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, pki.Long, nil)
	if err != nil {
		return nil, nil, err
	}
	if cert, key, err = pki.PEM(ca); err != nil || dir == "" {
		return cert, key, err
	}
	if err := writeWhole(filepath.Join(dir, caKeyFile), key, 0o600); err != nil {
		return nil, nil, err
	}
	return cert, key, writeWhole(filepath.Join(dir, caCertFile), cert, 0o644)
}

// checkLostCA returns an error if the CA's certificate or key was deleted after tokens were issued. A key
// without a certificate can also come from a process that was killed between the two writes; then
// there is no key for tokens yet, and the CA's key is replaced.
func checkLostCA(certFile, keyFile string) error {
	for _, file := range []string{keyFile, filepath.Join(filepath.Dir(certFile), signerFile)} {
		if _, err := os.Lstat(file); err != nil {
			return ignoreNotExist(err)
		}
	}
	return fmt.Errorf("%s is not there, and %s is: put the certificate back, or delete the key to get a new "+
		"authority that clients have to trust then", certFile, keyFile)
}

func ignoreNotExist(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// readCA reads the CA's certificate and key; if both files are missing, it returns nil without an
// error.
func readCA(certFile, keyFile string) (cert, key []byte, err error) {
	cert, err = private.ReadFile(certFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, checkLostCA(certFile, keyFile)
	} else if err != nil {
		return nil, nil, err
	}
	if key, err = private.ReadFile(keyFile); errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s is not there, and %s is: put the key back, or delete the certificate to "+
			"get a new authority that clients have to trust then", keyFile, certFile)
	}
	return cert, key, err
}

// CAPEM returns the CA certificate that clients have to trust.
func (s *Server) CAPEM() []byte { return bytes.Clone(s.pki.ca) }

// Serve answers HTTPS requests on a listener until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if at, ok := l.Addr().(*net.TCPAddr); ok {
		s.Port.Store(int64(at.Port))
	}
	bounds := limit.Default()
	server := bounds.Server(s)
	server.TLSConfig, l = s.TLS(), bounds.Listener(l)
	end := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer end()
	if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the local Azure: %w", err)
	}
	return nil
}

// answered handles a request; it returns false if the connection was closed without an
// answer.
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

// RoundTrip answers r without a network connection.
func RoundTrip(h http.Handler, r *http.Request) (*http.Response, error) {
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
