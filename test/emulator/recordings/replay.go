package recordings

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// azure is a local Azure that answers requests in process.
type azure interface {
	Do(*http.Request) (*http.Response, error)
}

// answer is the local Azure's answer to a call.
type answer struct {
	status  int
	headers http.Header
	body    []byte
}

// replayer replays one recording to one local Azure. It runs inside a bubble of testing/synctest,
// so that a pause ends when no other goroutine can run.
type replayer struct {
	azure azure
	// login returns a token for an audience.
	login  func(audience string) (string, error)
	tokens map[string]string
	until  time.Time // the end of the tokens' validity
	// open maps the path at which a recording polls an operation in progress to the URL of our
	// operation.
	open map[string]string
	// deletes maps a resource that is being deleted, by its path in lower case, to the key of the
	// operation in open.
	deletes map[string]string
	// made maps the identifiers that the recorded Azure generated to the identifiers that our Azure
	// generated for the same objects.
	made map[string]string
}

// maxWaits limits the number of attempts, every waitStep, of a call whose answer depends on time.
const (
	maxWaits = 40
	waitStep = 15 * time.Second
)

// maxPolls limits the polls of one operation: four hours of Azure's time.
const maxPolls = 4 * 60 * 12

// play sends every call of a recording and passes each answer to seen. It does not send recorded
// polls: an operation of ours ends when the recorded operation ends.
func (r *replayer) play(rec recording, seen func(call, answer)) error {
	r.open, r.deletes, r.made = map[string]string{}, map[string]string{}, map[string]string{}
	if err := r.prepare(rec); err != nil {
		return err
	}
	calls := decided(rec.calls)
	for i, c := range calls {
		if c.polls() {
			if ended(c) {
				if err := r.finish(path(c.Request.URL)); err != nil {
					return fmt.Errorf("%s, call %d: %w", rec.name, i, err)
				}
			}
			continue
		}
		if !r.polledLater(calls[i:]) {
			if err := r.finishAll(); err != nil {
				return fmt.Errorf("%s, call %d: %w", rec.name, i, err)
			}
		}
		if at := r.deletes[c.lacked()]; at != "" {
			if err := r.finish(at); err != nil { // the recorded delete had ended, although no poll shows it yet
				return fmt.Errorf("%s, call %d: %w", rec.name, i, err)
			}
		}
		got, err := r.answer(c)
		if err != nil {
			return fmt.Errorf("%s, call %d: %w", rec.name, i, err)
		}
		seen(c, got)
		r.learn(c, got)
		if ours := address(got.headers); c.writes() && ours != "" {
			theirs := address(c.Response.Headers)
			if theirs == "" {
				theirs = "call " + strconv.Itoa(i)
			}
			r.open[path(theirs)] = ours
			if c.Request.Method == http.MethodDelete {
				r.deletes[strings.ToLower(path(c.Request.URL))] = path(theirs)
			}
		}
	}
	return nil
}

// answer sends a call with our identifiers. A recording does not contain the time between calls: if
// our answer depends on time and the recorded one did not, it waits.
func (r *replayer) answer(c call) (answer, error) {
	body := guid.ReplaceAllStringFunc(c.Request.Body, r.ours)
	url := guid.ReplaceAllStringFunc(c.Request.URL, r.ours)
	for n := 0; ; n++ {
		got, err := r.send(c.Request.Method, url, body)
		if err != nil || n == maxWaits || !behind(c, got) {
			return got, err
		}
		time.Sleep(waitStep)
	}
}

func (r *replayer) ours(id string) string {
	if ours := r.made[strings.ToLower(id)]; ours != "" {
		return ours
	}
	return id
}

// passing are codes of refusals that only depend on time: a new principal is not known everywhere,
// another write is in progress, an account or a disk access is not ready.
var passing = []string{"Conflict", "PrincipalNotFound", "RetryableError", "StorageProvisioningStateNotSucceeded"}

// behind reports whether our answer will become the recorded one by the passing of time alone: a
// temporary refusal, or a vault's name that does not resolve yet.
func behind(c call, got answer) bool {
	if code := errorOf(got.body).Code; slices.Contains(passing, code) {
		return errorOf([]byte(c.Response.Body)).Code != code
	}
	return !c.writes() && stateOf(got.body) == "RegisteringDns" && stateOf([]byte(c.Response.Body)) == "Succeeded"
}

// stateOf returns the provisioning state in a body.
func stateOf(body []byte) string {
	var doc struct {
		Properties struct{ ProvisioningState string }
	}
	_ = json.Unmarshal(body, &doc) // a body without a state leaves it empty
	return doc.Properties.ProvisioningState
}

// zero replaces identifiers that were removed from recordings.
const zero = "00000000-0000-0000-0000-000000000000"

// learn records the values that each Azure generated for the same object, because clients send them
// back later.
func (r *replayer) learn(c call, got answer) {
	theirs := flat([]byte(c.Response.Body))
	for at, ours := range flat(got.body) {
		if plain(theirs[at]) != plain(ours) {
			continue
		}
		made := guid.FindAllString(ours, -1)
		for i, id := range guid.FindAllString(theirs[at], -1) {
			if id != zero && id != made[i] {
				r.made[strings.ToLower(id)] = made[i]
			}
		}
	}
}

// polledLater reports whether one of the calls polls an operation in open.
func (r *replayer) polledLater(calls []call) bool {
	for _, c := range calls {
		if c.polls() && r.open[path(c.Request.URL)] != "" {
			return true
		}
	}
	return false
}

// ended reports whether a recorded poll shows the operation's end.
func ended(poll call) bool {
	var body struct{ Status string }
	_ = json.Unmarshal([]byte(poll.Response.Body), &body) // an answer to a poll of Location has no body
	switch {
	case poll.Response.Code == http.StatusAccepted:
		return false
	case strings.EqualFold(body.Status, "InProgress"), strings.EqualFold(body.Status, "Running"), strings.EqualFold(body.Status, "Pending"):
		return false
	}
	return true
}

// address returns the URL in an answer's headers at which its operation is polled, or "".
func address(h http.Header) string {
	if at := h.Get("Azure-AsyncOperation"); at != "" {
		return at
	}
	if at := h.Get("Location"); polling.MatchString(path(at)) {
		return at
	}
	return ""
}

func (r *replayer) finishAll() error {
	for at := range r.open {
		if err := r.finish(at); err != nil {
			return err
		}
	}
	return nil
}

// finish waits for the end of our operation that corresponds to a recorded one.
func (r *replayer) finish(recorded string) error {
	ours := r.open[recorded]
	if ours == "" {
		return nil
	}
	delete(r.open, recorded)
	for range maxPolls {
		got, err := r.send(http.MethodGet, ours, "")
		if err != nil {
			return err
		}
		var c call
		c.Response.Code, c.Response.Body = got.status, string(got.body)
		if ended(c) {
			return nil
		}
		time.Sleep(5 * time.Second)
	}
	return fmt.Errorf("the operation %s does not end", ours)
}

func (r *replayer) send(method, address, body string) (answer, error) {
	req, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	token, err := r.token(req.URL)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.azure.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, headers: resp.Header, body: data}, err
}

// token returns a token for the service at a URL.
func (r *replayer) token(at *url.URL) (string, error) {
	if time.Now().After(r.until) {
		r.tokens, r.until = map[string]string{}, time.Now().Add(30*time.Minute)
	}
	audience := "https://management.azure.com/"
	if strings.Contains(at.Host, "vault.azure.net") {
		audience = "https://vault.azure.net"
	}
	if t := r.tokens[audience]; t != "" {
		return t, nil
	}
	t, err := r.login(audience)
	r.tokens[audience] = t
	return t, err
}
