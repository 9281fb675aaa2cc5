package arm

import (
	"errors"
	"net/http"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// authorize checks the bearer token of a call to the resource manager. The texts are
// Azure's.
func (c *call) authorize() *Error {
	refused := func(code, format string, args ...any) *Error {
		e := refuse(http.StatusUnauthorized, code, format, args...)
		e.challenge = `Bearer authorization_uri="https://` + c.host + "/" + c.s.cfg.TenantID + `", error="invalid_token", error_description="` + e.Message + `"`
		return e
	}
	raw, ok := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return refused("AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing.")
	}
	audiences := c.managerAudiences()
	claims, err := c.s.bearer(raw, audiences)
	switch {
	case errors.Is(err, errTokenTenant):
		return refused("InvalidAuthenticationTokenTenant", "The access token is from the wrong issuer. It must match the tenant '%s' associated with this subscription.", issuer(c.s.cfg.TenantID))
	case errors.Is(err, jwt.ErrTokenExpired):
		return refused("ExpiredAuthenticationToken", "The access token expiry UTC time is earlier than current UTC time '%s'.", c.s.clock.Now().UTC().Format("1/2/2006 3:04:05 PM"))
	case errors.Is(err, errTokenAudience):
		return refused("InvalidAuthenticationTokenAudience", "The access token has been obtained for wrong audience or resource. It should exactly match with one of the allowed audiences '%s'.", strings.Join(audiences, "','"))
	case err != nil:
		return refused("InvalidAuthenticationToken", "The access token is invalid.")
	}
	c.principal = claims.Subject
	return nil
}

// managerAudiences are what tokens for the resource manager may be for: the name or
// address that was asked, and those of Azure's clouds.
func (c *call) managerAudiences() []string {
	out := []string{"https://" + c.host + "/", "https://" + c.loginHost("") + "/"}
	for _, cloud := range Clouds() {
		out = append(out, "https://"+cloud.Manager+"/", "https://"+cloud.Classic+"/")
	}
	return out
}

// loginHost is where tokens are issued for the host that was asked.
func (c *call) loginHost(public string) string {
	if public != "" {
		return public
	}
	if addr, ok := c.r.Context().Value(http.LocalAddrContextKey).(interface{ String() string }); ok {
		return addr.String()
	}
	return "localhost"
}
