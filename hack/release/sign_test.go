package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var from = source{Version: "v0.1.0", Repository: "https://casement.dev/casement", Commit: "0123456789012345678901234567890123456789"}

// keys writes a key pair in openssl's form and reads it again.
func keys(t *testing.T, key crypto.Signer) (private crypto.Signer, public crypto.PublicKey, publicFile string) {
	t.Helper()
	dir := t.TempDir()
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	open, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"key.pem": {Type: "PRIVATE KEY", Bytes: secret}, "pub.pem": {Type: "PUBLIC KEY", Bytes: open},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if private, err = readKey(filepath.Join(dir, "key.pem")); err != nil {
		t.Fatal(err)
	}
	publicFile = filepath.Join(dir, "pub.pem")
	if public, err = readPublicKey(publicFile); err != nil {
		t.Fatal(err)
	}
	return private, public, publicFile
}

func someRelease(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"b.yaml": "b", "a.yaml": "a", "casement_linux_amd64": "program"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestSeal: a sealed release verifies, and after any change, addition or removal of a file, or a
// signature by another key, it does not.
func TestSeal(t *testing.T) {
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]crypto.Signer{"ed25519": edKey, "ecdsa": ecKey} {
		t.Run(name, func(t *testing.T) {
			private, public, _ := keys(t, key)
			sealed := func() string {
				dir := someRelease(t)
				if err := seal(dir, from, private); err != nil {
					t.Fatal(err)
				}
				return dir
			}
			first, second := sealed(), sealed()
			if err := verify(first, public); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{signatureFile, envelopeFile} {
				if a, b := read(t, first, name), read(t, second, name); !bytes.Equal(a, b) {
					t.Errorf("%s is not the same when it is made again", name)
				}
			}
			write := func(name, text string) func(string) error {
				return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644) }
			}
			for what, tamper := range map[string]func(dir string) error{
				"a changed file":     write("a.yaml", "x"),
				"another file":       write("c.yaml", "c"),
				"a missing file":     func(dir string) error { return os.Remove(filepath.Join(dir, "a.yaml")) },
				"other checksums":    write(sumsFile, "x"),
				"no signature":       func(dir string) error { return os.Remove(filepath.Join(dir, signatureFile)) },
				"an empty signature": write(signatureFile, ""),
				"another provenance": write(provenanceFile, "{}"),
				"another envelope": write(envelopeFile,
					`{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[{"sig":"AA=="}]}`),
				"a release of others": func(dir string) error {
					_, other, _ := ed25519.GenerateKey(rand.Reader)
					return seal(dir, from, other)
				},
			} {
				dir := sealed()
				if err := tamper(dir); err != nil {
					t.Fatal(err)
				}
				if verify(dir, public) == nil {
					t.Errorf("%s passes", what)
				}
			}
		})
	}
}

// TestProvenance: the statement has SLSA's form, names every file by its digest and the commit, and
// is always the same for the same release. Without a key nothing is signed.
func TestProvenance(t *testing.T) {
	dirs := [2]string{someRelease(t), someRelease(t)}
	var data [2][]byte
	for i, dir := range dirs {
		if err := seal(dir, from, nil); err != nil {
			t.Fatal(err)
		}
		var err error
		if data[i], err = os.ReadFile(filepath.Join(dir, provenanceFile)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, signatureFile)); err == nil {
			t.Error("there is a signature without a key")
		}
	}
	if !bytes.Equal(data[0], data[1]) {
		t.Error("the provenance is not the same when it is made again")
	}
	var s struct {
		Type          string `json:"_type"`
		PredicateType string
		Subject       []struct {
			Name   string
			Digest map[string]string
		}
		Predicate struct {
			BuildDefinition struct {
				ResolvedDependencies []struct{ Digest map[string]string }
			}
		}
	}
	if err := json.Unmarshal(data[0], &s); err != nil {
		t.Fatal(err)
	}
	if s.Type != statementType || s.PredicateType != predicateType || len(s.Subject) != 3 ||
		s.Subject[0].Name != "a.yaml" || s.Subject[0].Digest["sha256"] != digest([]byte("a")) {
		t.Errorf("statement: %s", data[0])
	}
	if got := s.Predicate.BuildDefinition.ResolvedDependencies; len(got) != 1 || got[0].Digest["gitCommit"] != from.Commit {
		t.Errorf("source: %+v", got)
	}
}

// TestOpenSSL: the commands in docs/install.md check a signature.
func TestOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, _, publicFile := keys(t, key)
	dir := someRelease(t)
	if err := seal(dir, from, private); err != nil {
		t.Fatal(err)
	}
	encoded, err := os.ReadFile(filepath.Join(dir, signatureFile))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(encoded)))
	if err != nil {
		t.Fatal(err)
	}
	raw := filepath.Join(t.TempDir(), "sig")
	if err := os.WriteFile(raw, signature, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(openssl, "pkeyutl", "-verify", "-pubin", "-inkey", publicFile, "-rawin", "-in",
		filepath.Join(dir, sumsFile), "-sigfile", raw).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
