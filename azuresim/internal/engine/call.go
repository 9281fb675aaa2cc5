package engine

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/value"
	"casement.dev/casement/azuresim/template/datum"
)

// MaxBody is the largest request body that ARM accepts, 4 MiB.
const MaxBody = 4 << 20

// Slashes matches repeated slashes, which some clients send in place of one.
var Slashes = regexp.MustCompile("/{2,}")

// Request is one HTTP request with everything that the engine has determined about it so far.
type Request struct {
	Server  *Server
	Writer  http.ResponseWriter
	HTTP    *http.Request
	Host    string
	ID      ID
	Version string
	Query   url.Values
	status  int
	// Principal is the object ID of the caller, from the token's claims.
	Principal string
	// Identity is the resource ID of the caller if it is a managed identity, whose rights are its
	// roles'; "" for other callers.
	Identity string
	// fault is the kind and ID of the fault rule that matched; abort closes the connection without
	// an answer.
	fault string
	abort bool
	begun time.Time
}

// ServeHTTP implements http.Handler. The path of a request selects ARM, the token service or
// discovery.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	request := uuid.NewString()
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
	c := s.Request(w, r)
	for _, p := range s.Registry.providers {
		if p.Front != nil && p.Front(c) {
			return
		}
	}
	err := c.guarded()
	if c.abort {
		s.calls.add(c)
		panic(http.ErrAbortHandler) // net/http drops the connection on this panic
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

// Request returns the state of a request that has just arrived.
func (s *Server) Request(w http.ResponseWriter, r *http.Request) *Request {
	return &Request{Server: s, Writer: w, HTTP: r, Host: r.Host, Query: r.URL.Query(), begun: s.Clock.Now()}
}

func (c *Request) serve() *Error {
	for _, p := range c.Server.Registry.providers {
		if p.Data == nil {
			continue
		}
		if handled, e := p.Data(c); handled {
			return e
		}
	}
	path := Slashes.ReplaceAllString(c.HTTP.URL.EscapedPath(), "/")
	id, err := ParseID(path)
	if err != nil {
		return BadRequest("InvalidRequestFormat", "%s", err)
	}
	c.ID = id
	if e := c.authorize(); e != nil {
		return e
	}
	if is := c.HTTP.Header.Get("Content-Type"); c.HTTP.ContentLength != 0 && !isJSON(is) {
		return Refuse(http.StatusUnsupportedMediaType, "UnsupportedMediaType",
			"The content media type '%s' is not supported. Only 'application/json' is supported.", value.OrDefault(is, "<null>"))
	}
	c.Version = c.Query.Get("api-version")
	if e := c.checkVersion(); e != nil {
		return e
	}
	if e := c.throttled(); e != nil {
		return e
	}
	if e := c.fail(); e != nil {
		return e
	}
	if id.Subscription == "" {
		_, managed := id.management()
		if _, polls := c.OperationPath(); managed || polls {
			return c.route()
		}
		return c.tenantLevel()
	}
	known := false
	for _, s := range c.Server.Options.Subscriptions {
		known = known || strings.EqualFold(s, id.Subscription)
	}
	if !known {
		return Refuse(http.StatusNotFound, "SubscriptionNotFound", "The subscription '%s' could not be found.", id.Subscription)
	}
	return c.route()
}

// route answers a path below a subscription: it decides from the path what the request reads or
// changes.
func (c *Request) route() *Error {
	id := c.ID
	if op, ok := c.OperationPath(); ok {
		if !strings.EqualFold(op, "operationResults") && c.Query.Get("monitor") == "" {
			return c.serveStatus(id.Name())
		}
		return c.serveResult(id.Name())
	}
	if e := refused(c); e != nil {
		return e
	}
	for _, p := range c.Server.Registry.providers {
		if p.Answer == nil {
			continue
		}
		if handled, e := p.Answer(c); handled {
			return e
		}
	}
	if id.Group == "" {
		if r := c.Server.Registry.route(id, c.HTTP.Method); r != nil {
			return r.Serve(c)
		}
	}
	if k := c.Server.Registry.TypeOf(id.FullType()); k != nil && k.Serve != nil {
		if handled, e := k.Serve(c); handled {
			return e
		}
	}
	if a, owner := c.Server.Registry.Action(id, c.HTTP.Method); a != nil {
		if a.Serve != nil {
			return a.Serve(c, owner)
		}
		return c.invoke(owner, a)
	}
	if id.IsResource() {
		return c.serveResource()
	}
	if c.HTTP.Method == http.MethodGet {
		return c.serveList()
	}
	return ErrUnsupported(c.HTTP.Method + " of " + id.FullType())
}

// refused returns the error with which a provider refuses a request, or nil.
func refused(c *Request) *Error {
	for _, p := range c.Server.Registry.providers {
		if p.Refuse == nil {
			continue
		}
		if e := p.Refuse(c); e != nil {
			return e
		}
	}
	return nil
}

// MayRead returns the error that the caller would get if it read a resource; nil if it may read the
// resource.
func MayRead(c *Request, id ID) *Error {
	read := *c
	read.ID, read.HTTP = id, c.HTTP.Clone(c.HTTP.Context())
	read.HTTP.Method = http.MethodGet
	return refused(&read)
}

// tenantLevel answers paths above subscriptions, such as /subscriptions and /tenants.
func (c *Request) tenantLevel() *Error {
	if p := c.Server.Registry.Spaces[value.Lower(value.OrDefault(c.ID.Namespace, "Microsoft.Resources"))]; p != nil && p.Tenant != nil {
		if handled, e := p.Tenant(c); handled {
			return e
		}
	}
	if ns := c.Server.Registry.Spaces[value.Lower(c.ID.Namespace)]; ns != nil && c.HTTP.Method == http.MethodGet &&
		value.Lower(c.ID.ChildType()) == "operations" && len(c.ID.Names) == 0 {
		c.Reply(http.StatusOK, value.Object{"value": ns.operations()})
		return nil
	}
	return Refuse(http.StatusNotFound, "MissingSubscription",
		"The request did not have a subscription or a valid tenant level resource provider.")
}

// OperationPath recognises /subscriptions/S/operationresults/ID and
// /subscriptions/S/providers/NS/locations/L/operations/ID.
func (c *Request) OperationPath() (kind string, ok bool) {
	for i, t := range c.ID.Types {
		if i < len(c.ID.Names) && (value.Lower(t) == "operationresults" || value.Lower(t) == "operationstatuses" ||
			i == 1 && value.Lower(c.ID.Types[0]) == "locations" && value.Lower(t) == "operations") {
			return t, true
		}
	}
	return "", false
}

func (c *Request) url() string { return "https://" + c.Host + c.HTTP.URL.RequestURI() }

func (c *Request) Reply(status int, body any) {
	c.status = status
	if body == nil {
		c.Writer.WriteHeader(status)
		return
	}
	c.Writer.Header().Set("Content-Type", "application/json; charset=utf-8")
	data, ready := body.(json.RawMessage)
	var err error
	if !ready {
		data, err = json.Marshal(body)
	}
	if err != nil {
		writeError(c.Writer, Refuse(http.StatusInternalServerError, "InternalServerError", "The answer could not be written."))
		return
	}
	c.Writer.WriteHeader(status)
	_, _ = c.Writer.Write(data)
}

// BodyText reads the body of a request.
func BodyText(c *Request) ([]byte, *Error) {
	data, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.HTTP.Body, MaxBody))
	if err != nil {
		return nil, Refuse(http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", "The request is larger than %d bytes.", MaxBody)
	}
	return data, nil
}

// isJSON reports whether a media type is JSON's, the only one that the resource manager accepts
// (Azure/azure-cli#10143).
func isJSON(contentType string) bool {
	is, _, err := mime.ParseMediaType(contentType)
	return err == nil && (is == "application/json" || is == "text/json")
}

// Body parses the request's body as a JSON object. Like Json.NET it accepts comments and other
// deviations from JSON. An empty body is {}.
func (c *Request) Body() (value.Object, *Error) {
	data, e := BodyText(c)
	if e != nil {
		return nil, e
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		return value.Object{}, nil
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var o value.Object
	err := json.Unmarshal(data, &o)
	if err != nil {
		if v, no := datum.Decode(data); no == nil {
			err = json.Unmarshal(datum.Encode(v), &o)
		}
	}
	if err != nil || o == nil {
		return nil, BadRequest("InvalidRequestContent",
			"The request content was invalid and could not be deserialized: it is no JSON object.")
	}
	return o, nil
}
