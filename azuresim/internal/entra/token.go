package entra

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// federatedAudience is the audience of federated credentials that Azure recommends and SDKs
// request.
const federatedAudience = "api://AzureADTokenExchange"

// denial is an error of the token service (RFC 6749, section 5.2) with the error code that
// Microsoft Entra adds.
type denial struct {
	status  int
	kind    string
	code    int
	message string
}

func deny(status int, kind string, code int, format string, args ...any) *denial {
	return &denial{status, kind, code, fmt.Sprintf(format, args...)}
}

var guidForm = regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// serveToken answers the token endpoint. The owner's application and the configured applications
// can log in and get tokens for everything; identities with federated credentials can log in and
// get tokens for what their roles allow.
func serveToken(c *engine.Request) {
	if c.HTTP.Method != http.MethodPost {
		denied(c, deny(http.StatusMethodNotAllowed, "invalid_request", 900561,
			"The endpoint only accepts POST requests. Received a %s request.", c.HTTP.Method))
		return
	}
	c.HTTP.Body = http.MaxBytesReader(c.Writer, c.HTTP.Body, engine.MaxBody)
	if err := c.HTTP.ParseForm(); err != nil {
		denied(c, deny(http.StatusBadRequest, "invalid_request", 900144,
			"The request body must contain the following parameter: 'grant_type'."))
		return
	}
	f := c.HTTP.PostForm
	for _, field := range []string{"client_id", "grant_type"} {
		if f.Get(field) == "" {
			denied(c, deny(http.StatusBadRequest, "invalid_request", 900144,
				"The request body must contain the following parameter: '%s'.", field))
			return
		}
	}
	if g := f.Get("grant_type"); g != "client_credentials" {
		denied(c, deny(http.StatusBadRequest, "unsupported_grant_type", 70003,
			"The app requested an unsupported grant type '%s'. The local Azure knows client_credentials.", g))
		return
	}
	client := f.Get("client_id")
	principal, d := login(c, client, f.Get("client_secret"), f.Get("client_assertion_type"), f.Get("client_assertion"))
	if d != nil {
		denied(c, d)
		return
	}
	audience := f.Get("resource")
	for scope := range strings.FieldsSeq(f.Get("scope")) {
		if a, ok := strings.CutSuffix(scope, "/.default"); ok {
			audience = a
		}
	}
	if audience == "" {
		denied(c, deny(http.StatusBadRequest, "invalid_scope", 1002012, "The provided value for scope '%s' is "+
			"not valid. Client credential flows must have a scope value with /.default suffixed to the "+
			"resource identifier (application ID URI).", f.Get("scope")))
		return
	}
	c.Reply(http.StatusOK, value.Object{
		"token_type": "Bearer", "expires_in": int(engine.TokenLife.Seconds()), "ext_expires_in": int(engine.TokenLife.Seconds()),
		"access_token": c.Server.TokenOf(principal, audience),
	})
}

// denied answers with an OAuth error, which does not have ARM's form.
func denied(c *engine.Request, d *denial) {
	trace := uuid.NewString()
	now := c.Server.Clock.Now().UTC().Format("2006-01-02 15:04:05Z")
	c.Reply(d.status, value.Object{"error": d.kind, "error_codes": []any{d.code}, "timestamp": now,
		"trace_id": trace, "correlation_id": trace,
		"error_description": fmt.Sprintf("AADSTS%d: %s Trace ID: %s Timestamp: %s", d.code, d.message, trace, now)})
}

// login checks a client's credential and returns its principal.
func login(c *engine.Request, client, secret, assertionType, assertion string) (principal engine.Principal, _ *denial) {
	principal = engine.Principal{Client: client, Object: client}
	known := clientNamed(c.Server, client)
	if id, ok := principalNamed(c.Server, "client_id", client); ok {
		known = &Client{ID: client, Federated: id.Federated}
		principal = id
	}
	if known == nil {
		return principal, deny(http.StatusBadRequest, "unauthorized_client", 700016,
			"Application with identifier '%s' was not found in the directory '%s'.", client,
			c.Server.Options.TenantID)
	}
	if tenant := tenant(c); guidForm.MatchString(tenant) && !strings.EqualFold(tenant, c.Server.Options.TenantID) {
		return principal, deny(http.StatusBadRequest, "invalid_request", 90002, "Tenant '%s' not found. Check to make "+
			"sure you have the correct tenant ID and are signing into the correct cloud.", tenant)
	}
	switch {
	case assertion != "":
		if assertionType != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" {
			return principal, deny(http.StatusBadRequest, "invalid_request", 50027,
				"The client assertion type '%s' is not supported.", assertionType)
		}
		return principal, checkAssertion(c, known, assertion)
	case secret == "":
		return principal, deny(http.StatusUnauthorized, "invalid_client", 7000216,
			"'client_assertion', 'client_secret' or 'request' is required for the 'client_credentials' grant type.")
	case !sameSecret(known.Secret, secret):
		return principal, deny(http.StatusUnauthorized, "invalid_client", 7000215, "Invalid client secret provided. "+
			"Ensure the secret being sent in the request is the client secret value, not the client secret ID, "+
			"for a secret added to app '%s'.", client)
	}
	return principal, nil
}

// tenant returns the first segment of a login path, which is the tenant.
func tenant(c *engine.Request) string {
	first, _, _ := strings.Cut(strings.TrimLeft(c.HTTP.URL.Path, "/"), "/")
	return first
}
