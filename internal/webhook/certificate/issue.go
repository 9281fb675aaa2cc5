package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"casement.dev/casement/internal/pki"
)

// Validity periods. A serving certificate is renewed when a third of its period is left. A CA signs while
// it is valid for longer than the certificate that it signs; its successor is published, unused, for that
// long before.
const (
	servingLife   = 90 * 24 * time.Hour
	servingLeft   = servingLife / 3
	authorityLife = 3 * 365 * 24 * time.Hour
	// skew is the maximum difference between the clocks of replicas and API servers.
	skew = time.Hour
)

// Keys of the Secret in addition to tls.crt and tls.key. The first CA in caBundle signs; the others are its successor
// and its predecessors.
const (
	caBundle = "ca.crt"
	caKey    = "ca.key"
	nextKey  = "next-ca.key"
)

// contents is the parsed data of a Secret. Missing or invalid parts are nil.
type contents struct {
	ca, next *tls.Certificate
	// trusted are all authorities, in the order of the Secret.
	trusted []*x509.Certificate
	serving *tls.Certificate
}

// read parses a Secret's data. A missing or invalid part is nil, and is created again.
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

// authorityOf returns the certificate in trusted for a key, with the key, or nil.
func authorityOf(trusted []*x509.Certificate, key []byte) *tls.Certificate {
	for _, cert := range trusted {
		if pair, err := tls.X509KeyPair(encode(cert), key); err == nil {
			return &pair
		}
	}
	return nil
}

// renew returns the data that a Secret should have now, and whether it differs from the given data.
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
	if c.next == nil && now.Add(2*servingLife).After(c.ca.Leaf.NotAfter) {
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
	out, err := c.data(now)
	return out, true, err
}

// signs reports whether a CA is valid for longer than a certificate that it would sign now.
func signs(a *tls.Certificate, now time.Time) bool {
	return now.Add(servingLife).Before(a.Leaf.NotAfter)
}

// serves reports whether a certificate is valid for a sufficient time, has these names, and is signed by a trusted authority.
func serves(pair *tls.Certificate, ca *tls.Certificate, trusted []*x509.Certificate, dnsNames []string, now time.Time) bool {
	if pair == nil || now.Add(servingLeft).After(pair.Leaf.NotAfter) || !slices.Equal(pair.Leaf.DNSNames, dnsNames) {
		return false
	}
	return slices.ContainsFunc(append(slices.Clone(trusted), ca.Leaf),
		func(t *x509.Certificate) bool { return pair.Leaf.CheckSignatureFrom(t) == nil })
}

// data returns the data for the Secret: the certificate, its key and the valid CAs.
func (c *contents) data(now time.Time) (map[string][]byte, error) {
	bundle := []*x509.Certificate{c.ca.Leaf}
	if c.next != nil {
		bundle = append(bundle, c.next.Leaf)
	}
	for _, t := range c.trusted {
		if now.Before(t.NotAfter) && !slices.ContainsFunc(bundle, t.Equal) {
			bundle = append(bundle, t)
		}
	}
	data := map[string][]byte{}
	for _, t := range bundle {
		data[caBundle] = append(data[caBundle], encode(t)...)
	}
	data[corev1.TLSCertKey] = encode(c.serving.Leaf)
	for name, pair := range map[string]*tls.Certificate{caKey: c.ca, nextKey: c.next, corev1.TLSPrivateKeyKey: c.serving} {
		if pair == nil {
			continue
		}
		_, key, err := pki.PEM(*pair)
		if err != nil {
			return nil, err
		}
		data[name] = key
	}
	return data, nil
}

func newAuthority(now time.Time) (*tls.Certificate, error) {
	return issue(x509.Certificate{
		Subject: pkix.Name{CommonName: "casement webhooks"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, now, authorityLife, nil)
}

func sign(ca *tls.Certificate, dnsNames []string, now time.Time) (*tls.Certificate, error) {
	return issue(x509.Certificate{
		Subject: pkix.Name{CommonName: dnsNames[0]}, DNSNames: dnsNames,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, now, servingLife, ca)
}

func issue(template x509.Certificate, now time.Time, life time.Duration, by *tls.Certificate) (*tls.Certificate, error) {
	template.NotBefore, template.NotAfter = now.Add(-skew), now.Add(life)
	pair, err := pki.Issue(template, life, by)
	return &pair, err
}

func encode(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}
