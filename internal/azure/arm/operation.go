package arm

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// begin sends a request that changes a resource, and returns its result or the operation that it started.
func (c *Client) begin(ctx context.Context, method, id, apiVersion string, body any, options []Option) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := c.do(ctx, method, id, apiVersion, body, options)
	if err != nil {
		return Result{}, err
	}
	first, err := payload(resp, id)
	if err != nil {
		return Result{}, err
	}
	if !goesOn(resp, first) {
		return Result{Body: first}, nil
	}
	poller, err := runtime.NewPoller[json.RawMessage](resp, c.pipeline, nil)
	if err != nil {
		return Result{}, operationError(method, id, err)
	}
	if !poller.Done() {
		result, err := unfinished(poller, method, id, retryAfter(resp.Header))
		result.Body = first
		return result, err
	}
	if succeeded(first) {
		// A poller of the SDK would read the resource once more.
		return Result{Body: first}, nil
	}
	return finished(ctx, poller, method, id)
}

// goesOn reports whether a response announces a long-running operation. A header Location alone does not: providers
// without such operations, such as Microsoft.ManagedIdentity, respond 201 with the path of the created resource.
// Source: https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations.
func goesOn(resp *http.Response, first json.RawMessage) bool {
	return resp.StatusCode == http.StatusAccepted || resp.Header.Get("Azure-AsyncOperation") != "" || !succeeded(first)
}

// Poll requests the state of an operation once. While the operation continues,
// Result.Operation has a token that replaces the given one. An operation that failed in
// Azure is returned as an *Error; OperationEnded distinguishes it from a failed poll, after
// which the token remains valid.
func (c *Client) Poll(ctx context.Context, token string) (Result, error) {
	return c.poll(ctx, token, true)
}

// PollState is Poll without the read of the resource after an operation's success: Result.Body is empty then. It is for
// callers that keep the first response of the operation.
func (c *Client) PollState(ctx context.Context, token string) (Result, error) {
	return c.poll(ctx, token, false)
}

func (c *Client) poll(ctx context.Context, token string, read bool) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	method, id := describe(token)
	poller, err := runtime.NewPollerFromResumeToken[json.RawMessage](token, c.pipeline, nil)
	if err != nil {
		return Result{}, &Error{Class: Invalid, Method: method, ID: id, Code: CodeBadToken,
			Message: "the stored resume token cannot be read; the operation has to be begun again", ended: true,
			err: err}
	}
	resp, err := poller.Poll(ctx)
	if err != nil {
		return Result{}, pollError(method, id, err)
	}
	if !poller.Done() {
		return unfinished(poller, method, id, retryAfter(resp.Header))
	}
	ended := stateOf(resp)
	if !read && strings.EqualFold(ended.Status, "Succeeded") {
		return Result{Took: ended.lasted()}, nil
	}
	result, err := finished(ctx, poller, method, id)
	result.Took = ended.lasted()
	return result, err
}

// operationState is the body of a poll of an operation's own URL. A body without a status
// is the resource itself, or empty.
type operationState struct {
	Status    string `json:"status"`
	StartTime string `json:"startTime"`
	EndTime   string `json:"endTime"`
}

func stateOf(resp *http.Response) operationState {
	data, err := runtime.Payload(resp)
	var state operationState
	if err != nil || json.Unmarshal(data, &state) != nil {
		return operationState{}
	}
	return state
}

// lasted returns how long the operation took, or 0 if the response does not contain its times.
func (s operationState) lasted() time.Duration {
	start, errStart := time.Parse(time.RFC3339Nano, s.StartTime)
	end, errEnd := time.Parse(time.RFC3339Nano, s.EndTime)
	if errStart != nil || errEnd != nil {
		return 0
	}
	return max(end.Sub(start), 0)
}

func unfinished(poller *runtime.Poller[json.RawMessage], method, id string, wait time.Duration) (Result, error) {
	token, err := poller.ResumeToken()
	if err != nil {
		return Result{}, operationError(method, id, err)
	}
	return Result{Operation: &Operation{Token: token, RetryAfter: wait}}, nil
}

func finished(ctx context.Context, poller *runtime.Poller[json.RawMessage], method, id string) (Result, error) {
	body, err := poller.Result(ctx)
	if err != nil {
		return Result{}, operationError(method, id, err)
	}
	return Result{Body: body}, nil
}

// succeeded reports whether the first response to a request already has the final state.
func succeeded(body json.RawMessage) bool {
	var resource struct {
		Properties struct {
			ProvisioningState string `json:"provisioningState"`
		} `json:"properties"`
	}
	if len(body) == 0 {
		return true
	}
	if json.Unmarshal(body, &resource) != nil {
		// Arrays and other responses of actions have no state.
		return true
	}
	state := resource.Properties.ProvisioningState
	return state == "" || strings.EqualFold(state, "Succeeded")
}

// describe returns the method and the resource of a resume token, for messages. The SDK
// stores them only for operations with a header Azure-AsyncOperation.
func describe(token string) (method, id string) {
	var t struct {
		Token struct {
			Method  string `json:"method"`
			OrigURL string `json:"origURL"`
		} `json:"token"`
	}
	// For an unreadable token both stay empty; Poll returns the error.
	_ = json.Unmarshal([]byte(token), &t)
	if t.Token.Method == "" {
		t.Token.Method = http.MethodGet
	}
	return t.Token.Method, pathOf(t.Token.OrigURL)
}

// SamePoll reports whether two resume tokens poll the same operation at the same address. They may differ
// in the state of the last poll.
func SamePoll(a, b string) bool {
	return a == b || a != "" && b != "" && maps.Equal(addressesOf(a), addressesOf(b))
}

// addressesOf returns the fields of a resume token without the state of the last poll.
func addressesOf(token string) map[string]any {
	var t struct {
		Type  string         `json:"type"`
		Token map[string]any `json:"token"`
	}
	if json.Unmarshal([]byte(token), &t) != nil {
		return map[string]any{"": token}
	}
	fields := map[string]any{"": t.Type}
	for name, value := range t.Token {
		if _, text := value.(string); text && name != "state" {
			fields[name] = value
		}
	}
	return fields
}
