package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
)

var names = []string{"hooks.system.svc", "hooks.system.svc.cluster.local"}

// verify checks a Secret's certificate like the API server, with a bundle that was read at some time.
func verify(t *testing.T, serving *tls.Certificate, bundle []byte, now time.Time) {
	t.Helper()
	verifyName(t, serving, bundle, names[0], now)
}

func verifyName(t *testing.T, serving *tls.Certificate, bundle []byte, name string, now time.Time) {
	t.Helper()
	roots, err := cert.NewPoolFromBytes(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := serving.Leaf.Verify(x509.VerifyOptions{
		Roots: roots, DNSName: name, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}); err != nil {
		t.Errorf("on %s: %v", now.Format(time.DateOnly), err)
	}
}

// TestRenew simulates ten years with a check every week. The certificate is valid at all times, also for an API server
// that still has the previous week's bundle, and for a replica that still serves the previous week's certificate.
func TestRenew(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var data map[string][]byte
	var before *tls.Certificate
	var bundle []byte
	written, leaves, authorities := 0, map[string]bool{}, map[string]bool{}
	for range 520 {
		next, changed, err := renew(data, names, now)
		if err != nil {
			t.Fatal(err)
		}
		if changed {
			written++
		}
		serving := read(next).serving
		verify(t, serving, next[caBundle], now)
		if before != nil {
			verify(t, serving, bundle, now)
			verify(t, before, next[caBundle], now)
		}
		leaves[serving.Leaf.SerialNumber.String()], authorities[read(next).ca.Leaf.SerialNumber.String()] = true, true
		if trusted := len(read(next).trusted); trusted > 3 {
			t.Fatalf("%d authorities are trusted at once", trusted)
		}
		data, before, bundle = next, serving, next[caBundle]
		now = now.Add(7 * 24 * time.Hour)
	}
	// 60 days each, rounded up to weeks, and about 2.7 years.
	if len(leaves) < 50 || len(leaves) > 70 || len(authorities) < 3 || len(authorities) > 5 {
		t.Errorf("%d certificates of %d authorities in ten years", len(leaves), len(authorities))
	}
	if written > len(leaves)+len(authorities) {
		t.Errorf("written %d times for %d certificates and %d authorities", written, len(leaves), len(authorities))
	}
}

// TestRenewBroken: from any invalid Secret, a valid one results.
func TestRenewBroken(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	good, _, err := renew(nil, names, now)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := renew(nil, names, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change func(map[string][]byte)
		now    time.Time
	}{
		{"expired long ago", func(map[string][]byte) {}, now.AddDate(20, 0, 0)},
		{"without a key", func(d map[string][]byte) { delete(d, "tls.key") }, now},
		{"another's key", func(d map[string][]byte) { d["tls.key"] = other["tls.key"] }, now},
		{"without authority", func(d map[string][]byte) { delete(d, caBundle) }, now},
		{"another's authority", func(d map[string][]byte) { d[caBundle], d[caKey] = other[caBundle], other[caKey] }, now},
		{"no PEM", func(d map[string][]byte) { d["tls.crt"], d[caKey] = []byte("x"), []byte("y") }, now},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := map[string][]byte{}
			for k, v := range good {
				data[k] = v
			}
			test.change(data)
			renewed, changed, err := renew(data, names, test.now)
			if err != nil || !changed {
				t.Fatalf("changed %v, error %v", changed, err)
			}
			verify(t, read(renewed).serving, renewed[caBundle], test.now)
		})
	}
	if _, changed, err := renew(good, names, now.Add(time.Hour)); changed || err != nil {
		t.Errorf("a good Secret is written again: %v, %v", changed, err)
	}
	if _, changed, err := renew(good, []string{"elsewhere"}, now); !changed || err != nil {
		t.Errorf("another name does not renew the certificate: %v, %v", changed, err)
	}
}
