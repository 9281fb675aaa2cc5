// Package pki issues X.509 certificates, each with a new key (ECDSA, P-256).
//
// It accesses no files and verifies no certificates; the caller's template has the purpose of a certificate. Any
// package may import it; it imports only the standard library.
package pki

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// Long is the validity of certificates that are not renewed: ten years.
const Long = 10 * 365 * 24 * time.Hour

// skew is the maximum time by which the clock of the verifying program may be behind.
const skew = time.Hour

// Issue creates a key and a certificate for it, signed by signer, or self-signed if signer is nil. The certificate has
// template's fields and a random serial number; unless template sets its validity, it is valid from an hour ago for
// life. Leaf is set.
func Issue(template x509.Certificate, life time.Duration, signer *tls.Certificate) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	if template.NotBefore.IsZero() {
		template.NotBefore = now.Add(-skew)
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = now.Add(life)
	}
	parent, parentKey := &template, any(key)
	if signer != nil {
		parent, parentKey = signer.Leaf, signer.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, key.Public(), parentKey)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate of %s: %w", cmp.Or(template.Subject.CommonName, "no name"), err)
	}
	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

// PEM returns the certificate and the key (PKCS #8) of a pair in PEM, for files and
// Secrets.
func PEM(pair tls.Certificate) (cert, key []byte, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
