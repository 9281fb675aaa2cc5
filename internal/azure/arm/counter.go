package arm

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/go-logr/logr"
)

// Call is the number of calls of one kind.
type Call struct {
	// Verb is get, list, put, patch, delete, post or poll.
	Verb string
	// ResourceType is the type in lower case, such as
	// "microsoft.compute/virtualmachines".
	ResourceType string
	// Code is the HTTP status, 0 if no response arrived.
	Code int
	// Count is the number of calls.
	Count int
}

// Observation describes one call and its response.
type Observation struct {
	Call
	// SubscriptionID is the client's subscription.
	SubscriptionID string
	// Took is the time until the response headers arrived.
	Took time.Duration
	// Remaining is the number of remaining calls in Azure's quotas, by name of the quota: reads, writes or deletes of
	// the subscription, or a quota of a resource provider such as "Microsoft.Compute/PutVM3Min".
	Remaining map[string]int
}

// counter counts the calls that were sent.
type counter struct {
	observe func(Observation)
	mu      sync.Mutex
	counts  map[Call]int
}

func (c *counter) add(o Observation) {
	call := o.Call
	c.mu.Lock()
	if c.counts == nil {
		c.counts = map[Call]int{}
	}
	c.counts[call]++
	c.mu.Unlock()
	if c.observe != nil {
		c.observe(o)
	}
}

// Calls returns the number of calls of each kind since the client was created, sorted by type, verb and code.
func (c *Client) Calls() []Call {
	c.counter.mu.Lock()
	defer c.counter.mu.Unlock()
	calls := slices.Collect(maps.Keys(c.counter.counts))
	for i, call := range calls {
		calls[i].Count = c.counter.counts[call]
	}
	slices.SortFunc(calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.ResourceType, b.ResourceType), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Code, b.Code))
	})
	return calls
}

// recorder counts each call and logs a line about it, without query values and bodies,
// because they can contain secrets.
type recorder struct {
	counter        *counter
	subscriptionID string
	log            logr.Logger
}

func (r *recorder) Do(req *policy.Request) (*http.Response, error) {
	raw := req.Raw()
	start := time.Now()
	resp, err := req.Next()
	took := time.Since(start)
	call := Call{Verb: verbOf(raw.Method, raw.URL.Path), ResourceType: strings.ToLower(TypeOf(raw.URL.Path))}
	requestID := ""
	if resp != nil {
		call.Code, requestID = resp.StatusCode, resp.Header.Get("x-ms-request-id")
	}
	o := Observation{Call: call, SubscriptionID: r.subscriptionID, Took: took}
	if resp != nil {
		o.Remaining = quotas(resp.Header)
	}
	r.counter.add(o)
	log, logErr := logr.FromContext(raw.Context())
	if logErr != nil {
		log = r.log
	}
	log.V(4).Info("Azure call", "verb", call.Verb, "path", raw.URL.Path, "code", call.Code, "took", took, "requestID", requestID)
	return resp, err
}

// verbOf returns the verb of a call; it distinguishes lists and polls from reads of one resource.
func verbOf(method, path string) string {
	if method != http.MethodGet {
		return strings.ToLower(method)
	}
	segments := split(path)
	for _, s := range segments {
		switch strings.ToLower(s) {
		case "operations", "operationresults", "operationstatuses", "asyncoperations":
			return "poll"
		}
	}
	if at := max(0, lastIndexFold(segments, "providers")); (len(segments)-at)%2 != 0 {
		return "list"
	}
	return "get"
}
