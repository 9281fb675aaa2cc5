package arm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// reply is one response of the test's server.
type reply struct {
	status int
	body   string
	header map[string]string
}

// wire responds to the requests of a client from a list for each "METHOD path", in order; the last response repeats. No
// request leaves the process.
type wire struct {
	mu      sync.Mutex
	replies map[string][]reply
	seen    []*http.Request
	bodies  []string
}

func (w *wire) Do(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, req)
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		w.bodies = append(w.bodies, string(body))
	}
	key := req.Method + " " + req.URL.Path
	queue, ok := w.replies[key]
	if !ok {
		return nil, fmt.Errorf("connection refused")
	}
	r := queue[0]
	if len(queue) > 1 {
		w.replies[key] = queue[1:]
	}
	rec := httptest.NewRecorder()
	for k, v := range r.header {
		rec.Header().Set(k, v)
	}
	rec.WriteHeader(r.status)
	_, _ = rec.WriteString(r.body)
	resp := rec.Result()
	resp.Request = req
	return resp, nil
}

func (w *wire) requests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

func newClient(t *testing.T, w *wire) *Client { return newClientOver(t, w) }

func newClientOver(t *testing.T, w policy.Transporter) *Client {
	t.Helper()
	c, err := New(Config{
		Cloud: cloud.Configuration{Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: "https://arm.test", Audience: "https://arm.test"},
		}},
		SubscriptionID: "s", Credential: &azfake.TokenCredential{}, Transport: w,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	vm       = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/m"
	opPath   = "/subscriptions/s/providers/Microsoft.Compute/locations/l/operations/1"
	opURL    = "https://arm.test" + opPath + "?api-version=1&t=secret"
	creating = `{"properties":{"provisioningState":"Creating"}}`
	ready    = `{"name":"m","properties":{"provisioningState":"Succeeded"}}`
)

func TestPutIsPolledOnceAtATimeAndResumed(t *testing.T) {
	w := &wire{replies: map[string][]reply{
		"PUT " + vm: {{201, creating, map[string]string{"Azure-AsyncOperation": opURL, "Retry-After": "10"}}},
		"GET " + opPath: {
			{200, `{"status":"InProgress"}`, map[string]string{"Retry-After": "50"}},
			{503, `{"error":{"code":"ServerTimeout"}}`, nil},
			{200, `{"status":"Succeeded"}`, nil},
		},
		"GET " + vm: {{200, ready, nil}},
	}}
	r, err := newClient(t, w).Put(t.Context(), vm, "1", map[string]string{"a": "b"})
	if err != nil || r.Operation == nil || r.Operation.RetryAfter != 10*time.Second {
		t.Fatalf("put: %+v, %v", r, err)
	}
	c := newClient(t, w) // another process
	token := r.Operation.Token
	if r, err = c.Poll(t.Context(), token); err != nil || r.Operation == nil || r.Operation.RetryAfter != 50*time.Second {
		t.Fatalf("first poll: %+v, %v", r, err)
	}
	token = r.Operation.Token
	if _, err = c.Poll(t.Context(), token); ClassOf(err) != Transient || OperationEnded(err) {
		t.Fatalf("second poll: %v", err)
	}
	r, err = c.Poll(t.Context(), token)
	if err != nil || r.Operation != nil || string(r.Body) != ready {
		t.Fatalf("last poll: %+v, %v", r, err)
	}
	if n := w.requests(); n != 5 {
		t.Errorf("%d requests", n)
	}
}

func TestSynchronousAnswers(t *testing.T) {
	w := &wire{replies: map[string][]reply{
		"PUT " + vm:                {{200, ready, map[string]string{"Azure-AsyncOperation": opURL}}},
		"DELETE " + vm:             {{204, "", nil}, {404, `{"error":{"code":"ResourceGroupNotFound"}}`, nil}},
		"POST " + vm + "/powerOff": {{200, `["x"]`, nil}},
		"PATCH " + vm:              {{200, ready, nil}},
	}}
	c := newClient(t, w)
	put, err := c.Put(t.Context(), vm, "1", struct{}{})
	if err != nil || put.Operation != nil || string(put.Body) != ready {
		t.Errorf("put: %+v, %v", put, err)
	}
	for range 2 {
		if r, err := c.Delete(t.Context(), vm, "1"); err != nil || r.Operation != nil {
			t.Errorf("delete: %+v, %v", r, err)
		}
	}
	if r, err := c.Post(t.Context(), vm+"/powerOff", "1", nil); err != nil || r.Operation != nil {
		t.Errorf("post: %+v, %v", r, err)
	}
	if r, err := c.Patch(t.Context(), vm, "1", struct{}{}); err != nil || string(r.Body) != ready {
		t.Errorf("patch: %+v, %v", r, err)
	}
	if w.requests() != 5 {
		t.Errorf("%d requests", w.requests())
	}
}

func TestDeleteThroughLocation(t *testing.T) {
	w := &wire{replies: map[string][]reply{
		"DELETE " + vm:  {{202, "", map[string]string{"Location": opURL}}},
		"GET " + opPath: {{202, "", nil}, {200, "", nil}},
	}}
	c := newClient(t, w)
	r, err := c.Delete(t.Context(), vm, "1")
	for range 2 {
		if err != nil || r.Operation == nil {
			t.Fatalf("%+v, %v", r, err)
		}
		r, err = c.Poll(t.Context(), r.Operation.Token)
	}
	if err != nil || r.Operation != nil {
		t.Errorf("end: %+v, %v", r, err)
	}
}

// TestLocationOfWhatIsMade checks that the Location of a 201 without a long-running
// operation is not taken for the URL of an operation.
func TestLocationOfWhatIsMade(t *testing.T) {
	w := &wire{replies: map[string][]reply{"PUT " + vm: {{201, `{"properties":{}}`, map[string]string{"Location": vm}}}}}
	r, err := newClient(t, w).Put(t.Context(), vm, "1", struct{}{})
	if err != nil || r.Operation != nil || string(r.Body) != `{"properties":{}}` {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestFailedOperation(t *testing.T) {
	w := &wire{replies: map[string][]reply{
		"PUT " + vm:     {{201, creating, map[string]string{"Azure-AsyncOperation": opURL}}},
		"GET " + opPath: {{200, `{"status":"Failed","error":{"code":"OSProvisioningTimedOut","message":"not in time"}}`, nil}},
	}}
	c := newClient(t, w)
	r, err := c.Put(t.Context(), vm, "1", struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Poll(t.Context(), r.Operation.Token)
	if ClassOf(err) != Failed || !OperationEnded(err) || CodeOf(err) != "OSProvisioningTimedOut" {
		t.Errorf("%v", err)
	}
	if want := "put Microsoft.Compute/virtualMachines/m in resource group g: OSProvisioningTimedOut: not in time"; err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

func TestTokensAreNotTrusted(t *testing.T) {
	w := &wire{}
	c := newClient(t, w)
	for name, token := range map[string]string{
		"nonsense":     "x",
		"another type": `{"type":"Other","token":{}}`,
		"foreign host": `{"type":"RawMessage","token":{"asyncURL":"https://evil.test/x",` +
			`"origURL":"https://evil.test/x","method":"PUT","state":"InProgress"}}`,
		"host in suffix": `{"type":"RawMessage","token":{"asyncURL":"https://evilarm.test/x",` +
			`"origURL":"https://evilarm.test/x","method":"PUT","state":"InProgress"}}`,
	} {
		if _, err := c.Poll(t.Context(), token); CodeOf(err) != CodeBadToken || !OperationEnded(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w.requests() != 0 {
		t.Errorf("%d requests went out", w.requests())
	}
}

func TestListFollowsPages(t *testing.T) {
	const path = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks"
	w := &wire{replies: map[string][]reply{
		"GET " + path: {
			{200, `{"value":[{"id":1},{"id":2}],"nextLink":"https://arm.test` + path + `?$skiptoken=a"}`, nil},
			{200, `{"value":[],"nextLink":"https://arm.test` + path + `?$skiptoken=b"}`, nil},
			{200, `{"value":[{"id":3}]}`, nil},
		},
		"GET /publishers": {{200, `[{"id":1}]`, nil}},
		"GET /bad":        {{200, `{"value":[{"id":1}],"nextLink":"https://elsewhere.test/x"}`, nil}},
	}}
	c := newClient(t, w)
	count := func(path string) (n int, last error) {
		for _, err := range c.List(t.Context(), path, "1", Query("$filter", "a eq 'b'")) {
			if last = err; err == nil {
				n++
			}
		}
		return n, last
	}
	if n, err := count(path); n != 3 || err != nil {
		t.Errorf("%d items, %v", n, err)
	}
	if q := w.seen[0].URL.Query(); q.Get("$filter") != "a eq 'b'" || q.Get("api-version") != "1" {
		t.Errorf("query %v", q)
	}
	if q := w.seen[1].URL.RawQuery; q != "$skiptoken=a" {
		t.Errorf("the link is not followed as it is: %s", q)
	}
	if n, err := count("/publishers"); n != 1 || err != nil {
		t.Errorf("bare array: %d items, %v", n, err)
	}
	if n, err := count("/bad"); n != 1 || err == nil {
		t.Errorf("link to another host: %d items, %v", n, err)
	}
}

func TestThrottlingClosesTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{replies: map[string][]reply{
			"PUT " + vm: {{429, `{"error":{"code":"TooManyRequests","message":"slow down"}}`,
				map[string]string{"Retry-After": "30"}}, {200, ready, nil}},
			"GET " + vm: {{200, ready, nil}},
		}}
		c := newClient(t, w)
		if _, err := c.Put(t.Context(), vm, "1", struct{}{}); ClassOf(err) != Throttled || RetryAfter(err) != 30*time.Second {
			t.Fatalf("put: %v", err)
		}
		time.Sleep(10 * time.Second)
		for range 3 {
			if _, err := c.Get(t.Context(), vm, "1"); ClassOf(err) != Throttled || RetryAfter(err) != 20*time.Second {
				t.Fatalf("behind the gate: %v", err)
			}
		}
		if w.requests() != 1 || c.Throttled() != 20*time.Second {
			t.Errorf("%d requests, closed for %v", w.requests(), c.Throttled())
		}
		time.Sleep(20 * time.Second)
		if _, err := c.Get(t.Context(), vm, "1"); err != nil {
			t.Errorf("after Retry-After: %v", err)
		}
	})
}

func TestABusyResourceDoesNotCloseTheGate(t *testing.T) {
	w := &wire{replies: map[string][]reply{
		"PUT " + vm: {{429, `{"error":{"code":"RetryableErrorDueToAnotherOperation"}}`, map[string]string{"Retry-After": "30"}}},
		"GET " + vm: {{200, ready, nil}},
	}}
	c := newClient(t, w)
	if _, err := c.Put(t.Context(), vm, "1", struct{}{}); ClassOf(err) != Busy {
		t.Errorf("put: %v", err)
	}
	if _, err := c.Get(t.Context(), vm, "1"); err != nil {
		t.Errorf("get: %v", err)
	}
}

func TestLowQuotaSpacesCalls(t *testing.T) {
	for name, tc := range map[string]struct {
		header map[string]string
		least  time.Duration
		most   time.Duration
	}{
		"plenty": {map[string]string{"x-ms-ratelimit-remaining-subscription-reads": "240",
			"x-ms-ratelimit-remaining-resource": "Microsoft.Compute/Get3Min;238,x;100"}, 0, 0},
		"low reads": {map[string]string{"x-ms-ratelimit-remaining-subscription-reads": "5"}, 300 * time.Millisecond, time.Second},
		"low resource": {map[string]string{
			"x-ms-ratelimit-remaining-resource": "Microsoft.Compute/Get3Min;238, Microsoft.Compute/Get30Min;1",
		}, 4 * time.Second, 6 * time.Second},
		"writes are others": {map[string]string{"x-ms-ratelimit-remaining-subscription-writes": "1"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t, &wire{replies: map[string][]reply{"GET " + vm: {{200, ready, tc.header}}}})
				start := time.Now()
				for range 10 {
					if _, err := c.Get(t.Context(), vm, "1"); err != nil {
						t.Fatal(err)
					}
				}
				if took := time.Since(start); took < tc.least || took > tc.most {
					t.Errorf("ten calls took %v", took)
				}
			})
		})
	}
}

func TestTooManyWaitersAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, &wire{replies: map[string][]reply{
			"GET " + vm: {{200, ready, map[string]string{"x-ms-ratelimit-remaining-subscription-reads": "1"}}},
		}})
		if _, err := c.Get(t.Context(), vm, "1"); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		refused, turns := 0, map[time.Duration]int{}
		for range 100 {
			wg.Go(func() {
				_, err := c.Get(t.Context(), vm, "1")
				mu.Lock()
				defer mu.Unlock()
				if ClassOf(err) == Throttled && RetryAfter(err) > 0 {
					refused++
					turns[RetryAfter(err)]++
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if refused != 100-mostWaiting {
			t.Errorf("%d of 100 were refused", refused)
		}
		if len(turns) != refused {
			t.Errorf("%d refused calls have %d turns: some come back at the same time", refused, len(turns))
		}
	})
}

func TestProviderIsRegisteredOnceWithoutWaiting(t *testing.T) {
	const register = "POST /subscriptions/s/providers/Microsoft.Compute/register"
	w := &wire{replies: map[string][]reply{
		"PUT " + vm: {{409, `{"error":{"code":"MissingSubscriptionRegistration","message":"not registered"}}`, nil}},
		register:    {{200, `{}`, nil}},
	}}
	c := newClient(t, w)
	for range 3 {
		if _, err := c.Put(t.Context(), vm, "1", struct{}{}); ClassOf(err) != Busy || RetryAfter(err) == 0 {
			t.Errorf("%v", err)
		}
	}
	if w.requests() != 4 {
		t.Errorf("%d requests", w.requests())
	}
}

func TestCallsAreCounted(t *testing.T) {
	w := &wire{replies: map[string][]reply{
		"GET " + vm:                           {{200, ready, nil}},
		"PUT " + vm:                           {{201, creating, map[string]string{"Azure-AsyncOperation": opURL}}},
		"GET " + opPath:                       {{200, `{"status":"InProgress"}`, nil}},
		"GET /subscriptions/s/resourcegroups": {{200, `{"value":[]}`, nil}},
	}}
	c := newClient(t, w)
	ctx := WithCorrelationID(t.Context(), "c0ffee")
	for range 2 {
		if _, err := c.Get(ctx, vm, "1"); err != nil {
			t.Fatal(err)
		}
	}
	r, err := c.Put(ctx, vm, "1", struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Poll(ctx, r.Operation.Token); err != nil {
		t.Fatal(err)
	}
	for _, err := range c.List(ctx, "/subscriptions/s/resourcegroups", "1") {
		t.Fatal(err)
	}
	if _, err := c.Get(ctx, "/subscriptions/s/resourceGroups/nowhere", "1"); ClassOf(err) != Transient {
		t.Fatalf("%v", err)
	}
	want := []Call{
		{"poll", "microsoft.compute/locations/operations", 200, 1},
		{"get", "microsoft.compute/virtualmachines", 200, 2},
		{"put", "microsoft.compute/virtualmachines", 201, 1},
		{"get", "microsoft.resources/resourcegroups", 0, 1},
		{"list", "microsoft.resources/resourcegroups", 200, 1},
	}
	if got := c.Calls(); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if id := w.seen[0].Header.Get("x-ms-correlation-request-id"); id != "c0ffee" {
		t.Errorf("correlation ID %q", id)
	}
}

func TestClasses(t *testing.T) {
	quota := "Operation could not be completed as it results in exceeding approved standardDSv3Family Cores quota."
	for _, tc := range []struct {
		status        int
		code, message string
		want          Class
	}{
		{404, "ResourceNotFound", "", NotFound}, {404, "ResourceGroupNotFound", "", NotFound},
		{404, "ParentResourceNotFound", "", NotFound},
		{404, "", "", NotFound}, {400, "PlatformImageNotFound", "", NotFound},
		{409, "Conflict", "", Conflict}, {412, "PreconditionFailed", "", Conflict}, {409, "", "", Conflict},
		{409, "OperationNotAllowed", "the VM is being deallocated", Conflict},
		{409, "OperationNotAllowed", quota, Quota}, {409, "QuotaExceeded", "", Quota}, {400, "PublicIPCountLimitReached", "", Quota},
		{409, "OperationNotAllowed", "Disk x is attached to VM y.", InUse}, {400, "InUseSubnetCannotBeDeleted", "", InUse},
		{400, "NicInUse", "", InUse}, {400, "CannotDeleteNatGatewayAssociatedToSubnet", "", InUse},
		{400, "PublicIPAddressCannotBeDeleted", "", InUse},
		{429, "AnotherOperationInProgress", "", Busy}, {409, "AnotherOperationInProgress", "", Busy},
		{409, "ResourceGroupBeingDeleted", "", Busy},
		{400, "NicReservedForAnotherVm", "", Busy}, {400, "InvalidResourceReference", "", Busy},
		{409, "MissingSubscriptionRegistration", "", Busy},
		{429, "TooManyRequests", "", Throttled}, {429, "OperationNotAllowed", "too fast", Throttled},
		{429, "", "", Throttled}, {429, "SubscriptionRequestsThrottled", "", Throttled},
		{403, "AuthorizationFailed", "", Denied}, {403, "RequestDisallowedByPolicy", "", Denied},
		{409, "ScopeLocked", "", Denied}, {401, "", "", Denied},
		{409, "ReadOnlyDisabledSubscription", "", Denied}, {401, "ExpiredAuthenticationToken", "", Denied},
		{400, "InvalidParameter", "", Invalid}, {409, "PropertyChangeNotAllowed", "", Invalid},
		{400, "NetcfgSubnetRangesOverlap", "", Invalid},
		{409, "InvalidResourceLocation", "", Invalid}, {400, "SomethingNew", "", Invalid},
		{409, "SkuNotAvailable", "", SKUNotAvailable}, {400, "SkuNotAvailable", "", SKUNotAvailable},
		{200, "AllocationFailed", "", Capacity}, {200, "ZonalAllocationFailed", "", Capacity},
		{200, "OverconstrainedAllocationRequest", "", Capacity},
		{200, "OSProvisioningTimedOut", "", Failed}, {200, "VMExtensionProvisioningError", "", Failed},
		{500, "InternalServerError", "", Transient}, {503, "", "", Transient}, {408, "", "", Transient},
		{504, "GatewayTimeout", "", Transient},
		{302, "", "", Unknown},
	} {
		e := &Error{StatusCode: tc.status, Code: tc.code, Message: tc.message}
		if e.classify(); e.Class != tc.want {
			t.Errorf("%d %s %q is %s, want %s", tc.status, tc.code, tc.message, e.Class, tc.want)
		}
	}
	if ClassOf(nil) != "" || ClassOf(errors.New("x")) != Unknown || ClassOf(fmt.Errorf("x: %w", &Error{Class: Quota})) != Quota {
		t.Error("ClassOf does not see the class")
	}
}

func TestErrorBodies(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"code":"InvalidParameter","message":"bad\n  value","target":"osProfile.x"}}`: "get " +
			"Microsoft.Compute/virtualMachines/m in resource group g: InvalidParameter: bad value " +
			"(osProfile.x)",
		`{"code":"ResourceNotFound","message":"flat"}`: "get " +
			"Microsoft.Compute/virtualMachines/m in resource group g: ResourceNotFound: flat",
		`{"error":{"code":"Wrapper","message":"see details","details":[{"code":"SkuNotAvailable","message":"not here"}]}}`: "get " +
			"Microsoft.Compute/virtualMachines/m in resource group g: SkuNotAvailable: see details " +
			"SkuNotAvailable: not here",
		`<html>proxy</html>`: "get Microsoft.Compute/virtualMachines/m in resource group g: HTTP 400: <html>proxy</html>",
		``:                   "get Microsoft.Compute/virtualMachines/m in resource group g: HTTP 400",
	} {
		_, err := newClient(t, &wire{replies: map[string][]reply{"GET " + vm: {{400, body, nil}}}}).Get(t.Context(), vm, "1")
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestSecretsStayInTheRequest(t *testing.T) {
	w := &wire{replies: map[string][]reply{"PUT " + vm: {{400, `{"error":{"code":"InvalidParameter","message":"customData"}}`, nil}}}}
	_, err := newClient(t, w).Put(t.Context(), vm, "1", map[string]string{"customData": "c2VjcmV0"})
	if err == nil || strings.Contains(fmt.Sprintf("%+v", err), "c2VjcmV0") {
		t.Errorf("%v", err)
	}
	var sent map[string]string
	if json.Unmarshal([]byte(w.bodies[0]), &sent) != nil || sent["customData"] != "c2VjcmV0" {
		t.Errorf("sent %v", w.bodies)
	}
}

func TestCancelledCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := &wire{replies: map[string][]reply{"GET " + vm: {{200, ready, nil}}}}
	c := newClient(t, w)
	c.gate.setPace("reads", true, time.Hour/3600/2, time.Now())
	if _, err := c.Get(ctx, vm, "1"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestIDs(t *testing.T) {
	for id, want := range map[string][4]string{
		vm:                                  {"Microsoft.Compute/virtualMachines", "m", "/subscriptions/s/resourceGroups/g", ""},
		vm + "/extensions/e":                {"Microsoft.Compute/virtualMachines/extensions", "e", "/subscriptions/s/resourceGroups/g", vm},
		"/subscriptions/s/resourcegroups/g": {"Microsoft.Resources/resourceGroups", "g", "/subscriptions/s/resourcegroups/g", ""},
		"/subscriptions/s":                  {"Microsoft.Resources/subscriptions", "s", "", ""},
		vm + "/providers/Microsoft.Authorization/roleAssignments/r": {
			"Microsoft.Authorization/roleAssignments", "r", "/subscriptions/s/resourceGroups/g", "",
		},
		"": {"Microsoft.Resources/subscriptions", "", "", ""},
	} {
		if got := [4]string{TypeOf(id), NameOf(id), GroupOf(id), ParentOf(id)}; got != want {
			t.Errorf("%s: got %v, want %v", id, got, want)
		}
	}
}

func FuzzIDs(f *testing.F) {
	f.Add(vm)
	f.Add("/providers")
	f.Fuzz(func(t *testing.T, id string) {
		if TypeOf(id) == "" && id != "" && strings.Trim(id, "/") != "" && !strings.Contains(id, "//") {
			t.Errorf("%q has no type", id)
		}
		_, _, _ = NameOf(id), GroupOf(id), ParentOf(id)
		_ = verbOf(http.MethodGet, id)
	})
}

func FuzzErrorBodies(f *testing.F) {
	f.Add(409, `{"error":{"code":"a","details":[{}]}}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		e := &Error{StatusCode: status}
		e.describe("", []byte(body))
		if e.classify(); e.Class == "" || len(e.Error()) > 3*maxMessage+len(body) {
			t.Errorf("%+v", e)
		}
	})
}
