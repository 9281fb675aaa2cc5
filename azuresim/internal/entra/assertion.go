package entra

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// checkAssertion checks a JWT that a client sends in place of a secret. The JWT is signed with the
// key of the client's certificate or by another token service.
func checkAssertion(c *engine.Request, known *Client, assertion string) *denial {
	var token jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(assertion, &token); err != nil {
		return denyClient(50027, "JWT token is invalid or malformed.")
	}
	now := c.Server.Clock.Now()
	timely := jwt.NewValidator(jwt.WithTimeFunc(func() time.Time { return now }), jwt.WithLeeway(engine.ClockSkew),
		jwt.WithExpirationRequired())
	if timely.Validate(token) != nil {
		return denyClient(700024, "Client assertion is not within its valid time range. Current time: %s, "+
			"assertion valid from %s, expiry time of assertion %s.",
			now.UTC().Format(time.RFC3339), timeOf(token.NotBefore), timeOf(token.ExpiresAt))
	}
	if !strings.EqualFold(token.Issuer, known.ID) {
		return checkFederated(c, known, token, assertion)
	}
	if !strings.EqualFold(token.Subject, known.ID) {
		return denyClient(700021, "Client assertion application identifier doesn't match 'client_id' parameter.")
	}
	if !slices.ContainsFunc(token.Audience, func(a string) bool { return isTokenEndpoint(c, a) }) {
		return denyClient(700023, "Client assertion audience claim does not match Realm issuer.")
	}
	if err := verify(assertion, known.Certificate, "RS256", "PS256"); err != nil {
		return denyClient(700027,
			"The certificate with identifier used to sign the client assertion is not registered on application: %s.",
			err)
	}
	return nil
}

func denyClient(code int, format string, args ...any) *denial {
	return deny(http.StatusUnauthorized, "invalid_client", code, format, args...)
}

func timeOf(t *jwt.NumericDate) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}

// checkFederated compares a token of another issuer with the client's federated identity
// credentials, and verifies its signature with the issuer's keys.
func checkFederated(c *engine.Request, known *Client, token jwt.RegisteredClaims, assertion string) *denial {
	code, what, said := 700211, "issuer", token.Issuer
	for _, f := range known.Federated {
		switch {
		case f.Issuer != token.Issuer:
		case f.Subject != token.Subject:
			code, what, said = 700213, "subject", token.Subject
		case !slices.Contains(token.Audience, value.OrDefault(f.Audience, federatedAudience)):
			code, what, said = 700212, "audience", strings.Join(token.Audience, " ")
		default:
			return checkIssuer(c, f, assertion)
		}
	}
	return denyClient(code, "No matching federated identity record found for presented assertion %s '%s'. Check "+
		"your federated identity credential Subject, Audience and Issuer against the presented "+
		"assertion.", what, said)
}

// checkIssuer verifies that the issuer of a federated credential signed a token.
func checkIssuer(c *engine.Request, f engine.Federated, assertion string) *denial {
	keys := f.Keys
	if keys == "" && entraOf(c.Server).Issuer != nil {
		var err error
		if keys, err = entraOf(c.Server).Issuer(c.HTTP.Context(), f.Issuer); err != nil {
			c.Server.Log.Error(err, "The keys of a token issuer could not be read", "issuer", f.Issuer)
		}
	}
	if keys == "" {
		return denyClient(90061, "Request to External OIDC endpoint failed. The local Azure knows no keys of "+
			"the issuer '%s': it fetches none, but knows those of its clusters and those that are given to "+
			"it.", f.Issuer)
	}
	if err := verify(assertion, keys, "RS256", "PS256", "ES256", "ES384", "ES512"); err != nil {
		return denyClient(50013, "Assertion failed signature validation. [Reason - The key was not found. Issuer '%s': %s.]", f.Issuer, err)
	}
	return nil
}

// isTokenEndpoint reports whether the audience of an assertion is this token service.
// Clients use the URL that discovery returned, with or without v2.0.
func isTokenEndpoint(c *engine.Request, audience string) bool {
	rest, ok := strings.CutPrefix(value.Lower(audience), "https://"+value.Lower(c.Host)+"/")
	return ok && (strings.HasSuffix(rest, "/token") || strings.HasSuffix(rest, "/v2.0") ||
		!strings.Contains(strings.TrimSuffix(rest, "/"), "/"))
}

// verify verifies the signature of a JWT with the certificates or public keys in a PEM
// text.
func verify(token, keys string, algorithms ...string) error {
	set, err := publicKeys(keys)
	if err != nil {
		return err
	}
	parser := jwt.NewParser(jwt.WithValidMethods(algorithms), jwt.WithoutClaimsValidation())
	if _, err := parser.Parse(token, func(*jwt.Token) (any, error) { return set, nil }); err != nil {
		return errors.New("another key signed it, or its algorithm is not one of " + strings.Join(algorithms, ", "))
	}
	return nil
}

// publicKeys returns the public keys in a PEM text.
func publicKeys(text string) (set jwt.VerificationKeySet, err error) {
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		var key crypto.PublicKey
		switch block.Type {
		case "CERTIFICATE":
			var cert *x509.Certificate
			if cert, err = x509.ParseCertificate(block.Bytes); err == nil {
				key = cert.PublicKey
			}
		case "PUBLIC KEY":
			key, err = x509.ParsePKIXPublicKey(block.Bytes)
		default:
			continue
		}
		if err != nil {
			return set, fmt.Errorf("a %s cannot be read: %w", strings.ToLower(block.Type), err)
		}
		set.Keys = append(set.Keys, key)
	}
	if len(set.Keys) == 0 {
		return set, errors.New("the application has no certificate")
	}
	return set, nil
}
