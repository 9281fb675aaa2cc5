package entra

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// serveManagedIdentity answers the token endpoint of managed identities in the form of App Service
// (IDENTITY_ENDPOINT). A caller that sends DefaultClient's secret in the header X-IDENTITY-HEADER
// gets tokens of any identity that the request names, or of the system-assigned identity. The form
// of the metadata service has no secret and is refused here, because every user of this computer
// can connect to the address.
func serveManagedIdentity(c *engine.Request) {
	if !sameSecret(entraOf(c.Server).owner.Secret, c.HTTP.Header.Get("X-IDENTITY-HEADER")) {
		c.Reply(http.StatusUnauthorized, value.Object{"error": "invalid_request", "error_description": "The " +
			"header X-IDENTITY-HEADER has not the secret of this local Azure; 'casement azure env' prints " +
			"it."})
		return
	}
	anyIdentity(c)
}

// ServeAnyIdentity answers as the metadata service of a VM that has every identity. The
// caller of this function has to check who sends the request.
func ServeAnyIdentity(s *engine.Server, w http.ResponseWriter, r *http.Request) {
	anyIdentity(s.Request(w, r))
}

func anyIdentity(c *engine.Request) {
	every := func(string) bool { return true }
	if strings.EqualFold(c.Query.Get("client_id"), DefaultClient) {
		// Templates contain one client ID for every type of identity; here it is ignored, because
		// any caller of this endpoint may use any identity.
		c.Query.Del("client_id")
		identityToken(c, every, engine.Principal{Client: DefaultClient, Object: DefaultClient}, false)
		return
	}
	identityToken(c, every, engine.Principal{Client: systemClient, Object: systemClient}, false)
}

// ServeIdentity answers the token endpoint of the metadata service of one VM: it returns
// tokens of the identities that are assigned to the VM. A request that names no identity is
// answered only if exactly one is assigned.
func ServeIdentity(s *engine.Server, w http.ResponseWriter, r *http.Request, assigned []string) {
	c := s.Request(w, r)
	has := func(id string) bool {
		return slices.ContainsFunc(assigned, func(a string) bool { return strings.EqualFold(a, id) })
	}
	var only engine.Principal
	if len(assigned) == 1 {
		only, _ = principalNamed(s, "msi_res_id", assigned[0])
	}
	identityToken(c, has, only, true)
}

// identityToken answers a request for a token of the identity that the request names, if may allows
// it; for a request that names none, of the identity id.
func identityToken(c *engine.Request, may func(id string) bool, id engine.Principal, machine bool) {
	bad := func(status int, kind, message string) {
		c.Reply(status, value.Object{"error": kind, "error_description": message})
	}
	service := c.HTTP.Header.Get("X-IDENTITY-HEADER") != ""
	switch {
	case value.Lower(c.HTTP.URL.Path) != "/metadata/identity/oauth2/token":
		bad(http.StatusNotFound, "not_found", "The local Azure serves /metadata/identity/oauth2/token alone.")
		return
	case c.HTTP.Method != http.MethodGet:
		bad(http.StatusMethodNotAllowed, "invalid_request", "The endpoint takes GET only.")
		return
	case !service && !strings.EqualFold(c.HTTP.Header.Get("Metadata"), "true"):
		bad(http.StatusBadRequest, "invalid_request", "Required metadata header not specified")
		return
	case c.Query.Get("api-version") == "":
		bad(http.StatusBadRequest, "invalid_request", "Required api-version parameter not specified")
		return
	case c.Query.Get("resource") == "":
		bad(http.StatusBadRequest, "invalid_request", "Required audience parameter not specified")
		return
	}
	for parameter := range identityParameters {
		wanted := c.Query.Get(parameter)
		if wanted == "" {
			continue
		}
		found, ok := principalNamed(c.Server, parameter, wanted)
		if !ok || !may(found.ID) {
			bad(http.StatusBadRequest, "invalid_request", "Identity not found")
			return
		}
		id = found
	}
	if id.Client == "" {
		bad(http.StatusBadRequest, "invalid_request", "Multiple user assigned identities exist, please specify "+
			"the clientId / resourceId of the identity in the token request")
		return
	}
	now := c.Server.Clock.Now()
	life, resource := int64(engine.TokenLife.Seconds()), c.Query.Get("resource")
	if !machine {
		id.ID = "" // the owner's secret permits everything
	}
	c.Reply(http.StatusOK, value.Object{
		"access_token": c.Server.TokenOf(id, resource), "client_id": id.Client,
		"resource": resource, "token_type": "Bearer",
		"expires_in": strconv.FormatInt(life, 10), "ext_expires_in": strconv.FormatInt(life, 10),
		"expires_on": strconv.FormatInt(now.Unix()+life, 10), "not_before": strconv.FormatInt(now.Unix(), 10),
	})
}

// systemClient is the client ID of a system-assigned identity.
const systemClient = "00000000-0000-0000-0000-0000000000c2"

// identityParameters maps the query parameters by which a request names an identity to the field of
// the identity that each is compared with.
var identityParameters = map[string]func(engine.Principal) string{
	"client_id": func(p engine.Principal) string { return p.Client },
	"object_id": func(p engine.Principal) string { return p.Object }, "principal_id": func(p engine.Principal) string { return p.Object },
	"msi_res_id": func(p engine.Principal) string { return p.ID }, "mi_res_id": func(p engine.Principal) string { return p.ID },
}

// principalNamed returns the identity that a query parameter names.
func principalNamed(s *engine.Server, parameter, value string) (engine.Principal, bool) {
	of := identityParameters[parameter]
	return s.Principal(func(p engine.Principal) bool { return of(p) != "" && strings.EqualFold(of(p), value) })
}
