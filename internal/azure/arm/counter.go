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

// Call is a kind of call, and how often it was made.
type Call struct {
	// Verb is get, list, put, patch, delete, post or poll.
	Verb string
	// ResourceType is the type in lower case, such as
	// "microsoft.compute/virtualmachines".
	ResourceType string
	// Code is the HTTP status, 0 when no answer came.
	Code int
	// Count is how many there were; 1 in what Config.Observe is told.
	Count int
}

// counter counts the calls that were sent.
type counter struct {
	observe func(Call)
	mu      sync.Mutex
	counts  map[Call]int
}

func (c *counter) add(call Call) {
	c.mu.Lock()
	if c.counts == nil {
		c.counts = map[Call]int{}
	}
	c.counts[call]++
	c.mu.Unlock()
	if c.observe != nil {
		call.Count = 1
		c.observe(call)
	}
}

// Calls returns how many calls of each kind were sent since the client was made,
// sorted by type, verb and code.
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

// recorder counts each call and logs a line about it, without query values or
// bodies, which may hold secrets.
type recorder struct {
	counter *counter
	log     logr.Logger
}

func (p *recorder) Do(req *policy.Request) (*http.Response, error) {
	raw := req.Raw()
	start := time.Now()
	resp, err := req.Next()
	call := Call{Verb: verbOf(raw.Method, raw.URL.Path), ResourceType: strings.ToLower(TypeOf(raw.URL.Path))}
	requestID := ""
	if resp != nil {
		call.Code, requestID = resp.StatusCode, resp.Header.Get("x-ms-request-id")
	}
	p.counter.add(call)
	log, logErr := logr.FromContext(raw.Context())
	if logErr != nil {
		log = p.log
	}
	log.V(4).Info("Azure call", "verb", call.Verb, "path", raw.URL.Path, "code", call.Code, "took", time.Since(start), "requestID", requestID)
	return resp, err
}

// verbOf tells lists and polls from reads of one resource.
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
