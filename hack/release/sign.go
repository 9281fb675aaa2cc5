package main

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names of the files that describe the contents and the builder of a release.
const (
	sumsFile       = "SHA256SUMS"
	signatureFile  = "SHA256SUMS.sig"
	provenanceFile = "provenance.intoto.json"
	envelopeFile   = "provenance.intoto.jsonl"

	// Source: https://github.com/secure-systems-lab/dsse/blob/master/protocol.md and
	// https://slsa.dev/spec/v1.0/provenance.
	payloadType   = "application/vnd.in-toto+json"
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://slsa.dev/provenance/v1"
	buildType     = "https://casement.dev/release/v1"
)

// seal writes the provenance and the checksums of a release directory and, with a key, their
// signatures. The same files, source and key yield the same files.
func seal(dir string, from source, key crypto.Signer) error {
	sums, err := digests(dir)
	if err != nil {
		return err
	}
	statement, err := json.MarshalIndent(from.statement(sums), "", "  ")
	if err != nil {
		return err
	}
	files := map[string][]byte{provenanceFile: append(statement, '\n')}
	if key != nil {
		envelope, err := envelope(statement, key)
		if err != nil {
			return err
		}
		files[envelopeFile] = envelope
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
		sums[name] = digest(data)
	}
	text := list(sums)
	if err := os.WriteFile(filepath.Join(dir, sumsFile), text, 0o644); err != nil || key == nil {
		return err
	}
	signature, err := sign(key, text)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, signatureFile), []byte(base64.StdEncoding.EncodeToString(signature)+"\n"), 0o644)
}

// verify checks that the holder of the key created a release directory: it checks the signature of
// the checksums, each file, the absence of other files, and the provenance.
func verify(dir string, public crypto.PublicKey) error {
	text, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return err
	}
	encoded, err := os.ReadFile(filepath.Join(dir, signatureFile))
	if err != nil {
		return err
	}
	signature, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(encoded)))
	if err != nil || !verified(public, text, signature) {
		return fmt.Errorf("%s is not the key's signature of %s", signatureFile, sumsFile)
	}
	sums, err := digests(dir)
	if err != nil {
		return err
	}
	for _, name := range []string{provenanceFile, envelopeFile} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		sums[name] = digest(data)
	}
	if !bytes.Equal(text, list(sums)) {
		return fmt.Errorf("the files are not those of %s", sumsFile)
	}
	return verifyEnvelope(dir, public)
}

func verifyEnvelope(dir string, public crypto.PublicKey) error {
	data, err := os.ReadFile(filepath.Join(dir, envelopeFile))
	if err != nil {
		return err
	}
	var e dsse
	if err := json.Unmarshal(data, &e); err != nil || len(e.Signatures) != 1 {
		return fmt.Errorf("%s is no envelope with one signature", envelopeFile)
	}
	if e.PayloadType != payloadType || !verified(public, preAuthentication(e.Payload), e.Signatures[0].Sig) {
		return fmt.Errorf("%s does not have the key's signature", envelopeFile)
	}
	plain, err := os.ReadFile(filepath.Join(dir, provenanceFile))
	if err != nil {
		return err
	}
	if !bytes.Equal(bytes.TrimSpace(plain), e.Payload) {
		return fmt.Errorf("%s is not what %s signs", provenanceFile, envelopeFile)
	}
	return nil
}

// digests returns the SHA-256 sums of a release's files, except the files that seal writes.
func digests(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for _, e := range entries {
		if slices.Contains([]string{sumsFile, signatureFile, provenanceFile, envelopeFile}, e.Name()) {
			continue
		}
		if !e.Type().IsRegular() {
			return nil, fmt.Errorf("%s is no file: a release is a flat directory", e.Name())
		}
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		sums[e.Name()] = hex.EncodeToString(h.Sum(nil))
	}
	return sums, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// list returns checksums in the format of sha256sum.
func list(sums map[string]string) []byte {
	var out bytes.Buffer
	for _, name := range names(sums) {
		fmt.Fprintf(&out, "%s  %s\n", sums[name], name)
	}
	return out.Bytes()
}

func names(sums map[string]string) []string {
	var out []string
	for name := range sums {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// source describes the source of a release.
type source struct{ Version, Repository, Commit, Builder string }

// statement returns the provenance statement about the files.
func (s source) statement(sums map[string]string) map[string]any {
	var subject []map[string]any
	for _, name := range names(sums) {
		subject = append(subject, map[string]any{"name": name, "digest": map[string]string{"sha256": sums[name]}})
	}
	return map[string]any{
		"_type": statementType, "subject": subject, "predicateType": predicateType,
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":          buildType,
				"externalParameters": map[string]string{"version": s.Version, "command": "hack/release.sh " + s.Version},
				"resolvedDependencies": []map[string]any{
					{"uri": "git+" + s.Repository, "digest": map[string]string{"gitCommit": s.Commit}},
				},
			},
			"runDetails": map[string]any{"builder": map[string]string{"id": cmp.Or(s.Builder, s.Repository+"/hack/release.sh")}},
		},
	}
}

// dsse is an envelope with a signed statement.
type dsse struct {
	PayloadType string          `json:"payloadType"`
	Payload     []byte          `json:"payload"`
	Signatures  []dsseSignature `json:"signatures"`
}

type dsseSignature struct {
	KeyID string `json:"keyid"`
	Sig   []byte `json:"sig"`
}

func envelope(statement []byte, key crypto.Signer) ([]byte, error) {
	signature, err := sign(key, preAuthentication(statement))
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	out, err := json.Marshal(dsse{payloadType, statement, []dsseSignature{{"SHA256:" + digest(public), signature}}})
	return append(out, '\n'), err
}

// preAuthentication returns the bytes of an envelope that are signed (DSSE's
// pre-authentication encoding).
func preAuthentication(payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
}

// sign returns the signature of data. Without a random source an ECDSA signature follows RFC 6979
// and is always the same for the same data. Source:
// https://pkg.go.dev/crypto/ecdsa#PrivateKey.Sign.
func sign(key crypto.Signer, data []byte) ([]byte, error) {
	if _, ok := key.Public().(ed25519.PublicKey); ok {
		return key.Sign(nil, data, crypto.Hash(0))
	}
	sum := sha256.Sum256(data)
	return key.Sign(nil, sum[:], crypto.SHA256)
}

func verified(public crypto.PublicKey, data, signature []byte) bool {
	switch k := public.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(k, data, signature)
	case *ecdsa.PublicKey:
		sum := sha256.Sum256(data)
		return ecdsa.VerifyASN1(k, sum[:], signature)
	}
	return false
}

// readKey returns the unencrypted PKCS#8 key in a file, of type ed25519 or ECDSA, in the form of
// `openssl genpkey -algorithm ed25519`; nil if file is empty.
func readKey(file string) (crypto.Signer, error) {
	if file == "" {
		return nil, nil
	}
	block, err := readPEM(file)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(block)
	if err != nil {
		return nil, fmt.Errorf("%s holds no PKCS#8 private key", file) // the cause could quote the key
	}
	switch k := key.(type) {
	case ed25519.PrivateKey:
		return k, nil
	case *ecdsa.PrivateKey:
		return k, nil
	}
	return nil, fmt.Errorf("%s holds a key of type %T; make one with openssl genpkey -algorithm ed25519", file, key)
}

// readPublicKey returns the key in a file of `openssl pkey -pubout` or cosign.
func readPublicKey(file string) (crypto.PublicKey, error) {
	block, err := readPEM(file)
	if err != nil {
		return nil, err
	}
	return x509.ParsePKIXPublicKey(block)
}

func readPEM(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s is not PEM", file)
	}
	return block.Bytes, nil
}
