package arm

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"casement.dev/casement/internal/sim/template"
)

// maxBody is the largest request ARM takes, 4 MiB.
const maxBody = 4 << 20

// slashes are what some clients write in the place of one.
var slashes = regexp.MustCompile("/{2,}")

// call is one request on its way.
type call struct {
	s       *Server
	w       http.ResponseWriter
	r       *http.Request
	host    string
	id      resourceID
	version string
	query   url.Values
	status  int
	// principal is who calls, by the token's subject.
	principal string
	// fault names the rule that struck; abort ends the connection unanswered.
	fault string
	abort bool
	begun time.Time
}

// ServeHTTP implements http.Handler: ARM, the token service and discovery, which
// differ by path.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	request := s.guid()
	h.Set("x-ms-request-id", request)
	h.Set("x-ms-correlation-request-id", request)
	if id := r.Header.Get("x-ms-correlation-request-id"); id != "" {
		h.Set("x-ms-correlation-request-id", id)
	}
	if id := r.Header.Get("x-ms-client-request-id"); id != "" && strings.EqualFold(r.Header.Get("x-ms-return-client-request-id"), "true") {
		h.Set("x-ms-client-request-id", id)
	}
	h.Set("Cache-Control", "no-cache")
	h.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
	c := s.call(w, r)
	for _, p := range s.registry.providers {
		if p.Front != nil && p.Front(c) {
			return
		}
	}
	err := c.guarded()
	if c.abort {
		s.calls.add(c)
		panic(http.ErrAbortHandler) // the way of net/http to drop a connection
	}
	if err != nil {
		if err.Status == 0 {
			err.Status = http.StatusInternalServerError
		}
		c.status = err.Status
		writeError(w, err)
	}
	s.calls.add(c)
}

// call is a request that begins.
func (s *Server) call(w http.ResponseWriter, r *http.Request) *call {
	return &call{s: s, w: w, r: r, host: r.Host, query: r.URL.Query(), begun: s.clock.Now()}
}

func (c *call) serve() *Error {
	for _, p := range c.s.registry.providers {
		if p.Data == nil {
			continue
		}
		if handled, e := p.Data(c); handled {
			return e
		}
	}
	path := slashes.ReplaceAllString(c.r.URL.EscapedPath(), "/")
	id, err := parseID(path)
	if err != nil {
		return badRequest("InvalidRequestFormat", "%s", err)
	}
	c.id = id
	if e := c.authorize(); e != nil {
		return e
	}
	c.version = c.query.Get("api-version")
	if e := c.checkVersion(); e != nil {
		return e
	}
	if e := c.throttled(); e != nil {
		return e
	}
	if e := c.strike(); e != nil {
		return e
	}
	if id.Subscription == "" {
		return c.tenantLevel()
	}
	known := false
	for _, s := range c.s.cfg.Subscriptions {
		known = known || strings.EqualFold(s, id.Subscription)
	}
	if !known {
		return refuse(http.StatusNotFound, "SubscriptionNotFound", "The subscription '%s' could not be found.", id.Subscription)
	}
	return c.route()
}

// route finds what a path below a subscription is about.
func (c *call) route() *Error {
	id := c.id
	if op, ok := c.operationPath(); ok {
		if !strings.EqualFold(op, "operationResults") && c.query.Get("monitor") == "" {
			return c.serveStatus(id.name())
		}
		return c.serveResult(id.name())
	}
	for _, p := range c.s.registry.providers {
		if p.Refuse == nil {
			continue
		}
		if e := p.Refuse(c); e != nil {
			return e
		}
	}
	for _, p := range c.s.registry.providers {
		if p.Answer == nil {
			continue
		}
		if handled, e := p.Answer(c); handled {
			return e
		}
	}
	if id.Group == "" {
		if r := c.s.registry.route(id, c.r.Method); r != nil {
			return r.Serve(c)
		}
	}
	if k := c.s.registry.typeOf(id.fullType()); k != nil && k.Serve != nil {
		if handled, e := k.Serve(c); handled {
			return e
		}
	}
	if a, owner := c.s.registry.action(id, c.r.Method); a != nil {
		if a.Serve != nil {
			return a.Serve(c, owner)
		}
		return c.act(owner, a)
	}
	if id.isResource() {
		return c.serveResource()
	}
	if c.r.Method == http.MethodGet {
		return c.serveList()
	}
	return errUnsupported(c.r.Method + " of " + id.fullType())
}

// tenantLevel answers what is above subscriptions.
func (c *call) tenantLevel() *Error {
	if p := c.s.registry.spaces[lower(orDefault(c.id.Namespace, "Microsoft.Resources"))]; p != nil && p.Tenant != nil {
		if handled, e := p.Tenant(c); handled {
			return e
		}
	}
	return refuse(http.StatusNotFound, "MissingSubscription", "The request did not have a subscription or a valid tenant level resource provider.")
}

// operationPath recognises /subscriptions/S/operationresults/ID and
// /subscriptions/S/providers/NS/locations/L/operations/ID.
func (c *call) operationPath() (kind string, ok bool) {
	for i, t := range c.id.Types {
		if i < len(c.id.Names) && (lower(t) == "operationresults" || lower(t) == "operationstatuses" || i == 1 && lower(c.id.Types[0]) == "locations" && lower(t) == "operations") {
			return t, true
		}
	}
	return "", false
}

func (c *call) url() string { return "https://" + c.host + c.r.URL.RequestURI() }

func (c *call) reply(status int, body any) {
	c.status = status
	if body == nil {
		c.w.WriteHeader(status)
		return
	}
	c.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	data, ready := body.(json.RawMessage)
	var err error
	if !ready {
		data, err = json.Marshal(body)
	}
	if err != nil {
		writeError(c.w, refuse(http.StatusInternalServerError, "InternalServerError", "The answer could not be written."))
		return
	}
	c.w.WriteHeader(status)
	_, _ = c.w.Write(data)
}

// body reads the request's JSON object; an empty one is {}.
func (c *call) body() (object, *Error) {
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBody))
	if err != nil {
		return nil, refuse(http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", "The request is larger than %d bytes.", maxBody)
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		return object{}, nil
	}
	var o object
	if lower(c.id.Namespace) == "microsoft.resources" && !json.Valid(data) {
		data = template.Relaxed(data)
	}
	if err := json.Unmarshal(data, &o); err != nil || o == nil {
		return nil, badRequest("InvalidRequestContent", "The request content was invalid and could not be deserialized: it is no JSON object.")
	}
	return o, nil
}
