package plan

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"

	"casement.dev/casement/internal/azure/arm"
)

// azure is a small ARM for the tests of this package: documents by ID, operations that last a given number
// of polls, and refusals. It is the Azure SDK's transport, so no request leaves the process.
type azure struct {
	mu        sync.Mutex
	docs      map[string]map[string]any
	calls     []string
	lasts     int                 // number of polls until an operation has ended; 0 means no operation
	refuse    map[string][]answer // by "METHOD name", used in order
	ends      map[string]answer   // the result of the operation on a name, if it fails
	ops       map[string]*operation
	overwrite map[string]any // the properties that Azure sets, whatever the body contains
	changed   map[string]string
}

type operation struct {
	polls int
	end   func() answer
}

type answer struct {
	status int
	body   string
	header map[string]string
}

func refusal(status int, code, message string) answer {
	return answer{status: status, body: fmt.Sprintf(`{"error":{"code":%q,"message":%q}}`, code, message)}
}

func newAzure() *azure {
	return &azure{docs: map[string]map[string]any{}, refuse: map[string][]answer{}, ends: map[string]answer{},
		ops: map[string]*operation{}, changed: map[string]string{}}
}

// Do implements policy.Transporter.
func (a *azure) Do(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	a.ServeHTTP(w, req)
	resp := w.Result()
	resp.Request = req
	return resp, nil
}

func (a *azure) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := arm.NameOf(req.URL.Path)
	if op, ok := a.ops[name]; ok {
		a.calls = append(a.calls, "POLL")
		a.poll(w, op)
		return
	}
	a.calls = append(a.calls, req.Method+" "+name)
	if queue := a.refuse[req.Method+" "+name]; len(queue) > 0 {
		a.refuse[req.Method+" "+name] = queue[1:]
		write(w, queue[0])
		return
	}
	key := arm.Key(req.URL.Path)
	switch req.Method {
	case http.MethodGet:
		a.get(w, key)
	case http.MethodDelete:
		if a.docs[key] == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		a.change(w, req, key, nil)
	default:
		var body map[string]any
		if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
			write(w, refusal(400, "InvalidRequestContent", err.Error()))
			return
		}
		a.change(w, req, key, body)
	}
}

func (a *azure) get(w http.ResponseWriter, key string) {
	if doc := a.docs[key]; doc != nil {
		write(w, answer{status: 200, body: marshal(doc)})
		return
	}
	if segments := strings.Split(strings.Trim(key, "/"), "/"); len(segments)%2 == 0 {
		write(w, refusal(404, "ResourceNotFound", "no "+key))
		return
	}
	value := []any{}
	if group, ok := strings.CutSuffix(key, "/resources"); ok {
		write(w, answer{status: 200, body: marshal(map[string]any{"value": a.overview(group)})})
		return
	}
	for id, doc := range a.docs {
		if rest, ok := strings.CutPrefix(id, key+"/"); ok && !strings.Contains(rest, "/") {
			value = append(value, doc)
		}
	}
	write(w, answer{status: 200, body: marshal(map[string]any{"value": value})})
}

// overview lists the resources of a group, without their child resources.
func (a *azure) overview(group string) []any {
	value := []any{}
	for id, doc := range a.docs {
		if arm.Key(arm.GroupOf(id)) == group && id != group && arm.ParentOf(id) == "" {
			value = append(value, map[string]any{"id": doc["id"], "type": arm.TypeOf(id),
				"changedTime": a.changed[id], "provisioningState": "Succeeded"})
		}
	}
	return value
}

// change applies a write immediately, or at the end of an operation if operations last.
func (a *azure) change(w http.ResponseWriter, req *http.Request, key string, body map[string]any) {
	if body != nil {
		if req.Method == http.MethodPatch {
			for k, v := range a.docs[key] {
				if _, ok := body[k]; !ok {
					body[k] = v
				}
			}
		}
		body["id"], body["name"] = req.URL.Path, arm.NameOf(req.URL.Path)
		properties, _ := body["properties"].(map[string]any)
		if properties == nil {
			properties = map[string]any{}
			body["properties"] = properties
		}
		for k, v := range a.overwrite {
			properties[k] = v
		}
		properties["provisioningState"] = "Succeeded"
	}
	end := func() answer {
		if bad, ok := a.ends[arm.NameOf(key)]; ok {
			delete(a.ends, arm.NameOf(key))
			return bad
		}
		a.keep(key, body)
		return answer{status: 200, body: `{"status":"Succeeded"}`}
	}
	if a.lasts == 0 {
		if end(); body == nil {
			write(w, answer{status: 200})
		} else {
			write(w, answer{status: 200, body: marshal(body)})
		}
		return
	}
	op := fmt.Sprintf("op%d", len(a.ops))
	a.ops[op] = &operation{polls: a.lasts, end: end}
	status := http.StatusAccepted
	if body != nil {
		status = http.StatusCreated
	}
	write(w, answer{status: status, body: `{"properties":{"provisioningState":"Updating"}}`, header: map[string]string{
		"Azure-AsyncOperation": "https://arm.test/subscriptions/s/providers/Microsoft.Network/locations/l/operations/" +
			op + "?api-version=1",
		"Retry-After": "3",
	}})
}

// keep stores a document, or removes it if body is nil. A resource that is part of its parent's body is
// stored there too.
func (a *azure) keep(key string, body map[string]any) {
	if body == nil {
		for _, id := range deletedWith(a.docs[key]) {
			delete(a.docs, arm.Key(id))
		}
		delete(a.docs, key)
	} else {
		a.docs[key] = body
		a.changed[key] = time.Now().Format(time.RFC3339Nano)
	}
	parent := a.docs[arm.ParentOf(key)]
	if parent == nil || !inline(key) {
		return
	}
	properties := parent["properties"].(map[string]any)
	children, _ := properties[kindOf(key)].([]any)
	children = slices.DeleteFunc(children, func(c any) bool { return strings.EqualFold(keyOf(c), arm.NameOf(key)) })
	if body != nil {
		children = append(children, body)
	}
	properties[kindOf(key)] = children
}

func (a *azure) poll(w http.ResponseWriter, op *operation) {
	if op.polls--; op.polls > 0 {
		write(w, answer{status: 200, body: `{"status":"InProgress"}`, header: map[string]string{"Retry-After": "3"}})
		return
	}
	write(w, op.end())
}

func write(w http.ResponseWriter, a answer) {
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write([]byte(a.body))
}

func marshal(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// took returns the calls since its last invocation, sorted.
func (a *azure) took() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := a.calls
	a.calls = nil
	slices.Sort(calls)
	return strings.Join(calls, ", ")
}

// newPlanner returns a planner with the real client and the test's azure.
func newPlanner(t *testing.T, a *azure) *Planner {
	t.Helper()
	client, err := arm.New(arm.Config{
		Cloud: cloud.Configuration{Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: "https://arm.test", Audience: "https://arm.test"},
		}},
		SubscriptionID: "s", Credential: &azfake.TokenCredential{}, Transport: a,
	})
	if err != nil {
		t.Fatal(err)
	}
	return New(client, Options{})
}

// inBubble runs a test with its own clock.
func inBubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// later lets the bubble's clock run; it takes no real time.
func later(d time.Duration) { time.Sleep(d) }
