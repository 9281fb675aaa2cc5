package arm

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// clockSkew is what Microsoft Entra allows between clocks.
const clockSkew = 5 * time.Minute

// claims are the claims of a JWT that are looked at.
type claims struct {
	Iss string    `json:"iss"`
	Sub string    `json:"sub"`
	Aud audiences `json:"aud"`
	Tid string    `json:"tid"`
	Exp int64     `json:"exp"`
	Nbf int64     `json:"nbf"`
}

// audiences is one string or a list of them (RFC 7519, section 4.1.3).
type audiences []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *audiences) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*a = audiences{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(a))
}

// readClaims takes a JWT apart without looking at its signature.
func readClaims(jwt string) (c claims, ok bool) {
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 {
		return c, false
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	return c, err == nil && json.Unmarshal(data, &c) == nil
}

// checkAssertion checks a JWT that a client presents in the place of a secret:
// one that it signed with the key of its certificate, or one that somebody else
// issued for it. The signature of the latter is not checked: the issuer is on
// some other machine, and nothing is fetched from there.
func (c *call) checkAssertion(client string, known *Client, assertion string) *denial {
	invalid := func(code int, format string, args ...any) *denial {
		return deny(http.StatusUnauthorized, "invalid_client", code, format, args...)
	}
	token, ok := readClaims(assertion)
	if !ok {
		return invalid(50027, "JWT token is invalid or malformed.")
	}
	now := c.s.clock.Now()
	if token.Exp == 0 || now.Add(-clockSkew).Unix() > token.Exp || now.Add(clockSkew).Unix() < token.Nbf {
		return invalid(700024, "Client assertion is not within its valid time range. Current time: %s, assertion valid from %s, expiry time of assertion %s.",
			now.UTC().Format(time.RFC3339), time.Unix(token.Nbf, 0).UTC().Format(time.RFC3339), time.Unix(token.Exp, 0).UTC().Format(time.RFC3339))
	}
	if !strings.EqualFold(token.Iss, client) {
		return checkFederated(known, token)
	}
	if !strings.EqualFold(token.Sub, client) {
		return invalid(700021, "Client assertion application identifier doesn't match 'client_id' parameter.")
	}
	if !slices.ContainsFunc(token.Aud, c.isTokenEndpoint) {
		return invalid(700023, "Client assertion audience claim does not match Realm issuer.")
	}
	if known == nil {
		return nil
	}
	if err := verify(assertion, known.Certificate); err != nil {
		return invalid(700027, "The certificate with identifier used to sign the client assertion is not registered on application: %s.", err)
	}
	return nil
}

// checkFederated compares a token of another issuer with the client's federated
// identity credentials; a client that is not known is taken at its word.
func checkFederated(known *Client, token claims) *denial {
	if known == nil {
		return nil
	}
	code, what, value := 700211, "issuer", token.Iss
	for _, f := range known.Federated {
		switch {
		case f.Issuer != token.Iss:
		case f.Subject != token.Sub:
			code, what, value = 700213, "subject", token.Sub
		case !slices.Contains(token.Aud, orDefault(f.Audience, federatedAudience)):
			code, what, value = 700212, "audience", strings.Join(token.Aud, " ")
		default:
			return nil
		}
	}
	return deny(http.StatusUnauthorized, "invalid_client", code, "No matching federated identity record found for presented assertion %s '%s'. Check your federated identity credential Subject, Audience and Issuer against the presented assertion.", what, value)
}

// isTokenEndpoint tells whether an assertion is meant for this token service;
// clients write the URL that discovery gave them, with or without v2.0.
func (c *call) isTokenEndpoint(audience string) bool {
	rest, ok := strings.CutPrefix(lower(audience), "https://"+lower(c.host)+"/")
	return ok && (strings.HasSuffix(rest, "/token") || strings.HasSuffix(rest, "/v2.0") || !strings.Contains(strings.TrimSuffix(rest, "/"), "/"))
}

// verify checks the signature of a JWT against a certificate in PEM.
func verify(jwt, certificate string) error {
	key, err := rsaKey(certificate)
	if err != nil {
		return err
	}
	i := strings.LastIndexByte(jwt, '.')
	head, _, _ := strings.Cut(jwt, ".")
	data, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		return fmt.Errorf("its header is malformed")
	}
	signature, err := base64.RawURLEncoding.DecodeString(jwt[i+1:])
	if err != nil {
		return fmt.Errorf("its signature is malformed")
	}
	var header struct {
		Alg string `json:"alg"`
	}
	if err := json.Unmarshal(data, &header); err != nil {
		return fmt.Errorf("its header is malformed")
	}
	sum := sha256.Sum256([]byte(jwt[:i]))
	switch header.Alg {
	case "RS256":
		err = rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature)
	case "PS256":
		err = rsa.VerifyPSS(key, crypto.SHA256, sum[:], signature, nil)
	default:
		return fmt.Errorf("its algorithm %q is not RS256 or PS256", header.Alg)
	}
	if err != nil {
		return fmt.Errorf("another key signed it")
	}
	return nil
}

// rsaKey is the public key of the first certificate in a PEM text.
func rsaKey(certificate string) (*rsa.PublicKey, error) {
	for rest := []byte(certificate); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, fmt.Errorf("the application has no certificate")
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		key, ok := cert.PublicKey.(*rsa.PublicKey)
		if !ok {
			return nil, fmt.Errorf("the application's certificate has no RSA key")
		}
		return key, nil
	}
}
