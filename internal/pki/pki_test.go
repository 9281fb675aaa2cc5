package pki

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"
	"time"
)

func TestIssue(t *testing.T) {
	authority := x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	ca, err := Issue(authority, Long, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := x509.Certificate{
		Subject: pkix.Name{CommonName: "server"}, DNSNames: []string{"server.test"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	pair, err := Issue(server, time.Hour, &ca)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	for name, tc := range map[string]struct {
		dns  string
		at   time.Time
		good bool
	}{
		"its name":       {"server.test", time.Now(), true},
		"another name":   {"other.test", time.Now(), false},
		"after its life": {"server.test", time.Now().Add(2 * time.Hour), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: tc.dns, CurrentTime: tc.at})
			if good := err == nil; good != tc.good {
				t.Errorf("verified %v (%v), want %v", good, err, tc.good)
			}
		})
	}
	cert, key, err := PEM(pair)
	if err != nil {
		t.Fatal(err)
	}
	read, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	if !read.Leaf.Equal(pair.Leaf) {
		t.Error("the certificate read back is another one")
	}
	fixed := server
	fixed.NotBefore, fixed.NotAfter = time.Unix(0, 0), time.Unix(3600, 0)
	old, err := Issue(fixed, Long, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !old.Leaf.NotAfter.Equal(fixed.NotAfter) {
		t.Errorf("ends %s, want what the template says, %s", old.Leaf.NotAfter, fixed.NotAfter)
	}
}
