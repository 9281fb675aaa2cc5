// Package arm calls Azure Resource Manager by resource ID through the official SDK's pipeline: get, list, put, patch,
// delete and post; it begins and polls long-running operations and never waits for them, blocks calls while Azure
// throttles, classifies errors and counts calls.
//
// It does not know any resource type, does not retry and does not sleep. Packages plan and catalog and the controllers
// use it; the simulator must not.
package arm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	armpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm/policy"
	armruntime "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/go-logr/logr"
)

// callTimeout bounds one request and its answer.
const callTimeout = time.Minute

// Config configures a Client: which Azure it calls, and with which identity.
type Config struct {
	// Cloud has the endpoint and audience of the resource manager; the zero value means the public cloud.
	Cloud cloud.Configuration
	// SubscriptionID is the subscription that calls are counted in; TenantID is used in
	// messages only.
	SubscriptionID, TenantID string
	// Credential returns the access tokens.
	Credential azcore.TokenCredential
	// Transport sends requests; nil means the SDK's default transport.
	Transport policy.Transporter
	// Log gets one line per call at V(4), without bodies, if the context has no logger.
	Log logr.Logger
	// Observe, if not nil, is called after every request. It must not block.
	Observe func(Observation)
}

// Client sends requests for one subscription with one identity. All users of that
// subscription share it, so that throttling affects only them and all their calls are
// counted together. It is safe for concurrent use.
type Client struct {
	pipeline       runtime.Pipeline
	endpoint       *url.URL
	subscriptionID string
	gate           gate
	outage         outage
	counter        counter
	registrations  registrations
}

// New returns a new Client. Clients are kept and shared; see package identity.
func New(c Config) (*Client, error) {
	if c.SubscriptionID == "" {
		return nil, errors.New("make an Azure client: no subscription ID: set spec.subscriptionID")
	}
	if len(c.Cloud.Services) == 0 {
		c.Cloud = cloud.AzurePublic
	}
	endpoint, err := url.Parse(c.Cloud.Services[cloud.ResourceManager].Endpoint)
	if err != nil || endpoint.Host == "" {
		return nil, fmt.Errorf("make an Azure client: resource manager endpoint %q is not an absolute URL",
			c.Cloud.Services[cloud.ResourceManager].Endpoint)
	}
	client := &Client{endpoint: endpoint, subscriptionID: c.SubscriptionID, counter: counter{observe: c.Observe}}
	options := &armpolicy.ClientOptions{
		ClientOptions: policy.ClientOptions{
			Cloud:     c.Cloud,
			Transport: c.Transport,
			// No retries: the reconcile loop decides when to call again.
			Retry:     policy.RetryOptions{MaxRetries: -1},
			Telemetry: policy.TelemetryOptions{ApplicationID: "casement"},
			PerCallPolicies: []policy.Policy{sameHost{endpoint}, spans{}, correlate{}, &client.gate,
				&recorder{&client.counter, c.SubscriptionID, c.Log}},
		},
		// Without this, the SDK waits inside the call until the provider is registered.
		DisableRPRegistration: true,
	}
	client.pipeline, err = armruntime.NewPipeline("casement", "v0", c.Credential, runtime.PipelineOptions{}, options)
	if err != nil {
		return nil, fmt.Errorf("make an Azure client: %w", err)
	}
	return client, nil
}

// SubscriptionID returns the subscription that the client's calls are counted in.
func (c *Client) SubscriptionID() string { return c.subscriptionID }

// Result is the result of a call that changes a resource. If Operation is nil, the change is complete and Body is the
// resource (null after a delete). Otherwise Body is Azure's first response, which has most fields of the resource.
type Result struct {
	Body      json.RawMessage
	Operation *Operation
	// Took is the duration of an ended operation by Azure's own clock; 0 if the response does not contain it, as with
	// Microsoft.Network.
	Took time.Duration
}

// Operation is a long-running operation that has not ended.
type Operation struct {
	// Token lets any process continue to poll the operation.
	Token string
	// RetryAfter is the pause before the next poll that Azure requests, or 0.
	RetryAfter time.Duration
}

// Option changes a request.
type Option func(*http.Request)

// Query adds a query parameter, such as $expand.
func Query(name, value string) Option {
	return func(r *http.Request) {
		q := r.URL.Query()
		q.Set(name, value)
		r.URL.RawQuery = q.Encode()
	}
}

// IfMatch lets a write succeed only while the resource has the ETag; otherwise Raced reports true for the error.
// Resource types without ETags ignore it.
func IfMatch(etag string) Option { return func(r *http.Request) { r.Header.Set("If-Match", etag) } }

// IfNoneMatch lets a put succeed only if the resource does not exist, where the resource type supports it; otherwise
// Raced reports true for the error.
func IfNoneMatch() Option { return func(r *http.Request) { r.Header.Set("If-None-Match", "*") } }

// Raced reports whether a write failed because the condition of IfMatch or IfNoneMatch is not met: another program has
// written the resource.
func Raced(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.StatusCode == http.StatusPreconditionFailed
}

// Get reads one resource. If it does not exist, the error has the class NotFound.
func (c *Client) Get(ctx context.Context, id, apiVersion string, options ...Option) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := c.do(ctx, http.MethodGet, id, apiVersion, nil, options)
	if err != nil {
		return nil, err
	}
	return payload(resp, id)
}

// List iterates over a collection; each page is requested when the loop reaches it. The
// last pair has the error, if any.
func (c *Client) List(ctx context.Context, collection, apiVersion string, options ...Option) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		next := ""
		for {
			page, err := c.page(ctx, collection, apiVersion, next, options)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range page.Value {
				if !yield(item, nil) {
					return
				}
			}
			if page.NextLink == "" || page.NextLink == next {
				return
			}
			next = page.NextLink
		}
	}
}

type page struct {
	Value    []json.RawMessage `json:"value"`
	NextLink string            `json:"nextLink"`
}

func (c *Client) page(ctx context.Context, collection, apiVersion, next string, options []Option) (page, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	target := collection
	if next != "" {
		// The link to the next page contains version and filter.
		target, apiVersion, options = next, "", nil
	}
	resp, err := c.do(ctx, http.MethodGet, target, apiVersion, nil, options)
	if err != nil {
		return page{}, err
	}
	body, err := payload(resp, collection)
	if err != nil {
		return page{}, err
	}
	var p page
	// Lists of marketplace images are JSON arrays without an object around them.
	if strings.HasPrefix(strings.TrimSpace(string(body)), "[") {
		err = json.Unmarshal(body, &p.Value)
	} else {
		err = json.Unmarshal(body, &p)
	}
	if err != nil {
		return page{}, fmt.Errorf("list %s: %w", collection, err)
	}
	return p, nil
}

// Put creates or replaces a resource. body is marshalled as JSON.
func (c *Client) Put(ctx context.Context, id, apiVersion string, body any, options ...Option) (Result, error) {
	return c.begin(ctx, http.MethodPut, id, apiVersion, body, options)
}

// Patch changes the fields of a resource that are in body.
func (c *Client) Patch(ctx context.Context, id, apiVersion string, body any, options ...Option) (Result, error) {
	return c.begin(ctx, http.MethodPatch, id, apiVersion, body, options)
}

// Delete deletes a resource; it is no error if the resource does not exist.
func (c *Client) Delete(ctx context.Context, id, apiVersion string, options ...Option) (Result, error) {
	result, err := c.begin(ctx, http.MethodDelete, id, apiVersion, nil, options)
	if ClassOf(err) == NotFound {
		return Result{}, nil
	}
	return result, err
}

// Post invokes an action of a resource; the action is the last segment of id. body may be
// nil.
func (c *Client) Post(ctx context.Context, id, apiVersion string, body any, options ...Option) (Result, error) {
	return c.begin(ctx, http.MethodPost, id, apiVersion, body, options)
}

// do sends one request. A response that is not a success is returned as an *Error.
func (c *Client) do(ctx context.Context, method, target, apiVersion string, body any, options []Option) (*http.Response, error) {
	resp, err := c.send(ctx, method, target, apiVersion, body, options)
	c.outage.learn(err, time.Now())
	return resp, err
}

func (c *Client) send(ctx context.Context, method, target, apiVersion string, body any, options []Option) (*http.Response, error) {
	req, err := c.request(ctx, method, target, apiVersion, body, options)
	if err != nil {
		return nil, err
	}
	resp, err := c.pipeline.Do(req)
	if err != nil {
		return nil, transportError(method, target, err)
	}
	if resp.StatusCode/100 != 2 {
		failure := responseError(method, target, resp)
		c.registerProvider(ctx, target, failure)
		return nil, failure
	}
	return resp, nil
}

func (c *Client) request(ctx context.Context, method, target, apiVersion string, body any, options []Option) (*policy.Request, error) {
	if !strings.HasPrefix(target, "https://") {
		if !Nameable(target) {
			return nil, &Error{Class: Invalid, Method: method, ID: target, Code: CodeBadName,
				Message: "no resource can have a name like this: change it"}
		}
		target = strings.TrimSuffix(c.endpoint.String(), "/") + (&url.URL{Path: target}).EscapedPath()
	}
	req, err := runtime.NewRequest(ctx, method, target)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, target, err)
	}
	req.Raw().Header.Set("Accept", "application/json")
	if apiVersion != "" {
		Query("api-version", apiVersion)(req.Raw())
	}
	for _, option := range options {
		option(req.Raw())
	}
	if body == nil {
		return req, nil
	}
	if err := runtime.MarshalAsJSON(req, body); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, target, err)
	}
	return req, nil
}

func payload(resp *http.Response, id string) (json.RawMessage, error) {
	body, err := runtime.Payload(resp)
	if err != nil {
		return nil, &Error{Class: Transient, Method: resp.Request.Method, ID: id, StatusCode: resp.StatusCode,
			Message: "the answer broke off", err: err}
	}
	return body, nil
}
