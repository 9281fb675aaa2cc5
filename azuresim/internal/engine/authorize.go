package engine

import (
	"errors"
	"net/http"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// authorize checks the bearer token of a request to the resource manager. Its error messages are
// Azure's.
func (c *Request) authorize() *Error {
	refused := func(code, format string, args ...any) *Error {
		e := Refuse(http.StatusUnauthorized, code, format, args...)
		e.Challenge = `Bearer authorization_uri="https://` + c.Host + "/" + c.Server.Options.TenantID +
			`", error="invalid_token", error_description="` + e.Message + `"`
		return e
	}
	raw, ok := strings.CutPrefix(c.HTTP.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return refused("AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing.")
	}
	audiences := c.ManagerAudiences()
	claims, err := c.Server.Bearer(raw, audiences)
	switch {
	case errors.Is(err, ErrTokenTenant):
		return refused("InvalidAuthenticationTokenTenant", "The access token is from the wrong issuer. It must "+
			"match the tenant '%s' associated with this subscription.", Issuer(c.Server.Options.TenantID))
	case errors.Is(err, jwt.ErrTokenExpired):
		return refused("ExpiredAuthenticationToken",
			"The access token expiry UTC time is earlier than current UTC time '%s'.",
			c.Server.Clock.Now().UTC().Format("1/2/2006 3:04:05 PM"))
	case errors.Is(err, ErrTokenAudience):
		return refused("InvalidAuthenticationTokenAudience", "The access token has been obtained for wrong "+
			"audience or resource. It should exactly match with one of the allowed audiences "+
			"'%s'.", strings.Join(audiences, "','"))
	case err != nil:
		return refused("InvalidAuthenticationToken", "The access token is invalid.")
	}
	c.Principal, c.Identity = claims.Subject, claims.Identity
	return nil
}

// ManagerAudiences returns the audiences that a token for the resource manager may have: the host
// that the client asked, and the names of the resource manager in Azure's clouds.
func (c *Request) ManagerAudiences() []string {
	out := []string{"https://" + c.Host + "/", "https://" + c.LoginHost("") + "/"}
	for _, cloud := range Clouds() {
		out = append(out, "https://"+cloud.Manager+"/", "https://"+cloud.Classic+"/")
	}
	return out
}

// LoginHost returns the host whose token service issues tokens for the host that the client asked.
func (c *Request) LoginHost(public string) string {
	if public != "" {
		return public
	}
	if addr, ok := c.HTTP.Context().Value(http.LocalAddrContextKey).(interface{ String() string }); ok {
		return addr.String()
	}
	return "localhost"
}
