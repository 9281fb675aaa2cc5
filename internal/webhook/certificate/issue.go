package certificate

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Lives. A serving certificate is made anew when a third of its life is left. An
// authority signs as long as it outlives what it signs; its successor is published,
// unused, for as long before that.
const (
	servingLife   = 90 * 24 * time.Hour
	servingLeft   = servingLife / 3
	authorityLife = 3 * 365 * 24 * time.Hour
	// skew is how far the clocks of replicas and API servers may differ.
	skew = time.Hour
)

// Keys of the Secret beside tls.crt and tls.key. The first authority in caBundle
// signs; the others are its successor and those that were before it.
const (
	caBundle = "ca.crt"
	caKey    = "ca.key"
	nextKey  = "next-ca.key"
)

// authority is a certificate that signs.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// contents is a Secret's data, understood.
type contents struct {
	ca, next *authority
	// trusted are all authorities, in the order of the Secret.
	trusted []*x509.Certificate
	serving *tls.Certificate
}

// read understands a Secret's data. What is missing or broken is nil, and is made anew.
func read(data map[string][]byte) contents {
	var c contents
	rest := data[caBundle]
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			c.trusted = append(c.trusted, cert)
		}
	}
	c.ca, c.next = authorityOf(c.trusted, data[caKey]), authorityOf(c.trusted, data[nextKey])
	if pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey]); err == nil {
		c.serving = &pair
	}
	return c
}

// authorityOf finds the certificate of a key.
func authorityOf(trusted []*x509.Certificate, keyPEM []byte) *authority {
	block, _ := pem.Decode(keyPEM)
	if block == nil {
		return nil
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil
	}
	for _, cert := range trusted {
		if key.PublicKey.Equal(cert.PublicKey) {
			return &authority{cert, key}
		}
	}
	return nil
}

// renew returns the data that a Secret should have now, and whether that differs.
func renew(data map[string][]byte, dnsNames []string, now time.Time) (map[string][]byte, bool, error) {
	c := read(data)
	changed := false
	if c.ca != nil && !signs(c.ca, now) {
		c.ca, c.next = c.next, nil
	}
	var err error
	if c.ca == nil || !signs(c.ca, now) {
		if c.ca, err = newAuthority(now); err != nil {
			return nil, false, err
		}
		c.serving, changed = nil, true
	}
	if c.next == nil && now.Add(2*servingLife).After(c.ca.cert.NotAfter) {
		if c.next, err = newAuthority(now); err != nil {
			return nil, false, err
		}
		changed = true
	}
	if !serves(c.serving, c.ca, c.trusted, dnsNames, now) {
		if c.serving, err = sign(c.ca, dnsNames, now); err != nil {
			return nil, false, err
		}
		changed = true
	}
	if !changed {
		return data, false, nil
	}
	out, err := c.encode(now)
	return out, true, err
}

// signs says whether an authority outlives what it would sign now.
func signs(a *authority, now time.Time) bool { return now.Add(servingLife).Before(a.cert.NotAfter) }

// serves says whether a certificate will do for a while: it has these names, and an
// authority that is trusted has signed it.
func serves(pair *tls.Certificate, ca *authority, trusted []*x509.Certificate, dnsNames []string, now time.Time) bool {
	if pair == nil || now.Add(servingLeft).After(pair.Leaf.NotAfter) || !slices.Equal(pair.Leaf.DNSNames, dnsNames) {
		return false
	}
	return slices.ContainsFunc(append(slices.Clone(trusted), ca.cert), func(t *x509.Certificate) bool { return pair.Leaf.CheckSignatureFrom(t) == nil })
}

func (c *contents) encode(now time.Time) (map[string][]byte, error) {
	bundle := []*x509.Certificate{c.ca.cert}
	if c.next != nil {
		bundle = append(bundle, c.next.cert)
	}
	for _, t := range c.trusted {
		if now.Before(t.NotAfter) && !slices.ContainsFunc(bundle, t.Equal) {
			bundle = append(bundle, t)
		}
	}
	var out bytes.Buffer
	for _, t := range bundle {
		out.Write(encodeCert(t.Raw))
	}
	data := map[string][]byte{caBundle: out.Bytes(), corev1.TLSCertKey: encodeCert(c.serving.Certificate[0])}
	for name, key := range map[string]crypto.PrivateKey{caKey: c.ca.key, corev1.TLSPrivateKeyKey: c.serving.PrivateKey} {
		encoded, err := encodeKey(key)
		if err != nil {
			return nil, err
		}
		data[name] = encoded
	}
	if c.next != nil {
		encoded, err := encodeKey(c.next.key)
		if err != nil {
			return nil, err
		}
		data[nextKey] = encoded
	}
	return data, nil
}

func newAuthority(now time.Time) (*authority, error) {
	der, key, err := issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "casement webhooks"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: now.Add(-skew), NotAfter: now.Add(authorityLife),
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{cert, key}, err
}

func sign(ca *authority, dnsNames []string, now time.Time) (*tls.Certificate, error) {
	der, key, err := issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: dnsNames[0]}, DNSNames: dnsNames,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore: now.Add(-skew), NotAfter: now.Add(servingLife),
	}, ca)
	if err != nil {
		return nil, fmt.Errorf("make a serving certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

// issue makes a key and a certificate that an authority, or without one itself, signs.
func issue(template *x509.Certificate, by *authority) ([]byte, crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, nil, err
	}
	parent, signer := template, crypto.Signer(key)
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	return der, key, err
}

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func encodeKey(key crypto.PrivateKey) ([]byte, error) {
	ec, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("a key of the webhook certificate's Secret is no ECDSA key")
	}
	der, err := x509.MarshalECPrivateKey(ec)
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), err
}
