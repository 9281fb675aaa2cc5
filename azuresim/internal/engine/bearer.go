package engine

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"casement.dev/casement/azuresim/internal/value"
)

// TokenLife is how long an issued token is valid.
const TokenLife = time.Hour

// ClockSkew is the difference of clocks that Microsoft Entra tolerates.
const ClockSkew = 5 * time.Minute

// signer signs the tokens of one local Azure. Entra signs with RSA keys; the local Azure uses
// ECDSA keys, which take no time to generate.
type signer struct {
	Key *ecdsa.PrivateKey
	id  string // the key's ID, by its content
}

const signerFile = "token.key"

// loadSigner reads the signing key from a file in dir, or generates it and writes the file.
func loadSigner(dir string) (*signer, error) {
	data, err := Keep(dir, signerFile, newSigner)
	if err != nil {
		return nil, err
	}
	var key any
	if block, _ := pem.Decode(data); block != nil {
		key, _ = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok || private.Curve != elliptic.P256() {
		return nil, fmt.Errorf("%s holds no P-256 private key in PEM; delete the file to get a new one, and "+
			"tokens that were issued before end", filepath.Join(dir, signerFile))
	}
	point, err := private.PublicKey.Bytes()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(point)
	return &signer{private, base64.RawURLEncoding.EncodeToString(sum[:12])}, nil
}

func newSigner() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

// Derive returns a secret of 64 bytes that is computed from the parts and the signing key, so that
// it need not be stored.
func (s *signer) Derive(parts ...string) []byte {
	key, err := s.Key.Bytes()
	if err != nil {
		panic(fmt.Errorf("encode the signing key: %w", err)) // unreachable: only a key on its curve is loaded
	}
	mac := hmac.New(sha512.New, key)
	for _, part := range parts {
		fmt.Fprintf(mac, "%q", part)
	}
	return mac.Sum(nil)
}

// Published returns the public key as a JSON Web Key (RFC 7517).
func (s *signer) Published() value.Object {
	point, _ := s.Key.PublicKey.Bytes() // cannot fail: the same encoding succeeded when the key was loaded
	x, y := point[1:33], point[33:]
	return value.Object{"kty": "EC", "use": "sig", "alg": "ES256", "crv": "P-256", "kid": s.id,
		"x": base64.RawURLEncoding.EncodeToString(x), "y": base64.RawURLEncoding.EncodeToString(y)}
}

// accessClaims are the claims of an access token that the server checks.
type accessClaims struct {
	Tid string `json:"tid"`
	// Identity is the resource ID of the managed identity that the token was issued to, a claim
	// that Entra sets too.
	Identity string `json:"xms_mirid"`
	jwt.RegisteredClaims
}

// Issuer returns the value of the claim "iss" in a tenant's access tokens.
func Issuer(tenant string) string { return "https://sts.windows.net/" + tenant + "/" }

// Token issues an access token without any restriction. principal is the object ID in it.
func (s *Server) Token(client, principal, audience string) string {
	return s.TokenOf(Principal{Client: client, Object: principal}, audience)
}

// TokenOf issues an access token of a principal. A principal with a resource is a managed identity:
// its token permits what its roles allow, however the identity logged in.
func (s *Server) TokenOf(p Principal, audience string) string {
	now := s.Clock.Now()
	claims := jwt.MapClaims{
		"aud": audience, "iss": Issuer(s.Options.TenantID), "tid": s.Options.TenantID, "appid": p.Client, "oid": p.Object, "sub": p.Object,
		"idtyp": "app", "iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(TokenLife).Unix(), "uti": rand.Text(),
	}
	if p.ID != "" {
		claims["xms_mirid"] = p.ID
	}
	t := jwt.NewWithClaims(jwt.SigningMethodES256, claims)
	t.Header["kid"] = s.Signer.id
	signed, err := t.SignedString(s.Signer.Key)
	if err != nil {
		panic(fmt.Errorf("sign a token: %w", err)) // signing with a P-256 key cannot fail
	}
	return signed
}

// Errors of an access token for which package jwt has no error value.
var (
	ErrTokenTenant   = errors.New("the token is of another tenant")
	ErrTokenAudience = errors.New("the token is for another audience")
)

// Bearer checks an access token: its signature, its validity period, its tenant, and that its
// audience is one of audiences. It returns the claims of any token that can be parsed; they can be
// trusted only when the error is nil.
func (s *Server) Bearer(raw string, audiences []string) (accessClaims, error) {
	c, err := s.verify(raw)
	if err != nil {
		return c, err
	}
	trimmed := func(a string) string { return strings.TrimRight(value.Lower(a), "/") }
	if !slices.ContainsFunc(c.Audience, func(a string) bool {
		return slices.ContainsFunc(audiences, func(b string) bool { return trimmed(a) == trimmed(b) })
	}) {
		return c, ErrTokenAudience
	}
	return c, nil
}

// verify checks a token's issuer, signature and validity period. A client sends one token with
// each of its requests, so each signature is checked once.
func (s *Server) verify(raw string) (accessClaims, error) {
	if c, known := s.verified.find(raw); known && s.Clock.Now().Before(c.ExpiresAt.Add(ClockSkew)) {
		return c, nil
	}
	var c accessClaims
	if _, _, err := jwt.NewParser().ParseUnverified(raw, &c); err != nil {
		return c, err
	}
	if !strings.EqualFold(c.Tid, s.Options.TenantID) || c.Issuer != Issuer(s.Options.TenantID) {
		return c, ErrTokenTenant
	}
	c = accessClaims{}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodES256.Alg()}),
		jwt.WithTimeFunc(s.Clock.Now), jwt.WithLeeway(ClockSkew), jwt.WithExpirationRequired())
	if _, err := parser.ParseWithClaims(raw, &c, func(*jwt.Token) (any, error) { return s.Signer.Key.Public(), nil }); err != nil {
		return c, err
	}
	s.verified.add(raw, c)
	return c, nil
}

// maxVerified is the largest number of tokens that verifiedTokens remembers.
const maxVerified = 1024

// verifiedTokens remembers tokens whose signature was valid.
type verifiedTokens struct {
	mu     sync.RWMutex
	claims map[string]accessClaims
}

func (v *verifiedTokens) find(raw string) (accessClaims, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	c, known := v.claims[raw]
	return c, known
}

func (v *verifiedTokens) add(raw string, c accessClaims) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.claims == nil || len(v.claims) >= maxVerified {
		v.claims = map[string]accessClaims{}
	}
	v.claims[raw] = c
}
